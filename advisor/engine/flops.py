"""Floating-point operations per token: model FLOPs (needed) and hardware FLOPs (executed, with recomputation).

Convention (stated beside every MFU): matrix multiplications of the active parameters, the output head included and the
embedding look-up not, plus the attention core over the tokens that each query really sees (half of the sequence when
causal, at most the window). Backward is twice the forward. One multiply-add is two operations. `six_n_d_flops` is
reported beside it.

References
----------
.. [1] J. Kaplan et al., arXiv:2001.08361, section 2.1 (6 N D).
.. [2] D. Narayanan et al., arXiv:2104.04473, appendix (attention term; full square there, causal half here).
.. [3] A. Chowdhery et al., arXiv:2204.02311, appendix B (MFU).
"""

from __future__ import annotations

from advisor.engine import parameters
from advisor.engine.specs import (
    LoraSpec,
    Method,
    ModelKind,
    ModelSpec,
    Recipe,
    Recomputation,
    RecomputedPart,
    TrainingPlan,
)

FROZEN_METHODS = (Method.LORA, Method.QLORA)
EARLY_STOP_RECIPES = (Recipe.FSDP, Recipe.PURE_BF16)


def seen_tokens_per_query(model: ModelSpec, sequence_length: int, window: int) -> float:
    """Mean number of keys that a query attends to: causal half, or the window where it is shorter."""
    s = float(sequence_length)
    if model.kind is not ModelKind.DECODER:
        return s if window == 0 or window >= s else float(window)
    if window == 0 or window >= s:
        return s / 2
    return window - window * window / (2 * s)  # the first `window` queries see a growing prefix


def mean_seen_tokens_per_query(model: ModelSpec, sequence_length: int) -> float:
    """Mean over the layers, where only some have a sliding window."""
    full = seen_tokens_per_query(model, sequence_length, 0)
    if not model.sliding_window:
        return full
    share = model.window_layers_per_period / model.window_period
    return share * seen_tokens_per_query(model, sequence_length, model.sliding_window) + (1 - share) * full


def attention_core_flops_per_token(model: ModelSpec, sequence_length: int) -> float:
    """Forward FLOPs of query-key and probability-value products of one layer, per token. [FLOP]"""
    v_head_size = model.v_head_size or model.head_size
    return 2 * mean_seen_tokens_per_query(model, sequence_length) * model.head_count * (model.head_size + v_head_size)


def ffn_matrix_parameter_count(model: ModelSpec, width: int) -> int:
    """Matrix weights of one feed-forward block, without biases."""
    return (3 if model.gated_ffn else 2) * model.hidden_size * width


def routed_matrix_parameter_count(model: ModelSpec) -> int:
    """Matrix weights of the routed experts that one token passes, in one mixture-of-experts layer."""
    return model.experts_per_token * ffn_matrix_parameter_count(model, model.expert_ffn_size)


def shared_matrix_parameter_count(model: ModelSpec) -> int:
    """Matrix weights of the shared experts of one mixture-of-experts layer."""
    width = model.shared_expert_ffn_size or model.expert_ffn_size
    return model.shared_expert_count * ffn_matrix_parameter_count(model, width)


def head_matrix_parameter_count(model: ModelSpec) -> int:
    """Output head as a multiplication (also when its weights are tied to the embedding)."""
    return 0 if model.kind is ModelKind.VISION else model.vocab_size * model.hidden_size


def layer_matrix_parameter_count(model: ModelSpec) -> float:
    """Matrix weights that one token passes in all layers."""
    moe_layers = parameters.moe_layer_count(model)
    attention = parameters.attention_matrix_parameter_count(model)
    dense = ffn_matrix_parameter_count(model, model.ffn_size)
    routed = (
        routed_matrix_parameter_count(model)
        + shared_matrix_parameter_count(model)
        + parameters.router_parameter_count(model)
    )
    return model.layer_count * attention + (model.layer_count - moe_layers) * dense + moe_layers * routed


def forward_flops_per_token(model: ModelSpec, sequence_length: int) -> float:
    """Forward FLOPs per token of the whole model. [FLOP]"""
    matrices = layer_matrix_parameter_count(model) + head_matrix_parameter_count(model)
    return 2 * matrices + model.layer_count * attention_core_flops_per_token(model, sequence_length)


def adapter_parameter_count(model: ModelSpec, plan: TrainingPlan) -> int:
    """Trainable parameters of a LoRA run (arXiv:2106.09685): rank x (inputs + outputs) of each target matrix. [1]"""
    if plan.lora is None:
        return 0
    count = _low_rank_parameter_count(model, plan.lora, model.expert_count)
    if plan.lora.trains_embeddings_and_head:
        count += parameters.embedding_parameter_count(model) + parameters.head_parameter_count(model)
    return count


def _low_rank_parameter_count(model: ModelSpec, lora: LoraSpec, expert_count: int) -> int:
    """Weights of the low-rank pairs of all layers, of which a mixture's layers count those of `expert_count` experts.

    [1]
    """
    h, q, k = model.hidden_size, model.head_count * model.head_size, model.kv_head_count * model.head_size
    v_out = model.head_count * (model.v_head_size or model.head_size)
    dense_width = model.ffn_size
    sums = {"q": h + q, "k": h + k, "v": h + k, "o": v_out + h}
    if model.uses_mla:
        kv_rank = model.kv_lora_rank
        sums["q"] = (h + model.q_lora_rank) + (model.q_lora_rank + q) if model.q_lora_rank else h + q
        sums["k"] = h + kv_rank + model.qk_rope_head_size
        sums["v"] = kv_rank + model.head_count * model.qk_nope_head_size + v_out
    per_layer = sum(sums[name] for name in lora.targets if name in sums)
    ffn_targets = sum(1 for name in lora.targets if name in ("gate", "up", "down"))
    if not model.gated_ffn:
        ffn_targets = min(ffn_targets, 2)
    moe_layers = parameters.moe_layer_count(model)
    dense_ffn = ffn_targets * (h + dense_width)
    shared_width = model.shared_expert_ffn_size or model.expert_ffn_size
    moe_ffn = ffn_targets * (
        expert_count * (h + model.expert_ffn_size) + model.shared_expert_count * (h + shared_width)
    )
    return lora.rank * (
        model.layer_count * per_layer + (model.layer_count - moe_layers) * dense_ffn + moe_layers * moe_ffn
    )


def unrepeated_matrix_parameter_count(model: ModelSpec, plan: TrainingPlan) -> int:
    """Weights of a dense layer's last product where full recomputation leaves it out: no gradient asks for its result.

    PyTorch stops a recomputation once the last kept tensor is there [4]_, XLA drops what nothing reads; Megatron-LM
    runs the whole forward again.

    References
    ----------
    .. [4] PyTorch, torch.utils.checkpoint.set_checkpoint_early_stop (2.1; on unless use_reentrant).
    """
    stops = plan.stops_recomputation_early
    if stops is None:
        stops = plan.recipe in EARLY_STOP_RECIPES
    return model.hidden_size * model.ffn_size if stops else 0


def model_flops_per_token(model: ModelSpec, plan: TrainingPlan) -> float:
    """Model FLOPs per token: forward plus backward; frozen weights need no weight gradient. [FLOP]

    Of the adapters a token passes those of its own experts; a head that trains adds its weight gradient.
    """
    forward = forward_flops_per_token(model, plan.sequence_length)
    if plan.method not in FROZEN_METHODS:
        return 3 * forward
    core = model.layer_count * attention_core_flops_per_token(model, plan.sequence_length)
    matrices = forward - core
    if plan.lora is None:
        return 2 * matrices + 3 * core
    adapters = _low_rank_parameter_count(model, plan.lora, model.experts_per_token)
    trained_head = head_matrix_parameter_count(model) if plan.lora.trains_embeddings_and_head else 0
    return 2 * matrices + 3 * core + 6 * adapters + 2 * trained_head


def recomputes_core(plan: TrainingPlan) -> bool:
    """Whether selective recomputation repeats the attention core: unasked, or among the stated parts."""
    return not plan.recomputed_parts or RecomputedPart.CORE_ATTENTION in plan.recomputed_parts


def repeated_matrix_parameter_counts(model: ModelSpec, plan: TrainingPlan) -> tuple[float, float]:
    """Matrix weights of a dense and of a mixture-of-experts layer that a token passes again for the stated parts.

    Norms and expert activations have none; the time of their kernels is left out. Where small kernels decide the step,
    published runs lost 2 % to it with expert activations and 10 % with norms too (Megatron-Bridge, Moonlight). [1]
    """
    parts = plan.recomputed_parts
    projected = 0
    if RecomputedPart.MLA_UP_PROJECTION in parts:
        query = (model.q_lora_rank or model.hidden_size) * (model.qk_nope_head_size + model.qk_rope_head_size)
        key_value = model.kv_lora_rank * (model.qk_nope_head_size + (model.v_head_size or model.head_size))
        projected = model.head_count * (query + key_value)
    ffn = ffn_matrix_parameter_count(model, model.ffn_size) if RecomputedPart.MLP in parts else 0
    experts: float = 0
    if RecomputedPart.MOE in parts or RecomputedPart.SHARED_EXPERTS in parts:
        experts = shared_matrix_parameter_count(model)
    if RecomputedPart.MOE in parts:
        experts += routed_matrix_parameter_count(model) + parameters.router_parameter_count(model)
    return projected + ffn, projected + experts


def hardware_flops_per_token(
    model: ModelSpec, plan: TrainingPlan, recomputation: Recomputation, recomputed_layer_fraction: float = 1.0
) -> float:
    """Executed FLOPs per token: model FLOPs plus what recomputation repeats. [FLOP]

    Full repeats the forward of `recomputed_layer_fraction` of the layers (not of the head), selective the attention
    core of all (arXiv:2205.05198) or the stated parts.
    """
    base = model_flops_per_token(model, plan)
    core = model.layer_count * attention_core_flops_per_token(model, plan.sequence_length)
    if recomputation is Recomputation.FULL:
        dense_layers = model.layer_count - parameters.moe_layer_count(model)
        left_out = dense_layers * unrepeated_matrix_parameter_count(model, plan)
        return base + recomputed_layer_fraction * (2 * (layer_matrix_parameter_count(model) - left_out) + core)
    if recomputation is Recomputation.SELECTIVE:
        moe_layers = parameters.moe_layer_count(model)
        dense, moe = repeated_matrix_parameter_counts(model, plan)
        repeated = (model.layer_count - moe_layers) * dense + moe_layers * moe
        return base + (core if recomputes_core(plan) else 0.0) + 2 * repeated
    return base


def six_n_d_flops(model: ModelSpec, tokens: float) -> float:
    """6 x active parameters x tokens, the rule of thumb of [1]. [FLOP]"""
    return 6.0 * parameters.active_parameter_count(model) * tokens

"""Per-layer counts of one job, derived once from model and plan: the constants that the array formulas multiply in.

Symbols: h hidden size, a query heads, k key/value heads, d head size, f FFN width, V vocabulary, e experts per token,
T tokens of one micro-batch on one context rank (b s / c).
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.engine import flops, parameters
from advisor.engine.saved_tensors import SavedTensors, saved_tensors
from advisor.engine.specs import (
    AttentionKernel,
    Method,
    ModelKind,
    ModelSpec,
    Optimizer,
    Precision,
    Recipe,
    RecomputedPart,
    TrainingPlan,
)
from advisor.engine.units import BYTES_16BIT, BYTES_FP32


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Counts per layer and per token; see the field comments for units."""

    layer_count: int
    dense_layer_count: int  # leading dense layers of a mixture-of-experts model
    moe_share: float  # share of the remaining layers with experts
    hidden_size: int
    query_width: int  # a * d
    kv_width: int  # k * d, one of the two
    kv_pair_width: int  # keys and values together: k (d + d_v)
    value_width: int  # a * d_v
    head_count: int
    ffn_size: int
    routed_width: int  # e * f_e
    unfused_bias_width: int  # outputs of the routed experts whose biases are added outside the fused kernels
    shared_width: int
    experts_per_token: int
    expert_width: int  # of one routed expert
    expert_count: int
    vocab_size: int  # 0 without a language-model head
    sequence_length: int
    ffn_inner_copies: int  # tensors of width f kept or moved per token: 3 gated (gate, up, product), 2 plain
    attention_matrix_count: float  # weights
    dense_ffn_count: float
    shared_ffn_count: float  # shared experts + router
    expert_ffn_count: float  # one routed expert
    routed_ffn_count: float  # experts_per_token of them
    dense_layer_parameters: float  # all parameters of a dense layer
    moe_layer_parameters: float  # of a mixture-of-experts layer without routed experts
    expert_parameters: float  # routed experts of one layer, all of them
    layer_norm_parameters: float  # replicated on every tensor rank
    embedding_parameters: float
    head_parameters: float
    final_parameters: float
    tied_embeddings: bool
    attention_core_flops_per_token: float
    attention_scores_per_token: float  # softmax entries of one layer, all heads
    adapter_parameters: float
    parameter_count: float
    is_frozen: bool
    is_eager: bool
    is_quantized: bool
    # what selective recomputation repeats of a layer's forward pass: the attention core (1 or 0), the share of the
    # matrix products of a dense and of a mixture-of-experts layer, and the experts' exchanges (1 or 0)
    repeated_core: float
    repeated_dense_share: float
    repeated_moe_share: float
    repeated_exchange: float
    unrepeated_count: float  # weights of a dense layer that full recomputation leaves out
    saved: SavedTensors
    model_flops_per_token: float


def workload(model: ModelSpec, plan: TrainingPlan) -> Workload:
    """Derive the counts; raises ValueError for a model without layers or a job without sequence."""
    if model.layer_count < 1 or plan.sequence_length < 1 or model.hidden_size < 1:
        raise ValueError("A job needs at least one layer, one hidden unit and one token per sequence.")
    moe_layers = parameters.moe_layer_count(model)
    rest = model.layer_count - model.dense_layer_count if model.is_moe else model.layer_count
    shared_width = model.shared_expert_count * (model.shared_expert_ffn_size or model.expert_ffn_size)
    head = flops.head_matrix_parameter_count(model)
    attention_matrices = parameters.attention_matrix_parameter_count(model)
    value_width = model.head_count * (model.v_head_size or model.head_size)
    kv_heads = model.head_count if model.uses_mla else model.kv_head_count
    dense_matrices = attention_matrices + flops.ffn_matrix_parameter_count(model, model.ffn_size)
    moe_matrices = attention_matrices + flops.routed_matrix_parameter_count(model)
    moe_matrices += flops.shared_matrix_parameter_count(model) + parameters.router_parameter_count(model)
    repeated_dense, repeated_moe = flops.repeated_matrix_parameter_counts(model, plan)
    return Workload(
        layer_count=model.layer_count,
        dense_layer_count=model.dense_layer_count if model.is_moe else 0,
        moe_share=moe_layers / rest if rest else 0.0,
        hidden_size=model.hidden_size,
        query_width=model.head_count * model.head_size,
        kv_width=kv_heads * model.head_size,
        kv_pair_width=kv_heads * (model.head_size + (model.v_head_size or model.head_size)),
        value_width=value_width,
        head_count=model.head_count,
        ffn_size=model.ffn_size,
        routed_width=model.experts_per_token * model.expert_ffn_size,
        unfused_bias_width=unfused_bias_width(model, plan),
        shared_width=shared_width,
        experts_per_token=model.experts_per_token,
        expert_width=max(model.expert_ffn_size, 1),
        expert_count=model.expert_count,
        vocab_size=0 if model.kind is ModelKind.VISION else model.vocab_size,
        sequence_length=plan.sequence_length,
        ffn_inner_copies=3 if model.gated_ffn else 2,
        attention_matrix_count=attention_matrices,
        dense_ffn_count=flops.ffn_matrix_parameter_count(model, model.ffn_size),
        shared_ffn_count=flops.shared_matrix_parameter_count(model) + parameters.router_parameter_count(model),
        expert_ffn_count=flops.ffn_matrix_parameter_count(model, model.expert_ffn_size),
        routed_ffn_count=flops.routed_matrix_parameter_count(model),
        dense_layer_parameters=parameters.dense_layer_parameter_count(model),
        moe_layer_parameters=parameters.moe_layer_shared_parameter_count(model) if model.is_moe else 0.0,
        expert_parameters=model.expert_count * parameters.expert_parameter_count(model),
        layer_norm_parameters=parameters.norm_parameter_count(model),
        embedding_parameters=parameters.embedding_parameter_count(model),
        head_parameters=head,
        final_parameters=parameters.final_parameter_count(model),
        tied_embeddings=model.tied_embeddings,
        attention_scores_per_token=flops.mean_seen_tokens_per_query(model, plan.sequence_length) * model.head_count,
        attention_core_flops_per_token=flops.attention_core_flops_per_token(model, plan.sequence_length),
        adapter_parameters=flops.adapter_parameter_count(model, plan) if plan.method in flops.FROZEN_METHODS else 0,
        parameter_count=parameters.parameter_count(model),
        is_frozen=plan.method in flops.FROZEN_METHODS,
        is_eager=plan.attention is AttentionKernel.EAGER,
        is_quantized=plan.method is Method.QLORA,
        repeated_core=float(flops.recomputes_core(plan)),
        repeated_dense_share=repeated_dense / dense_matrices,
        repeated_moe_share=repeated_moe / moe_matrices,
        repeated_exchange=float(RecomputedPart.MOE in plan.recomputed_parts),
        unrepeated_count=flops.unrepeated_matrix_parameter_count(model, plan),
        saved=saved_tensors(model, plan, adapted_input_width(model, plan)),
        model_flops_per_token=flops.model_flops_per_token(model, plan),
    )


def unfused_bias_width(model: ModelSpec, plan: TrainingPlan) -> int:
    """Outputs per token to which Megatron-Core's grouped experts add their biases one expert after the other.

    `_apply_bias` of megatron/core/transformer/moe/experts.py splits, adds in fp32, joins and casts back; only the
    block-scaled fused kernels take the bias along.
    """
    is_fused = plan.uses_fused_kernels or plan.precision in (Precision.MXFP8, Precision.FP4)
    if not (model.is_moe and model.has_ffn_bias) or plan.recipe is not Recipe.MEGATRON or is_fused:
        return 0
    inner = (2 if model.gated_ffn else 1) * model.expert_ffn_size
    return model.experts_per_token * (inner + model.hidden_size)


def adapted_input_width(model: ModelSpec, plan: TrainingPlan) -> int:
    """Summed input widths of one layer's adapted matrices.

    With dropout each adapter keeps its own dropped copy of the input (0.05 in the usual recipes); without it, adapters
    that read the same tensor share one copy, and the attention output is kept anyway.
    """
    if plan.lora is None or plan.method not in flops.FROZEN_METHODS:
        return 0
    targets = plan.lora.targets
    widths = {"o": model.head_count * (model.v_head_size or model.head_size), "down": model.ffn_size}
    names = ("q", "k", "v", "o", "gate", "up", "down") if model.gated_ffn else ("q", "k", "v", "o", "up", "down")
    if plan.lora.has_dropout:
        return sum(widths.get(name, model.hidden_size) for name in names if name in targets)
    blocks = any(name in targets for name in "qkv") + any(name in targets for name in ("gate", "up"))
    return blocks * model.hidden_size + ("down" in targets) * model.ffn_size


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBytes:
    """Bytes per parameter that a framework recipe holds; a sum of named parts, never one constant."""

    weight: float  # the parameter tensor that the recipe owns
    gather: float  # the 16-bit copy that a sharded recipe gathers for computing; 0 where `weight` is that copy
    gradient: float
    master: float
    moments: float
    gradient_reduce: float  # type on the wire
    embedding_moments: float  # Muon keeps Adam for embeddings and head

    @property
    def optimizer(self) -> float:
        return self.master + self.moments


# per recipe: weight, gradient, fp32 master copy, bytes of one moment. Sources: Megatron-LM docs, dist_optimizer
# (6 + 12/n = 2 + 4 + 12/n per parameter); torch FSDP keeps fp32 parameters sharded and computes in a 16-bit copy;
# ZeRO (arXiv:1910.02054, section 3.1: 2 + 2 + 12); torchtune and LitGPT bf16-true hold everything in 16 bit.
RECIPE_STATES: dict[Recipe, tuple[int, int, int, int]] = {
    Recipe.MEGATRON: (2, 4, 4, 4),
    Recipe.FSDP: (4, 4, 0, 4),
    Recipe.DEEPSPEED: (2, 2, 4, 4),
    Recipe.PURE_BF16: (2, 2, 0, 2),
}
RECIPE_FUSED_LOSS: dict[Recipe, bool] = {
    Recipe.MEGATRON: True,
    Recipe.FSDP: False,
    Recipe.DEEPSPEED: False,
    Recipe.PURE_BF16: True,
}
# moments held, in units of one moment. Adafactor keeps row and column sums (arXiv:1804.04235), about 0.1 byte a
# parameter; 8-bit Adam two one-byte moments and block scales (arXiv:2110.02861); Muon one momentum (and Adam's
# two for embeddings and head); Lion one (arXiv:2302.06675).
_MOMENT_COUNT = {Optimizer.ADAMW: 2.0, Optimizer.SGD: 1.0, Optimizer.LION: 1.0, Optimizer.MUON: 1.0}
_ADAMW_8BIT_MOMENT_BYTES = 2.0 + 2 * BYTES_FP32 / 256  # blocks of 256 (bitsandbytes)
_ADAFACTOR_BYTES = 0.1


def state_bytes(plan: TrainingPlan) -> StateBytes:
    """Bytes per trained parameter of the plan's recipe, with the plan's overrides."""
    weight, gradient, master, moment = RECIPE_STATES[plan.recipe]
    weight_bytes = float(weight if plan.weight_bytes_per_parameter is None else plan.weight_bytes_per_parameter)
    gradient_bytes = float(gradient if plan.gradient_bytes_per_parameter is None else plan.gradient_bytes_per_parameter)
    if plan.gradient_bytes_per_parameter is None and plan.recipe is Recipe.FSDP:
        gradient_bytes = min(gradient_bytes, max(weight_bytes, float(BYTES_16BIT)))  # PyTorch: the parameter's type
    if plan.precision.value in ("fp32", "tf32"):
        weight_bytes, gradient_bytes, master = float(BYTES_FP32), float(BYTES_FP32), 0
    if plan.weight_bytes_per_parameter is not None and plan.weight_bytes_per_parameter >= BYTES_FP32:
        master = 0  # fp32 parameters are their own master
    if plan.master_weight_bytes_per_parameter is not None:
        master = plan.master_weight_bytes_per_parameter
    moment_bytes = float(moment if plan.moment_bytes_per_parameter is None else plan.moment_bytes_per_parameter)
    if plan.optimizer is Optimizer.ADAMW_8BIT:
        moments = _ADAMW_8BIT_MOMENT_BYTES
    elif plan.optimizer is Optimizer.ADAFACTOR:
        moments = _ADAFACTOR_BYTES
    else:
        moments = _MOMENT_COUNT[plan.optimizer] * moment_bytes
    return StateBytes(
        weight=weight_bytes,
        gather=float(BYTES_16BIT)
        if weight_bytes > BYTES_16BIT and plan.precision.value not in ("fp32", "tf32")
        else 0.0,
        gradient=0.0 if plan.optimizer_in_backward else gradient_bytes,
        master=float(master),
        moments=moments,
        gradient_reduce=gradient_bytes,
        embedding_moments=2 * moment_bytes if plan.optimizer is Optimizer.MUON else moments,
    )


def uses_fused_loss(plan: TrainingPlan) -> bool:
    return RECIPE_FUSED_LOSS[plan.recipe] if plan.uses_fused_loss is None else plan.uses_fused_loss

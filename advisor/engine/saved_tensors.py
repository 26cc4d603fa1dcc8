"""What automatic differentiation keeps of one layer for its backward pass, in bytes per token, by framework recipe.

Megatron-Core with TransformerEngine keeps what [1]_ lists, extended to gated FFNs, grouped queries and flash attention.
Plain PyTorch (Hugging Face, LitGPT, torchtune, torchtitan) keeps more, because each small operation saves its own
operands; a product saves an operand only where the other one needs a gradient [2]_, so that frozen weights save the
inputs of their matrices.

Symbols: h hidden size, a query heads, d head size, f FFN width.

References
----------
.. [1] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", arXiv:2205.05198.
.. [2] PyTorch, tools/autograd/derivatives.yaml (saved operands of mul, mm, native_layer_norm, silu, native_dropout).
.. [3] Megatron-LM, megatron/core/transformer/transformer_config.py (recompute_modules): core_attn, mlp and moe run
   under a checkpoint that keeps their input; layernorm, moe_act and mla_up_proj discard their output and make it again.
.. [4] PyTorch, torch/_functorch/partitioners.py (min_cut_rematerialization_partition): fusible operations are computed
   again rather than kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.engine.specs import (
    AttentionKernel,
    Method,
    ModelSpec,
    Precision,
    Recipe,
    RecomputedPart,
    TrainingPlan,
)
from advisor.engine.units import BYTES_16BIT, BYTES_FP8, BYTES_FP32

EAGER_SCORE_BYTES = 5.0  # softmax output 2, dropout mask 1, dropout output 2 per score [1]
DROPOUT_MASK_BYTES = 1.0
# 4-bit layers hold more than 16-bit ones: measured on paired LoRA and QLoRA rows of LitGPT's tables, over the widths of
# all matrix inputs, 1.9 (phi-1.5, Llama-2-13B; bitsandbytes 0.41) to 3.4 (Phi-3, TinyLlama, phi-2; later versions)
QUANTIZED_INPUT_BYTES = 2.5
# a layer with adapters keeps this much beyond the operands counted here (LitGPT LoRA rows: 2 for stablelm-3b, 4 for
# phi-1.5, 5 for Llama-2; an index_copy of the padded adapter output is part of it)
ADAPTED_LAYER_BYTES = 4.0
# 4-bit training keeps its inputs in at most as much
FP8_PRECISIONS = (Precision.FP8, Precision.MXFP8, Precision.FP4)


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedTensors:
    """Bytes per token of one layer that selective recomputation of stated parts drops [3]_, split as they are kept."""

    has_core: bool  # the attention core's part
    dense_norms: float  # norm outputs of a dense layer, split along the tensor group under sequence parallelism
    moe_norms: float
    attention: float  # queries, keys and values that MLA projects up
    dense_ffn: bool  # the whole FFN of a dense layer
    routed_per_width: float  # of one unit of the routed experts' width
    routed_whole: bool  # dispatched tokens, experts and router
    shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTensors:
    """Bytes per token of one layer. `outer` splits over tensor ranks only under sequence parallelism."""

    outer: float  # norms, block inputs, dropout masks, inputs that adapters and 4-bit matrices keep
    gathered: float  # matrix inputs gathered from the tensor ranks and kept so; Megatron gathers them again instead
    attention: float  # queries, keys, values, output
    core: float  # scores of unfused attention, or the softmax statistics of a fused kernel
    ffn_per_width: float  # of one unit of FFN width
    checkpoint: float  # input of a recomputed layer
    # what per-operation checkpoints of PyTorch keep; None where selective means the attention core alone
    per_operation_outer: float | None
    per_operation_ffn: float
    dropped: DroppedTensors | None  # what stated parts of selective recomputation drop; None: no part is stated


def _is_megatron(plan: TrainingPlan) -> bool:
    return plan.recipe is Recipe.MEGATRON


def _linear_input_width(model: ModelSpec, value_width: int) -> int:
    """Summed input widths of one layer's matrices, queries, keys and values counted as one matrix."""
    return model.hidden_size * (3 if model.gated_ffn else 2) + value_width + model.ffn_size


def _attention_width(model: ModelSpec, plan: TrainingPlan, value_width: int) -> int:
    """Elements that one token's attention keeps: queries, keys, values, output, and the latents of MLA."""
    a, d = model.head_count, model.head_size
    if model.uses_mla:
        # keys are a new tensor (latent part and shared rotary part), values a view that keeps its whole up-projection;
        # both latents are kept before and after their norm (DeepSeek-V2, arXiv:2405.04434, equations 9 to 19)
        qk = model.qk_nope_head_size + model.qk_rope_head_size
        up_projection = model.qk_nope_head_size + (model.v_head_size or d)
        return 2 * a * qk + a * up_projection + value_width
    if _is_megatron(plan):
        return a * d + 2 * model.kv_head_count * d + value_width
    # keys and values are repeated for every query head before the kernel (repeat_kv of the model codes)
    return 2 * a * d + 2 * value_width


def _outer(model: ModelSpec, plan: TrainingPlan, unit: int, value_width: int, adapted_width: int) -> float:
    h = float(model.hidden_size)
    dropout = 2 * DROPOUT_MASK_BYTES * h if plan.dropout else 0.0
    if _is_megatron(plan):
        norm_output = BYTES_FP8 if plan.precision in FP8_PRECISIONS else unit
        # under FP8 the output projection keeps its own 8-bit input beside the kernel's 16-bit output
        projection_input = value_width * BYTES_FP8 if plan.precision in FP8_PRECISIONS else 0.0
        latents = 2.0 * unit * (model.q_lora_rank + model.kv_lora_rank) if model.uses_mla else 0.0
        return 2 * (unit + norm_output) * h + projection_input + latents + dropout
    is_frozen = plan.method in (Method.LORA, Method.QLORA)
    norms = model.norms_per_layer or 2
    # written out in PyTorch, an RMS norm saves its fp32 input, and where its weight learns the fp32 normed value;
    # compiled, the input alone, from which the backward pass makes the rest in passing [4]_
    rms_norm = unit if plan.compiles_layers else BYTES_FP32 * (1 if is_frozen else 2)
    kept = norms * (rms_norm if model.norm_weight_vectors == 1 else unit) * h
    if is_frozen and plan.lora is not None:
        has_dropout = plan.lora.has_dropout
        kept += (unit + DROPOUT_MASK_BYTES if has_dropout else unit) * adapted_width + ADAPTED_LAYER_BYTES * h
    if plan.method is Method.QLORA:
        kept += QUANTIZED_INPUT_BYTES * _linear_input_width(model, value_width)
    return kept + dropout


def is_prepared_for_4_bit(plan: TrainingPlan) -> bool:
    """Whether norms, embeddings and head of a 4-bit model compute in fp32 (PEFT, prepare_model_for_kbit_training).

    Sharded modules need parameters of one type and go without.
    """
    return plan.method is Method.QLORA and plan.recipe is Recipe.PURE_BF16


def _ffn_per_width(model: ModelSpec, plan: TrainingPlan, unit: int) -> float:
    copies = 3 if model.gated_ffn else 2  # fused: gate, up, product; or up and its activation
    if _is_megatron(plan):
        return unit * copies - (unit - BYTES_FP8 if plan.precision in FP8_PRECISIONS else 0)
    if plan.compiles_layers:
        return float(unit * (2 if model.gated_ffn else 1))
    if plan.method in (Method.LORA, Method.QLORA):
        return float(unit * (3 if model.gated_ffn else 1))  # gate, its activation, up; the product is not kept
    return float(unit * (4 if model.gated_ffn else 2))


def _up_projection_width(model: ModelSpec) -> int:
    """Elements of MLA's queries, keys and up-projected keys and values; the attention output is not among them."""
    qk = model.qk_nope_head_size + model.qk_rope_head_size
    return model.head_count * (2 * qk + model.qk_nope_head_size + (model.v_head_size or model.head_size))


def _dropped(model: ModelSpec, plan: TrainingPlan, unit: int) -> DroppedTensors | None:
    parts = plan.recomputed_parts
    if not parts:
        return None
    norm_output = float((BYTES_FP8 if plan.precision in FP8_PRECISIONS else unit) * model.hidden_size)
    has_norms = RecomputedPart.LAYERNORM in parts
    # the norm before a dense FFN is fused with its first matrix and falls under the FFN's own checkpoint
    dense_norms = 2 * norm_output if has_norms else norm_output if RecomputedPart.MLP in parts else 0.0
    return DroppedTensors(
        has_core=RecomputedPart.CORE_ATTENTION in parts,
        dense_norms=dense_norms,
        moe_norms=2 * norm_output if has_norms else 0.0,
        attention=float(unit * _up_projection_width(model)) if RecomputedPart.MLA_UP_PROJECTION in parts else 0.0,
        dense_ffn=RecomputedPart.MLP in parts,
        routed_per_width=float(unit) if RecomputedPart.MOE_ACTIVATION in parts else 0.0,
        routed_whole=RecomputedPart.MOE in parts,
        shared=RecomputedPart.MOE in parts or RecomputedPart.SHARED_EXPERTS in parts,
    )


def saved_tensors(model: ModelSpec, plan: TrainingPlan, adapted_width: int) -> SavedTensors:
    """Bytes that one layer keeps per token; `adapted_width` sums the input widths of its adapters."""
    unit = BYTES_FP32 if plan.precision in (Precision.FP32, Precision.TF32) else BYTES_16BIT
    value_width = model.head_count * (model.v_head_size or model.head_size)
    is_eager = plan.attention is AttentionKernel.EAGER
    width = model.head_count * model.head_size
    kv_width = model.kv_head_count * model.head_size
    per_operation = None
    if not _is_megatron(plan) and not is_eager:
        # every other matrix product: input, q, v, attention and FFN outputs, one of gate and up; the backward pass does
        # not read the FFN output, and a compiled graph does not keep it
        outputs = 2 if plan.compiles_layers else 3
        per_operation = float(unit * (outputs * model.hidden_size + width + kv_width))
    is_learning = plan.method not in (Method.LORA, Method.QLORA)
    is_fused = _is_megatron(plan) or plan.compiles_layers
    return SavedTensors(
        # inputs of the attention and FFN matrices
        gathered=2.0 * unit * model.hidden_size if is_learning and not is_fused else 0.0,
        outer=_outer(model, plan, unit, value_width, adapted_width),
        attention=float(unit * _attention_width(model, plan, value_width)),
        core=EAGER_SCORE_BYTES * model.head_count * plan.sequence_length
        if is_eager
        else float(BYTES_FP32 * model.head_count),
        ffn_per_width=_ffn_per_width(model, plan, unit),
        checkpoint=float((BYTES_FP32 if is_prepared_for_4_bit(plan) else unit) * model.hidden_size),
        per_operation_outer=per_operation,
        per_operation_ffn=float(unit),
        dropped=_dropped(model, plan, unit),
    )

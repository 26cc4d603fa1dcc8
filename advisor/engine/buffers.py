"""Memory beside states and activations: logits, gathered units, gradient buckets and scratch, copies of a step.

Symbols: t p c x n b as in `candidates`.
"""

from __future__ import annotations

import numpy as np

from advisor.engine.candidates import Candidates, FloatArray
from advisor.engine.saved_tensors import is_prepared_for_4_bit
from advisor.engine.specs import Optimizer, Precision, Recipe, TrainingPlan
from advisor.engine.stages import PerRank, Stage
from advisor.engine.units import BYTES_16BIT, BYTES_FP32
from advisor.engine.workload import StateBytes, Workload, uses_fused_loss

# 4-bit NormalFloat: 0.5 byte plus one fp32 constant per 64 weights, or with double quantization 8 bits per 64 plus
# fp32 per 256 blocks (arXiv:2305.14314, section 3: 0.127 bit a parameter).
NF4_BYTES = 0.5 + 4 / 64
NF4_DOUBLE_QUANTIZED_BYTES = 0.5 + 0.127 / 8
# logits per element: a fused or chunked loss keeps one 16-bit buffer, or a chunk of all copies that is no larger.
# Plain losses on 16-bit logits: logits, log-softmax, its gradient and the logits' gradient, 2 each, and 2 for a shifted
# copy where the model code makes one: 8 to 10 (Hugging Face rows of 2025 need 8, LitGPT's of six vocabularies from 32 k
# to 256 k and Qwen's of 2023 need 10). Megatron: 16-bit logits, fp32 copy, fp32 gradient.
# Mixed precision computes the loss in fp32: 16-bit logits, log-softmax and two gradients in fp32 less what is freed.
# Models prepared for 4-bit training compute head and loss in fp32 altogether.
LOGITS_BYTES_FUSED = 2.0
LOGITS_BYTES_PLAIN = 9.0
LOGITS_BYTES_CAST = 10.0
LOGITS_BYTES_MIXED = 12.0
LOGITS_BYTES_QUANTIZED = 16.0
# PyTorch's vocabulary-parallel loss: log-softmax, gradient, exponentials and their sum, fp32 each
# (torch/distributed/tensor/parallel/loss.py, _nll_loss_and_log_softmax_backward)
LOGITS_BYTES_LOSS_PARALLEL = 16.0
PREFETCHED_UNITS = 2.0  # FSDP and ZeRO-3 gather the next unit while computing the current one
# DeepSpeed ZeRO: reduce and gather buckets hold 5e8 elements each by default, in 16 bit (documentation,
# zero_optimization)
ZERO_BUCKET_ELEMENTS = 5e8
ZERO_BUCKET_BYTES = 2 * 2 * ZERO_BUCKET_ELEMENTS
ZERO_SUB_GROUP_ELEMENTS = 1e9  # ZeRO-3 steps through its shard in sub-groups (DeepSpeed's sub_group_size)
PYTORCH_RECIPES = (Recipe.FSDP, Recipe.PURE_BF16)


def step_bytes(
    work: Workload,
    states: StateBytes,
    plan: TrainingPlan,
    cand: Candidates,
    rank: PerRank,
    stage: Stage,
    dense: FloatArray,
    experts: FloatArray,
) -> FloatArray | None:
    """What the optimizer's step holds for a moment, when activations are gone; None where nothing of weight.

    torch.optim steps all parameters as lists by default, with intermediates as large as they are (documentation,
    foreach); frameworks that shard use its fused form, and the 8-bit one goes tensor by tensor. DeepSpeed casts the
    local shard of the gradients to fp32, stage 3 one sub-group at a time.
    """
    if plan.offload != "none" or plan.optimizer_in_backward:
        return None
    is_sharded = cand.zero_stage >= 1
    if plan.recipe is Recipe.DEEPSPEED and not work.is_frozen:
        shards = dense / rank.shard + experts / rank.expert_shard
        stepped = np.where(cand.zero_stage >= 3, np.minimum(shards, ZERO_SUB_GROUP_ELEMENTS), shards)
        return np.where(is_sharded, BYTES_FP32 * stepped, 0.0)
    if plan.recipe is not Recipe.PURE_BF16 or plan.optimizer is not Optimizer.ADAMW:
        return None
    shard = np.where(is_sharded, rank.shard, 1.0)
    if work.is_frozen:
        share = (stage.dense_layers + stage.moe_layers) / work.layer_count
        return adapter_type(plan) * work.adapter_parameters * share / cand.tensor_parallel / shard
    return states.weight * (dense / shard + experts / np.where(is_sharded, rank.expert_shard, 1.0))


def adapter_type(plan: TrainingPlan) -> int:
    return BYTES_16BIT if plan.recipe is Recipe.PURE_BF16 else BYTES_FP32


def logits_bytes(
    work: Workload, states: StateBytes, plan: TrainingPlan, cand: Candidates, tokens: FloatArray
) -> FloatArray:
    if uses_fused_loss(plan):
        per_element: FloatArray | float = LOGITS_BYTES_FUSED
    elif is_prepared_for_4_bit(plan):
        per_element = LOGITS_BYTES_QUANTIZED
    elif plan.recipe is Recipe.FSDP and states.gather:
        per_element = np.where(cand.tensor_parallel > 1, LOGITS_BYTES_LOSS_PARALLEL, LOGITS_BYTES_MIXED)
    else:
        per_element = LOGITS_BYTES_PLAIN if plan.recipe in PYTORCH_RECIPES else LOGITS_BYTES_CAST
    logits = per_element * work.vocab_size * tokens / cand.tensor_parallel
    if plan.recipe is Recipe.MEGATRON:
        return logits
    # the head's input is gathered from the tensor ranks, and its gradient
    return logits + np.where(cand.tensor_parallel > 1, 2 * BYTES_16BIT * work.hidden_size * tokens, 0.0)


def transient_bytes(work: Workload, cand: Candidates, stage: Stage, tokens: FloatArray) -> FloatArray:
    """What one layer's backward pass needs for a moment."""
    inner: FloatArray | float = work.ffn_size
    if work.expert_count:
        widest = max(work.routed_width + work.shared_width, work.ffn_size if work.dense_layer_count else 0)
        inner = np.where(stage.moe_layers > 0, widest, work.ffn_size)
    return BYTES_16BIT * tokens * (2 * work.hidden_size + work.ffn_inner_copies * inner / cand.tensor_parallel)


def largest_unit(work: Workload, rank: PerRank, stage: Stage) -> FloatArray:
    """Parameters on one rank of the stage's largest layer."""
    if not work.expert_count:
        return rank.dense_layer
    return np.where(stage.moe_layers > 0, rank.moe_layer + rank.experts, rank.dense_layer)


def unit_gradient_bytes(
    work: Workload, states: StateBytes, plan: TrainingPlan, cand: Candidates, rank: PerRank, stage: Stage
) -> FloatArray:
    """Whole gradients of one gathered unit, which only a layer's backward pass holds.

    PyTorch also keeps the copy of the last unit's gradients that a reduce-scatter reads, in the type it reduces in,
    until the next one starts (torch/distributed/fsdp, reduce_scatter_state).
    """
    if work.is_frozen:
        return np.zeros_like(cand.tensor_parallel)
    unit = largest_unit(work, rank, stage)
    reduced = states.gradient if plan.recipe in PYTORCH_RECIPES else 0.0
    return np.where(cand.zero_stage >= 3, (BYTES_16BIT + reduced) * unit, 0.0)


def buffer_bytes(
    work: Workload,
    states: StateBytes,
    plan: TrainingPlan,
    cand: Candidates,
    rank: PerRank,
    stage: Stage,
    dense: FloatArray,
    experts: FloatArray,
) -> FloatArray:
    """Gathered units, 16-bit copies, gradient buckets and scratch."""
    t = cand.tensor_parallel
    unit = largest_unit(work, rank, stage)
    root = (work.vocab_size * work.hidden_size) / t * np.maximum(stage.has_embedding, stage.has_head)
    gradient_bytes = 0.0 if work.is_frozen else float(BYTES_16BIT)
    unit_bytes = float(BYTES_16BIT)
    if work.is_quantized:  # 4-bit weights are gathered as they are stored
        unit_bytes = NF4_DOUBLE_QUANTIZED_BYTES if plan.double_quantization else NF4_BYTES
    is_pytorch = plan.recipe in PYTORCH_RECIPES
    kept = root
    if is_pytorch:
        # FSDP's root holds embedding and head, and stays gathered from the first layer to the last (root module,
        # reshard_after_forward False)
        kept = (work.vocab_size * work.hidden_size) / t * (stage.has_embedding + stage.has_head_copy)
    gathered = PREFETCHED_UNITS * unit_bytes * unit + gradient_bytes * root + BYTES_16BIT * kept
    # with ZeRO 2 or less, a recipe whose parameters are fp32 keeps its 16-bit copy for the whole step
    copies = states.gather * (dense + experts) if states.gather and not work.is_frozen else 0.0
    buffer = np.where(cand.zero_stage >= 3, gathered, copies)
    if plan.recipe is Recipe.MEGATRON and plan.has_gradient_scratch and not work.is_frozen:
        shapes = work.attention_matrix_count + np.where(stage.dense_layers > 0, work.dense_ffn_count, 0.0)
        scratch = (shapes + root * t * stage.has_head) / t
        if work.expert_count:
            split = work.expert_ffn_count / cand.expert_tensor_parallel + work.shared_ffn_count / t
            scratch = scratch + np.where(stage.moe_layers > 0, split, 0.0)
        buffer = buffer + BYTES_16BIT * scratch
    if is_pytorch and not work.is_frozen:
        # data parallelism of PyTorch reduces gradients in buckets of their own beside them (DistributedDataParallel,
        # gradient_as_bucket_view False); without synchronization sharded modules keep whole gradients (FSDP, no_sync)
        is_copied = (cand.zero_stage < 2) & (cand.data_parallel > 1)
        if plan.whole_gradients:
            is_copied = cand.data_parallel > 1
        buffer = buffer + np.where(is_copied, states.gradient * (dense + experts), 0.0)
    if is_pytorch and plan.offload == "parameters":
        # shards come from the host before they are gathered, and reduced gradients wait to go there
        passing = PREFETCHED_UNITS * unit_bytes + (0.0 if work.is_frozen else states.gradient_reduce)
        buffer = buffer + np.where(cand.zero_stage >= 3, passing * unit / rank.shard, 0.0)
    if work.is_quantized:  # the 16-bit copy of one matrix at a time
        buffer = buffer + BYTES_16BIT * work.hidden_size * work.ffn_size / t
    if plan.recipe is Recipe.DEEPSPEED and not work.is_frozen and plan.offload == "none":
        shards = dense / rank.shard + experts / rank.expert_shard
        buckets = ZERO_BUCKET_BYTES * np.minimum(1.0, (dense + experts) / ZERO_BUCKET_ELEMENTS)
        buffer = buffer + np.where(cand.zero_stage >= 1, buckets, 0.0)
        if plan.precision is Precision.BF16 and states.gradient >= BYTES_FP32:
            kept = np.where(cand.zero_stage >= 2, shards, dense + experts)
            buffer = buffer + BYTES_16BIT * kept  # its BF16 optimizer accumulates in fp32 beside the 16-bit gradients
    return buffer

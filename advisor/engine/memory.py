"""Memory of the most loaded GPU: named parts per pipeline stage, the maximum over the real stages, in steady state.

Activation terms follow Korthikanti et al. [1]_ (16-bit, per layer and local token), extended to gated FFNs, grouped
queries, flash attention and routed experts; states follow [2]_ and the framework recipes of `workload`.

Symbols: T tokens of a micro-batch on a context rank, t p c x n v b m as in `candidates`.

References
----------
.. [1] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", arXiv:2205.05198.
.. [2] S. Rajbhandari et al., "ZeRO", arXiv:1910.02054.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from advisor.engine.buffers import (
    NF4_BYTES,
    NF4_DOUBLE_QUANTIZED_BYTES,
    PYTORCH_RECIPES,
    adapter_type,
    buffer_bytes,
    logits_bytes,
    step_bytes,
    transient_bytes,
    unit_gradient_bytes,
)
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray
from advisor.engine.saved_tensors import DroppedTensors, is_prepared_for_4_bit
from advisor.engine.specs import RECOMPUTATION_CODES, Recipe, Recomputation, TrainingPlan
from advisor.engine.stages import PerRank, Stage, per_rank, stages
from advisor.engine.units import BYTES_16BIT, BYTES_FP32
from advisor.engine.workload import StateBytes, Workload, state_bytes

OFFLOADED_CHECKPOINTS = 2.0  # layer inputs on the GPU while the others rest on the host: in use and on its way
# least that the caching allocator reserves above live tensors (measured 1.03 with static shapes)
PRESSED_RESERVED_FACTOR = 1.03


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryArrays:
    """Bytes on the most loaded GPU of each candidate, shape (N,). The six parts sum to `allocated_bytes`."""

    weight_bytes: FloatArray
    gradient_bytes: FloatArray
    optimizer_bytes: FloatArray
    activation_bytes: FloatArray
    logits_bytes: FloatArray
    buffer_bytes: FloatArray
    allocated_bytes: FloatArray
    reserved_bytes: FloatArray
    overhead_bytes: FloatArray
    total_bytes: FloatArray
    pipeline_stage: FloatArray
    stage_parameters: FloatArray  # parameters held before data-parallel sharding, of the fullest stage
    stage_expert_parameters: FloatArray  # routed experts among them


def activation_bytes_per_token(
    work: Workload, cand: Candidates, plan: TrainingPlan, imbalance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Activations kept per local token of a dense layer, of a mixture-of-experts layer, and of a recomputed layer.

    Dense, gated, flash, sequence parallel: (8h + 4ad + 4kd + 6f + 4a)/t; selective drops the attention core's part;
    a fully recomputed layer keeps its input, 2h. [B]
    """
    saved, t = work.saved, cand.tensor_parallel
    norm_split = np.where(cand.uses_sequence_parallel > 0, t, 1.0)
    core = saved.core / cand.context_parallel if work.is_eager else saved.core
    is_selective = cand.recomputation == RECOMPUTATION_CODES[Recomputation.SELECTIVE]
    if saved.dropped is not None and not saved.dropped.has_core:
        is_selective = np.zeros_like(is_selective)
    attention = saved.attention + np.where(is_selective, 0.0, core)
    outer = saved.outer / norm_split + saved.gathered
    dense = outer + (attention + saved.ffn_per_width * work.ffn_size) / t
    if saved.per_operation_outer is not None:
        kept = saved.per_operation_outer / norm_split + saved.per_operation_ffn * work.ffn_size / t
        dense = np.where(is_selective, np.minimum(kept, dense), dense)
    recomputed = saved.checkpoint / norm_split
    if not work.expert_count:
        return dense, dense, recomputed
    unit = BYTES_FP32 if plan.precision.value in ("fp32", "tf32") else BYTES_16BIT
    dispatched = 2.0 * unit * work.experts_per_token * work.hidden_size
    routed = (dispatched * cand.expert_tensor_parallel + saved.ffn_per_width * work.routed_width) / t
    router = 2 * BYTES_FP32 * work.expert_count / norm_split
    shared = saved.ffn_per_width * work.shared_width / t
    moe = outer + attention / t + imbalance * routed + router + shared
    return dense, moe, recomputed


def dropped_bytes_per_token(
    work: Workload, cand: Candidates, plan: TrainingPlan, dropped: DroppedTensors, imbalance: float
) -> tuple[FloatArray, FloatArray]:
    """What stated parts of selective recomputation drop of a dense and of a mixture-of-experts layer, beside the core.

    The terms are those of `activation_bytes_per_token`, so that no part drops more than the layer keeps. [B/token]
    """
    saved, t = work.saved, cand.tensor_parallel
    norm_split = np.where(cand.uses_sequence_parallel > 0, t, 1.0)
    is_selective = cand.recomputation == RECOMPUTATION_CODES[Recomputation.SELECTIVE]
    ffn = saved.ffn_per_width * work.ffn_size if dropped.dense_ffn else 0.0
    dense = dropped.dense_norms / norm_split + (dropped.attention + ffn) / t
    moe = dropped.moe_norms / norm_split + dropped.attention / t
    if work.expert_count:
        routed: FloatArray | float = dropped.routed_per_width * work.routed_width
        if dropped.routed_whole:
            unit = BYTES_FP32 if plan.precision.value in ("fp32", "tf32") else BYTES_16BIT
            dispatched = 2.0 * unit * work.experts_per_token * work.hidden_size * cand.expert_tensor_parallel
            routed = dispatched + saved.ffn_per_width * work.routed_width
            moe = moe + 2 * BYTES_FP32 * work.expert_count / norm_split
        shared = saved.ffn_per_width * work.shared_width if dropped.shared else 0.0
        moe = moe + (imbalance * routed + shared) / t
    return np.where(is_selective, dense, 0.0), np.where(is_selective, moe, 0.0)


@dataclass(frozen=True, slots=True)
class _Common:
    """What all stages of a candidate have in common."""

    tokens: FloatArray
    # data-parallel divisors of dense parameters and experts of weights, gradients and optimizer: 1 where not sharded
    weight_shards: tuple[FloatArray, FloatArray]
    gradient_shards: tuple[FloatArray, FloatArray]
    optimizer_shards: tuple[FloatArray, FloatArray]
    kept_dense: FloatArray  # activations per local token of a layer of either kind, and of a recomputed one
    kept_moe: FloatArray
    recomputed_token: FloatArray
    working_dense: FloatArray  # what the backward pass of one layer computes again
    working_moe: FloatArray
    logits: FloatArray  # of a stage with the head


def _common(
    work: Workload, states: StateBytes, plan: TrainingPlan, cand: Candidates, calibration: Calibration, rank: PerRank
) -> _Common:
    tokens = cand.micro_batch_size * work.sequence_length / cand.context_parallel

    def shards(from_stage: int) -> tuple[FloatArray, FloatArray]:
        is_sharded = cand.zero_stage >= from_stage
        shard = np.where(is_sharded, rank.shard, 1.0)
        return shard, np.where(is_sharded, rank.expert_shard, 1.0) if work.expert_count else shard

    dense_token, moe_token, recomputed_token = activation_bytes_per_token(
        work, cand, plan, calibration.moe_imbalance_factor
    )
    share = cand.recomputed_fraction
    kept_recomputed = share * recomputed_token
    kept_dense = kept_moe = kept_recomputed + (1 - share) * dense_token
    wide = 1.0
    if is_prepared_for_4_bit(plan):  # fp32 hidden states make every output of a 4-bit product fp32
        wide = BYTES_FP32 / BYTES_16BIT
    working_dense = working_moe = np.where(share > 0, dense_token * tokens * wide, 0.0)
    if work.expert_count:
        kept_moe = kept_recomputed + (1 - share) * moe_token
        working_moe = np.where(share > 0, np.maximum(moe_token, dense_token) * tokens * wide, 0.0)
    if work.saved.dropped is not None:  # the layer at work holds again what the parts drop of it
        drops = dropped_bytes_per_token(work, cand, plan, work.saved.dropped, calibration.moe_imbalance_factor)
        kept_dense, kept_moe = kept_dense - drops[0], kept_moe - drops[1]
        working_dense = np.where(share > 0, working_dense, drops[0] * tokens)
        has_dense = (np.asarray(work.dense_layer_count) > 0) | (np.asarray(work.moe_share) < 1)  # one answer a depth
        again = np.where(has_dense, np.maximum(*drops), drops[1])
        working_moe = np.where(share > 0, working_moe, again * tokens)
    return _Common(
        tokens=tokens,
        weight_shards=shards(3),
        gradient_shards=shards(2),
        optimizer_shards=shards(1),
        kept_dense=kept_dense,
        kept_moe=kept_moe,
        recomputed_token=recomputed_token,
        working_dense=working_dense,
        working_moe=working_moe,
        logits=logits_bytes(work, states, plan, cand, tokens),
    )


@dataclass(frozen=True, slots=True)
class _StageBytes:
    weight: FloatArray
    gradient: FloatArray
    optimizer: FloatArray
    activation: FloatArray
    logits: FloatArray
    buffer: FloatArray
    parameters: FloatArray
    expert_parameters: FloatArray

    def allocated(self) -> FloatArray:
        return self.weight + self.gradient + self.optimizer + self.activation + self.logits + self.buffer


def _stage_bytes(
    work: Workload,
    states: StateBytes,
    plan: TrainingPlan,
    cand: Candidates,
    calibration: Calibration,
    rank: PerRank,
    stage: Stage,
    common: _Common,
) -> _StageBytes:
    t, tokens = cand.tensor_parallel, common.tokens
    embedding = work.embedding_parameters / t * stage.has_embedding
    head = work.head_parameters / t * stage.has_head_copy
    final = work.final_parameters * stage.has_head
    matrices = stage.dense_layers * rank.dense_layer
    if work.expert_count:
        matrices = matrices + stage.moe_layers * rank.moe_layer
    dense = matrices + embedding + head + final
    experts = stage.moe_layers * rank.experts if work.expert_count else np.zeros_like(dense)

    def sharded(bytes_per_parameter: float, shards: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Dense and expert parameters, each divided by its own group once the ZeRO stage shards this part."""
        if not work.expert_count:
            return bytes_per_parameter * (dense / shards[0])
        return bytes_per_parameter * (dense / shards[0] + experts / shards[1])

    if work.is_frozen:
        weight, gradient, optimizer = _frozen_states(work, plan, stage, cand, rank, matrices, dense, experts)
    else:
        weight = sharded(states.weight, common.weight_shards)
        gradient = sharded(states.gradient, common.gradient_shards)
        optimizer = sharded(states.optimizer, common.optimizer_shards)
        if states.embedding_moments != states.moments:
            extra = (states.embedding_moments - states.moments) * (embedding + head)
            optimizer = optimizer + extra / common.optimizer_shards[0]
    if plan.offload == "optimizer":
        optimizer = np.zeros_like(optimizer)
    elif plan.offload == "parameters":
        weight, gradient, optimizer = (np.zeros_like(weight) for _ in range(3))

    kept = stage.dense_layers * common.kept_dense
    working = common.working_dense
    if work.expert_count:
        kept = kept + stage.moe_layers * common.kept_moe
        working = np.where(stage.moe_layers > 0, common.working_moe, working)
    if plan.offload_activations:
        kept = np.minimum(kept, OFFLOADED_CHECKPOINTS * common.recomputed_token)
    if plan.recipe is Recipe.DEEPSPEED:
        # its pipeline holds the output of every micro-batch in flight until that one's backward pass
        # (deepspeed/runtime/pipe/engine.py, pipe_buffers); Megatron frees it
        kept = kept + np.where(cand.pipeline_parallel > 1, common.recomputed_token, 0.0)
    activation = tokens * stage.in_flight * kept
    # two moments can be the peak: the loss, with the logits alive, or a layer's backward pass, with what it computes
    # again and its own gradients; the head's backward pass has freed the logits by then
    transient = calibration.activation_transient_factor * transient_bytes(work, cand, stage, tokens)
    if not work.is_frozen:
        transient = transient + unit_gradient_bytes(work, states, plan, cand, rank, stage)
    logits = common.logits * stage.has_head
    is_loss = logits > working + transient
    activation = activation + np.where(is_loss, 0.0, working)
    logits = np.where(is_loss, logits, 0.0)
    transient = np.where(is_loss, 0.0, transient)
    buffer = buffer_bytes(work, states, plan, cand, rank, stage, dense, experts) + transient
    stepping = step_bytes(work, states, plan, cand, rank, stage, dense, experts)
    if stepping is not None:  # the third moment has none of these
        buffer = buffer + np.maximum(stepping - activation - logits - transient, 0.0)
    return _StageBytes(weight, gradient, optimizer, activation, logits, buffer, dense + experts, experts)


def _frozen_states(
    work: Workload,
    plan: TrainingPlan,
    stage: Stage,
    cand: Candidates,
    rank: PerRank,
    matrices: FloatArray,
    dense: FloatArray,
    experts: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """LoRA and QLoRA: the frozen base, and adapters with their own gradients and optimizer states."""
    base = float(BYTES_16BIT if plan.weight_bytes_per_parameter is None else plan.weight_bytes_per_parameter)
    matrix_bytes = base
    if work.is_quantized:
        matrix_bytes = NF4_DOUBLE_QUANTIZED_BYTES if plan.double_quantization else NF4_BYTES
    is_sharded = cand.zero_stage >= 3
    shard = np.where(is_sharded, rank.shard, 1.0)
    expert_shard = np.where(is_sharded, rank.expert_shard, 1.0)
    frozen = (matrix_bytes * matrices + base * (dense - matrices)) / shard + matrix_bytes * experts / expert_shard
    share = (stage.dense_layers + stage.moe_layers) / work.layer_count
    adapters = work.adapter_parameters * share / cand.tensor_parallel
    type_bytes = adapter_type(plan)
    adapters_sharded = adapters / np.where(cand.zero_stage >= 1, rank.shard, 1.0)
    return (
        frozen + type_bytes * adapters / shard,
        type_bytes * adapters / np.where(cand.zero_stage >= 2, rank.shard, 1.0),
        2 * type_bytes * adapters_sharded,
    )


def _stages_bytes(
    work: Workload, plan: TrainingPlan, cand: Candidates, calibration: Calibration
) -> Iterator[tuple[Stage, _StageBytes]]:
    """The stages that can be the fullest, and what is on a GPU of each; none that no candidate has."""
    states, rank = state_bytes(plan), per_rank(work, cand)
    common = _common(work, states, plan, cand, calibration, rank)
    for place, stage in enumerate(stages(work, cand)):
        if place == 0 or np.any(stage.exists):
            yield stage, _stage_bytes(work, states, plan, cand, calibration, rank, stage, common)


def reserved_factor(plan: TrainingPlan, zero_stage: FloatArray | float, calibration: Calibration) -> FloatArray | float:
    """What the allocator reserves over what is live; PyTorch's sharded modules gather and reduce in changing sizes."""
    factor = calibration.reserved_factor
    if plan.recipe in PYTORCH_RECIPES:
        return np.where(np.asarray(zero_stage) >= 3, factor[Recipe.FSDP.value], factor[Recipe.PURE_BF16.value])
    return factor[plan.recipe.value]


def memory_per_gpu(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    calibration: Calibration,
    available_bytes: float | FloatArray = math.inf,
) -> MemoryArrays:
    """Memory of the fullest stage of each candidate.

    Parameters
    ----------
    work, plan : Workload, TrainingPlan
        The job.
    cand : Candidates, shape (N,)
    calibration : Calibration
    available_bytes : float or ndarray of shape (N,), default infinite
        What a job may use of the GPU. Close to it the allocator gives cached blocks back before it fails, so that
        reserved memory shrinks towards what the live tensors need. [B]

    Returns
    -------
    MemoryArrays, shape (N,)
    """
    worst: _StageBytes | None = None
    worst_allocated = np.zeros_like(cand.tensor_parallel)
    number = np.zeros_like(worst_allocated)
    for stage, parts in _stages_bytes(work, plan, cand, calibration):
        allocated = parts.allocated() * stage.exists
        if worst is None:
            worst, worst_allocated = parts, allocated
            held, held_experts = parts.parameters, parts.expert_parameters
            continue
        fuller = allocated > worst_allocated
        worst = _StageBytes(
            *(np.where(fuller, getattr(parts, name), getattr(worst, name)) for name in _StageBytes.__slots__)
        )
        worst_allocated = np.maximum(allocated, worst_allocated)
        number = np.where(fuller, stage.number, number)
        held = np.maximum(held, parts.parameters * stage.exists)
        held_experts = np.maximum(held_experts, parts.expert_parameters * stage.exists)
    assert worst is not None  # noqa: S101  (there is always a first stage)
    overhead = np.where(cand.gpu_count > 1, calibration.overhead_bytes_distributed, calibration.overhead_bytes_single)
    # logits are a few blocks that fill segments of their own; what the allocator splits and keeps is the rest
    split = worst_allocated - worst.logits
    easy = worst.logits + split * reserved_factor(plan, cand.zero_stage, calibration)
    pressed = worst_allocated * PRESSED_RESERVED_FACTOR
    reserved = np.maximum(pressed, np.minimum(easy, available_bytes - overhead))
    return MemoryArrays(
        weight_bytes=worst.weight,
        gradient_bytes=worst.gradient,
        optimizer_bytes=worst.optimizer,
        activation_bytes=worst.activation,
        logits_bytes=worst.logits,
        buffer_bytes=worst.buffer,
        allocated_bytes=worst_allocated,
        reserved_bytes=reserved,
        overhead_bytes=overhead,
        total_bytes=reserved + overhead,
        pipeline_stage=number,
        stage_parameters=held,
        stage_expert_parameters=held_experts,
    )


@dataclass(frozen=True, slots=True)
class NeededMemory:
    """What decides whether candidates fit, and what step time takes of their memory."""

    total_bytes: FloatArray  # with the allocator under pressure
    stage_parameters: FloatArray
    stage_expert_parameters: FloatArray


def needed_memory(work: Workload, plan: TrainingPlan, cand: Candidates, calibration: Calibration) -> NeededMemory:
    """`least_total_bytes` of `memory_per_gpu` and the parameters held, without the parts.

    Shares of recomputed layers may have an axis of their own before that of the candidates.
    """
    allocated = held = held_experts = np.zeros_like(cand.tensor_parallel)
    for stage, parts in _stages_bytes(work, plan, cand, calibration):
        allocated = np.maximum(parts.allocated() * stage.exists, allocated)
        held = np.maximum(held, parts.parameters * stage.exists)
        held_experts = np.maximum(held_experts, parts.expert_parameters * stage.exists)
    overhead = np.where(cand.gpu_count > 1, calibration.overhead_bytes_distributed, calibration.overhead_bytes_single)
    return NeededMemory(allocated * PRESSED_RESERVED_FACTOR + overhead, held, held_experts)


def least_total_bytes(memory: MemoryArrays) -> FloatArray:
    """Device memory with the allocator under pressure: what decides whether a candidate fits at all. [B]"""
    return memory.allocated_bytes * PRESSED_RESERVED_FACTOR + memory.overhead_bytes

"""Memory of the most loaded GPU: named parts per pipeline stage, the maximum over the real stages, in steady state.

Activation terms follow Korthikanti et al. [1]_ (16-bit, per layer and local token), extended to gated FFNs, grouped
queries, flash attention and routed experts; states follow [2]_ and the framework recipes of `workload`.

Symbols: T tokens of a micro-batch on a context rank, t p c x n v b m as in `candidates`.

References
----------
.. [1] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", arXiv:2205.05198.
.. [2] S. Rajbhandari et al., "ZeRO", arXiv:1910.02054.
.. [3] D. Narayanan et al., arXiv:2104.04473, section 2.2 (interleaved schedule).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray, StageLayers, stage_layers
from advisor.engine.saved_tensors import is_prepared_for_4_bit
from advisor.engine.specs import RECOMPUTATION_CODES, Precision, Recipe, Recomputation, TrainingPlan
from advisor.engine.units import BYTES_16BIT, BYTES_FP32
from advisor.engine.workload import StateBytes, Workload, state_bytes, uses_fused_loss

# 4-bit NormalFloat: 0.5 byte plus one fp32 constant per 64 weights, or with double quantization 8 bits per 64 plus
# fp32 per 256 blocks (arXiv:2305.14314, section 3: 0.127 bit a parameter).
NF4_BYTES = 0.5 + 4 / 64
NF4_DOUBLE_QUANTIZED_BYTES = 0.5 + 0.127 / 8
# logits per element: a fused or chunked loss keeps one 16-bit buffer, or a chunk of all copies that is no larger.
# Plain losses on 16-bit logits: logits, a shifted copy, log-softmax, its gradient and the logits' gradient, 2 each
# (LitGPT rows of six vocabularies from 32 k to 256 k need 10); Megatron: 16-bit logits, fp32 copy, fp32 gradient.
# Mixed precision computes the loss in fp32: 16-bit logits, log-softmax and two gradients in fp32 less what is freed.
# Models prepared for 4-bit training compute head and loss in fp32 altogether.
LOGITS_BYTES_FUSED = 2.0
LOGITS_BYTES_PLAIN = 10.0
LOGITS_BYTES_MIXED = 12.0
LOGITS_BYTES_QUANTIZED = 16.0
PREFETCHED_UNITS = 2.0  # FSDP and ZeRO-3 gather the next unit while computing the current one
# DeepSpeed ZeRO: the step casts the local shard of the gradients to fp32; reduce and gather buckets hold 5e8 elements
# each by default (DeepSpeed documentation, zero_optimization), in 16 bit
ZERO_BUCKET_ELEMENTS = 5e8
ZERO_BUCKET_BYTES = 2 * 2 * ZERO_BUCKET_ELEMENTS
ZERO_SUB_GROUP_ELEMENTS = 1e9  # ZeRO-3 steps through its shard in sub-groups (DeepSpeed's sub_group_size)
# torch.optim's foreach step holds a list of intermediates as large as the parameters (documentation of AdamW, foreach)
STEP_COPY_RECIPES = (Recipe.FSDP, Recipe.PURE_BF16)
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


@dataclass(frozen=True, slots=True)
class _Stage:
    """What one pipeline stage holds: layers of both kinds, in-flight share, and whether it has embedding and head."""

    dense_layers: FloatArray
    moe_layers: FloatArray
    in_flight: FloatArray  # micro-batches whose activations are kept, per layer
    has_embedding: FloatArray
    has_head: FloatArray
    has_head_copy: FloatArray  # a head matrix of its own (untied, or tied but on another stage than the embedding)
    number: FloatArray
    exists: FloatArray


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


def _stages(work: Workload, cand: Candidates) -> tuple[_Stage, ...]:
    p, v, m = cand.pipeline_parallel, cand.virtual_stage_count, cand.micro_batch_count
    layers: StageLayers = stage_layers(work.layer_count, work.dense_layer_count, work.moe_share, p)
    one = np.ones_like(p)
    zero = np.zeros_like(p)
    single = (p == 1).astype(np.float64)

    def in_flight(stage: FloatArray) -> FloatArray:
        # 1F1B holds p - i micro-batches on stage i; interleaved 2(p - i - 1) + (v - 1)p + 1 chunks of 1/v each [3]
        chunks = np.where(v > 1, 2 * (p - stage - 1) + (v - 1) * p + 1, p - stage)
        return np.minimum(m * v, chunks) / v

    untied = 0.0 if work.tied_embeddings else 1.0
    first = _Stage(layers.dense_first, layers.moe_first, in_flight(zero), one, single, single * untied, zero, one)
    middle = _Stage(layers.dense_middle, layers.moe_middle, in_flight(one), zero, zero, zero, one, layers.has_middle)
    last = _Stage(layers.dense_last, layers.moe_last, in_flight(p - 1), zero, one, one, p - 1, 1 - single)
    return first, middle, last


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


@dataclass(frozen=True, slots=True)
class _PerRank:
    """Parameters of one layer on one rank, and the sizes of the groups that shard them."""

    dense_layer: FloatArray
    moe_layer: FloatArray
    experts: FloatArray
    expert_shard: FloatArray
    shard: FloatArray


def _per_rank(work: Workload, cand: Candidates) -> _PerRank:
    t, x = cand.tensor_parallel, cand.expert_parallel
    replicas = cand.data_parallel * cand.context_parallel
    expert_divisor = x * cand.expert_tensor_parallel
    norms = work.layer_norm_parameters
    return _PerRank(
        dense_layer=(work.dense_layer_parameters - norms) / t + norms,
        moe_layer=(max(work.moe_layer_parameters - norms, 0.0)) / t + (norms if work.expert_count else 0.0),
        experts=work.expert_parameters / expert_divisor,
        # experts are replicated over the ranks that do not split them; never less than one
        expert_shard=np.where(x > 1, np.maximum(replicas * t / expert_divisor, 1.0), cand.shard_group_size),
        shard=cand.shard_group_size,
    )


def _stage_bytes(
    work: Workload,
    states: StateBytes,
    plan: TrainingPlan,
    cand: Candidates,
    calibration: Calibration,
    rank: _PerRank,
    stage: _Stage,
) -> _StageBytes:
    t, zero_stage = cand.tensor_parallel, cand.zero_stage
    tokens = cand.micro_batch_size * work.sequence_length / cand.context_parallel
    embedding = work.embedding_parameters / t * stage.has_embedding
    head = work.head_parameters / t * stage.has_head_copy
    final = work.final_parameters * stage.has_head
    matrices = stage.dense_layers * rank.dense_layer + stage.moe_layers * rank.moe_layer
    dense = matrices + embedding + head + final
    experts = stage.moe_layers * rank.experts

    def sharded(bytes_per_parameter: float, from_stage: int) -> FloatArray:
        """Dense and expert parameters, each divided by its own group once the ZeRO stage shards this part."""
        is_sharded = zero_stage >= from_stage
        return bytes_per_parameter * (
            dense / np.where(is_sharded, rank.shard, 1.0) + experts / np.where(is_sharded, rank.expert_shard, 1.0)
        )

    if work.is_frozen:
        weight, gradient, optimizer = _frozen_states(work, plan, stage, cand, rank, matrices, dense, experts)
    else:
        weight = sharded(states.weight, 3)
        gradient = sharded(states.gradient, 2)
        optimizer = sharded(states.optimizer, 1)
        if states.embedding_moments != states.moments:
            extra = (states.embedding_moments - states.moments) * (embedding + head)
            optimizer = optimizer + extra / np.where(zero_stage >= 1, rank.shard, 1.0)
    if plan.offload == "optimizer":
        optimizer = np.zeros_like(optimizer)
    elif plan.offload == "parameters":
        weight, gradient, optimizer = (np.zeros_like(weight) for _ in range(3))

    dense_token, moe_token, recomputed_token = activation_bytes_per_token(
        work, cand, plan, calibration.moe_imbalance_factor
    )
    share = cand.recomputed_fraction
    kept_dense = share * recomputed_token + (1 - share) * dense_token
    kept_moe = share * recomputed_token + (1 - share) * moe_token
    kept = stage.dense_layers * kept_dense + stage.moe_layers * kept_moe
    if plan.offload_activations:
        kept = np.minimum(kept, OFFLOADED_CHECKPOINTS * recomputed_token)
    if plan.recipe is Recipe.DEEPSPEED:
        # its pipeline holds the output of every micro-batch in flight until that one's backward pass
        # (deepspeed/runtime/pipe/engine.py, pipe_buffers); Megatron frees it
        kept = kept + np.where(cand.pipeline_parallel > 1, recomputed_token, 0.0)
    activation = tokens * stage.in_flight * kept
    # two moments can be the peak: the loss, with the logits alive, or a layer's backward pass, with what it computes
    # again and its own gradients; the head's backward pass has freed the logits by then
    working = np.where(stage.moe_layers > 0, np.maximum(moe_token, dense_token), dense_token) * tokens
    working = np.where(share > 0, working, 0.0)
    transient = calibration.activation_transient_factor * _transient_bytes(work, cand, stage, tokens)
    logits = _logits_bytes(work, states, plan, cand, tokens) * stage.has_head
    is_loss = logits > working + transient
    activation = activation + np.where(is_loss, 0.0, working)
    logits = np.where(is_loss, logits, 0.0)
    buffer = _buffer_bytes(work, states, plan, cand, rank, stage, dense, experts)
    buffer = buffer + np.where(is_loss, 0.0, transient)
    if plan.recipe in STEP_COPY_RECIPES and not plan.optimizer_in_backward and plan.offload == "none":
        # the third moment, the optimizer's step, has none of these but a copy of the trained parameters
        copied = _trained_bytes(work, states, plan, cand, rank, stage, dense, experts)
        buffer = buffer + np.maximum(copied - activation - logits - np.where(is_loss, 0.0, transient), 0.0)
    return _StageBytes(weight, gradient, optimizer, activation, logits, buffer, dense + experts, experts)


def _frozen_states(
    work: Workload,
    plan: TrainingPlan,
    stage: _Stage,
    cand: Candidates,
    rank: _PerRank,
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
    adapter_type = _adapter_type(plan)
    adapters_sharded = adapters / np.where(cand.zero_stage >= 1, rank.shard, 1.0)
    return (
        frozen + adapter_type * adapters / shard,
        adapter_type * adapters / np.where(cand.zero_stage >= 2, rank.shard, 1.0),
        2 * adapter_type * adapters_sharded,
    )


def _trained_bytes(
    work: Workload,
    states: StateBytes,
    plan: TrainingPlan,
    cand: Candidates,
    rank: _PerRank,
    stage: _Stage,
    dense: FloatArray,
    experts: FloatArray,
) -> FloatArray:
    """Trained parameters that a rank steps."""
    is_sharded = cand.zero_stage >= 1
    shard = np.where(is_sharded, rank.shard, 1.0)
    if work.is_frozen:
        share = (stage.dense_layers + stage.moe_layers) / work.layer_count
        return _adapter_type(plan) * work.adapter_parameters * share / cand.tensor_parallel / shard
    return states.weight * (dense / shard + experts / np.where(is_sharded, rank.expert_shard, 1.0))


def _adapter_type(plan: TrainingPlan) -> int:
    return BYTES_16BIT if plan.recipe is Recipe.PURE_BF16 else BYTES_FP32


def _logits_bytes(
    work: Workload, states: StateBytes, plan: TrainingPlan, cand: Candidates, tokens: FloatArray
) -> FloatArray:
    if uses_fused_loss(plan):
        per_element = LOGITS_BYTES_FUSED
    elif is_prepared_for_4_bit(plan):
        per_element = LOGITS_BYTES_QUANTIZED
    elif plan.recipe is Recipe.FSDP and states.gather:
        per_element = LOGITS_BYTES_MIXED
    else:
        per_element = LOGITS_BYTES_PLAIN
    logits = per_element * work.vocab_size * tokens / cand.tensor_parallel
    if plan.recipe is Recipe.MEGATRON:
        return logits
    # the head's input is gathered from the tensor ranks, and its gradient
    return logits + np.where(cand.tensor_parallel > 1, 2 * BYTES_16BIT * work.hidden_size * tokens, 0.0)


def _transient_bytes(work: Workload, cand: Candidates, stage: _Stage, tokens: FloatArray) -> FloatArray:
    """What one layer's backward pass needs for a moment."""
    inner = np.where(
        stage.moe_layers > 0,
        max(work.routed_width + work.shared_width, work.ffn_size if work.dense_layer_count else 0),
        work.ffn_size,
    )
    return BYTES_16BIT * tokens * (2 * work.hidden_size + work.ffn_inner_copies * inner / cand.tensor_parallel)


def _buffer_bytes(
    work: Workload,
    states: StateBytes,
    plan: TrainingPlan,
    cand: Candidates,
    rank: _PerRank,
    stage: _Stage,
    dense: FloatArray,
    experts: FloatArray,
) -> FloatArray:
    """Gathered units, 16-bit copies, gradient buckets and scratch."""
    t = cand.tensor_parallel
    has_moe = stage.moe_layers > 0
    unit = np.where(has_moe, rank.moe_layer + rank.experts, rank.dense_layer)
    root = (work.vocab_size * work.hidden_size) / t * np.maximum(stage.has_embedding, stage.has_head)
    gradient_bytes = 0.0 if work.is_frozen else float(BYTES_16BIT)
    unit_bytes = float(BYTES_16BIT)
    if work.is_quantized:  # 4-bit weights are gathered as they are stored
        unit_bytes = NF4_DOUBLE_QUANTIZED_BYTES if plan.double_quantization else NF4_BYTES
    gathered = PREFETCHED_UNITS * unit_bytes * unit + BYTES_16BIT * root + gradient_bytes * (unit + root)
    # with ZeRO 2 or less, a recipe whose parameters are fp32 keeps its 16-bit copy for the whole step
    copies = states.gather * (dense + experts) if not work.is_frozen else 0.0 * dense
    buffer = np.where(cand.zero_stage >= 3, gathered, copies)
    if plan.recipe is Recipe.MEGATRON and not work.is_frozen and states.gradient >= BYTES_FP32:
        shapes = work.attention_matrix_count + np.where(stage.dense_layers > 0, work.dense_ffn_count, 0.0)
        scratch = (shapes + root * t * stage.has_head) / t
        scratch = scratch + np.where(
            has_moe, work.expert_ffn_count / cand.expert_tensor_parallel + work.shared_ffn_count / t, 0.0
        )
        buffer = buffer + BYTES_16BIT * scratch
    if plan.recipe in (Recipe.FSDP, Recipe.PURE_BF16) and not work.is_frozen:
        # data parallelism of PyTorch reduces gradients in buckets of their own beside them (DistributedDataParallel,
        # gradient_as_bucket_view False); without synchronization sharded modules keep whole gradients (FSDP, no_sync)
        is_copied = (cand.zero_stage < 2) & (cand.data_parallel > 1)
        if plan.whole_gradients:
            is_copied = cand.data_parallel > 1
        buffer = buffer + np.where(is_copied, states.gradient * (dense + experts), 0.0)
    if work.is_quantized:  # the 16-bit copy of one matrix at a time
        buffer = buffer + BYTES_16BIT * work.hidden_size * work.ffn_size / t
    if plan.recipe is Recipe.DEEPSPEED and not work.is_frozen and plan.offload == "none":
        shards = dense / rank.shard + experts / rank.expert_shard
        buckets = ZERO_BUCKET_BYTES * np.minimum(1.0, (dense + experts) / ZERO_BUCKET_ELEMENTS)
        stepped = np.where(cand.zero_stage >= 3, np.minimum(shards, ZERO_SUB_GROUP_ELEMENTS), shards)
        buffer = buffer + np.where(cand.zero_stage >= 1, BYTES_FP32 * stepped + buckets, 0.0)
        if plan.precision is Precision.BF16 and states.gradient >= BYTES_FP32:
            kept = np.where(cand.zero_stage >= 2, shards, dense + experts)
            buffer = buffer + BYTES_16BIT * kept  # its BF16 optimizer accumulates in fp32 beside the 16-bit gradients
    return buffer


def memory_per_gpu(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    calibration: Calibration,
    available_bytes: float = math.inf,
) -> MemoryArrays:
    """Memory of the fullest stage of each candidate.

    Parameters
    ----------
    work, plan : Workload, TrainingPlan
        The job.
    cand : Candidates, shape (N,)
    calibration : Calibration
    available_bytes : float, default infinite
        What a job may use of the GPU. Close to it the allocator gives cached blocks back before it fails, so that
        reserved memory shrinks towards what the live tensors need. [B]

    Returns
    -------
    MemoryArrays, shape (N,)
    """
    states, rank = state_bytes(plan), _per_rank(work, cand)
    worst: _StageBytes | None = None
    worst_allocated = np.zeros_like(cand.tensor_parallel)
    number = np.zeros_like(worst_allocated)
    for stage in _stages(work, cand):
        parts = _stage_bytes(work, states, plan, cand, calibration, rank, stage)
        allocated = parts.allocated() * stage.exists
        if worst is None:
            worst, worst_allocated = parts, allocated
            held, held_experts = parts.parameters, parts.expert_parameters
            continue
        fuller = allocated > worst_allocated
        worst = _StageBytes(
            *(np.where(fuller, getattr(parts, f.name), getattr(worst, f.name)) for f in fields(_StageBytes))
        )
        worst_allocated = np.maximum(allocated, worst_allocated)
        number = np.where(fuller, stage.number, number)
        held = np.maximum(held, parts.parameters * stage.exists)
        held_experts = np.maximum(held_experts, parts.expert_parameters * stage.exists)
    assert worst is not None  # noqa: S101  (there is always a first stage)
    overhead = np.where(cand.gpu_count > 1, calibration.overhead_bytes_distributed, calibration.overhead_bytes_single)
    easy = worst_allocated * calibration.reserved_factor[plan.recipe.value]
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


def least_total_bytes(memory: MemoryArrays) -> FloatArray:
    """Device memory with the allocator under pressure: what decides whether a candidate fits at all. [B]"""
    return memory.allocated_bytes * PRESSED_RESERVED_FACTOR + memory.overhead_bytes

"""Step time by parts: compute by operation, communication that stays exposed, pipeline bubble, optimizer.

What one layer computes comes from `operations`; here are the schedule, the links and what is left to wait for.

Symbols: T tokens of a micro-batch on a context rank; h, f, a, d as in `workload`; t p c x n v b m as in `candidates`.

References
----------
.. [1] D. Narayanan et al., arXiv:2104.04473 (pipeline schedules, tensor-parallel communication volumes).
.. [2] V. Korthikanti et al., arXiv:2205.05198 (sequence parallelism: all-gather and reduce-scatter of the same volume).
.. [3] S. Rajbhandari et al., arXiv:2104.07857, section 6.1 (offloaded weights: bandwidth-centric partitioning).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from advisor.engine import collectives
from advisor.engine.buffers import NF4_BYTES, NF4_DOUBLE_QUANTIZED_BYTES
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray, stage_layers
from advisor.engine.machine import Machine
from advisor.engine.memory import MemoryArrays, NeededMemory
from advisor.engine.operations import FLASH_BACKWARD_FLOPS, LayerCosts, layer_compute, layer_costs
from advisor.engine.specs import RECOMPUTATION_CODES, Recomputation, TrainingPlan
from advisor.engine.units import BYTES_16BIT, BYTES_FP8, BYTES_FP32
from advisor.engine.workload import Workload, state_bytes

OPTIMIZER_READS_WRITES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeArrays:
    """Seconds of one optimizer step and its parts, shape (N,)."""

    step_seconds: FloatArray
    compute_seconds: FloatArray
    exposed_communication_seconds: FloatArray
    bubble_seconds: FloatArray
    optimizer_seconds: FloatArray


@dataclass(frozen=True, slots=True)
class _Links:
    """Achieved bandwidth and latency of each communication group."""

    tensor_rate: FloatArray
    tensor_latency: FloatArray
    context_rate: FloatArray
    data_rate: FloatArray
    data_latency: FloatArray
    shard_rate: FloatArray  # ranks that share one sharded copy; all replicas unless HSDP
    shard_latency: FloatArray
    copies_rate: FloatArray  # HSDP: ranks that hold the same shard
    expert_data_rate: FloatArray
    pipeline_rate: FloatArray


def _links(cand: Candidates, machine: Machine, *, has_experts: bool) -> _Links:
    """Rates of groups that no candidate has are 1; nothing moves there."""
    t, c, n, p = cand.tensor_parallel, cand.context_parallel, cand.data_parallel, cand.pipeline_parallel
    up, out, domain = machine.scale_up_bytes_per_second, machine.scale_out_bytes_per_second, machine.domain_size

    def rate(group: FloatArray, stride: FloatArray) -> FloatArray:
        local = collectives.members_per_domain(group, stride, domain)
        domains = group / local
        congested = out / (1 + machine.scale_out_congestion_fraction * np.log2(domains))
        return collectives.group_bytes_per_second(group, local, up, congested)

    def latency(group: FloatArray) -> FloatArray:
        local = collectives.members_per_domain(group, t, domain)
        hop = np.where(t * group > domain, machine.scale_out_hop_seconds, machine.scale_up_hop_seconds)
        return collectives.group_latency_seconds(group, local, hop, machine.ring_hop_seconds)

    replicas, shard = n * c, cand.shard_group_size
    one = np.ones_like(t)
    data_rate, data_latency = rate(replicas, t), latency(replicas)
    has_parts = bool(np.any(shard != replicas))
    return _Links(
        tensor_rate=rate(t, one),
        tensor_latency=machine.scale_up_hop_seconds * np.log2(t),
        context_rate=rate(c, t) if np.any(c > 1) else one,
        data_rate=data_rate,
        data_latency=data_latency,
        shard_rate=rate(shard, t) if has_parts else data_rate,
        shard_latency=latency(shard) if has_parts else data_latency,
        copies_rate=rate(replicas / shard, t * shard) if has_parts else one,
        expert_data_rate=(
            rate(cand.expert_replicas, cand.expert_parallel * cand.expert_tensor_parallel) if has_experts else one
        ),
        pipeline_rate=np.where(t * replicas * p <= domain, up, out),
    )


def _all_to_all_seconds(
    work: Workload, cand: Candidates, machine: Machine, tokens: FloatArray, calibration: Calibration
) -> FloatArray:
    """Exposed time of one dispatch or combine: 2 T e h / t bytes leave each rank, of which some cross domains.

    Across domains a deduplicated token goes once to each domain that holds one of its experts: with e picks among g
    domains that is g (1 - (1 - 1/g)^e) domains, one of them at home on average 1/g of the time. The plain exchange
    sends e copies, and keeps the layer waiting for all of them.
    """
    x = cand.expert_parallel
    local = collectives.members_per_domain(x, cand.expert_tensor_parallel, machine.domain_size)
    domains = x / local
    per_pick = BYTES_16BIT * tokens * work.hidden_size / cand.tensor_parallel
    volume = per_pick * work.experts_per_token
    picks = work.experts_per_token
    is_once = machine.is_dispatch_deduplicated
    reached = np.where(is_once, domains * (1 - (1 - 1 / domains) ** picks), picks)
    remote = per_pick * reached * (1 - 1 / domains)
    up, out = machine.scale_up_bytes_per_second, machine.scale_out_bytes_per_second
    inside = calibration.expert_exposed_fraction * volume * (1 - 1 / local) / up
    exposed = np.where(is_once, calibration.expert_exposed_fraction_scale_out, 1.0)
    across = exposed * np.where(domains > 1, remote / out, 0.0)
    hop = np.where(domains > 1, machine.scale_out_hop_seconds, machine.scale_up_hop_seconds)
    return np.where(x > 1, machine.dispatch_exposed_fraction * (inside + across) + hop * np.log2(x), 0.0)


@dataclass(frozen=True, slots=True)
class _Waits:
    """Seconds that one layer's compute waits for communication."""

    dense_forward: FloatArray
    dense_backward: FloatArray
    moe_forward: FloatArray
    moe_backward: FloatArray


def _layer_communication(
    work: Workload,
    cand: Candidates,
    machine: Machine,
    links: _Links,
    calibration: Calibration,
    tokens: FloatArray,
    core: FloatArray,
) -> _Waits:
    """Communication of one dense and one mixture-of-experts layer that compute has to wait for."""
    t, c = cand.tensor_parallel, cand.context_parallel
    hidden_bytes = BYTES_16BIT * tokens * work.hidden_size
    shift = collectives.ring_shift_seconds(hidden_bytes, t, links.tensor_rate, links.tensor_latency)
    tensor = machine.tensor_exposed_fraction * np.where(t > 1, 4 * shift, 0.0)
    if not np.any(c > 1) and not np.any(work.expert_count):
        return _Waits(tensor, tensor, tensor, tensor)
    kv_bytes = BYTES_16BIT * tokens * work.kv_pair_width / t
    ring = (c - 1) * (kv_bytes / links.context_rate + machine.scale_up_hop_seconds)
    context = np.maximum(ring - calibration.context_overlap_fraction * core, 0.0)
    context_backward = np.maximum(2 * ring - calibration.context_overlap_fraction * FLASH_BACKWARD_FLOPS * core, 0.0)
    forward, backward = tensor + context, tensor + context_backward
    if not np.any(work.expert_count):
        return _Waits(forward, backward, forward, backward)
    exchange = 2 * _all_to_all_seconds(work, cand, machine, tokens, calibration)
    # experts that are not split over tensor ranks exchange tokens instead of all-reducing; those that are gather the
    # copies of every token for all their experts, and scatter them back, with nothing to hide behind
    is_split = (cand.expert_tensor_parallel > 1) & (cand.expert_parallel > 1)
    gathered = 2 * collectives.ring_shift_seconds(
        work.experts_per_token * hidden_bytes, cand.expert_tensor_parallel, links.tensor_rate, links.tensor_latency
    )
    moe_tensor = np.where(is_split, 0.5 * tensor + gathered, tensor * np.where(cand.expert_parallel > 1, 0.5, 1.0))
    moe = moe_tensor + exchange
    return _Waits(forward, backward, moe + context, moe + context_backward)


def step_time(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    machine: Machine,
    memory: MemoryArrays | NeededMemory,
    calibration: Calibration,
    costs: LayerCosts | None = None,
) -> TimeArrays:
    """Seconds of one optimizer step of each candidate.

    Parameters
    ----------
    work, plan, machine : Workload, TrainingPlan, Machine
        The job and the achieved rates.
    cand, memory : Candidates, MemoryArrays, shape (N,)
        Layouts, and their parameters per stage.
    calibration : Calibration
    costs : LayerCosts, optional
        `layer_costs` of the same job, machine and constants, where they are known already.

    Returns
    -------
    TimeArrays, shape (N,)
        The parts sum to `step_seconds`. [s]
    """
    t, p, c, m, v = (
        cand.tensor_parallel,
        cand.pipeline_parallel,
        cand.context_parallel,
        cand.micro_batch_count,
        cand.virtual_stage_count,
    )
    norm_split = np.where(cand.uses_sequence_parallel > 0, t, 1.0)
    tokens = cand.micro_batch_size * work.sequence_length / c
    has_experts = bool(np.any(work.expert_count))
    links = _links(cand, machine, has_experts=has_experts)
    recompute = cand.recomputed_fraction
    layer = layer_compute(work, cand, costs or layer_costs(work, machine, calibration), tokens, norm_split)
    wait = _layer_communication(work, cand, machine, links, calibration, tokens, layer.core)
    comm_dense = comm_moe = wait.dense_forward * (1 + recompute) + wait.dense_backward
    # the GPU idles where launching a layer takes the host longer than its kernels and its waits take
    host = calibration.layer_host_seconds * machine.launch_factor
    dense_forward = moe_forward = np.maximum(layer.dense_forward, host - wait.dense_forward)
    dense_backward = moe_backward = np.maximum(layer.dense_backward, host - wait.dense_backward)
    is_selective = cand.recomputation == RECOMPUTATION_CODES[Recomputation.SELECTIVE]
    core_again = np.where(is_selective, work.repeated_core * layer.core, 0.0)
    repeated = core_again
    if np.any(work.repeated_dense_share):  # the stated parts' share of what a forward pass takes beside the core
        again = work.repeated_dense_share * (dense_forward - layer.core)
        repeated = core_again + np.where(is_selective, again, 0.0)
    left_out = recompute * tokens / t * 2 * work.unrepeated_count / machine.gemm_flops_per_second
    compute_dense = compute_moe = dense_forward * (1 + recompute) - left_out + dense_backward + repeated
    if has_experts:
        comm_moe = wait.moe_forward * (1 + recompute) + wait.moe_backward
        moe_host = calibration.moe_layer_host_seconds * machine.launch_factor
        moe_forward = np.maximum(layer.moe_forward, moe_host - wait.moe_forward)
        moe_backward = np.maximum(layer.moe_backward, moe_host - wait.moe_backward)
        repeated = core_again
        if np.any(work.repeated_moe_share):
            again = work.repeated_moe_share * (moe_forward - layer.core)
            exchanged = work.repeated_exchange * (wait.moe_forward - wait.dense_forward)
            repeated = core_again + np.where(is_selective, again + exchanged, 0.0)
        compute_moe = moe_forward * (1 + recompute) + moe_backward + repeated

    if np.any(cand.zero_stage >= 3):
        sharded = cand.zero_stage >= 3
        fsdp_dense, fsdp_moe = _sharded_exposed(
            work,
            plan,
            cand,
            links,
            calibration,
            # the layer's other collectives pass over other links or wait themselves: weights travel meanwhile
            (dense_forward + wait.dense_forward, compute_dense - dense_forward + comm_dense - wait.dense_forward),
            (moe_forward + wait.moe_forward, compute_moe - moe_forward + comm_moe - wait.moe_forward),
        )
        comm_dense = comm_dense + np.where(sharded, fsdp_dense, 0.0)
        comm_moe = comm_moe + np.where(sharded, fsdp_moe, 0.0)

    # stages: head on the last (or only) one
    head_passes = 2.0 if work.is_frozen else 3.0
    head = (
        tokens
        / t
        * (
            head_passes * 2 * work.head_parameters / machine.head_flops_per_second
            + 6 * BYTES_FP32 * work.vocab_size / machine.memory_bytes_per_second
        )
    )
    layers = stage_layers(work.layer_count, work.dense_layer_count, work.moe_share, p)
    single = p == 1
    compute_all = (
        (layers.dense_first, layers.moe_first, np.where(single, head, 0.0)),
        (layers.dense_middle, layers.moe_middle, 0.0),
        (layers.dense_last, layers.moe_last, np.where(single, 0.0, head)),
    )
    hidden_bytes = BYTES_16BIT * tokens * work.hidden_size
    transfer = np.where(
        p > 1,
        calibration.pipeline_exposed_fraction
        * 2
        * v
        * (hidden_bytes / norm_split / links.pipeline_rate + machine.scale_out_hop_seconds),
        0.0,
    )
    stage_compute = stage_comm = np.zeros_like(tokens)
    for dense_layers, moe_layers, extra in compute_all:
        compute, comm = dense_layers * compute_dense, dense_layers * comm_dense
        if has_experts:
            compute, comm = compute + moe_layers * compute_moe, comm + moe_layers * comm_moe
        compute, comm = compute + extra, comm + transfer
        slower = compute + comm > stage_compute + stage_comm
        stage_compute, stage_comm = np.where(slower, compute, stage_compute), np.where(slower, comm, stage_comm)
    stage_compute = stage_compute + calibration.micro_batch_overhead_seconds

    total_layers_dense = work.layer_count - (work.layer_count - work.dense_layer_count) * work.moe_share
    total_layers_moe = work.layer_count - total_layers_dense
    all_layers = total_layers_dense * (compute_dense + comm_dense)
    if has_experts:
        all_layers = all_layers + total_layers_moe * (compute_moe + comm_moe)
    mean_stage = (all_layers + head) / p + transfer
    bubble = calibration.bubble_factor * (p - 1) / v * mean_stage

    data = _data_parallel_exposed(work, plan, cand, links, memory, calibration, stage_compute)
    optimizer = _optimizer_seconds(work, plan, cand, machine, memory) + calibration.step_overhead_seconds
    straggle = 1 + calibration.straggler_fraction_per_doubling * np.log2(
        np.maximum(cand.gpu_count / machine.domain_size, 1.0)
    )
    compute_seconds = m * stage_compute * straggle
    exposed = (m * stage_comm + data) * straggle
    bubble = bubble * straggle
    return TimeArrays(
        step_seconds=compute_seconds + exposed + bubble + optimizer,
        compute_seconds=compute_seconds,
        exposed_communication_seconds=exposed,
        bubble_seconds=bubble,
        optimizer_seconds=optimizer,
    )


def _sharded_exposed(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    links: _Links,
    calibration: Calibration,
    dense_compute: tuple[FloatArray, FloatArray],
    moe_compute: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Exposed part of gathering weights (forward, backward) and scattering gradients of one layer, per micro-batch.

    Experts that a group splits are sharded over the ranks that hold the same ones only; the others as everything else.
    """
    t, shard = cand.tensor_parallel, cand.shard_group_size
    reduce_bytes = 0.0 if work.is_frozen else state_bytes(plan).gradient_reduce
    weight_bytes = float(BYTES_FP8 if plan.gathers_fp8_weights else BYTES_16BIT)
    if work.is_quantized:
        weight_bytes = NF4_DOUBLE_QUANTIZED_BYTES if plan.double_quantization else NF4_BYTES
    copies = cand.data_parallel * cand.context_parallel / shard
    is_copied = bool(np.any(copies > 1))
    is_split = cand.expert_parallel > 1
    ring = collectives.ring_shift_seconds

    def exposed(
        parameters: FloatArray, experts: FloatArray | None, compute: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        sharded = parameters if experts is None else parameters + np.where(is_split, 0.0, experts)

        def shift(unit_bytes: float) -> FloatArray:
            seconds = ring(unit_bytes * sharded, shard, links.shard_rate, links.shard_latency)
            if experts is None:
                return seconds
            split = np.where(is_split, experts, 0.0)
            return seconds + ring(unit_bytes * split, cand.expert_replicas, links.expert_data_rate)

        gather, scatter = shift(weight_bytes), shift(reduce_bytes) if reduce_bytes else np.zeros_like(t)
        # HSDP: gradients of each shard are all-reduced (two shifts) over the ranks that hold the same shard
        replicate = 2 * ring(reduce_bytes * sharded / shard, copies, links.copies_rate) if is_copied else 0.0
        forward, backward = compute
        waits = np.maximum(gather - calibration.fsdp_overlap_fraction * forward, 0.0)
        total_backward = gather + scatter + replicate
        waits = waits + np.maximum(total_backward - calibration.fsdp_overlap_fraction * backward, 0.0)
        return waits + calibration.fsdp_interference_fraction * (
            np.minimum(gather, forward) + np.minimum(total_backward, backward)
        )

    dense = exposed(work.dense_layer_parameters / t, None, dense_compute)
    if not np.any(work.expert_count):
        return dense, dense
    experts = work.expert_parameters / (cand.expert_parallel * cand.expert_tensor_parallel)
    return dense, exposed(work.moe_layer_parameters / t, experts, moe_compute)


def _data_parallel_exposed(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    links: _Links,
    memory: MemoryArrays | NeededMemory,
    calibration: Calibration,
    micro_batch_seconds: FloatArray,
) -> FloatArray:
    """Gradient reduction (ZeRO 2: after every micro-batch) and weight gathering once per step, less what hides."""
    states = state_bytes(plan)
    dense = memory.stage_parameters - memory.stage_expert_parameters
    experts = memory.stage_expert_parameters
    if work.is_frozen:
        dense = np.full_like(dense, work.adapter_parameters) / (cand.tensor_parallel * cand.pipeline_parallel)
        experts = np.zeros_like(dense)
    replicas = cand.data_parallel * cand.context_parallel
    bytes_moved = states.gradient_reduce + np.where(cand.zero_stage >= 1, BYTES_16BIT, states.gradient_reduce)
    seconds = collectives.ring_shift_seconds(bytes_moved * dense, replicas, links.data_rate, 2 * links.data_latency)
    if np.any(work.expert_count):
        seconds = seconds + collectives.ring_shift_seconds(
            bytes_moved * experts, cand.expert_replicas, links.expert_data_rate
        )
    # a plain schedule leaves the last micro-batch to hide behind; interleaving finishes its chunks one after another,
    # (v - 1) p / v micro-batches apart in all
    p, v = cand.pipeline_parallel, cand.virtual_stage_count
    window = np.minimum(np.maximum((v - 1) * p / v, 1.0), cand.micro_batch_count)
    hidden = calibration.data_overlap_fraction * window * micro_batch_seconds
    exposed = np.maximum(seconds - hidden, calibration.data_exposed_fraction * seconds)
    every_time = cand.zero_stage == 2
    if np.any(every_time) and not plan.whole_gradients:
        # sharded gradients are scattered after each backward pass, behind which that much hides, not once per step
        scatter = seconds * states.gradient_reduce / bytes_moved
        behind = calibration.data_overlap_fraction * micro_batch_seconds
        waits = np.maximum(scatter - behind, calibration.data_exposed_fraction * scatter)
        exposed = exposed + np.where(every_time, (cand.micro_batch_count - 1) * waits, 0.0)
    return np.where(cand.zero_stage < 3, exposed, 0.0)


def _optimizer_seconds(
    work: Workload, plan: TrainingPlan, cand: Candidates, machine: Machine, memory: MemoryArrays | NeededMemory
) -> FloatArray:
    """Reads and writes of states, weights and gradients of the local shard; host transfers when offloaded."""
    states = state_bytes(plan)
    per_parameter = OPTIMIZER_READS_WRITES * states.optimizer + states.weight + states.gradient_reduce
    held, experts = memory.stage_parameters, memory.stage_expert_parameters
    if work.is_frozen:
        held = np.full_like(held, work.adapter_parameters) / (cand.tensor_parallel * cand.pipeline_parallel)
        experts = np.zeros_like(held)
    local = (held - experts) / np.where(cand.zero_stage >= 1, cand.shard_group_size, 1.0)
    if np.any(work.expert_count):
        expert_shard = np.where(cand.expert_parallel > 1, cand.expert_replicas, cand.shard_group_size)
        local = local + experts / np.where(cand.zero_stage >= 1, expert_shard, 1.0)
    seconds = per_parameter * local / machine.memory_bytes_per_second
    if plan.offload != "none":
        # gradients down, updated weights up; the host optimizer streams its states at about the link's rate
        moved = (states.gradient_reduce + states.weight) * local
        if plan.offload == "parameters":
            # each pass fetches the weights; sharded ones come through all links at once and are then gathered [3]
            fetched = np.where(cand.zero_stage >= 3, local, held)
            moved = moved + 2 * BYTES_16BIT * fetched * cand.micro_batch_count
        seconds = seconds + moved / machine.host_bytes_per_second
    return seconds

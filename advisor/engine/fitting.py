"""Which cluster sizes hold a job at all: memory alone, without step time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from advisor.engine.buffers import NF4_BYTES, NF4_DOUBLE_QUANTIZED_BYTES, adapter_type
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates
from advisor.engine.evaluate import BLOCK_SIZE
from advisor.engine.layouts import BATCH_TOLERANCE_FRACTION, enumerate_layouts
from advisor.engine.machine import domain_size
from advisor.engine.memory import memory_per_gpu
from advisor.engine.specs import GpuSpec, LayoutRequest, ModelSpec, TrainingPlan
from advisor.engine.units import BYTES_16BIT
from advisor.engine.workload import Workload, state_bytes

LARGEST_SEARCHED_GPU_COUNT = 16_384


def available_bytes(gpu: GpuSpec, plan: TrainingPlan) -> float:
    """What a job may use of one GPU: what the driver shows, less the reserve the user asked for. [B]"""
    return (gpu.memory_bytes - plan.reserve_bytes) * (1 - plan.memory_headroom_fraction)


def model_state_bytes(work: Workload, plan: TrainingPlan) -> float:
    """Weights, gradients and optimizer states of the whole model, held once. [B]"""
    states = state_bytes(plan)
    if work.is_frozen:
        # a frozen base, in 4 bit under QLoRA but for embedding and head; adapters with gradient and two moments
        whole = work.embedding_parameters + (0.0 if work.tied_embeddings else work.head_parameters)
        if not work.is_quantized:
            whole = work.parameter_count
        four_bit = NF4_DOUBLE_QUANTIZED_BYTES if plan.double_quantization else NF4_BYTES
        base = BYTES_16BIT * whole + four_bit * (work.parameter_count - whole)
        return base + 4 * adapter_type(plan) * work.adapter_parameters
    return work.parameter_count * (states.weight + states.gradient + states.optimizer)


def server_multiples(gpus_per_server: int, limit: int) -> list[int]:
    """Cluster sizes to try: parts of one server, then whole servers, about four sizes an octave."""
    sizes = [size for size in (1, 2, 4) if size < gpus_per_server]
    servers = 1
    while servers * gpus_per_server <= limit:
        sizes.append(servers * gpus_per_server)
        servers = (
            servers + 1 if servers < 8 else int(np.ceil(servers * 1.2 / 4) * 4) if servers < 64 else servers * 5 // 4
        )
    return sizes


def whole_servers(gpu_count: int, gpus_per_server: int) -> int:
    """GPUs of the servers that hold `gpu_count`."""
    return -(-gpu_count // gpus_per_server) * gpus_per_server


def least_memory_layouts(
    model: ModelSpec, plan: TrainingPlan, request: LayoutRequest, gpu_count: int, domain: int
) -> Candidates:
    """Of the admissible layouts those that can need least: where the request leaves it open, one sequence in a
    micro-batch and no interleaving; recomputation is left as it is.
    """
    least = replace(
        request,
        micro_batch_size=request.micro_batch_size or 1,
        virtual_stage_count=request.virtual_stage_count or 1,
    )
    candidates = enumerate_layouts(model, plan, least, [gpu_count], domain)
    if request.micro_batch_size is not None:
        return candidates
    moved = np.abs(candidates.global_batch_size - plan.global_batch_size)
    return candidates.take(np.flatnonzero(moved <= BATCH_TOLERANCE_FRACTION * plan.global_batch_size))


def smallest_gpu_count_that_fits(
    model: ModelSpec,
    plan: TrainingPlan,
    work: Workload,
    request: LayoutRequest,
    gpu: GpuSpec,
    gpus_per_server: int,
    calibration: Calibration,
    limit: int = LARGEST_SEARCHED_GPU_COUNT,
) -> int | None:
    """Smallest cluster of whole servers (or a part of one) on which some layout fits; None within `limit`."""
    budget = available_bytes(gpu, plan)
    if budget <= 0:
        return None
    domain = domain_size(gpu, gpus_per_server)
    floor = model_state_bytes(work, plan) / budget if plan.offload == "none" and not work.is_frozen else 0
    for size in server_multiples(gpus_per_server, limit):
        if size < floor:
            continue
        candidates = least_memory_layouts(model, plan, request, size, domain)
        for start in range(0, len(candidates), BLOCK_SIZE):
            block = candidates.take(slice(start, start + BLOCK_SIZE))
            if np.any(memory_per_gpu(work, plan, block, calibration, budget).total_bytes <= budget):
                return size
    return None

"""What a run asks of storage and hosts: checkpoint bytes, retention, read and write rates, host memory, CPU cores.

A checkpoint holds what a restart needs: weights and optimizer state of the parameters that are trained, not gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from advisor.engine.specs import Assumption, Method, Optimizer, Origin, Precision, Recipe, TrainingPlan
from advisor.engine.units import BYTES_16BIT, BYTES_FP32, GIBI

FloatArray = NDArray[np.float64]

ADAPTER_METHODS = (Method.LORA, Method.QLORA)

# Bytes per trained parameter of the optimizer's running averages, held in 32 bits where the optimizer has any.
_MOMENT_BYTES: dict[Optimizer, float] = {
    Optimizer.ADAMW: 8.0,  # two averages, arXiv:1711.05101
    # two averages in 8 bits, and for each a 32-bit scale for a block of 2048 (arXiv:2110.02861 section 2)
    Optimizer.ADAMW_8BIT: 2.0 + 2 * BYTES_FP32 / 2048,
    Optimizer.LION: 4.0,  # one average, arXiv:2302.06675
    Optimizer.SGD: 4.0,  # momentum
    Optimizer.MUON: 4.0,  # momentum of the matrices
    # a row and a column of each matrix instead of the matrix (arXiv:1804.04235): under 1/1000 of the rest
    Optimizer.ADAFACTOR: 0.0,
}

DEFAULT_KEPT_CHECKPOINTS = Assumption(
    name="kept_checkpoint_count",
    value=3,
    unit="1",
    origin=Origin.DERIVED,
    source="the newest, one before it in case the newest is damaged, and one that is being written; no published norm",
)
DEFAULT_CORES_PER_GPU = Assumption(
    name="cpu_cores_per_gpu",
    value=8,
    unit="1",
    origin=Origin.DERIVED,
    source=(
        "one for the training process, four for the loader's workers, one for the collective library's proxy, one for "
        "the checkpoint writer, one for the system; a floor: DGX H100 has 14 cores a GPU, DGX A100 16"
    ),
)
HOST_RESERVE_BYTES_PER_SERVER = 64 * GIBI  # system, page cache of the loader, monitoring: a planning value


def checkpoint_bytes_per_parameter(plan: TrainingPlan) -> float:
    """Bytes that one trained parameter takes in a checkpoint. [B]

    Mixed precision with AdamW: 2 (16-bit weight) + 4 (32-bit master) + 8 (two 32-bit averages) = 14 [1]_. FSDP keeps
    the 32-bit weight only (4 + 8); pure 16-bit training has no master and 16-bit averages (2 + 4). Adapters
    are kept in 32 bits (4 + 8) unless the recipe is purely 16-bit. The plan's own types go before the recipe's.

    References
    ----------
    .. [1] S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models," 2020.
       arXiv:1910.02054, section 3.1 (16 bytes with the 2 of the gradients).
    """
    moment = _MOMENT_BYTES[plan.optimizer]
    is_single_copy = plan.precision in (Precision.FP32, Precision.TF32) or plan.recipe is Recipe.FSDP
    if plan.recipe is Recipe.PURE_BF16:
        weight, master = float(BYTES_16BIT), 0
        moment = moment if plan.optimizer is Optimizer.ADAMW_8BIT else moment / 2
    elif is_single_copy or plan.method in ADAPTER_METHODS:
        weight, master = float(BYTES_FP32), 0
    else:
        weight, master = float(BYTES_16BIT), BYTES_FP32
    weight = weight if plan.weight_bytes_per_parameter is None else plan.weight_bytes_per_parameter
    master = master if plan.master_weight_bytes_per_parameter is None else plan.master_weight_bytes_per_parameter
    moment = moment if plan.moment_bytes_per_parameter is None else plan.moment_bytes_per_parameter
    return weight + master + moment


def checkpoint_bytes(
    plan: TrainingPlan, parameter_count: ArrayLike, trained_parameter_count: ArrayLike | None = None
) -> FloatArray:
    """Bytes of one checkpoint of the whole job.

    Parameters
    ----------
    plan : TrainingPlan
        Method, recipe, optimizer and types.
    parameter_count : array_like
        All parameters. [1]
    trained_parameter_count : array_like, optional
        Those that change; must be given for LoRA and QLoRA, whose checkpoints hold the adapters only. [1]

    Returns
    -------
    ndarray of float64
        Bytes in the broadcast shape. [B]

    Raises
    ------
    ValueError
        If an adapter method comes without its count, or a count is negative.
    """
    if plan.method in ADAPTER_METHODS and trained_parameter_count is None:
        raise ValueError("A LoRA or QLoRA checkpoint holds the adapters: trained_parameter_count is needed.")
    chosen = parameter_count if trained_parameter_count is None else trained_parameter_count
    count = np.asarray(chosen, dtype=np.float64)
    if np.any(count < 0):
        raise ValueError("Parameter counts must not be negative.")
    return np.asarray(count * checkpoint_bytes_per_parameter(plan), dtype=np.float64)


def retention_bytes(checkpoint_size_bytes: float, kept_count: int, permanent_count: int, weight_bytes: float) -> float:
    """Capacity for checkpoints: the newest `kept_count` in full, `permanent_count` milestones as weights only. [B]

    Raises
    ------
    ValueError
        If fewer than 2 are kept: while one is written another must be whole.
    """
    if kept_count < 2 or permanent_count < 0:
        raise ValueError("Keep at least 2 checkpoints: while one is written another must be whole.")
    return checkpoint_size_bytes * kept_count + weight_bytes * permanent_count


def write_bytes_per_second(
    checkpoint_size_bytes: ArrayLike, interval_seconds: ArrayLike, stall_fraction: float, is_asynchronous: bool
) -> FloatArray:
    """Least write rate of the storage for a stall budget. [B/s]

    Synchronous: training waits for the write, which may take `stall_fraction` of the time, so it must end within
    interval x fraction / (1 - fraction). Asynchronous: the write must end before the next one starts.

    Raises
    ------
    ValueError
        If the fraction is not between 0 and 1 or an interval is not positive.
    """
    if not 0 < stall_fraction < 1:
        raise ValueError("stall_fraction must lie between 0 and 1.")
    size, interval = np.asarray(checkpoint_size_bytes, dtype=float), np.asarray(interval_seconds, dtype=float)
    if np.any(~(interval > 0)):
        raise ValueError("interval_seconds must be positive.")
    allowed = interval if is_asynchronous else interval * stall_fraction / (1 - stall_fraction)
    return np.asarray(size / allowed, dtype=np.float64)


def token_bytes(vocab_size: int) -> int:
    """Bytes of one stored token identifier: 2 up to a vocabulary of 65 536, else 4. [B]"""
    if vocab_size < 1:
        raise ValueError("vocab_size must be at least 1.")
    return BYTES_16BIT if vocab_size <= 2**16 else BYTES_FP32


def dataset_bytes(unique_tokens: ArrayLike, bytes_per_token: ArrayLike) -> FloatArray:
    """Bytes of the data set as the loader reads it: distinct tokens x bytes per token (media: its own figure). [B]"""
    tokens, each = np.asarray(unique_tokens, dtype=np.float64), np.asarray(bytes_per_token, dtype=np.float64)
    if np.any(tokens < 0) or np.any(each <= 0):
        raise ValueError("Tokens must not be negative and bytes per token must be positive.")
    return np.asarray(tokens * each, dtype=np.float64)


def loader_bytes_per_second(
    tokens_per_second: ArrayLike, bytes_per_token: ArrayLike, ingest_bytes_per_second: float = 0.0
) -> FloatArray:
    """Sustained read rate of the data loader; real-time training adds the rate at which new data arrives. [B/s]"""
    rate = np.asarray(tokens_per_second, dtype=np.float64) * np.asarray(bytes_per_token, dtype=np.float64)
    return np.asarray(rate + ingest_bytes_per_second, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """Bytes of host memory that one server needs, by reason; `required_bytes` is the larger of need and rule."""

    loading_bytes: float
    offload_bytes: float
    checkpoint_copy_bytes: float
    loader_bytes: float
    reserve_bytes: float
    need_bytes: float
    gpu_memory_bytes: float
    required_bytes: float
    binding: str  # gpu_memory | need


def host_memory(
    *,
    gpu_memory_bytes_per_server: float,
    server_count: int,
    checkpoint_size_bytes: float,
    weight_bytes: float,
    is_asynchronous: bool = True,
    offload_bytes: float = 0.0,
    loader_bytes: float = 0.0,
) -> HostMemory:
    """Host memory of one server: what loading, offload and checkpoint copies need, and at least its GPU memory.

    The rule "host memory >= total GPU memory" is practice among training systems: a state that fills the GPUs passes
    through the host when it is loaded or saved. Loading reads one server's share of the weights.

    Parameters
    ----------
    gpu_memory_bytes_per_server : float
        Memory of all GPUs of one server. [B]
    server_count : int
        Servers that share the checkpoint. [1]
    checkpoint_size_bytes, weight_bytes : float
        Whole job. [B]
    is_asynchronous : bool
        A copy of the server's share waits in host memory while it is written.
    offload_bytes, loader_bytes : float
        Optimizer or parameters held in the host, and the loader's buffers, per server. [B]

    Raises
    ------
    ValueError
        If server_count is below 1 or a size is negative.
    """
    sizes = (gpu_memory_bytes_per_server, checkpoint_size_bytes, weight_bytes, offload_bytes, loader_bytes)
    if server_count < 1 or min(sizes) < 0:
        raise ValueError("server_count must be at least 1 and sizes must not be negative.")
    loading = min(weight_bytes / server_count, gpu_memory_bytes_per_server)
    copy = checkpoint_size_bytes / server_count if is_asynchronous else 0.0
    # loading is over before the first checkpoint is copied
    need = HOST_RESERVE_BYTES_PER_SERVER + max(loading, copy) + offload_bytes + loader_bytes
    return HostMemory(
        loading_bytes=loading,
        offload_bytes=offload_bytes,
        checkpoint_copy_bytes=copy,
        loader_bytes=loader_bytes,
        reserve_bytes=float(HOST_RESERVE_BYTES_PER_SERVER),
        need_bytes=need,
        gpu_memory_bytes=gpu_memory_bytes_per_server,
        required_bytes=max(need, gpu_memory_bytes_per_server),
        binding="need" if need > gpu_memory_bytes_per_server else "gpu_memory",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageNeed:
    capacity_bytes: float
    read_bytes_per_second: float
    write_bytes_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOffer:
    """One storage system or the drives of one server; None where no figure is published."""

    sku: str
    capacity_bytes: float | None
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageCount:
    """Systems needed; None with the names of the missing figures where it cannot be told."""

    sku: str
    count: int | None
    binding: str  # capacity | read | write | unknown
    missing: tuple[str, ...]


def storage_system_count(need: StorageNeed, offer: StorageOffer) -> StorageCount:
    """How many of one system meet capacity, read and write together, and which of them decides.

    A figure that is not published leaves the count unknown where the need is not 0, never a guess.
    """
    pairs = {
        "capacity": (need.capacity_bytes, offer.capacity_bytes),
        "read": (need.read_bytes_per_second, offer.read_bytes_per_second),
        "write": (need.write_bytes_per_second, offer.write_bytes_per_second),
    }
    missing = tuple(name for name, (wanted, given) in pairs.items() if wanted > 0 and not given)
    if missing:
        return StorageCount(sku=offer.sku, count=None, binding="unknown", missing=missing)
    counts = {name: math.ceil(wanted / given) for name, (wanted, given) in pairs.items() if wanted > 0 and given}
    binding = max(counts, key=lambda name: counts[name], default="capacity")
    return StorageCount(sku=offer.sku, count=max(1, counts.get(binding, 1)), binding=binding, missing=())


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePlacement:
    """Where data and checkpoints go, with the reason and the figures that decided."""

    kind: str  # local | distributed
    reason: str  # one_server | shared_checkpoint | dataset_exceeds_local | local_suffices
    needed_bytes: float
    local_bytes: float


def storage_placement(
    server_count: int, dataset_size_bytes: float, retained_bytes: float, local_bytes: float
) -> StoragePlacement:
    """Local drives or distributed storage, by figures.

    One server: local if data set and checkpoints fit its drives. Several: checkpoints must outlive a server, so they go
    to shared storage.
    """
    needed = dataset_size_bytes + retained_bytes
    if server_count > 1:
        kind, reason = "distributed", "shared_checkpoint"
    elif needed > local_bytes:
        kind, reason = "distributed", "dataset_exceeds_local"
    else:
        kind, reason = "local", "local_suffices"
    return StoragePlacement(kind=kind, reason=reason, needed_bytes=needed, local_bytes=local_bytes)


def required_cpu_cores(gpu_count_per_server: int, cores_per_gpu: int | None = None) -> int:
    """CPU cores of one server for its GPUs' processes and loaders; None takes DEFAULT_CORES_PER_GPU."""
    each = DEFAULT_CORES_PER_GPU.value if cores_per_gpu is None else cores_per_gpu
    if gpu_count_per_server < 1 or not isinstance(each, int) or each < 1:
        raise ValueError("GPU count and cores per GPU must be at least 1.")
    return gpu_count_per_server * each

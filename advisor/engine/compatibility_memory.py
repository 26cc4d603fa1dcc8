"""Do host memory and drives fit server, CPU and GPUs. One function per rule; see `parts.Check` for the outcome."""

from __future__ import annotations

from collections.abc import Iterable

from advisor.engine.parts import (
    Check,
    CpuPart,
    GpuPart,
    MemoryPart,
    ServerPart,
    SsdPart,
    nearest_part,
    pcie_bytes_per_second,
)
from advisor.engine.units import GIGA

NVME_LANES = 4


def memory_type(memory: MemoryPart, server: ServerPart, memories: Iterable[MemoryPart] = ()) -> Check | None:
    """M2: DDR4 and DDR5 do not share a slot. Nearest: a module of the server's type and about the same size."""
    if memory.memory_type == server.memory_type:
        return None
    nearest = nearest_part(
        memories,
        lambda other: other.memory_type == server.memory_type,
        lambda other: abs(other.capacity_bytes - memory.capacity_bytes),
    )
    return Check(
        code="memory_type_mismatch",
        severity="blocks",
        rule="M2",
        parts=(memory.sku, server.sku),
        figures={"memory_type": memory.memory_type, "server_memory_type": server.memory_type},
        nearest=nearest.sku if nearest else None,
    )


def memory_slots(
    memory: MemoryPart, module_count: int, server: ServerPart, memories: Iterable[MemoryPart] = ()
) -> Check | None:
    """M2: not more modules than slots. Nearest: the smallest module that holds the same in the slots there are."""
    if server.dimm_slot_count is None or module_count <= server.dimm_slot_count:
        return None
    slots, total = server.dimm_slot_count, memory.capacity_bytes * module_count
    nearest = nearest_part(
        memories,
        lambda other: (
            other.memory_type == server.memory_type
            and other.module == memory.module
            and other.capacity_bytes * slots >= total
        ),
        lambda other: other.capacity_bytes,
    )
    return Check(
        code="memory_slots_exceeded",
        severity="blocks",
        rule="M2",
        parts=(memory.sku, server.sku),
        figures={"module_count": module_count, "slot_count": slots},
        nearest=nearest.sku if nearest else None,
    )


def memory_maximum(memory: MemoryPart, module_count: int, server: ServerPart) -> Check | None:
    """M2: not more capacity than the maker supports. Nearest: as many of these modules as stay within it."""
    total = memory.capacity_bytes * module_count
    if server.max_memory_bytes is None or total <= server.max_memory_bytes:
        return None
    fitting = int(server.max_memory_bytes // memory.capacity_bytes)
    return Check(
        code="memory_above_maximum",
        severity="blocks",
        rule="M2",
        parts=(memory.sku, server.sku),
        figures={"memory_bytes": total, "max_memory_bytes": server.max_memory_bytes},
        nearest=f"{fitting} x {memory.sku}" if fitting else None,
    )


def memory_channels(
    memory: MemoryPart, module_count: int, cpu: CpuPart, cpu_count: int, server: ServerPart
) -> Check | None:
    """M2: full bandwidth needs the same number of modules in every channel. `nearest`: the next even count."""
    per_socket = min(server.memory_channels_per_socket or cpu.memory_channel_count, cpu.memory_channel_count)
    channels = per_socket * cpu_count
    if module_count % channels == 0:
        return None
    next_count = channels * (module_count // channels + 1)
    if server.dimm_slot_count is not None and next_count > server.dimm_slot_count:
        next_count = channels * (module_count // channels)
    return Check(
        code="memory_channels_uneven",
        severity="check",
        rule="M2",
        parts=(memory.sku, cpu.sku),
        figures={"module_count": module_count, "channel_count": channels, "even_module_count": next_count},
        nearest=f"{next_count} x {memory.sku}" if next_count else None,
    )


def memory_capacity(host_memory_bytes: float, gpu: GpuPart, gpu_count: int, need_bytes: float = 0.0) -> Check | None:
    """M2: host memory at least the total GPU memory (as labelled) as a rule, and at least what this job needs."""
    gpu_total = gpu.memory_label_bytes * gpu_count
    if host_memory_bytes >= max(gpu_total, need_bytes):
        return None
    return Check(
        code="host_memory_below_need" if host_memory_bytes < need_bytes else "host_memory_below_gpu_memory",
        severity="blocks" if host_memory_bytes < need_bytes else "check",
        rule="M2",
        parts=(gpu.sku,),
        figures={
            "host_memory_bytes": host_memory_bytes,
            "gpu_memory_bytes": gpu_total,
            "need_bytes": need_bytes,
            "gpu_count": gpu_count,
        },
        nearest=f"{max(gpu_total, need_bytes) / GIGA:.0f} GB",
    )


def memory_bandwidth(
    memory: MemoryPart,
    module_count: int,
    cpu: CpuPart,
    cpu_count: int,
    gpu: GpuPart,
    gpu_count: int,
    memories: Iterable[MemoryPart] = (),
) -> Check | None:
    """M2: the memory channels in use must carry what all GPUs can draw through PCIe at once.

    Nearest: the same modules on every channel where that is enough, else a faster module of the type.
    """
    if memory.bytes_per_second is None:
        return None
    channels = min(module_count, cpu.memory_channel_count * cpu_count)
    given = channels * memory.bytes_per_second
    wanted = gpu_count * pcie_bytes_per_second(min(gpu.pcie_generation, cpu.pcie_generation), gpu.pcie_lanes)
    if given >= wanted:
        return None
    return Check(
        code="memory_bandwidth_short",
        severity="check",
        rule="M2",
        parts=(memory.sku, gpu.sku),
        figures={"memory_bytes_per_second": given, "gpu_bytes_per_second": wanted, "channel_count": channels},
        nearest=_faster_memory(memory, cpu.memory_channel_count * cpu_count, wanted, memories),
    )


def _faster_memory(memory: MemoryPart, channel_count: int, wanted: float, memories: Iterable[MemoryPart]) -> str | None:
    if channel_count * (memory.bytes_per_second or 0.0) >= wanted:
        return f"{channel_count} x {memory.sku}"
    nearest = nearest_part(
        memories,
        lambda other: (
            other.memory_type == memory.memory_type and channel_count * (other.bytes_per_second or 0.0) >= wanted
        ),
        lambda other: abs(other.capacity_bytes - memory.capacity_bytes),
    )
    return nearest.sku if nearest else None


def ssd_generation(ssd: SsdPart, server: ServerPart, ssds: Iterable[SsdPart] = ()) -> Check | None:
    """M3: a drive of a newer PCIe generation works but only at the server's. Nearest: a drive of that generation."""
    if server.pcie_generation is None or ssd.pcie_generation <= server.pcie_generation:
        return None
    nearest = nearest_part(
        ssds,
        lambda other: other.pcie_generation == server.pcie_generation,
        lambda other: abs(other.capacity_bytes - ssd.capacity_bytes),
    )
    return Check(
        code="ssd_generation_above_server",
        severity="check",
        rule="M3",
        parts=(ssd.sku, server.sku),
        figures={
            "ssd_pcie_generation": ssd.pcie_generation,
            "server_pcie_generation": server.pcie_generation,
            "link_bytes_per_second": pcie_bytes_per_second(server.pcie_generation, NVME_LANES),
        },
        nearest=nearest.sku if nearest else None,
    )


def ssd_bays(ssd: SsdPart, ssd_count: int, server: ServerPart, ssds: Iterable[SsdPart] = ()) -> Check | None:
    """M3: bays of the drive's form factor, and enough of them."""
    parts = (ssd.sku, server.sku)
    if server.nvme_form_factors and not ssd.form_factors & server.nvme_form_factors:
        nearest = nearest_part(
            ssds,
            lambda other: bool(other.form_factors & server.nvme_form_factors),
            lambda other: abs(other.capacity_bytes - ssd.capacity_bytes),
        )
        forms = {
            "ssd_form_factors": ", ".join(sorted(ssd.form_factors)),
            "bay_form_factors": ", ".join(sorted(server.nvme_form_factors)),
        }
        return Check(
            code="ssd_form_factor",
            severity="blocks",
            rule="M3",
            parts=parts,
            figures=dict(forms),
            nearest=nearest.sku if nearest else None,
        )
    if server.nvme_bay_count is not None and ssd_count > server.nvme_bay_count:
        bays, total = server.nvme_bay_count, ssd.capacity_bytes * ssd_count
        larger = nearest_part(
            ssds,
            lambda other: (
                other.capacity_bytes * bays >= total
                and (not server.nvme_form_factors or bool(other.form_factors & server.nvme_form_factors))
                and other.pcie_generation == ssd.pcie_generation
            ),
            lambda other: other.capacity_bytes,
        )
        return Check(
            code="ssd_bays_exceeded",
            severity="blocks",
            rule="M3",
            parts=parts,
            figures={"ssd_count": ssd_count, "bay_count": bays},
            nearest=larger.sku if larger else None,
        )
    return None

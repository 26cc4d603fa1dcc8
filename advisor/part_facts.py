"""The catalogue's parts as the engine's compatibility rules read them."""

from __future__ import annotations

import re
from functools import lru_cache

from advisor.engine import compatibility
from advisor.engine import parts as facts
from advisor.engine.part_names import named_gpu
from advisor.engine.specs import Precision
from advisor.engine.units import BITS_PER_BYTE, GIGA
from advisor.hardware import load_parts
from advisor.parts import (
    CablePart,
    CpuPart,
    GpuPart,
    MemoryPart,
    NicPart,
    Parts,
    RackPart,
    ServerPart,
    SsdPart,
    SwitchPart,
    form_factors,
)


def gpu_facts(part: GpuPart) -> facts.GpuPart:
    label = re.search(r"\d+", part.spec.memory_label)
    return facts.GpuPart(
        sku=part.sku,
        name=part.name,
        architecture=part.spec.architecture,
        form_factor=part.form_factor,
        memory_label_bytes=float(label.group()) * GIGA if label else float(part.spec.memory_bytes),
        memory_bytes=float(part.spec.memory_bytes),
        link_type=None if part.link_type in ("", "none") else part.link_type,
        pcie_generation=part.pcie_generation,
        pcie_lanes=part.pcie_lanes,
        tdp_watts=part.spec.tdp_watts,
        gpus_per_baseboard=part.gpus_per_baseboard or 1,
        dense_bf16_flops_per_second=part.spec.dense_peak_flops_per_second.get(Precision.BF16),
        min_cuda=part.min_cuda if re.fullmatch(r"\d+(\.\d+)*", part.min_cuda) else None,
        is_sizeable=part.is_sizeable,
    )


def server_facts(part: ServerPart) -> facts.ServerPart:
    return facts.ServerPart(
        sku=part.sku,
        name=part.name,
        supported_gpu_skus=part.gpu_skus,
        gpu_slot_count=part.gpu_slots,
        gpu_form_factors=frozenset(part.gpu_form_factor.split("/")),
        cpu_socket=part.cpu_socket_type,
        cpu_socket_count=part.cpu_sockets,
        cpu_family_codes=frozenset(part.cpu_family_codes),
        memory_type=part.memory_type,
        pcie_generation=part.pcie_generation or None,
        memory_channels_per_socket=part.memory_channels_per_socket or None,
        fixed_cpu_sku=part.fixed_cpu_sku or None,
        dimm_slot_count=part.dimm_slots or None,
        max_memory_bytes=part.max_memory_bytes,
        has_pcie_switch=part.has_pcie_switch,
        nvme_bay_count=part.nvme_bays,
        nvme_form_factors=form_factors(part.nvme_form_factor),
        nic_slot_count=part.nic_slots,
        rack_units=part.rack_units,
        psu_count=part.psu_count,
        psu_watts=part.psu_watts,
        psu_redundancy=part.psu_redundancy or None,
        max_watts=part.max_watts,
        cooling=part.cooling or None,
    )


def cpu_facts(part: CpuPart) -> facts.CpuPart:
    return facts.CpuPart(
        sku=part.sku,
        name=part.name,
        vendor=part.vendor,
        socket=part.socket,
        family_code=part.family_code,
        max_socket_count=part.max_sockets,
        core_count=part.core_count,
        memory_type=part.memory_type,
        memory_channel_count=part.memory_channels,
        pcie_generation=part.pcie_generation,
        pcie_lanes=part.pcie_lanes,
        tdp_watts=part.tdp_watts or 0.0,
    )


def memory_facts(part: MemoryPart) -> facts.MemoryPart:
    return facts.MemoryPart(
        sku=part.sku,
        name=part.name,
        memory_type=part.memory_type,
        module=part.memory_module,
        capacity_bytes=part.capacity_bytes,
        bytes_per_second=part.bytes_per_second or 0.0,
    )


def ssd_facts(part: SsdPart) -> facts.SsdPart:
    return facts.SsdPart(
        sku=part.sku,
        name=part.name,
        pcie_generation=part.pcie_generation,
        form_factors=form_factors(part.form_factor),
        capacity_bytes=part.capacity_bytes,
    )


def nic_facts(part: NicPart) -> facts.NicPart:
    return facts.NicPart(
        sku=part.sku,
        name=part.name,
        protocol=part.protocol,
        port_count=part.port_count,
        bits_per_second_per_port=part.port_bytes_per_second * BITS_PER_BYTE,
        pcie_generation=part.pcie_generation,
        pcie_lanes=part.pcie_lanes,
        infiniband_generation=part.ib_generation or None,
        has_rdma=part.has_rdma,
    )


def switch_facts(part: SwitchPart) -> facts.SwitchPart:
    counts = {rate * BITS_PER_BYTE: count for rate, count in part.ports_by_bytes_per_second.items()}
    counts[part.port_bytes_per_second * BITS_PER_BYTE] = part.port_count
    return facts.SwitchPart(sku=part.sku, name=part.name, protocol=part.protocol, port_counts=counts)


def cable_facts(part: CablePart) -> facts.CablePart:
    return facts.CablePart(
        sku=part.sku,
        name=part.name,
        protocol=part.protocol,
        link_bits_per_second=part.link_bytes_per_second * BITS_PER_BYTE,
        reach_metres=part.reach_metres or 0.0,
    )


def rack_facts(part: RackPart) -> facts.RackPart:
    return facts.RackPart(
        sku=part.sku,
        name=part.name,
        usable_watts=part.usable_watts or 0.0,
        rack_units=part.rack_units or 0,
        cooling=part.cooling,
        feed_count=part.feed_count or 2,
    )


@lru_cache(maxsize=2)
def candidates(revision: str) -> compatibility.Candidates:
    """Everything that may be named as the nearest part that would pass."""
    del revision  # the cache's key
    parts = load_parts()
    return compatibility.Candidates(
        # a bare "H100" means the board part: those come first
        gpus=tuple(gpu_facts(part) for part in sorted(parts.gpus.values(), key=lambda part: not part.is_module)),
        servers=tuple(server_facts(part) for part in parts.servers.values() if part.is_orderable),
        cpus=tuple(cpu_facts(part) for part in parts.cpus.values()),
        memories=tuple(memory_facts(part) for part in parts.memory.values()),
        ssds=tuple(ssd_facts(part) for part in parts.ssds.values()),
        nics=tuple(nic_facts(part) for part in parts.nics.values()),
        switches=tuple(switch_facts(part) for part in parts.switches.values()),
        cables=tuple(cable_facts(part) for part in parts.cables.values()),
        racks=tuple(rack_facts(part) for part in parts.racks.values() if part.kind == "rack"),
    )


def find_gpu(parts: Parts, text: str) -> tuple[GpuPart | None, facts.Check | None]:
    """The GPU of a SKU or a name as people write it; else the nearest real part, with the check that says why."""
    if text in parts.gpus:
        return parts.gpus[text], None
    found = named_gpu(text.replace("-", " ").replace("_", " "), candidates(parts.revision).gpus)
    if isinstance(found, facts.GpuPart):
        return parts.gpus[found.sku], None
    return (parts.gpus.get(found.nearest) if found.nearest else None), found

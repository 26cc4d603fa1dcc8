"""Rows of the catalogue as frozen parts: the columns' own units, nothing chosen, nothing computed beyond a unit."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Protocol

from advisor.engine.specs import GpuSpec, Precision
from advisor.engine.units import GIGA
from advisor.parts import (
    BuildPart,
    CablePart,
    CpuPart,
    GpuPart,
    ManagementPart,
    MemoryPart,
    NicPart,
    RackPart,
    ServerPart,
    ServicePart,
    SoftwarePart,
    SsdPart,
    StoragePart,
    SwitchPart,
    TierPart,
)
from catalog import models

# One way over x16, GB/s: PCI-SIG line rates less coding; 4 and 5 as in the measured table of the facts (31, 63).
PCIE_X16_BYTES_PER_SECOND = {3: 15.75 * GIGA, 4: 31.0 * GIGA, 5: 63.0 * GIGA, 6: 121.0 * GIGA}
DEFAULT_PCIE_GENERATION = 5  # superchips print none: their CPU link is faster, training hardly uses it


class HasSource(Protocol):
    sku: str
    name: str
    vendor: str
    source_title: str
    source_locator: str
    notes: str
    unverified_fields: list[str]


def _source(row: HasSource) -> str:
    return f"{row.source_title}, {row.source_locator}" if row.source_locator else row.source_title


def _unverified(row: HasSource) -> tuple[str, ...]:
    return tuple(row.unverified_fields or ())


def gpu_part(row: models.Gpu) -> GpuPart:
    dense = {
        Precision.BF16: row.bf16_dense_flops_per_second,
        Precision.FP16: row.fp16_dense_flops_per_second,
        Precision.FP8: row.fp8_dense_flops_per_second,
        Precision.FP4: row.fp4_dense_flops_per_second,
        Precision.TF32: row.tf32_dense_flops_per_second,
        Precision.FP32: row.fp32_dense_flops_per_second,
    }
    if row.fp4_dense_flops_per_second is not None:  # block-scaled formats came with the FP4 generations
        dense[Precision.MXFP8] = row.fp8_dense_flops_per_second
    sparse = {
        Precision.BF16: row.bf16_sparse_flops_per_second,
        Precision.FP16: row.fp16_sparse_flops_per_second,
        Precision.FP8: row.fp8_sparse_flops_per_second,
        Precision.FP4: row.fp4_sparse_flops_per_second,
        Precision.TF32: row.tf32_sparse_flops_per_second,
    }
    has_link = bool(row.scale_up_bytes_per_second) and row.scale_up_domain_size > 1
    generation = row.pcie_generation or DEFAULT_PCIE_GENERATION
    return GpuPart(
        sku=row.sku,
        name=row.name,
        vendor=row.vendor,
        source=_source(row),
        notes=row.notes,
        unverified_fields=_unverified(row),
        spec=GpuSpec(
            sku=row.sku,
            name=row.name,
            vendor=row.vendor,
            architecture=row.architecture,
            memory_bytes=row.memory_bytes,
            memory_label=row.memory_label,
            memory_bytes_per_second=row.memory_bytes_per_second or 0.0,
            dense_peak_flops_per_second={key: value for key, value in dense.items() if value},
            scale_up_bytes_per_second=(row.scale_up_bytes_per_second or 0.0) if has_link else 0.0,
            scale_up_domain_size=row.scale_up_domain_size if has_link else 1,
            pcie_bytes_per_second=PCIE_X16_BYTES_PER_SECOND[generation] * (row.pcie_lanes or 16) / 16,
            tdp_watts=row.tdp_watts or 0.0,
        ),
        sparse_peak_flops_per_second=MappingProxyType({key: value for key, value in sparse.items() if value}),
        link_type=row.link_type,
        form_factor=row.form_factor,
        memory_type=row.memory_type,
        pcie_generation=generation,
        pcie_lanes=row.pcie_lanes or 16,
        gpus_per_baseboard=row.gpus_per_baseboard,
        compute_capability=row.compute_capability,
        min_cuda=row.min_cuda,
        export_note=row.export_note,
        status=row.status,
        is_sizeable=row.is_sizeable,
        not_sizeable_reason=row.not_sizeable_reason,
    )


def server_part(row: models.Server) -> ServerPart:
    return ServerPart(
        sku=row.sku,
        name=_full_name(row),
        vendor=row.vendor,
        source=_source(row),
        notes=row.notes,
        unverified_fields=_unverified(row),
        is_orderable=row.is_orderable and row.kind == "server",
        gpu_form_factor=row.gpu_form_factor,
        gpu_slots=row.gpu_slot_count,
        gpu_skus=frozenset(gpu.sku for gpu in row.supported_gpus.all()),
        cpu_sockets=row.cpu_socket_count or 0,
        cpu_family_codes=tuple(row.cpu_family_codes or ()),
        fixed_cpu_sku=row.fixed_cpu_sku,
        cpu_socket_type=row.cpu_socket_type,
        memory_type=row.memory_type,
        memory_module=row.memory_module,
        dimm_slots=row.usable_dimm_slot_count or 0,
        max_memory_bytes=row.max_memory_bytes,
        memory_channels_per_socket=row.memory_channels_per_socket or 0,
        pcie_generation=row.pcie_generation or 0,
        has_pcie_switch=row.has_pcie_switch,
        nvme_bays=row.nvme_bay_count,
        nvme_form_factor=row.nvme_form_factor,
        nic_slots=row.usable_nic_slot_count,
        onboard_nic_sku=row.onboard_nic_sku,
        onboard_nic_count=row.onboard_nic_count or 0,
        rack_units=row.rack_units,
        max_watts=row.power_watts,
        is_watts_derived=row.max_power_watts is None,
        power_factor=row.power_factor,
        psu_count=row.psu_count,
        psu_watts=row.psu_watts,
        psu_redundancy=row.psu_redundancy,
        cooling=row.cooling,
    )


def _full_name(row: HasSource) -> str:
    has_vendor = not row.vendor or row.name.lower().startswith(row.vendor.lower())
    return row.name if has_vendor else f"{row.vendor} {row.name}"


def cpu_part(row: models.Cpu) -> CpuPart:
    return CpuPart(
        sku=row.sku,
        name=row.name,
        vendor=row.vendor,
        source=_source(row),
        unverified_fields=_unverified(row),
        family_code=row.cpu_family_code,
        socket=row.socket,
        max_sockets=row.max_socket_count,
        core_count=row.core_count,
        memory_type=row.memory_type,
        memory_channels=row.memory_channel_count,
        memory_transfers_per_second=row.memory_transfers_per_second,
        pcie_generation=row.pcie_generation,
        pcie_lanes=row.pcie_lanes,
        tdp_watts=row.tdp_watts,
    )


def memory_part(row: models.MemoryModule) -> MemoryPart:
    return MemoryPart(
        sku=row.sku,
        name=row.name,
        vendor=row.vendor,
        source=_source(row),
        unverified_fields=_unverified(row),
        memory_type=row.memory_type,
        memory_module=row.memory_module,
        capacity_label=row.capacity_label,
        capacity_bytes=float(row.capacity_bytes),
        transfers_per_second=row.memory_transfers_per_second,
        bytes_per_second=row.bytes_per_second,
    )


def ssd_part(row: models.Ssd) -> SsdPart:
    return SsdPart(
        sku=row.sku,
        name=_full_name(row),
        vendor=row.vendor,
        source=_source(row),
        unverified_fields=_unverified(row),
        capacity_bytes=float(row.capacity_bytes),
        pcie_generation=row.pcie_generation,
        form_factor=row.form_factor,
        read_bytes_per_second=row.read_bytes_per_second,
        write_bytes_per_second=row.write_bytes_per_second,
        power_watts=row.power_watts,
    )


def nic_part(row: models.Nic) -> NicPart:
    return NicPart(
        sku=row.sku,
        name=_full_name(row),
        vendor=row.vendor,
        source=_source(row),
        unverified_fields=_unverified(row),
        protocol=row.protocol,
        port_count=row.port_count,
        port_bytes_per_second=row.port_bytes_per_second,
        ib_generation=row.ib_generation,
        has_rdma=row.rdma.startswith("yes"),
        pcie_generation=row.pcie_generation,
        pcie_lanes=row.pcie_lanes,
        power_watts=row.power_watts,
    )


def switch_part(row: models.Switch) -> SwitchPart:
    by_rate = {800: row.port_count_800g, 400: row.port_count_400g, 200: row.port_count_200g, 100: row.port_count_100g}
    return SwitchPart(
        sku=row.sku,
        name=_full_name(row),
        vendor=row.vendor,
        source=_source(row),
        unverified_fields=_unverified(row),
        protocol=row.protocol,
        port_count=row.port_count,
        port_bytes_per_second=row.port_bytes_per_second,
        ports_by_bytes_per_second=MappingProxyType(
            {gbit * GIGA / 8: count for gbit, count in by_rate.items() if count}
        ),
        rack_units=row.rack_units,
        power_watts=row.power_watts,
    )


def cable_part(row: models.Cable) -> CablePart:
    return CablePart(
        sku=row.sku,
        name=_full_name(row),
        vendor=row.vendor,
        source=_source(row),
        unverified_fields=_unverified(row),
        kind=row.kind,
        protocol=row.protocol,
        link_count=row.link_count,
        link_bytes_per_second=row.link_bytes_per_second,
        reach_metres=row.reach_metres,
        end_a=row.end_a,
        end_b=row.end_b,
        power_watts=row.power_watts,
    )


def storage_part(row: models.StorageSystem) -> StoragePart:
    return StoragePart(
        sku=row.sku,
        name=row.name,
        vendor=row.vendor,
        source=_source(row),
        notes=row.notes,
        unverified_fields=_unverified(row),
        kind=row.kind,
        read_bytes_per_second=row.read_bytes_per_second,
        write_bytes_per_second=row.write_bytes_per_second,
        capacity_bytes=float(row.capacity_bytes) if row.capacity_bytes is not None else None,
        unit=row.unit,
        rack_units=row.rack_units,
        power_watts=row.power_watts,
        basis=row.basis,
    )


def rack_part(row: models.Rack) -> RackPart:
    return RackPart(
        sku=row.sku,
        name=row.name,
        vendor=row.vendor,
        source=_source(row),
        notes=row.notes,
        unverified_fields=_unverified(row),
        kind=row.kind,
        rack_units=row.rack_units,
        cooling=row.cooling,
        usable_watts=row.usable_watts,
        feed_count=row.feed_count,
        circuit_watts=row.continuous_circuit_watts or row.circuit_watts,
    )


def management_part(row: models.ManagementNode) -> ManagementPart:
    inside = (
        (row.cpu_sku, row.cpu_count),
        (row.memory_sku, row.memory_count),
        (row.ssd_sku, row.ssd_count),
        (row.nic_sku, row.nic_count),
    )
    return ManagementPart(
        sku=row.sku,
        name=row.name,
        vendor=row.vendor,
        source=_source(row),
        notes=row.notes,
        role=row.role,
        name_zh=row.name_zh,
        rack_units=row.rack_units or 1,
        power_watts=row.power_watts,
        quantity_rule=row.quantity_rule,
        quantities=MappingProxyType({sku: count for sku, count in inside if sku and count}),
    )


def service_part(row: models.Service) -> ServicePart:
    return ServicePart(
        sku=row.sku,
        name=row.name,
        source=_source(row),
        notes=row.notes,
        category=row.category,
        name_zh=row.name_zh,
        scope=row.scope,
        scope_zh=row.scope_zh,
        unit=row.unit,
        bases=tuple(row.applies_to or ()),
        fraction_of=row.percent_of,
    )


def software_part(row: models.SoftwareStack) -> SoftwarePart:
    return SoftwarePart(
        sku=row.sku,
        name=row.name,
        vendor=row.vendor,
        source=_source(row),
        notes=row.notes,
        architecture=row.architecture,
        compute_capability=row.compute_capability,
        toolkit=row.toolkit,
        min_toolkit=row.min_toolkit,
        recommended_toolkit=row.recommended_toolkit,
        min_driver_branch=row.min_driver_branch,
        recommended_driver_branch=row.recommended_driver_branch,
        min_framework=row.min_pytorch,
        recommended_framework=row.recommended_pytorch,
        collective_library=row.collective_library,
        operating_systems=row.suggested_os,
    )


def tier_part(row: models.Tier) -> TierPart:
    return TierPart(
        code=row.sku,
        name=row.name,
        name_zh=row.name_zh,
        lower_parameter_count=float(row.lower_parameter_count),
        upper_parameter_count=float(row.upper_parameter_count) if row.upper_parameter_count is not None else None,
        claim_build_code=row.claim_build_sku,
        reference_build_code=row.reference_build_sku,
    )


def build_part(row: models.ReferenceBuild) -> BuildPart:
    inside = (row.cpu_sku, row.memory_sku, row.ssd_sku, row.nic_sku, row.switch_sku, row.storage_sku)
    return BuildPart(
        code=row.sku,
        tier_code=row.tier.sku,
        kind=row.kind,
        origin=row.origin,
        name=row.name,
        name_zh=row.name_zh,
        gpu_sku=row.gpu_sku,
        gpu_text=row.gpu_text,
        gpus_per_server=row.gpus_per_server or _largest_number(row.gpus_per_server_text),
        server_sku=row.server_sku,
        server_count=row.server_count,
        host_memory_text=row.host_memory_text,
        memory_text=row.memory_text,
        ssd_text=row.ssd_text,
        nic_text=row.nic_text,
        conflict=row.conflict,
        conflict_zh=row.conflict_zh,
        notes=row.notes,
        part_skus=frozenset(sku for sku in inside if sku),
    )


def _largest_number(text: str) -> int | None:
    """8 of "4-8": a range of a claim is judged by its best case."""
    return max((int(number) for number in re.findall(r"\d+", text)), default=None)

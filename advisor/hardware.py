"""The one adapter between catalogue and engine: rows become frozen parts and specs, once per catalogue revision."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol, TypeVar

from advisor.engine.specs import FabricSpec, GpuSpec, HardwareOption, Precision
from advisor.engine.units import GIGA
from advisor.parts import (
    BuildPart,
    CablePart,
    CpuPart,
    GpuPart,
    ManagementPart,
    MemoryPart,
    NicPart,
    Part,
    Parts,
    RackPart,
    ServerPart,
    ServicePart,
    SoftwarePart,
    SsdPart,
    StoragePart,
    SwitchPart,
    TierPart,
)
from advisor.price_books import Book, PartPrice, hourly_price, server_price
from advisor.server_build import compute_nic, gpus_in, server_build, servers_for
from catalog import models
from catalog.services import current_revision

PartT = TypeVar("PartT", bound=Part)

# One way over x16, GB/s: PCI-SIG line rates less coding; 4 and 5 as in the measured table of the facts (31, 63).
PCIE_X16_BYTES_PER_SECOND = {3: 15.75 * GIGA, 4: 31.0 * GIGA, 5: 63.0 * GIGA, 6: 121.0 * GIGA}
DEFAULT_PCIE_GENERATION = 5  # superchips print none: their CPU link is faster, training hardly uses it
AMORTISATION_HOURS = 5 * 8760.0  # 5 years straight line, the default life of the economics notes; ranks only


class HasSource(Protocol):
    sku: str
    name: str
    vendor: str
    source_title: str
    source_locator: str
    notes: str
    unverified_fields: list[str]


def load_parts() -> Parts:
    """The catalogue at its present revision; read once, then kept until the revision changes."""
    return _load_parts(current_revision())


@lru_cache(maxsize=2)
def _load_parts(revision: str) -> Parts:
    return Parts(
        revision=revision,
        gpus=_by_sku(gpu_part(row) for row in models.Gpu.objects.active()),
        servers=_by_sku(_server(row) for row in models.Server.objects.active().with_specs()),
        cpus=_by_sku(_cpu(row) for row in models.Cpu.objects.active()),
        memory=_by_sku(_memory(row) for row in models.MemoryModule.objects.active()),
        ssds=_by_sku(_ssd(row) for row in models.Ssd.objects.active()),
        nics=_by_sku(_nic(row) for row in models.Nic.objects.active()),
        switches=_by_sku(_switch(row) for row in models.Switch.objects.active()),
        cables=_by_sku(_cable(row) for row in models.Cable.objects.active()),
        storage=_by_sku(_storage(row) for row in models.StorageSystem.objects.active()),
        racks=_by_sku(_rack(row) for row in models.Rack.objects.active()),
        management=_by_sku(_management(row) for row in models.ManagementNode.objects.active()),
        services=_by_sku(_service(row) for row in models.Service.objects.active()),
        software=tuple(_software(row) for row in models.SoftwareStack.objects.active()),
        tiers=tuple(_tier(row) for row in models.Tier.objects.active().order_by("lower_parameter_count")),
        builds=MappingProxyType(
            {row.sku: _build(row) for row in models.ReferenceBuild.objects.active().select_related("tier")}
        ),
    )


def _by_sku(parts: Iterable[PartT]) -> MappingProxyType[str, PartT]:
    return MappingProxyType({part.sku: part for part in parts})


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


def _server(row: models.Server) -> ServerPart:
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


def _cpu(row: models.Cpu) -> CpuPart:
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


def _memory(row: models.MemoryModule) -> MemoryPart:
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


def _ssd(row: models.Ssd) -> SsdPart:
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


def _nic(row: models.Nic) -> NicPart:
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


def _switch(row: models.Switch) -> SwitchPart:
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


def _cable(row: models.Cable) -> CablePart:
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


def _storage(row: models.StorageSystem) -> StoragePart:
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


def _rack(row: models.Rack) -> RackPart:
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


def _management(row: models.ManagementNode) -> ManagementPart:
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


def _service(row: models.Service) -> ServicePart:
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


def _software(row: models.SoftwareStack) -> SoftwarePart:
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


def _tier(row: models.Tier) -> TierPart:
    return TierPart(
        code=row.sku,
        name=row.name,
        name_zh=row.name_zh,
        lower_parameter_count=float(row.lower_parameter_count),
        upper_parameter_count=float(row.upper_parameter_count) if row.upper_parameter_count is not None else None,
        claim_build_code=row.claim_build_sku,
        reference_build_code=row.reference_build_sku,
    )


def _build(row: models.ReferenceBuild) -> BuildPart:
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


def fabric_spec(parts: Parts, gpu: GpuPart, server: ServerPart, *, kind: str = "infiniband") -> FabricSpec:
    """What the server's NICs give each GPU; nothing where no NIC fits."""
    nic, count = compute_nic(parts, gpu, server, kind=kind)
    if nic is None:
        return FabricSpec(scale_out_bytes_per_second_per_gpu=0.0, kind="none")
    per_gpu = nic.bytes_per_second * count / gpus_in(server, gpu)
    return FabricSpec(scale_out_bytes_per_second_per_gpu=per_gpu, kind="roce" if nic.protocol == "Ethernet" else kind)


def selectable_gpus(parts: Parts) -> tuple[GpuPart, ...]:
    """What is offered when the user names no hardware: sizeable, and in at least one orderable server."""
    return tuple(gpu for _, gpu in sorted(parts.gpus.items()) if gpu.is_sizeable and parts.orderable_servers(gpu.sku))


def spec_in_server(gpu: GpuPart, gpus_per_server: int) -> GpuSpec:
    """The GPU as a server of this size joins it: a board of four links four; a rack keeps its own domain."""
    domain = gpu.spec.scale_up_domain_size
    is_board = gpu.gpus_per_baseboard is None or domain <= gpu.gpus_per_baseboard
    if is_board and domain > gpus_per_server:
        return replace(gpu.spec, scale_up_domain_size=max(gpus_per_server, 1))
    return gpu.spec


def hardware_options(
    parts: Parts,
    gpus: Iterable[GpuPart],
    *,
    gpu_count: int | None = None,
    cooling: str | None = None,
    rental: Book | None = None,
    purchase: Book | None = None,
    term_months: int | None = None,
) -> tuple[HardwareOption, ...]:
    """One option for each GPU, in the server that ranks first. The cost only ranks; quotes price in decimals.

    With a rental book the cost is the hour at the term, with a purchase book alone the server's price over five years;
    with both, a GPU that lacks either price counts as one without a price.
    A fixed GPU count that does not fill such servers takes servers of a size that it fills, where there are any.
    """
    options: list[HardwareOption] = []
    for gpu in gpus:
        server = _server_for(servers_for(parts, gpu, cooling=cooling), gpu, gpu_count)
        if server is None:
            continue
        size = gpus_in(server, gpu)
        options.append(
            HardwareOption(
                gpu=spec_in_server(gpu, size),
                gpus_per_server=size,
                fabric=fabric_spec(parts, gpu, server),
                cost_per_gpu_hour=_hourly_cost(parts, gpu, server, rental, purchase, term_months),
            )
        )
    return tuple(options)


def _server_for(servers: Sequence[ServerPart], gpu: GpuPart, gpu_count: int | None) -> ServerPart | None:
    filled = [server for server in servers if gpu_count is not None and gpu_count % gpus_in(server, gpu) == 0]
    return next(iter((*filled, *servers)), None)


def _hourly_cost(
    parts: Parts,
    gpu: GpuPart,
    server: ServerPart,
    rental: Book | None,
    purchase: Book | None,
    term_months: int | None,
) -> float | None:
    """Rent of an hour; with a purchase book beside it only where both sides have a price, so that they compare."""
    owned = _owned_price(parts, gpu, server, purchase) if purchase is not None else None
    if purchase is not None and owned is None:
        return None
    if rental is not None:
        hourly = hourly_price(rental, gpu.sku, term_months)
        return float(hourly.amount) if hourly else None
    return float(owned.amount) / gpus_in(server, gpu) / AMORTISATION_HOURS if owned is not None else None


_OWNED: dict[tuple[str, str, str, str], PartPrice | None] = {}
_OWNED_LIMIT = 4096


def _owned_price(parts: Parts, gpu: GpuPart, server: ServerPart, book: Book) -> PartPrice | None:
    """Purchase price of the populated server, kept by catalogue revision and book."""
    key = (parts.revision, book.key, gpu.sku, server.sku)
    if key not in _OWNED:
        if len(_OWNED) >= _OWNED_LIMIT:
            _OWNED.clear()
        _OWNED[key] = server_price(book, server_build(parts, gpu, server))
    return _OWNED[key]

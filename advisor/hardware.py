"""The one adapter between catalogue and engine: rows become frozen parts and specs, once per catalogue revision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from advisor.engine.specs import FabricSpec, GpuSpec, HardwareOption
from advisor.part_rows import (
    build_part,
    cable_part,
    cpu_part,
    gpu_part,
    management_part,
    memory_part,
    nic_part,
    rack_part,
    server_part,
    service_part,
    software_part,
    ssd_part,
    storage_part,
    switch_part,
    tier_part,
)
from advisor.parts import GpuPart, Part, Parts, ServerPart
from advisor.price_books import Book, PartPrice, hourly_price, server_price
from advisor.server_build import compute_nic, gpus_in, server_build, servers_for
from catalog import models
from catalog.services import current_revision

PartT = TypeVar("PartT", bound=Part)

AMORTISATION_HOURS = 5 * 8760.0  # 5 years straight line, the default life of the economics notes; ranks only


def load_parts() -> Parts:
    """The catalogue at its present revision; read once, then kept until the revision changes."""
    return _load_parts(current_revision())


@lru_cache(maxsize=2)
def _load_parts(revision: str) -> Parts:
    return Parts(
        revision=revision,
        gpus=_by_sku(gpu_part(row) for row in models.Gpu.objects.active()),
        servers=_by_sku(server_part(row) for row in models.Server.objects.active().with_specs()),
        cpus=_by_sku(cpu_part(row) for row in models.Cpu.objects.active()),
        memory=_by_sku(memory_part(row) for row in models.MemoryModule.objects.active()),
        ssds=_by_sku(ssd_part(row) for row in models.Ssd.objects.active()),
        nics=_by_sku(nic_part(row) for row in models.Nic.objects.active()),
        switches=_by_sku(switch_part(row) for row in models.Switch.objects.active()),
        cables=_by_sku(cable_part(row) for row in models.Cable.objects.active()),
        storage=_by_sku(storage_part(row) for row in models.StorageSystem.objects.active()),
        racks=_by_sku(rack_part(row) for row in models.Rack.objects.active()),
        management=_by_sku(management_part(row) for row in models.ManagementNode.objects.active()),
        services=_by_sku(service_part(row) for row in models.Service.objects.active()),
        software=tuple(software_part(row) for row in models.SoftwareStack.objects.active()),
        tiers=tuple(tier_part(row) for row in models.Tier.objects.active().order_by("lower_parameter_count")),
        builds=MappingProxyType(
            {row.sku: build_part(row) for row in models.ReferenceBuild.objects.active().select_related("tier")}
        ),
    )


def _by_sku(parts: Iterable[PartT]) -> MappingProxyType[str, PartT]:
    return MappingProxyType({part.sku: part for part in parts})


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

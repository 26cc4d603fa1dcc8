"""The whole cluster as parts: servers and what is in them, network, storage, racks, management, spares, services.

Every line says why it is there and by which rule its quantity came about.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from advisor.answers import LineAnswer
from advisor.catalog_language import in_language, joined
from advisor.facility_parts import Facility, facility, management_lines
from advisor.network_parts import Network, front_end_lines, line, storage_ports, training_network
from advisor.parts import GpuPart, Parts, ServerPart, ServicePart
from advisor.server_build import ServerBuild, server_build
from advisor.storage_parts import StorageChoice, StorageSizes, storage_choice

OPERATIONS_FROM_SERVERS = 4
GATEWAY_WORDS = ("appliance", "file")  # storage systems that clients mount directly


@dataclass(frozen=True, slots=True, kw_only=True)
class BillRequest:
    """What the bill is drawn up for. The training time is the wall time of the run, with goodput."""

    gpu: GpuPart
    server: ServerPart
    server_count: int
    spare_server_count: int
    sizes: StorageSizes
    host_bytes_needed: float = 0.0
    training_seconds: float | None = None
    network_kind: str = "infiniband"
    data_sensitivity: str = "internal"
    priced_skus: frozenset[str] = frozenset()
    pue: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    request: BillRequest
    build: ServerBuild
    network: Network
    storage: StorageChoice
    facility: Facility
    lines: tuple[LineAnswer, ...]
    missing: tuple[str, ...]


def bill_of_materials(parts: Parts, request: BillRequest) -> Bill:
    is_clustered = request.server_count > 1
    build = server_build(
        parts,
        request.gpu,
        request.server,
        local_bytes_needed=request.sizes.local_bytes(request.server_count),
        host_bytes_needed=request.host_bytes_needed,
        is_clustered=is_clustered,
        priced_skus=request.priced_skus,
        network_kind=request.network_kind,
    )
    network = training_network(parts, build, request.server_count, kind=request.network_kind)
    local_bytes = build.ssd.capacity_bytes * build.ssd_count if build.ssd else 0.0
    storage = storage_choice(
        parts,
        request.sizes,
        server_count=request.server_count,
        local_bytes=local_bytes,
        priced_skus=request.priced_skus,
    )
    has_gateway = storage.system is None or any(word in storage.system.kind for word in GATEWAY_WORDS)
    managed, nodes, unknown_rules = management_lines(
        parts,
        request.server_count,
        has_infiniband=network.plan is not None and request.network_kind == "infiniband",
        has_storage_gateway=has_gateway,
        free_fabric_port_count=network.plan.free_port_count if network.plan else None,
    )
    front_end = front_end_lines(
        parts,
        build,
        server_count=request.server_count,
        management_count=sum(count for _part, count in nodes),
        switch_count=network.plan.switch_count if network.plan else 0,
        storage_port_count=storage_ports(storage.system.read_bytes_per_second, storage.count) if storage.system else 0,
    )
    housed = facility(
        parts,
        build,
        server_count=request.server_count,
        network=network,
        storage=storage,
        nodes=nodes,
        further_switches={entry["sku"]: entry["quantity"] for entry in front_end if entry["kind"] == "switch"},
        training_seconds=request.training_seconds,
        pue=request.pue,
    )
    lines = [
        *_server_lines(build, request.server_count),
        *_spare_lines(build, request),
        *network.lines,
        *front_end,
        *storage.lines,
        *managed,
        *housed.lines,
        *service_lines(parts, request),
    ]
    return Bill(
        request=request,
        build=build,
        network=network,
        storage=storage,
        facility=housed,
        lines=tuple(lines),
        missing=(*network.missing, *storage.missing, *housed.missing, *unknown_rules),
    )


def _server_lines(build: ServerBuild, server_count: int) -> list[LineAnswer]:
    """The server, then what it holds; the parts inside belong to the server's price."""
    figures = {"server": build.server.name, "gpus": build.gpu_count, "gpu": build.gpu.name, "servers": server_count}
    lines = [
        line(
            build.server,
            "server",
            server_count,
            ngettext(
                "%(servers)d server of %(gpus)d x %(gpu)s.", "%(servers)d servers of %(gpus)d x %(gpu)s.", server_count
            )
            % figures,
            _(
                "Orderable server that takes the GPU: named by a reference build first, then complete figures, "
                "low power."
            ),
        )
    ]
    for chosen in build.chosen:
        lines.append(
            LineAnswer(
                sku=chosen.sku,
                kind=chosen.kind,
                name=chosen.name,
                quantity=chosen.quantity * server_count,
                unit="each",
                reason=chosen.reason,
                source_rule=chosen.source_rule,
                part_of=build.server.sku,
            )
        )
    return lines


def _spare_lines(build: ServerBuild, request: BillRequest) -> list[LineAnswer]:
    if not request.spare_server_count:
        return []
    reason = joined(
        ngettext(
            "%(count)d spare server covers the repairs that run at once with 99 %% confidence.",
            "%(count)d spare servers cover the repairs that run at once with 99 %% confidence.",
            request.spare_server_count,
        ),
        _("Complete, with the same GPUs, processors, memory, drives and NICs."),
    )
    return [
        line(
            build.server,
            "spare_server",
            request.spare_server_count,
            reason % {"count": request.spare_server_count},
            _("Poisson quantile of servers in repair, from the published interruption rate."),
        )
    ]


def service_lines(parts: Parts, request: BillRequest) -> list[LineAnswer]:
    """Services that belong to a cluster of this size; further ones can be added in the quote."""
    wanted: dict[str, str] = {}
    if request.server_count > 1:
        wanted["svc-build-cluster"] = _("More than one server: racking, fabric, software and burn-in by one hand.")
        wanted["svc-monitoring"] = _("More than one server: GPU, network and storage faults must be seen early.")
    if request.server_count >= OPERATIONS_FROM_SERVERS:
        wanted["svc-ops-24x7"] = _("From %(count)d servers an interruption at night costs a cluster-night.") % {
            "count": OPERATIONS_FROM_SERVERS
        }
    if request.spare_server_count:
        wanted["svc-onsite-spare"] = _("Keeps the spare servers on site, exchanged within hours.")
    wanted["svc-acceptance"] = _("Measured rates before hand-over, item by item.")
    wanted["svc-warranty-3y-onsite"] = _("With a purchase: parts and labour on site.")
    if request.data_sensitivity == "regulated":
        wanted["svc-data-isolation"] = _("Regulated data: own rack, own management network, customer-held keys.")
    lines = []
    for sku, reason in wanted.items():
        part = parts.services.get(sku)
        if part is not None:
            lines.append(_service_line(part, reason, request))
    return lines


def _service_line(part: ServicePart, reason: str, request: BillRequest) -> LineAnswer:
    quantity = request.spare_server_count if part.unit.startswith("per spare") else 1
    entry = line(part, "service", quantity, reason, in_language(part.scope, part.scope_zh), unit=part.unit)
    entry["name"] = in_language(part.name, part.name_zh)
    return entry

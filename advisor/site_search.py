"""Search within a site's limits: each GPU gets as many servers as power and racks take, and the results are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from advisor.engine.power import Load, RackType, rack_fill, servers_within_site
from advisor.engine.search_types import Rejection, SearchResult
from advisor.engine.specs import Candidate, HardwareOption, Target
from advisor.facility_parts import build_watts, rack_for
from advisor.parts import Parts
from advisor.server_build import server_build, servers_for

# Switches, storage and management beside the servers, over the servers' power: planning value.
NETWORK_POWER_SHARE = 0.1


def site_gpu_limits(
    parts: Parts,
    options: Sequence[HardwareOption],
    *,
    max_it_watts: float | None,
    max_racks: int | None,
    cooling: str | None,
) -> Mapping[str, int]:
    """Most GPUs of each option that the site takes, the servers' share of network power included; 0 where none."""
    limits: dict[str, int] = {}
    for option in options:
        gpu = parts.gpus[option.gpu.sku]
        server = servers_for(parts, gpu, gpus_per_server=option.gpus_per_server, cooling=cooling)[0]
        watts, units = build_watts(server_build(parts, gpu, server)), server.rack_units
        if watts is None or not units:
            limits[gpu.sku] = 0
            continue
        watts *= 1 + NETWORK_POWER_SHARE
        rack = rack_for(parts, watts, units, server.cooling, 2)
        if rack is None or rack.usable_watts is None or rack.rack_units is None:
            limits[gpu.sku] = 0
            continue
        kind = RackType(sku=rack.sku, usable_watts=rack.usable_watts, rack_units=rack.rack_units, cooling=rack.cooling)
        if rack_fill(kind, watts, units).devices_per_rack == 0:
            limits[gpu.sku] = 0
            continue
        load = Load(kind="server", count=1, max_watts=watts, rack_units=units)
        servers = servers_within_site(max_it_watts, max_racks, kind, load)
        limits[gpu.sku] = option.gpus_per_server * (servers or 0)
    return limits


def merged(results: Sequence[SearchResult]) -> SearchResult:
    """Results of searches over different options as one: the cheapest winner leads, the others follow by cost."""
    winners = [item for item in results if item.recommended is not None]
    if not winners:
        first = results[0]
        return replace(
            first,
            rejected=tuple(item for result in results for item in result.rejected),
            relaxations=tuple(item for result in results for item in result.relaxations),
            evaluated_layout_count=sum(result.evaluated_layout_count for result in results),
        )
    winners.sort(key=lambda result: _rank(result.recommended))
    lead = winners[0]
    rest = [item for result in winners for item in (result.recommended, *result.alternatives) if item is not None]
    others = sorted((item for item in rest if item is not lead.recommended), key=_rank)
    return replace(
        lead,
        alternatives=tuple(
            replace(item, labels=tuple(set(item.labels) - {"recommended", "cheapest"})) for item in others
        ),
        rejected=tuple(item for result in results for item in _beside(lead, result)) + _beaten(lead, winners[1:]),
        pareto=tuple(item for result in results for item in result.pareto),
        relaxations=(),
        evaluated_layout_count=sum(result.evaluated_layout_count for result in results),
        view_of={sku: view for result in results for sku, view in result.view_of.items()},
    )


def _rank(candidate: Candidate | None) -> tuple[bool, float]:
    """Priced before unpriced, then cost, then watts."""
    if candidate is None:
        return True, float("inf")
    if candidate.cost is not None:
        return False, candidate.cost
    cluster = candidate.estimate.scenario.cluster
    return True, cluster.gpu_count * cluster.gpu.tdp_watts


def _beside(lead: SearchResult, result: SearchResult) -> tuple[Rejection, ...]:
    """Reasons of one search with their cost ratios to the winner of all instead of its own."""
    best, own = lead.recommended, result.recommended
    if best is None or own is None or own is best or not best.cost or not own.cost:
        return result.rejected
    factor = own.cost / best.cost
    return tuple(
        replace(item, params=item.params | {"cost_ratio": ratio * factor})
        if isinstance(ratio := item.params.get("cost_ratio"), float)
        else item
        for item in result.rejected
    )


def _beaten(lead: SearchResult, others: Sequence[SearchResult]) -> tuple[Rejection, ...]:
    """Winners of other groups against the lead: the ratio of their costs, as within one search."""
    best = lead.recommended
    lost = []
    for result in others:
        item = result.recommended
        if item is None:
            continue
        name = item.option.gpu.name
        if item.cost is None or best is None or best.cost is None:
            lost.append(Rejection(gpu_sku=item.option.gpu.sku, code="no_price", params={"gpu": name}))
        else:
            params: dict[str, float | int | str | None] = {"gpu": name, "cost_ratio": item.cost / best.cost}
            lost.append(Rejection(gpu_sku=item.option.gpu.sku, code="dearer", params=params))
    return tuple(lost)


def grouped_by_limit(
    options: Sequence[HardwareOption], limits: Mapping[str, int], target: Target
) -> dict[int, list[HardwareOption]]:
    """Options that may grow to the same size, searched together; those that fit no server are left out."""
    groups: dict[int, list[HardwareOption]] = {}
    for option in options:
        limit = min(limits[option.gpu.sku], target.max_gpu_count)
        wanted = target.gpu_count or option.gpus_per_server
        if limit >= wanted:
            groups.setdefault(limit, []).append(option)
    return groups

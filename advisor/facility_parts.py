"""Racks, power strips, management nodes and power of a cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext as _

from advisor.answers import LineAnswer
from advisor.catalog_language import in_language, is_chinese, joined
from advisor.engine.power import (
    DEFAULT_PUE,
    DEFAULT_TRAINING_POWER,
    Load,
    PowerPlan,
    RackType,
    derived_server_watts,
    power_plan,
    rack_fill,
)
from advisor.engine.reliability import assumed_number
from advisor.figures import format_watts
from advisor.network_parts import Network, line
from advisor.parts import ManagementPart, Parts, RackPart
from advisor.server_build import ServerBuild
from advisor.storage_parts import StorageChoice

NO_SWITCHES: Mapping[str, int] = MappingProxyType({})
FEEDS = 2  # an A and a B feed, each able to carry the rack alone
SERVERS_WANTED_PER_RACK = 2
_CLAUSE = re.compile(
    r"^(?P<plus>\+)?(?P<count>\d+) "
    r"(?:per cluster from (?P<from>\d+) GPU servers|from (?P<from2>\d+) GPU servers|(?P<below>below)"
    r"|per (?P<each>\d+) GPU servers|per (?P<fabric>InfiniBand) fabric|per cluster when (?P<when>.+))$"
)
_REMARK = re.compile(r"\s*\([^)]*\)")


def management_count(rule: str, server_count: int, *, has_infiniband: bool, has_storage_gateway: bool) -> int | None:
    """Nodes by a catalogue rule such as "2 per cluster from 4 GPU servers; 1 below"; None where it is not understood.

    A lone server needs no management node.
    """
    if server_count < 2:
        return 0
    base, extra, is_reached = 0, 0, False
    for text in rule.split(";"):
        found = _CLAUSE.match(_REMARK.sub("", text).strip())
        if found is None:
            return None
        count = int(found["count"])
        threshold = found["from"] or found["from2"]
        if threshold:
            if server_count >= int(threshold):
                base, is_reached = count, True
        elif found["below"]:
            base = base if is_reached else count
        elif found["each"]:
            extra += count * (server_count // int(found["each"]))
        elif found["fabric"]:
            base = count if has_infiniband else 0
            if not has_infiniband:
                return 0
        elif found["when"]:
            base = 0 if has_storage_gateway else count
    return base + extra


def rule_text(rule: str) -> str:
    """The catalogue's quantity rule in the active language; the rule itself where a clause is not understood."""
    clauses = []
    for text in rule.split(";"):
        found = _CLAUSE.match(_REMARK.sub("", text).strip())
        if found is None:
            return rule
        figures = {"count": found["count"], "servers": found["from"] or found["from2"] or found["each"]}
        if found["from"] or found["from2"]:
            clauses.append(_("%(count)s from %(servers)s GPU servers on") % figures)
        elif found["below"]:
            clauses.append(_("%(count)s below that") % figures)
        elif found["each"]:
            clauses.append(_("%(count)s more for each %(servers)s GPU servers") % figures)
        elif found["fabric"]:
            clauses.append(_("%(count)s for each InfiniBand fabric") % figures)
        else:
            clauses.append(_("%(count)s where the storage system has no gateway of its own") % figures)
    return _("Catalogue rule: %(rule)s.") % {"rule": ("；" if is_chinese() else "; ").join(clauses)}


def management_lines(
    parts: Parts,
    server_count: int,
    *,
    has_infiniband: bool,
    has_storage_gateway: bool,
    free_fabric_port_count: int | None = None,
) -> tuple[list[LineAnswer], list[tuple[ManagementPart, int]], list[str]]:
    lines: list[LineAnswer] = []
    nodes: list[tuple[ManagementPart, int]] = []
    missing: list[str] = []
    for part in parts.management.values():
        count = management_count(
            part.quantity_rule, server_count, has_infiniband=has_infiniband, has_storage_gateway=has_storage_gateway
        )
        if count is None:
            text = _("The quantity rule of %(sku)s is not understood: “%(rule)s”.")
            missing.append(text % {"sku": part.sku, "rule": part.quantity_rule})
        elif count:
            reason = _("%(count)d for %(servers)d GPU servers.") % {"count": count, "servers": server_count}
            is_on_fabric = "InfiniBand fabric" in part.quantity_rule
            if is_on_fabric and free_fabric_port_count is not None and free_fabric_port_count < count:
                no_port = _("Every port of the fabric is taken: plan one more leaf switch for it before the order.")
                reason = joined(reason, no_port)
            entry = line(part, "management_node", count, reason, rule_text(part.quantity_rule))
            entry["name"] = in_language(part.name, part.name_zh)
            lines.append(entry)
            nodes.append((part, count))
    return lines, nodes, missing


def build_watts(build: ServerBuild) -> float | None:
    """Most that the populated server draws: the maker's figure, else the catalogue's rule with these very parts."""
    server, gpu = build.server, build.gpu
    if not server.is_watts_derived:
        return server.max_watts
    if server.power_factor is None or not gpu.spec.tdp_watts or build.cpu is None or build.cpu.tdp_watts is None:
        return server.max_watts
    return derived_server_watts(
        server.power_factor,
        gpu.spec.tdp_watts * build.gpu_count,
        build.cpu.tdp_watts * build.cpu_count,
        build.memory_count // 2,
        build.nic_count + (1 if build.front_end_nic else 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facility:
    plan: PowerPlan | None
    rack: RackPart | None
    answer: dict[str, Any]
    lines: tuple[LineAnswer, ...]
    missing: tuple[str, ...]


def facility(
    parts: Parts,
    build: ServerBuild,
    *,
    server_count: int,
    network: Network,
    storage: StorageChoice,
    nodes: list[tuple[ManagementPart, int]],
    training_seconds: float | None,
    pue: float | None = None,
    further_switches: Mapping[str, int] = NO_SWITCHES,
) -> Facility:
    """Racks by power and space, their power strips, and the energy of the run.

    `further_switches`: how many of which SKU join servers, storage and management beside the training network.
    """
    watts = build_watts(build)
    units = build.server.rack_units
    if watts is None or not units:
        text = _("%(server)s publishes no power or height: racks and energy cannot be told.")
        return Facility(plan=None, rack=None, answer={}, lines=(), missing=(text % {"server": build.server.name},))
    rack = rack_for(parts, watts, units, build.server.cooling, server_count)
    if rack is None:
        text = _("No rack of the catalogue takes a server of %(watts)s.") % {"watts": format_watts(watts)}
        return Facility(plan=None, rack=None, answer={}, lines=(), missing=(text,))
    average = assumed_number(DEFAULT_TRAINING_POWER)
    missing: list[str] = []
    loads = [Load(kind="server", count=server_count, max_watts=watts, rack_units=units, average_fraction=average)]
    if network.plan is not None and network.switch is not None and network.switch.power_watts is not None:
        loads.append(
            Load(
                kind="switch",
                count=network.plan.switch_count,
                max_watts=network.switch.power_watts,
                rack_units=network.switch.rack_units or 1,
            )
        )
    loads += [
        Load(kind="switch", count=count, max_watts=switch.power_watts, rack_units=switch.rack_units or 1)
        for switch, count in ((parts.switches[sku], count) for sku, count in further_switches.items())
        if switch.power_watts is not None
    ]
    if storage.system is not None:
        if storage.system.power_watts is None:
            text = _("%(system)s publishes no power: it is not in the total.")
            missing.append(text % {"system": storage.system.name})
        else:
            loads.append(
                Load(
                    kind="storage",
                    count=storage.count,
                    max_watts=storage.system.power_watts,
                    rack_units=storage.system.rack_units or 0,
                )
            )
    loads += [
        Load(kind="management", count=count, max_watts=part.power_watts, rack_units=part.rack_units)
        for part, count in nodes
        if part.power_watts is not None
    ]
    rack_type = RackType(
        sku=rack.sku,
        usable_watts=rack.usable_watts or 0.0,
        rack_units=rack.rack_units or 0,
        cooling=rack.cooling,
    )
    used_pue = assumed_number(DEFAULT_PUE) if pue is None else pue
    plan = power_plan(tuple(loads), rack_type, used_pue, training_seconds)
    return Facility(
        plan=plan,
        rack=rack,
        answer=_answer(plan, rack, build, watts),
        lines=tuple(_rack_lines(parts, rack, plan, watts)),
        missing=tuple(missing),
    )


def rack_for(parts: Parts, watts: float, units: int, cooling: str, server_count: int) -> RackPart | None:
    """The smallest rack class that takes two servers (one where there is only one, or none takes two)."""
    is_liquid = cooling.startswith("liquid")
    fitting: list[tuple[RackPart, int]] = []
    for rack in parts.racks.values():
        is_empty_rack = rack.kind == "rack" and "nvl72" not in rack.sku
        if not is_empty_rack or not rack.usable_watts or not rack.rack_units:
            continue
        if rack.cooling.startswith("liquid") != is_liquid:
            continue
        kind = RackType(sku=rack.sku, usable_watts=rack.usable_watts, rack_units=rack.rack_units, cooling=rack.cooling)
        count = rack_fill(kind, watts, units).devices_per_rack
        if count:
            fitting.append((rack, count))
    wanted = min(SERVERS_WANTED_PER_RACK, server_count)
    enough = [rack for rack, count in fitting if count >= wanted] or [rack for rack, _count in fitting]
    return min(enough, key=lambda rack: (rack.usable_watts or math.inf, rack.sku), default=None)


def _rack_lines(parts: Parts, rack: RackPart, plan: PowerPlan, watts: float) -> list[LineAnswer]:
    if plan.rack_count is None:
        return []
    reason = _(
        "%(servers)d servers of %(watts)s fill a rack, limited by %(limit)s; network and management included."
    ) % {
        "servers": plan.servers_per_rack,
        "watts": format_watts(watts),
        "limit": {"power": _("power"), "space": _("space")}.get(plan.rack_limited_by, plan.rack_limited_by),
    }
    rule = _("The smallest rack class that takes two servers, by power and by space.")
    lines = [line(rack, "rack", plan.rack_count, reason, rule)]
    strip = _strip_for(parts, rack)
    if strip is not None and strip.circuit_watts and rack.usable_watts:
        per_feed = math.ceil(rack.usable_watts / strip.circuit_watts)
        reason = _("%(feeds)d feeds a rack, each able to carry its %(watts)s alone.") % {
            "feeds": FEEDS,
            "watts": format_watts(rack.usable_watts),
        }
        rule = _("N+N supply: either feed may fail; strips loaded to 80 % at most.")
        lines.append(line(strip, "pdu", FEEDS * per_feed * plan.rack_count, reason, rule))
    return lines


def _strip_for(parts: Parts, rack: RackPart) -> RackPart | None:
    """The smallest 400 V or 230 V strip that carries the rack, else the strongest of them."""
    strips = [
        part
        for part in parts.racks.values()
        if part.kind == "pdu" and part.circuit_watts and ("400v" in part.sku or "230v" in part.sku)
    ]
    strips.sort(key=lambda part: part.circuit_watts or 0.0)
    enough = [part for part in strips if (part.circuit_watts or 0.0) >= (rack.usable_watts or math.inf)]
    return enough[0] if enough else (strips[-1] if strips else None)


def _answer(plan: PowerPlan, rack: RackPart, build: ServerBuild, watts: float) -> dict[str, Any]:
    return {
        "server_max_watts": watts,
        "is_server_watts_derived": build.server.is_watts_derived,
        "it_watts": plan.it_max_watts,
        "it_average_watts": plan.it_average_watts,
        "facility_watts": plan.facility_max_watts,
        "facility_average_watts": plan.facility_average_watts,
        "network_watts": plan.network_max_watts,
        "other_watts": plan.other_max_watts,
        "pue": plan.pue,
        "rack": rack.sku,
        "rack_count": plan.rack_count,
        "servers_per_rack": plan.servers_per_rack,
        "rack_limited_by": plan.rack_limited_by,
        "cooling": build.server.cooling,
        "psu_redundancy": build.server.psu_redundancy,
        "energy_joules": plan.energy_joules,
        "energy_kilowatt_hours": plan.energy_kilowatt_hours,
    }

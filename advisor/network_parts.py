"""Switches, optics and cables of a cluster: the training fabric, the front-end network and out-of-band management."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from advisor.answers import LineAnswer
from advisor.catalog_language import joined
from advisor.engine.fabric import FabricPlan, FabricRequest, LinkBill, fabric_plan
from advisor.engine.units import GIGA, bytes_per_second_from_gbit
from advisor.parts import CablePart, NicPart, Part, Parts, SwitchPart
from advisor.server_build import FRONT_END_NIC_SKU, ServerBuild
from advisor.source_words import part_text

COPPER_SERVER_LIMIT = 4  # up to here servers and leaf share a rack or its neighbour: 3 m of copper reach
SHORT_RUN_SERVER_LIMIT = 64
SHORT_RUN_METRES, LONG_RUN_METRES = 20.0, 50.0
TWIN_CAGE_BYTES_PER_SECOND = bytes_per_second_from_gbit(400.0)  # from here on a cage carries two links
# BlueField-3 takes QSFP112 plugs only (NVIDIA, MMA1Z00-NS400-T overview), as do dual-port ConnectX-7 cards;
# the other NICs of 400 Gbit/s have OSFP cages. At 200 Gbit/s and below a plug is the same at both ends.
QSFP112_NICS = frozenset({"nvidia-bf3-b3140h", "nvidia-bf3-b3220", "nvidia-cx7-2p-200-vpi"})
FRONT_END_SWITCH_SKU, MANAGEMENT_SWITCH_SKU = "nvidia-sn4600c", "nvidia-sn2201"
FRONT_END_CABLE_SKU, MANAGEMENT_CABLE_SKU = "mfa1a00-c010", "cat6-1g-3m"
MANAGEMENT_SWITCH_PORTS = 48
FRONT_END_BYTES_PER_SECOND = bytes_per_second_from_gbit(100.0)
PAIR = 2  # front-end switches at least: each device has a port on both
SUPERCHASSIS_POWER_PORTS = 2  # two PDUs a rack report over the management network


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The training fabric with its parts; `plan` is None for a single server."""

    switch: SwitchPart | None
    plan: FabricPlan | None
    answer: dict[str, Any]
    lines: tuple[LineAnswer, ...]
    missing: tuple[str, ...]  # what the catalogue has no part for, as sentences

    @property
    def switch_watts(self) -> float | None:
        if self.plan is None:
            return 0.0
        if self.switch is None or self.switch.power_watts is None:
            return None
        return self.switch.power_watts * self.plan.switch_count


def line(part: Part, kind: str, quantity: int, reason: str, source_rule: str, unit: str = "each") -> LineAnswer:
    return LineAnswer(
        sku=part.sku,
        kind=kind,
        name=part_text(part.name),
        quantity=quantity,
        unit=unit,
        reason=reason,
        source_rule=source_rule,
        part_of=None,
    )


def training_network(
    parts: Parts, build: ServerBuild, server_count: int, *, oversubscription: float = 1.0, kind: str = "infiniband"
) -> Network:
    """Rail-optimised fabric of the compute NICs, with a switch of the NICs' own rate."""
    nic = build.nic
    if server_count < 2 or nic is None or not build.nic_count:
        return Network(switch=None, plan=None, answer=_answer(build, None, None, kind), lines=(), missing=())
    switch = fabric_switch(parts, nic, kind=kind)
    if switch is None:
        text = _("No %(kind)s switch of %(rate)g Gbit/s ports is in the catalogue.") % {
            "kind": kind_name(kind),
            "rate": nic.port_bytes_per_second * 8 / GIGA,
        }
        return Network(switch=None, plan=None, answer=_answer(build, None, None, kind), lines=(), missing=(text,))
    is_optical = server_count > COPPER_SERVER_LIMIT
    request = FabricRequest(
        server_count=server_count,
        ports_per_server=nic.port_count * build.nic_count,
        switch_port_count=switch.ports_at(nic.port_bytes_per_second),
        oversubscription=oversubscription,
        port_bytes_per_second=nic.port_bytes_per_second,
        links_per_switch_cage=_links_per_cage(nic),
        has_optical_server_links=is_optical,
    )
    try:
        plan = fabric_plan(request)
    except ValueError as fault:
        return Network(
            switch=switch, plan=None, answer=_answer(build, switch, None, kind), lines=(), missing=(str(fault),)
        )
    lines = [_switch_line(switch, plan)]
    missing: list[str] = []
    for bill in plan.links:
        found, absent = _link_lines(parts, bill, nic, server_count)
        lines += found
        missing += absent
    return Network(
        switch=switch,
        plan=plan,
        answer=_answer(build, switch, plan, kind),
        lines=tuple(lines),
        missing=tuple(missing),
    )


def kind_name(kind: str) -> str:
    return {"infiniband": "InfiniBand", "roce": "RoCE"}.get(kind, kind)


def fabric_switch(parts: Parts, nic: NicPart, *, kind: str = "infiniband") -> SwitchPart | None:
    """A managed switch with ports of the NIC's rate: one that a reference build names, then the largest radix."""
    is_ethernet = kind == "roce" or nic.protocol == "Ethernet"
    rate = nic.port_bytes_per_second
    named = {sku for build in parts.builds.values() for sku in build.part_skus}
    fitting = [
        switch
        for switch in parts.switches.values()
        if (switch.protocol == "Ethernet") == is_ethernet
        and (switch.port_bytes_per_second == rate or (is_ethernet and switch.ports_at(rate)))
    ]
    fitting.sort(key=lambda switch: (switch.sku not in named, -switch.ports_at(rate), switch.sku))
    return fitting[0] if fitting else None


def _links_per_cage(nic: NicPart) -> int:
    return 2 if nic.port_bytes_per_second >= TWIN_CAGE_BYTES_PER_SECOND else 1


def _switch_line(switch: SwitchPart, plan: FabricPlan) -> LineAnswer:
    figures = {
        "leaf": plan.leaf_count,
        "spine": plan.spine_count,
        "core": plan.core_count,
        "ports": plan.endpoint_count,
    }
    if plan.core_count:
        reason = _("%(leaf)d leaf, %(spine)d spine and %(core)d core switches join %(ports)d server ports.")
    elif plan.spine_count:
        reason = _("%(leaf)d leaf and %(spine)d spine switches join %(ports)d server ports.")
    else:
        reason = _("One switch joins %(ports)d server ports.")
    return line(
        switch,
        "switch",
        plan.switch_count,
        reason % figures,
        _("Rail-optimised, non-blocking fabric: NIC r of every server of a group on leaf r."),
    )


def _link_lines(parts: Parts, bill: LinkBill, nic: NicPart, server_count: int) -> tuple[list[LineAnswer], list[str]]:
    """Cable assemblies, or fibres with an optic at each end, for one kind of link."""
    rate = nic.port_bytes_per_second
    what = {
        "server_to_leaf": _("servers to leaf switches"),
        "leaf_to_spine": _("leaf to spine switches"),
        "spine_to_core": _("spine to core switches"),
    }[bill.kind]
    reason = _("%(links)d links of %(rate)g Gbit/s, %(what)s.") % {
        "links": bill.link_count,
        "rate": rate * 8 / GIGA,
        "what": what,
    }
    rule = _("Counted switch by switch: a half-used cage takes a whole part.")
    reach = SHORT_RUN_METRES if server_count <= SHORT_RUN_SERVER_LIMIT else LONG_RUN_METRES
    if not bill.is_optical:
        cable = _copper(parts, nic, bill.kind == "server_to_leaf")
        if cable is not None:
            return [line(cable, "cable", bill.cable_count, reason, rule)], []
    active = _nearest_reach(parts, rate, "AOC", reach)
    if active is not None and _links_per_cage(nic) == 1:
        return [line(active, "cable", bill.link_count, reason, rule)], []
    return _optical_lines(parts, bill, nic, reach, reason, rule)


def _optical_lines(
    parts: Parts, bill: LinkBill, nic: NicPart, reach: float, reason: str, rule: str
) -> tuple[list[LineAnswer], list[str]]:
    rate = nic.port_bytes_per_second
    twin = _transceiver(parts, rate, link_count=2) or _transceiver(parts, rate, link_count=1)
    single = _transceiver(parts, rate, link_count=1, plug=_plug(nic))
    fibre = _nearest_reach(parts, rate, "fibre", reach)
    lower = single if bill.kind == "server_to_leaf" else twin
    wanted = (
        (twin, bill.upper_transceiver_count, _("Switch side.")),
        (
            lower,
            bill.lower_transceiver_count,
            _("Server side.") if bill.kind == "server_to_leaf" else _("Lower switch side."),
        ),
    )
    lines: list[LineAnswer] = []
    missing: list[str] = []
    for part, count, side in wanted:
        if not count:
            continue
        if part is None:
            text = _("No optic of %(rate)g Gbit/s is in the catalogue, %(count)d pieces are missing. %(side)s")
            missing.append(text % {"rate": rate * 8 / GIGA, "side": side, "count": count})
        else:
            lines.append(line(part, "optic", count, joined(reason, side), rule))
    if fibre is not None:
        lines.append(line(fibre, "cable", bill.cable_count, reason, rule))
    elif bill.cable_count:
        text = _("No fibre of %(rate)g Gbit/s is in the catalogue: %(count)d pieces are missing.")
        missing.append(text % {"rate": rate * 8 / GIGA, "count": bill.cable_count})
    return lines, missing


def _plug(nic: NicPart) -> str:
    """What the NIC's cage takes, as the ends of cables are written; nothing where both ends are alike."""
    if _links_per_cage(nic) == 1:
        return ""
    return "QSFP112" if nic.sku in QSFP112_NICS else "OSFP"


def _copper(parts: Parts, nic: NicPart, to_server: bool) -> CablePart | None:
    """The longest passive cable of the rate; from a twin-port cage to servers a splitter with their plug."""
    is_split = to_server and _links_per_cage(nic) == 2
    fitting = [
        cable
        for cable in parts.cables.values()
        if cable.kind == ("DAC splitter" if is_split else "DAC")
        and cable.link_bytes_per_second == nic.port_bytes_per_second
        and (not is_split or _plug(nic) in cable.end_b)
    ]
    return max(fitting, key=lambda cable: (cable.reach_metres or 0.0, cable.sku), default=None)


def _transceiver(parts: Parts, rate: float, *, link_count: int, plug: str = "") -> CablePart | None:
    fitting = [
        cable
        for cable in parts.cables.values()
        if cable.kind == "transceiver"
        and cable.link_bytes_per_second == rate
        and cable.link_count == link_count
        and plug in cable.end_a
    ]
    return min(fitting, key=lambda cable: (cable.reach_metres or math.inf, cable.sku), default=None)


def _nearest_reach(parts: Parts, rate: float, kind: str, reach: float) -> CablePart | None:
    fitting = [cable for cable in parts.cables.values() if cable.kind == kind and cable.link_bytes_per_second == rate]
    long_enough = [cable for cable in fitting if (cable.reach_metres or 0.0) >= reach]
    if long_enough:
        return min(long_enough, key=lambda cable: (cable.reach_metres or 0.0, cable.sku))
    return max(fitting, key=lambda cable: (cable.reach_metres or 0.0, cable.sku), default=None)


def _answer(build: ServerBuild, switch: SwitchPart | None, plan: FabricPlan | None, kind: str) -> dict[str, Any]:
    nic = build.nic
    ports = nic.port_count * build.nic_count if nic else 0
    rate = nic.port_bytes_per_second if nic else 0.0
    return {
        "kind": kind if nic else "none",
        "kind_name": kind_name(kind) if nic else "",
        "nic": nic.sku if nic else None,
        "ports_per_server": ports,
        "port_bytes_per_second": rate,
        "port_gbit_per_second": rate * 8 / GIGA,
        "bytes_per_second_per_gpu": build.fabric_bytes_per_second_per_gpu,
        "gbit_per_second_per_gpu": build.fabric_bytes_per_second_per_gpu * 8 / GIGA,
        "switch": switch.sku if switch else None,
        "tier_count": plan.tier_count if plan else 0,
        "leaf_count": plan.leaf_count if plan else 0,
        "spine_count": plan.spine_count if plan else 0,
        "core_count": plan.core_count if plan else 0,
        "switch_count": plan.switch_count if plan else 0,
        "used_port_count": plan.used_port_count if plan else 0,
        "free_port_count": plan.free_port_count if plan else 0,
        "cable_count": plan.cable_count if plan else 0,
        "transceiver_count": plan.transceiver_count if plan else 0,
        "oversubscription": 1.0,
        "bisection_bytes_per_second": plan.bisection_bytes_per_second if plan else 0.0,
        "topology": "rail_optimised_leaf_spine" if plan else "single_server",
    }


def _front_end_ports(parts: Parts, build: ServerBuild, *, server_count: int, management_count: int) -> int:
    """Ports of the front-end NICs there are: in servers that have a slot for one, and in management nodes."""
    usual = parts.nics.get(FRONT_END_NIC_SKU)
    in_servers = server_count * build.front_end_nic.port_count if build.front_end_nic else 0
    return in_servers + management_count * (usual.port_count if usual else 1)


def storage_ports(read_bytes_per_second: float | None, system_count: int) -> int:
    """Front-end ports of the shared storage: enough for the rate each system reads at, two at least.

    90 GB/s take 8 ports of 100 Gbit/s, as many as such an appliance has (DDN AI400X2: 8).
    """
    each = math.ceil((read_bytes_per_second or 0.0) / FRONT_END_BYTES_PER_SECOND)
    return system_count * max(2, each)


def _front_end_switches(switch: SwitchPart, port_count: int) -> tuple[int, int, str]:
    """How many, the links between them, and why: a pair, else leaves and spines without oversubscription."""
    figures = {"ports": port_count}
    if port_count <= PAIR * switch.port_count:
        return PAIR, 0, _("%(ports)d ports of 100 Gbit/s; two at least, so that one may fail.") % figures
    request = FabricRequest(
        server_count=port_count, ports_per_server=1, switch_port_count=switch.port_count, links_per_switch_cage=1
    )
    try:
        plan = fabric_plan(request)
    except ValueError:  # more than three tiers join
        leaves = math.ceil(port_count / (switch.port_count // 2))
        reason = _("%(ports)d ports of 100 Gbit/s on %(leaf)d leaf switches; the tiers above are to be planned.")
        return leaves, 0, reason % {**figures, "leaf": leaves}
    reason = _("%(ports)d ports of 100 Gbit/s on %(leaf)d leaf switches, joined by %(upper)d further ones.")
    figures |= {"leaf": plan.leaf_count, "upper": plan.spine_count + plan.core_count}
    between = sum(bill.link_count for bill in plan.links if bill.kind != "server_to_leaf")
    return plan.switch_count, between, reason % figures


def front_end_lines(
    parts: Parts,
    build: ServerBuild,
    *,
    server_count: int,
    management_count: int,
    switch_count: int,
    storage_port_count: int = 0,
) -> list[LineAnswer]:
    """Front-end switches for storage and users, one-gigabit switches for BMCs; nothing for a lone server."""
    if server_count < 2:
        return []
    lines: list[LineAnswer] = []
    switch, cable = parts.switches.get(FRONT_END_SWITCH_SKU), parts.cables.get(FRONT_END_CABLE_SKU)
    ports = _front_end_ports(parts, build, server_count=server_count, management_count=management_count)
    ports += storage_port_count
    rule = _("Front-end network: two ports a server, spread over two switches.")
    front_ports, between = 0, 0
    if switch is not None:
        front_ports, between, reason = _front_end_switches(switch, ports)
        if build.front_end_nic is None:
            no_slot = _(
                "The servers have no slot left for a front-end NIC and reach storage through the training network."
            )
            reason = joined(reason, no_slot)
        lines.append(line(switch, "switch", front_ports, reason, rule))
    if cable is not None:
        reason = _("One a port of servers, management nodes and storage.")
        if between:
            reason = joined(reason, _("%(links)d more between the switches.") % {"links": between})
        lines.append(line(cable, "cable", ports + between, reason, rule))
    out_of_band, copper = parts.switches.get(MANAGEMENT_SWITCH_SKU), parts.cables.get(MANAGEMENT_CABLE_SKU)
    managed = server_count + management_count + switch_count + front_ports + SUPERCHASSIS_POWER_PORTS * server_count
    rule = _("Out-of-band management: one port for each server, switch and power strip.")
    if out_of_band is not None:
        count = math.ceil(managed / MANAGEMENT_SWITCH_PORTS)
        reason = _("%(ports)d management ports.") % {"ports": managed}
        lines.append(line(out_of_band, "switch", count, reason, rule))
    if copper is not None:
        reason = _("%(ports)d management ports.") % {"ports": managed}
        lines.append(line(copper, "cable", managed, reason, rule))
    return lines

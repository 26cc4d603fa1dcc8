"""Scale-out network: how many leaf, spine and core switches, links, cables and optics a cluster takes.

Rail-optimised: port r of every server of a group goes to the same leaf switch. Integers throughout; one call plans one
cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

TWIN_PORT_LINK_COUNT = 2  # links in one OSFP cage of a 64 x 400G or 144 x 800G InfiniBand switch


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricRequest:
    """What the fabric must join.

    `switch_port_count` is the radix at the rate of the ports of the servers (a 32-cage switch with 64 ports of 400G has
    64). `oversubscription` is the ratio of server ports to uplinks of a leaf, 1 for a non-blocking fabric.
    """

    server_count: int
    ports_per_server: int
    switch_port_count: int
    oversubscription: float = 1.0
    port_bytes_per_second: float = 0.0
    links_per_switch_cage: int = TWIN_PORT_LINK_COUNT
    has_optical_server_links: bool = False
    has_optical_switch_links: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkBill:
    """Links of one kind and what they are made of.

    Copper: `cable_count` assemblies, a twin-port cage carries two links in one. Optical: `cable_count` fibres, one per
    link, and transceivers on both sides.
    """

    kind: str  # server_to_leaf | leaf_to_spine | spine_to_core
    link_count: int
    is_optical: bool
    cable_count: int
    lower_transceiver_count: int  # in the servers, or in the lower tier of switches
    upper_transceiver_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPlan:
    """Switches, ports and links. `tier_count` 0: one server, no fabric; 1: a single switch joins all ports."""

    tier_count: int
    endpoint_count: int
    group_count: int
    servers_per_group: int
    rails_per_leaf: int
    leaf_count: int
    spine_count: int
    core_count: int
    switch_count: int
    used_port_count: int
    free_port_count: int
    links: tuple[LinkBill, ...]
    cable_count: int
    transceiver_count: int
    bisection_bytes_per_second: float
    is_evenly_wired: bool
    even_spine_count: int


def leaf_port_split(switch_port_count: int, oversubscription: float = 1.0) -> tuple[int, int]:
    """Ports of a leaf towards servers and towards spines: the most servers with down <= oversubscription x up.

    Raises
    ------
    ValueError
        If the switch has fewer than 2 ports or the oversubscription is below 1.
    """
    if switch_port_count < 2 or not oversubscription >= 1:
        raise ValueError("A leaf needs at least 2 ports and an oversubscription of at least 1.")
    down = min(floor(switch_port_count * oversubscription / (1 + oversubscription)), switch_port_count - 1)
    return down, switch_port_count - down


def two_tier_endpoint_limit(switch_port_count: int, oversubscription: float = 1.0) -> int:
    """Most server ports that leaves and spines of one radix join: down ports x radix (k^2/2 without oversubscription).

    References
    ----------
    .. [1] M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity data center network architecture," SIGCOMM 2008.
       doi:10.1145/1402958.1402967
    """
    return leaf_port_split(switch_port_count, oversubscription)[0] * switch_port_count


def three_tier_endpoint_limit(switch_port_count: int, oversubscription: float = 1.0) -> int:
    """Most server ports of a three-tier fabric: down ports x k/2 x k (k^3/4 without oversubscription)."""
    return leaf_port_split(switch_port_count, oversubscription)[0] * (switch_port_count // 2) * switch_port_count


def _ceil_divide(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


def _even_shares(total: int, share_count: int) -> list[int]:
    """`total` cut into `share_count` integers that differ by one at most."""
    quotient, remainder = divmod(total, share_count)
    return [quotient + 1] * remainder + [quotient] * (share_count - remainder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaves:
    group_count: int
    servers_per_group: int
    rails_per_leaf: int
    down_counts: tuple[int, ...]  # server links of each leaf
    up_counts: tuple[int, ...]


def _leaves(request: FabricRequest) -> _Leaves:
    """Groups as even as they come; in a small group several whole rails share one leaf."""
    down, _ = leaf_port_split(request.switch_port_count, request.oversubscription)
    group_count = _ceil_divide(request.server_count, down)
    group_sizes = _even_shares(request.server_count, group_count)
    rails_per_leaf = max(1, min(down // group_sizes[0], request.ports_per_server))
    leaves_per_group = _ceil_divide(request.ports_per_server, rails_per_leaf)
    rail_shares = _even_shares(request.ports_per_server, leaves_per_group)
    down_counts = tuple(size * rails for size in group_sizes for rails in rail_shares)
    # a hair under the ratio: 64 / 2.0000000001 must not ask for one more uplink
    up_counts = tuple(max(1, -floor(-(count / request.oversubscription) + 1e-9)) for count in down_counts)
    return _Leaves(
        group_count=group_count,
        servers_per_group=group_sizes[0],
        rails_per_leaf=max(rail_shares),
        down_counts=down_counts,
        up_counts=up_counts,
    )


def _link_bill(
    kind: str, lower_counts: tuple[int, ...], upper_counts: tuple[int, ...], is_optical: bool, per_cage: int
) -> LinkBill:
    """Links counted switch by switch, since a half-used cage still takes a whole part."""
    link_count = sum(upper_counts)
    upper = sum(_ceil_divide(count, per_cage) for count in upper_counts)
    if not is_optical:
        return LinkBill(
            kind=kind,
            link_count=link_count,
            is_optical=False,
            cable_count=upper,
            lower_transceiver_count=0,
            upper_transceiver_count=0,
        )
    return LinkBill(
        kind=kind,
        link_count=link_count,
        is_optical=True,
        cable_count=link_count,
        lower_transceiver_count=sum(lower_counts),
        upper_transceiver_count=upper,
    )


def _cages(counts: tuple[int, ...], per_cage: int) -> tuple[int, ...]:
    return tuple(_ceil_divide(count, per_cage) for count in counts)


def fabric_plan(request: FabricRequest) -> FabricPlan:
    """Smallest fabric that joins the ports: none, one switch, leaves and spines, or leaves, spines and cores.

    Uplinks follow the ports in use, so a group that is not full takes fewer spines. `even_spine_count` is the smallest
    number of spines at which every leaf has the same number of links to each spine; installers often prefer it.

    Parameters
    ----------
    request : FabricRequest
        Servers, ports per server, radix, oversubscription, and what the links are made of.

    Returns
    -------
    FabricPlan

    Raises
    ------
    ValueError
        If a count is below 1, or three tiers do not reach.

    References
    ----------
    .. [1] M. Al-Fares, A. Loukissas, A. Vahdat, SIGCOMM 2008. doi:10.1145/1402958.1402967
    .. [2] NVIDIA, "DGX SuperPOD: reference architecture, DGX H100", compute fabric: 32 servers, 8 leaf, 4 spine.
    """
    if request.server_count < 1 or request.ports_per_server < 1 or request.links_per_switch_cage < 1:
        raise ValueError("server_count, ports_per_server and links_per_switch_cage must be at least 1.")
    endpoint_count = request.server_count * request.ports_per_server
    if request.server_count == 1:
        return _small_plan(request, tier_count=0)
    if endpoint_count <= request.switch_port_count:
        return _small_plan(request, tier_count=1)
    leaves = _leaves(request)
    radix, uplink_count = request.switch_port_count, sum(leaves.up_counts)
    if len(leaves.down_counts) <= radix:
        spine_count, core_count = _ceil_divide(uplink_count, radix), 0
        spine_downs, spine_ups = _even_shares(uplink_count, spine_count), [0] * spine_count
        even_spine_count = _even_spine_count(spine_count, leaves.up_counts)
    else:
        spine_count, spine_downs = _pod_spines(request, leaves)
        core_count, spine_ups = _ceil_divide(uplink_count, radix), spine_downs
        even_spine_count = spine_count
    core_downs = _even_shares(uplink_count, core_count) if core_count else []
    return _assembled(request, leaves, spine_downs, spine_ups, core_downs, even_spine_count)


def _even_spine_count(spine_count: int, up_counts: tuple[int, ...]) -> int:
    """Smallest count from `spine_count` up that divides the uplinks of every leaf; as given where none does."""
    for candidate in range(spine_count, min(up_counts) + 1):
        if all(count % candidate == 0 for count in up_counts):
            return candidate
    return spine_count


def _pod_spines(request: FabricRequest, leaves: _Leaves) -> tuple[int, list[int]]:
    """Spines of a three-tier fabric: half of their ports down to the leaves of one pod, half up to the cores."""
    half = request.switch_port_count // 2
    leaves_per_group = len(leaves.down_counts) // leaves.group_count
    groups_per_pod = half // leaves_per_group
    if groups_per_pod < 1:
        raise ValueError(f"{leaves_per_group} leaves of one group do not fit the {half} down ports of a spine.")
    pod_count = _ceil_divide(leaves.group_count, groups_per_pod)
    if pod_count > request.switch_port_count:
        raise ValueError(
            f"{sum(leaves.down_counts)} ports do not fit three tiers of {request.switch_port_count}-port switches: "
            f"at most {three_tier_endpoint_limit(request.switch_port_count, request.oversubscription)}."
        )
    uplinks_per_pod = _even_shares(sum(leaves.up_counts), pod_count)
    spine_downs = [
        share for uplinks in uplinks_per_pod for share in _even_shares(uplinks, max(1, _ceil_divide(uplinks, half)))
    ]
    return len(spine_downs), spine_downs


def _small_plan(request: FabricRequest, tier_count: int) -> FabricPlan:
    """One server without a fabric, or all ports on one switch."""
    endpoint_count = request.server_count * request.ports_per_server
    links: tuple[LinkBill, ...] = ()
    if tier_count:
        per_server = tuple(request.ports_per_server for _ in range(request.server_count))
        links = (
            _link_bill(
                "server_to_leaf",
                per_server,
                (endpoint_count,),
                request.has_optical_server_links,
                request.links_per_switch_cage,
            ),
        )
    return FabricPlan(
        tier_count=tier_count,
        endpoint_count=endpoint_count,
        group_count=1,
        servers_per_group=request.server_count,
        rails_per_leaf=request.ports_per_server if tier_count else 0,
        leaf_count=tier_count,
        spine_count=0,
        core_count=0,
        switch_count=tier_count,
        used_port_count=endpoint_count * tier_count,
        free_port_count=(request.switch_port_count - endpoint_count) * tier_count,
        links=links,
        cable_count=sum(link.cable_count for link in links),
        transceiver_count=sum(link.lower_transceiver_count + link.upper_transceiver_count for link in links),
        bisection_bytes_per_second=endpoint_count * request.port_bytes_per_second / 2 * tier_count,
        is_evenly_wired=True,
        even_spine_count=0,
    )


def _assembled(
    request: FabricRequest,
    leaves: _Leaves,
    spine_downs: list[int],
    spine_ups: list[int],
    core_downs: list[int],
    even_spine_count: int,
) -> FabricPlan:
    per_cage, optical = request.links_per_switch_cage, request.has_optical_switch_links
    per_server = tuple(request.ports_per_server for _ in range(request.server_count))
    links = [
        _link_bill("server_to_leaf", per_server, leaves.down_counts, request.has_optical_server_links, per_cage),
        _link_bill("leaf_to_spine", _cages(leaves.up_counts, per_cage), tuple(spine_downs), optical, per_cage),
    ]
    if core_downs:
        lower = _cages(tuple(spine_ups), per_cage)
        links.append(_link_bill("spine_to_core", lower, tuple(core_downs), optical, per_cage))
    switch_count = len(leaves.down_counts) + len(spine_downs) + len(core_downs)
    used = sum(leaves.down_counts) + 2 * sum(leaves.up_counts) + 2 * sum(core_downs)
    narrowest = sum(core_downs) or sum(leaves.up_counts)
    return FabricPlan(
        tier_count=3 if core_downs else 2,
        endpoint_count=request.server_count * request.ports_per_server,
        group_count=leaves.group_count,
        servers_per_group=leaves.servers_per_group,
        rails_per_leaf=leaves.rails_per_leaf,
        leaf_count=len(leaves.down_counts),
        spine_count=len(spine_downs),
        core_count=len(core_downs),
        switch_count=switch_count,
        used_port_count=used,
        free_port_count=switch_count * request.switch_port_count - used,
        links=tuple(links),
        cable_count=sum(link.cable_count for link in links),
        transceiver_count=sum(link.lower_transceiver_count + link.upper_transceiver_count for link in links),
        bisection_bytes_per_second=narrowest * request.port_bytes_per_second / 2,
        is_evenly_wired=even_spine_count == len(spine_downs)
        and all(count % len(spine_downs) == 0 for count in leaves.up_counts),
        even_spine_count=even_spine_count,
    )


def out_of_band_switch_count(device_count: int, ports_per_device: int = 1, switch_port_count: int = 48) -> int:
    """Management switches for the BMC ports of servers, switches, storage and PDUs; 48 x 1GbE as the SN2201.

    Raises
    ------
    ValueError
        If a count is negative or the switch has no port.
    """
    if device_count < 0 or ports_per_device < 0 or switch_port_count < 1:
        raise ValueError("Counts must not be negative and a switch needs a port.")
    return _ceil_divide(device_count * ports_per_device, switch_port_count)

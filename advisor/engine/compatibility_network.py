"""Do NIC, switch, cable and server fit together, and do a rate and a generation name the same thing."""

from __future__ import annotations

from collections.abc import Iterable

from advisor.engine.fabric import three_tier_endpoint_limit, two_tier_endpoint_limit
from advisor.engine.parts import (
    INFINIBAND_BITS_PER_SECOND,
    CablePart,
    Check,
    NicPart,
    ServerPart,
    SwitchPart,
    nearest_part,
    pcie_bytes_per_second,
)
from advisor.engine.units import BITS_PER_BYTE

UNIVERSAL = "VPI"  # a port that speaks InfiniBand or Ethernet


def infiniband_name(generation: str, bits_per_second: float) -> Check | None:
    """M4: the generation fixes the rate of a 4x port: EDR 100, HDR 200, NDR 400, XDR 800 Gbit/s.

    Nearest: the generation of the rate that was asked for.

    Raises
    ------
    ValueError
        For an unknown generation.
    """
    name = generation.upper()
    if name not in INFINIBAND_BITS_PER_SECOND:
        raise ValueError(f"Unknown InfiniBand generation {generation}; known: {', '.join(INFINIBAND_BITS_PER_SECOND)}.")
    real = INFINIBAND_BITS_PER_SECOND[name]
    if real == bits_per_second:
        return None
    right = nearest_part(
        INFINIBAND_BITS_PER_SECOND.items(), lambda item: item[1] == bits_per_second, lambda item: item[1]
    )
    return Check(
        code="infiniband_generation_rate",
        severity="blocks",
        rule="M4",
        parts=(name,),
        figures={"wanted_bits_per_second": bits_per_second, "generation_bits_per_second": real},
        nearest=right[0] if right else None,
    )


def nic_slots(nic: NicPart, nic_count: int, server: ServerPart, nics: Iterable[NicPart] = ()) -> Check | None:
    """M4: not more NICs than slots. Nearest: the slowest NIC that carries the same rate through the slots there are."""
    if server.nic_slot_count is None or nic_count <= server.nic_slot_count:
        return None
    slots, wanted = server.nic_slot_count, nic_count * nic.port_count * nic.bits_per_second_per_port
    nearest = nearest_part(
        nics,
        lambda other: (
            slots * other.port_count * other.bits_per_second_per_port >= wanted
            and nic.protocol in (other.protocol, UNIVERSAL)
            and _fits_link(other, server)
        ),
        lambda other: other.port_count * other.bits_per_second_per_port,
    )
    return Check(
        code="nic_slots_exceeded",
        severity="blocks",
        rule="M4",
        parts=(nic.sku, server.sku),
        figures={"nic_count": nic_count, "slot_count": slots},
        nearest=nearest.sku if nearest else None,
    )


def _fits_link(nic: NicPart, server: ServerPart) -> bool:
    line, link, _generation = _nic_rates(nic, server)
    return line <= link


def _nic_rates(nic: NicPart, server: ServerPart) -> tuple[float, float, int]:
    """Line rate of all ports, rate of the PCIe link, its generation. [B/s], [B/s], [1]"""
    generation = min(nic.pcie_generation, server.pcie_generation or nic.pcie_generation)
    line = nic.port_count * nic.bits_per_second_per_port / BITS_PER_BYTE
    return line, pcie_bytes_per_second(generation, nic.pcie_lanes), generation


def nic_pcie_rate(nic: NicPart, server: ServerPart, nics: Iterable[NicPart] = ()) -> Check | None:
    """M4: the PCIe link must carry the ports (400 Gbit/s = 50 GB/s needs generation 5 x16; generation 4 gives 31).

    Nearest: the fastest NIC whose ports this server's link carries.
    """
    line, link, generation = _nic_rates(nic, server)
    if line <= link:
        return None

    def carries(other: NicPart) -> bool:
        other_line, other_link, _ = _nic_rates(other, server)
        return other_line <= other_link and nic.protocol in (other.protocol, UNIVERSAL)

    nearest = nearest_part(nics, carries, lambda other: line - _nic_rates(other, server)[0])
    return Check(
        code="nic_above_pcie",
        severity="check",
        rule="M4",
        parts=(nic.sku, server.sku),
        figures={
            "nic_bytes_per_second": line,
            "link_bytes_per_second": link,
            "pcie_generation": generation,
            "port_count": nic.port_count,
        },
        nearest=nearest.sku if nearest else None,
    )


def nics_per_gpu(nic: NicPart, nic_count: int, gpu_count: int) -> Check | None:
    """M4: a training server takes one NIC per GPU; fewer share their rate."""
    if nic_count >= gpu_count:
        return None
    total = nic_count * nic.port_count * nic.bits_per_second_per_port
    return Check(
        code="nics_shared_by_gpus",
        severity="note",
        rule="M4",
        parts=(nic.sku,),
        figures={"nic_count": nic_count, "gpu_count": gpu_count, "bits_per_second_per_gpu": total / gpu_count},
        nearest=f"{gpu_count} x {nic.sku}",
    )


def _speaks(protocol: str, other: str) -> bool:
    return UNIVERSAL in (protocol, other) or protocol == other


def nic_and_switch(nic: NicPart, switch: SwitchPart, switches: Iterable[SwitchPart] = ()) -> Check | None:
    """M4, M8: same protocol, and ports at the NIC's rate; a slower switch works at its own rate.

    Nearest: a switch that speaks the protocol and has ports at the rate, with the closest number of them.
    """
    rate = nic.bits_per_second_per_port
    is_spoken = _speaks(nic.protocol, switch.protocol)
    if is_spoken and rate in switch.port_counts:
        return None
    port_count = switch.port_counts.get(switch.max_bits_per_second, 0)
    nearest = nearest_part(
        switches,
        lambda other: (
            _speaks(nic.protocol, other.protocol)
            and rate in other.port_counts
            and (not is_spoken or other.protocol == switch.protocol)
        ),
        lambda other: abs(other.port_counts[rate] - port_count),
    )
    is_slower = switch.max_bits_per_second < rate
    if not is_spoken:
        code, severity = "network_protocol_mismatch", "blocks"
    elif is_slower:
        code, severity = "switch_slower_than_nic", "check"
    else:
        code, severity = "switch_has_no_ports_at_rate", "blocks"
    return Check(
        code=code,
        severity=severity,
        rule="M4",
        parts=(nic.sku, switch.sku),
        figures={
            "nic_protocol": nic.protocol,
            "switch_protocol": switch.protocol,
            "nic_bits_per_second": rate,
            "switch_bits_per_second": switch.max_bits_per_second,
            "nic_generation": nic.infiniband_generation,
            "switch_generation": switch.infiniband_generation,
        },
        nearest=nearest.sku if nearest else None,
    )


def switch_reach(
    switch: SwitchPart,
    bits_per_second: float,
    endpoint_count: int,
    oversubscription: float = 1.0,
    switches: Iterable[SwitchPart] = (),
) -> Check | None:
    """M4: enough ports in three tiers; where two do not reach it is a note. Nearest: one that needs two tiers only."""
    radix = switch.port_counts.get(bits_per_second)
    if radix is None or endpoint_count <= two_tier_endpoint_limit(radix, oversubscription):
        return None
    nearest = nearest_part(
        switches,
        lambda other: (
            other.protocol == switch.protocol
            and bits_per_second in other.port_counts
            and endpoint_count <= two_tier_endpoint_limit(other.port_counts[bits_per_second], oversubscription)
        ),
        lambda other: other.port_counts[bits_per_second],
    )
    limit = three_tier_endpoint_limit(radix, oversubscription)
    return Check(
        code="fabric_three_tiers" if endpoint_count <= limit else "fabric_too_small",
        severity="note" if endpoint_count <= limit else "blocks",
        rule="M4",
        parts=(switch.sku,),
        figures={
            "endpoint_count": endpoint_count,
            "switch_port_count": radix,
            "two_tier_limit": two_tier_endpoint_limit(radix, oversubscription),
            "three_tier_limit": limit,
        },
        nearest=nearest.sku if nearest else None,
    )


def cable_between(
    cable: CablePart, nic: NicPart, distance_metres: float, cables: Iterable[CablePart] = ()
) -> Check | None:
    """M4: link rate, protocol and reach of a cable. Nearest: the shortest that has all three."""

    def fits(other: CablePart) -> bool:
        return (
            other.link_bits_per_second == nic.bits_per_second_per_port
            and _speaks(other.protocol, nic.protocol)
            and other.reach_metres >= distance_metres
        )

    if fits(cable):
        return None
    nearest = nearest_part(cables, fits, lambda other: other.reach_metres)
    if not _speaks(cable.protocol, nic.protocol):
        code = "cable_protocol_mismatch"
    elif cable.link_bits_per_second != nic.bits_per_second_per_port:
        code = "cable_rate_mismatch"
    else:
        code = "cable_too_short"
    return Check(
        code=code,
        severity="blocks",
        rule="M4",
        parts=(cable.sku, nic.sku),
        figures={
            "cable_bits_per_second": cable.link_bits_per_second,
            "nic_bits_per_second": nic.bits_per_second_per_port,
            "reach_metres": cable.reach_metres,
            "distance_metres": distance_metres,
        },
        nearest=nearest.sku if nearest else None,
    )


def roce(nic: NicPart, switch: SwitchPart, nics: Iterable[NicPart] = ()) -> Check | None:
    """M8: Ethernet between servers needs NICs with RDMA; with it, a note that the network must be set lossless."""
    if switch.protocol != "Ethernet":
        return None
    if nic.has_rdma:
        return Check(code="roce_needs_lossless", severity="note", rule="M8", parts=(nic.sku, switch.sku))
    nearest = nearest_part(
        nics,
        lambda other: other.has_rdma and _speaks(other.protocol, "Ethernet"),
        lambda other: abs(other.bits_per_second_per_port - nic.bits_per_second_per_port),
    )
    return Check(
        code="nic_without_rdma",
        severity="blocks",
        rule="M8",
        parts=(nic.sku, switch.sku),
        figures={"nic_bits_per_second": nic.bits_per_second_per_port},
        nearest=nearest.sku if nearest else None,
    )

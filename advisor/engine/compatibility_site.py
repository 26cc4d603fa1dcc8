"""Do server, power supplies, rack and cooling fit together."""

from __future__ import annotations

import re
from collections.abc import Iterable

from advisor.engine.parts import Check, RackPart, ServerPart, nearest_part

_REDUNDANCY = re.compile(r"^(\d+)\+(\d+)")


def _watts_left(server: ServerPart) -> tuple[int, float] | None:
    """Supplies that may fail, and what the others then give; None where the maker does not say. [1], [W]"""
    if server.psu_count is None or server.psu_watts is None:
        return None
    match = _REDUNDANCY.match(server.psu_redundancy or "")
    spare_count = int(match.group(2)) if match else 1
    return spare_count, (server.psu_count - spare_count) * server.psu_watts


def psu_redundancy(server: ServerPart, servers: Iterable[ServerPart] = ()) -> Check | None:
    """M5: the supplies that remain after the stated failures must carry the maximum power.

    "4+2" means that 2 of 6 may fail. A fault-tolerant kind ("FTR") keeps running but slows the GPUs, a note. Without a
    stated redundancy the server must at least bear the loss of one supply. Nearest: a server with as many GPUs of the
    same kinds whose remaining supplies carry it.
    """
    rest = _watts_left(server)
    if rest is None or server.max_watts is None or server.psu_count is None:
        return None
    spare_count, left = rest
    is_fault_tolerant = "FTR" in (server.psu_redundancy or "")
    figures = {
        "psu_count": server.psu_count,
        "psu_watts": server.psu_watts,
        "spare_count": spare_count,
        "watts_left": left,
        "max_watts": server.max_watts,
    }
    if left >= server.max_watts and not is_fault_tolerant:
        return None
    nearest = nearest_part(
        servers,
        lambda other: (
            bool(other.supported_gpu_skus & server.supported_gpu_skus)
            and other.gpu_slot_count == server.gpu_slot_count
            and "FTR" not in (other.psu_redundancy or "")
            and other.max_watts is not None
            and (_watts_left(other) or (0, 0.0))[1] >= max(other.max_watts, server.max_watts or 0.0)
        ),
        lambda other: other.max_watts or 0.0,
    )
    return Check(
        code="psu_fault_tolerant_only" if is_fault_tolerant else "psu_redundancy_short",
        severity="note" if is_fault_tolerant else "check",
        rule="M5",
        parts=(server.sku,),
        figures=dict(figures),
        nearest=nearest.sku if nearest else None,
    )


def rack_power(
    server: ServerPart, server_count_per_rack: int, rack: RackPart, racks: Iterable[RackPart] = ()
) -> Check | None:
    """M5: power of the servers in one rack. Nearest: the smallest rack of the same cooling that carries them."""
    if server.max_watts is None:
        return None
    wanted = server.max_watts * server_count_per_rack
    if wanted <= rack.usable_watts:
        return None
    nearest = nearest_part(
        racks,
        lambda other: other.usable_watts >= wanted and is_cooled(server, other),
        lambda other: other.usable_watts,
    )
    return Check(
        code="rack_power_exceeded",
        severity="blocks",
        rule="M5",
        parts=(server.sku, rack.sku),
        figures={
            "watts_wanted": wanted,
            "rack_watts": rack.usable_watts,
            "server_count": server_count_per_rack,
            "server_count_that_fits": int(rack.usable_watts // server.max_watts),
        },
        nearest=nearest.sku if nearest else None,
    )


def rack_space(
    server: ServerPart, server_count_per_rack: int, rack: RackPart, racks: Iterable[RackPart] = ()
) -> Check | None:
    """M5: height units of the servers in one rack. Nearest: a higher rack of the same cooling."""
    if server.rack_units is None or server.rack_units * server_count_per_rack <= rack.rack_units:
        return None
    wanted = server.rack_units * server_count_per_rack
    nearest = nearest_part(
        racks,
        lambda other: other.rack_units >= wanted and is_cooled(server, other),
        lambda other: other.rack_units,
    )
    return Check(
        code="rack_space_exceeded",
        severity="blocks",
        rule="M5",
        parts=(server.sku, rack.sku),
        figures={
            "units_wanted": wanted,
            "rack_units": rack.rack_units,
            "server_count_that_fits": int(rack.rack_units // server.rack_units),
        },
        nearest=nearest.sku if nearest else None,
    )


def is_cooled(server: ServerPart, rack: RackPart) -> bool:
    """A liquid-cooled server needs a rack with liquid to the server; air-cooled ones do in any rack with air."""
    if server.cooling is None:
        return True
    return (server.cooling == "liquid") == (rack.cooling == "liquid")


def cooling(server: ServerPart, rack: RackPart, racks: Iterable[RackPart] = ()) -> Check | None:
    """M5: cooling kind of server and rack. Nearest: a rack of the right kind with the closest power."""
    if is_cooled(server, rack):
        return None
    nearest = nearest_part(
        racks,
        lambda other: is_cooled(server, other) and other.usable_watts >= (server.max_watts or 0.0),
        lambda other: abs(other.usable_watts - rack.usable_watts),
    )
    return Check(
        code="cooling_mismatch",
        severity="blocks",
        rule="M5",
        parts=(server.sku, rack.sku),
        figures={"server_cooling": server.cooling, "rack_cooling": rack.cooling},
        nearest=nearest.sku if nearest else None,
    )

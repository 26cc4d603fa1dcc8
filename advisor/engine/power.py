"""Electrical power, racks and energy of a cluster. Watts and joules; kWh only where a name says so.

Feeds and racks are sized on the maximum a server draws, energy on the average during training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from advisor.engine.specs import Assumption, Origin
from advisor.engine.units import JOULES_PER_KWH

FloatArray = NDArray[np.float64]

DEFAULT_TRAINING_POWER = Assumption(
    name="training_power_fraction",
    value=0.76,
    unit="1",
    origin=Origin.MEASURED,
    source=(
        "arXiv:2506.14551: compute-intensive training draws 76 % of the 10.2 kW rating of 8-GPU H100 servers; highest "
        "seen 8.4 kW = 82 % (arXiv:2412.08602)"
    ),
)
DEFAULT_IDLE_POWER = Assumption(
    name="idle_power_fraction",
    value=0.35,
    unit="1",
    origin=Origin.DERIVED,
    source="method of a public build-or-rent model (gpu-price-index, docs/methodology.md): idle at 35 % of the maximum",
)
DEFAULT_PUE = Assumption(
    name="pue",
    value=1.4,
    unit="1",
    origin=Origin.DERIVED,
    source="good air-cooled site; world average 1.54 in 2025 (Uptime Institute survey), new liquid-cooled 1.25 to 1.3",
)


def average_watts(
    max_watts: ArrayLike, busy_fraction: ArrayLike, training_fraction: float = 0.76, idle_fraction: float = 0.35
) -> FloatArray:
    """Average power of a device that trains for a share of the time and idles for the rest.

    Parameters
    ----------
    max_watts : array_like
        What the maker states, or the catalogue derives. [W]
    busy_fraction : array_like
        Share of the time in training, 0 to 1. [1]
    training_fraction, idle_fraction : float
        Share of the maximum that is drawn in training and when idle (DEFAULT_TRAINING_POWER, DEFAULT_IDLE_POWER). [1]

    Returns
    -------
    ndarray of float64
        Watts in the broadcast shape. [W]

    Raises
    ------
    ValueError
        If a fraction is outside 0 to 1, idle is above training, or the maximum is negative.
    """
    maximum, busy = np.asarray(max_watts, dtype=np.float64), np.asarray(busy_fraction, dtype=np.float64)
    if np.any(~((busy >= 0) & (busy <= 1))) or not 0 <= idle_fraction <= training_fraction <= 1:
        raise ValueError("Fractions lie between 0 and 1, idle power not above training power.")
    if np.any(maximum < 0):
        raise ValueError("Power must not be negative.")
    return np.asarray(maximum * (idle_fraction + (training_fraction - idle_fraction) * busy), dtype=np.float64)


def derived_server_watts(
    power_factor: float, gpu_watts: float, cpu_watts: float, memory_pair_count: int, nic_count: int
) -> float:
    """Maximum power of a server without a maker's figure: factor x (GPUs + CPUs) + 25 W per DIMM pair and NIC. [W]

    The factor (fans, conversion, boards) is the catalogue's: 1.25 PCIe servers, 1.55 for 8-GPU boards, fitted on three
    DGX systems within 3 %.
    """
    if min(power_factor, gpu_watts, cpu_watts, memory_pair_count, nic_count) < 0:
        raise ValueError("Power terms must not be negative.")
    return power_factor * (gpu_watts + cpu_watts) + 25.0 * (memory_pair_count + nic_count)


def energy_joules(facility_watts: ArrayLike, seconds: ArrayLike) -> FloatArray:
    """Energy at a constant facility power. [J]"""
    return np.asarray(
        np.asarray(facility_watts, dtype=np.float64) * np.asarray(seconds, dtype=np.float64), dtype=np.float64
    )


def kilowatt_hours(joules: ArrayLike) -> FloatArray:
    """Joules as the unit of electricity bills. [kWh]"""
    return np.asarray(np.asarray(joules, dtype=np.float64) / JOULES_PER_KWH, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class RackType:
    sku: str
    usable_watts: float
    rack_units: int
    cooling: str  # air | liquid | ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One kind of device in the racks: maximum watts and height of each, how many, and the share drawn on average."""

    kind: str  # server | switch | storage | management
    count: int
    max_watts: float
    rack_units: float = 0.0
    average_fraction: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RackFill:
    """How many of one device a rack takes, and what stops the next: power, space, or power even for one (`none`)."""

    devices_per_rack: int
    limited_by: str  # power | space | none
    used_watts: float


def rack_fill(rack: RackType, device_watts: float, device_units: float) -> RackFill:
    """Devices of one kind in one rack, by power and by space.

    Raises
    ------
    ValueError
        If power or height of the device is not positive.
    """
    if device_watts <= 0 or device_units <= 0:
        raise ValueError("A device in a rack has a positive power and height.")
    by_power = math.floor(rack.usable_watts / device_watts + 1e-9)
    by_space = math.floor(rack.rack_units / device_units + 1e-9)
    count = min(by_power, by_space)
    limited_by = "none" if count == 0 else ("power" if by_power <= by_space else "space")
    return RackFill(devices_per_rack=count, limited_by=limited_by, used_watts=count * device_watts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerPlan:
    """Maximum and average power, racks, and energy of the run. `rack_count` None: one server does not fit a rack."""

    server_max_watts: float
    network_max_watts: float
    other_max_watts: float
    it_max_watts: float
    it_average_watts: float
    facility_max_watts: float
    facility_average_watts: float
    pue: float
    servers_per_rack: int
    rack_count: int | None
    rack_limited_by: str
    energy_joules: float | None
    energy_kilowatt_hours: float | None


def power_plan(loads: tuple[Load, ...], rack: RackType, pue: float, training_seconds: float | None = None) -> PowerPlan:
    """Power, racks and energy of all devices of a cluster.

    Servers fill racks first, by power and space; the other devices take what power and space is left over and further
    racks for the rest.

    Parameters
    ----------
    loads : tuple of Load
        All devices, servers among them.
    rack : RackType
        The rack that everything goes into.
    pue : float
        Facility power over IT power, at least 1. [1]
    training_seconds : float, optional
        Wall time of the run; None gives no energy. [s]

    Returns
    -------
    PowerPlan

    Raises
    ------
    ValueError
        If pue is below 1, a count negative, or an average fraction outside 0 to 1.

    References
    ----------
    .. [1] ISO/IEC 30134-2:2016, Power usage effectiveness.
    """
    if not pue >= 1 or any(load.count < 0 or not 0 <= load.average_fraction <= 1 for load in loads):
        raise ValueError("PUE is at least 1, counts are not negative and average fractions lie between 0 and 1.")
    maximum = {load.kind: 0.0 for load in loads}
    average = 0.0
    for load in loads:
        maximum[load.kind] += load.count * load.max_watts
        average += load.count * load.max_watts * load.average_fraction
    it_max = sum(maximum.values())
    servers = tuple(load for load in loads if load.kind == "server" and load.count)
    fill, rack_count = _racks(servers, tuple(load for load in loads if load.kind != "server"), rack)
    joules = None if training_seconds is None else float(energy_joules(average * pue, training_seconds))
    return PowerPlan(
        server_max_watts=maximum.get("server", 0.0),
        network_max_watts=maximum.get("switch", 0.0),
        other_max_watts=it_max - maximum.get("server", 0.0) - maximum.get("switch", 0.0),
        it_max_watts=it_max,
        it_average_watts=average,
        facility_max_watts=it_max * pue,
        facility_average_watts=average * pue,
        pue=pue,
        servers_per_rack=fill.devices_per_rack if fill else 0,
        rack_count=rack_count,
        rack_limited_by=fill.limited_by if fill else "none",
        energy_joules=joules,
        energy_kilowatt_hours=None if joules is None else float(kilowatt_hours(joules)),
    )


def _racks(servers: tuple[Load, ...], others: tuple[Load, ...], rack: RackType) -> tuple[RackFill | None, int | None]:
    """Fill of the (largest) server in a rack, and racks for all devices; None where one server does not fit."""
    watts_left, units_left, rack_count = 0.0, 0.0, 0
    fill: RackFill | None = None
    for server in sorted(servers, key=lambda load: load.max_watts):
        fill = rack_fill(rack, server.max_watts, server.rack_units)
        if fill.devices_per_rack == 0:
            return fill, None
        racks = -(-server.count // fill.devices_per_rack)
        rack_count += racks
        watts_left += racks * rack.usable_watts - server.count * server.max_watts
        units_left += racks * rack.rack_units - server.count * server.rack_units
    watts = sum(load.count * load.max_watts for load in others) - watts_left
    units = sum(load.count * load.rack_units for load in others) - units_left
    more = max(math.ceil(watts / rack.usable_watts - 1e-9), math.ceil(units / rack.rack_units - 1e-9), 0)
    return fill, rack_count + more


def servers_within_site(max_it_watts: float | None, max_racks: int | None, rack: RackType, server: Load) -> int | None:
    """Most servers that a site takes (for "what fits 200 kW and 5 racks"); None without a limit.

    `server.max_watts` should carry the server's share of network and storage power.
    """
    limits = []
    if max_it_watts is not None:
        limits.append(math.floor(max_it_watts / server.max_watts + 1e-9))
    if max_racks is not None:
        limits.append(max_racks * rack_fill(rack, server.max_watts, server.rack_units).devices_per_rack)
    return min(limits) if limits else None

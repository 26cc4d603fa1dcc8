"""Geometry of the pictures that help to choose: days against money, the network's layers, bare metal against virtual.

Pure functions of plain answer dicts, like `charts.py`: percent of the plot's width and height.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MIN_POINTS = 3
# far from the decision the front only flattens the part that is decided on
NEAR_FACTOR = 10.0
MAX_BOXES = 16
LAYER_HEIGHT = 56  # pixels of a layer of the network


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    x: float
    y: float
    gpu: str
    gpu_name: str
    gpu_count: int
    days: float
    cost: float
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTick:
    at: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoChart:
    """Runs of which none is both faster and cheaper, on logarithmic axes; the chosen one marked."""

    points: tuple[ParetoPoint, ...]
    path: str
    day_ticks: tuple[AxisTick, ...]
    cost_ticks: tuple[AxisTick, ...]
    chosen: ParetoPoint | None
    deadline_at: float | None
    halved: tuple[float, float] | None

    @property
    def cheaper(self) -> tuple[ParetoPoint, float] | None:
        """The cheapest run as fast as a chosen one that lies off the front, and what it saves as a fraction."""
        if self.chosen is None or self.chosen in self.points:
            return None
        fast = [point for point in self.points if point.days <= self.chosen.days and point.cost < self.chosen.cost]
        if not fast:
            return None
        found = min(fast, key=lambda point: point.cost)
        return found, 1 - found.cost / self.chosen.cost

    @property
    def fastest_more(self) -> float | None:
        """How much dearer the fastest run of the front is than the chosen one, as a fraction."""
        fastest = self.points[0]
        if self.chosen is None or fastest.days >= self.chosen.days:
            return None
        return fastest.cost / self.chosen.cost - 1

    @property
    def halved_more(self) -> float | None:
        """How much dearer the slowest run in half the chosen days is than the chosen one, as a fraction."""
        return None if self.halved is None else self.halved[1] - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of switches or servers: how many there are, and the boxes that stand for them."""

    code: str
    count: int
    boxes: tuple[float, ...]
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    layers: tuple[Layer, ...]
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentBars:
    """Days of the run under each profile, in percent of the longer one."""

    bare_days: float
    virtual_days: float
    bare_length: float
    virtual_length: float


def pareto_chart(
    front: Sequence[Mapping[str, Any]], best: Mapping[str, Any], *, deadline_seconds: float | None
) -> ParetoChart | None:
    """None with fewer than three priced points near the decision."""
    own_days = best["training_days"]
    near = [
        point
        for point in front
        if point["relative_cost"] and own_days and 1 / NEAR_FACTOR <= point["training_days"] / own_days <= NEAR_FACTOR
    ]
    if len(near) < MIN_POINTS:
        return None
    days, costs = [p["training_days"] for p in near], [p["relative_cost"] for p in near]
    own_cost = float(best["run_cost"]["amount"]) if best.get("run_cost") else None
    across, up = _log_axis([*days, own_days]), _log_axis([*costs, *([own_cost] if own_cost else [])])
    points = tuple(
        ParetoPoint(
            x=across.place(point["training_days"]),
            y=100 - up.place(point["relative_cost"]),
            gpu=point["gpu"],
            gpu_name=point["gpu_name"],
            gpu_count=point["gpu_count"],
            days=point["training_days"],
            cost=point["relative_cost"],
            is_chosen=point["gpu"] == best["gpu"] and point["gpu_count"] == best["gpu_count"],
        )
        for point in sorted(near, key=lambda point: float(point["training_days"]))
    )
    chosen = next((point for point in points if point.is_chosen), None)
    if chosen is None and own_cost:  # recommended for another reason, such as fewer servers: off the front, yet shown
        chosen = ParetoPoint(
            x=across.place(own_days),
            y=100 - up.place(own_cost),
            gpu=best["gpu"],
            gpu_name=best["gpu_name"],
            gpu_count=best["gpu_count"],
            days=own_days,
            cost=own_cost,
            is_chosen=True,
        )
    deadline = deadline_seconds / 86_400 if deadline_seconds else None
    # the price of half the time is a trade only from a point of the front
    faster = [point for point in points if chosen in points and chosen and point.days <= chosen.days / 2]
    return ParetoChart(
        points=points,
        path="M" + "L".join(f"{point.x:.2f} {point.y:.2f}" for point in points),
        day_ticks=tuple(AxisTick(at=across.place(value), value=value) for value in across.ticks),
        cost_ticks=tuple(AxisTick(at=100 - up.place(value), value=value) for value in up.ticks),
        chosen=chosen,
        deadline_at=across.place(deadline) if deadline and across.low <= deadline <= across.high else None,
        halved=(faster[-1].days, faster[-1].cost / chosen.cost) if faster and chosen else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LogAxis:
    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        return 100 * math.log(value / self.low) / math.log(self.high / self.low)


def _log_axis(values: Sequence[float]) -> _LogAxis:
    """Some air around the values, and ticks at 1, 2 and 5 times powers of ten inside it."""
    low, high = min(values) / 1.15, max(values) * 1.15
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    if len(inside) > 5:
        inside = [tick for tick in inside if f"{tick:e}".startswith("1")] if len(inside) > 7 else inside[::2]
    return _LogAxis(low=low, high=high, ticks=tuple(inside))


def topology(network: Mapping[str, Any], server_count: int) -> Topology | None:
    """Core, spine, leaf and servers; None where one server trains alone."""
    if not network.get("leaf_count") or server_count < 2:
        return None
    counts = [
        ("core", network.get("core_count") or 0),
        ("spine", network.get("spine_count") or 0),
        ("leaf", network["leaf_count"]),
        ("server", server_count),
    ]
    layers = tuple(_layer(code, count) for code, count in counts if count)
    return Topology(layers=layers, height=len(layers) * LAYER_HEIGHT)


def _layer(code: str, count: int) -> Layer:
    shown = min(count, MAX_BOXES)
    return Layer(
        code=code,
        count=count,
        boxes=tuple(100 * (index + 0.5) / shown for index in range(shown)),
        is_cut=count > MAX_BOXES,
    )


def deployment_bars(comparison: Mapping[str, Any] | None) -> DeploymentBars | None:
    if not comparison:
        return None
    bare, virtual = comparison["bare_metal"]["training_days"], comparison["virtualized"]["training_days"]
    if not bare or not virtual:
        return None
    longest = max(bare, virtual)
    return DeploymentBars(
        bare_days=bare, virtual_days=virtual, bare_length=100 * bare / longest, virtual_length=100 * virtual / longest
    )

"""Answer figures to chart geometry: percent of the plot's width and height, and the numbers its title states.

Pure functions of plain answer dicts. Templates draw the shapes and say the words; horizontal positions are percent of
the width so that text keeps its size on a narrow screen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

SECONDS_PER_DAY = 86_400
# A doubling of the GPUs that saves less than this share of the time is called a poor bargain in the chart's title.
POOR_DOUBLING_SAVING = 0.30
# the curve starts at this part of the chosen cluster
SMALLEST_PLOTTED = 8
MIN_POINTS = 3
MEMORY_PARTS = ("weight", "gradient", "optimizer", "activation", "logits", "buffer")
STEP_PARTS = ("compute", "exposed_communication", "bubble", "optimizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One part of a whole: where it starts and how long it is, in percent of the plot's width."""

    code: str
    value: float
    share: float
    start: float
    length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChart:
    """Parts of the most loaded GPU's memory laid end to end against what the GPU has available."""

    bars: tuple[Bar, ...]
    total: Bar
    limit_at: float
    available_bytes: float
    free_bytes: float
    used_share: float
    largest: Bar


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChart:
    """Parts of one optimizer step laid end to end."""

    bars: tuple[Bar, ...]
    step_seconds: float
    lost_share: float
    largest_loss: Bar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    at: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A named point of a line; `anchor` is the side on which its text has room."""

    x: float
    y: float
    value: float
    gpu_count: int
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingChart:
    """Training days and MFU against the number of GPUs (each step of the horizontal axis doubles them)."""

    rows: tuple[Mapping[str, Any], ...]
    days_path: str
    ideal_path: str
    mfu_path: str
    x_ticks: tuple[Tick, ...]
    day_ticks: tuple[Tick, ...]
    mfu_ticks: tuple[Tick, ...]
    chosen_days: Mark | None
    chosen_mfu: Mark | None
    knee_days: Mark | None
    knee_mfu: Mark | None
    deadline_at: float | None
    range_at: tuple[float, float] | None  # heights of the chosen size's slowest and fastest training time
    poor_from_gpu_count: int | None
    first_gpu_count: int
    last_gpu_count: int
    first_mfu: float
    last_mfu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipChart:
    """Cumulative cost of renting and of buying, month by month, from zero."""

    rental_path: str
    purchase_path: str
    month_ticks: tuple[Tick, ...]
    cost_ticks: tuple[Tick, ...]
    break_even_at: float | None
    break_even_y: float | None
    rental_end_y: float
    purchase_end_y: float
    last_month: int
    rental_total: float
    purchase_total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    x: float
    y: float
    identifier: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementChart:
    """Predicted against published throughput on equal logarithmic axes; the band is plus and minus 10 %."""

    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    band_path: str


def memory_chart(memory: Mapping[str, Any]) -> MemoryChart:
    """Parts in the order in which they are held, then what the allocator keeps, then the runtime's own share."""
    values = [(part, float(memory[f"{part}_bytes"])) for part in MEMORY_PARTS]
    values.append(("allocator", float(memory["reserved_bytes"]) - float(memory["allocated_bytes"])))
    values.append(("overhead", float(memory["overhead_bytes"])))
    total, available = float(memory["total_bytes"]), float(memory["available_bytes"])
    scale = max(total, available) * 1.04
    bars = _end_to_end(values, total, scale)
    return MemoryChart(
        bars=bars,
        total=Bar(code="total", value=total, share=total / available, start=0.0, length=100 * total / scale),
        limit_at=100 * available / scale,
        available_bytes=available,
        free_bytes=available - total,
        used_share=total / available,
        largest=max(bars, key=lambda bar: bar.value),
    )


def step_chart(time: Mapping[str, Any]) -> StepChart | None:
    """None when the step was not computed (the job does not fit)."""
    step = time.get("step_seconds")
    if not step:
        return None
    values = [(part, float(time[f"{part}_seconds"] or 0.0)) for part in STEP_PARTS]
    rest = float(step) - sum(value for _part, value in values)
    if rest > 0.005 * float(step):  # a virtualized profile stretches the step without belonging to any part
        values.append(("deployment", rest))
    bars = _end_to_end(values, float(step), float(step))
    losses = [bar for bar in bars if bar.code not in {"compute", "optimizer"} and bar.share > 0.001]
    return StepChart(
        bars=bars,
        step_seconds=float(step),
        lost_share=1 - bars[0].share,
        largest_loss=max(losses, key=lambda bar: bar.value, default=None),
    )


def _end_to_end(values: Sequence[tuple[str, float]], whole: float, scale: float) -> tuple[Bar, ...]:
    bars, start = [], 0.0
    for code, value in values:
        bars.append(
            Bar(code=code, value=value, share=value / whole, start=100 * start / scale, length=100 * value / scale)
        )
        start += value
    return tuple(bars)


def scaling_chart(
    points: Sequence[Mapping[str, Any]],
    *,
    chosen_gpu_count: int | None,
    deadline_seconds: float | None,
    range_seconds: tuple[float, float] | None = None,
) -> ScalingChart | None:
    """None with fewer than three sizes: two points are a table, not a curve.

    A size at which a smaller cluster is as fast (the batch or the heads do not divide well there) is no choice and is
    left out, except the chosen one.
    """
    kept = _worthwhile(points, chosen_gpu_count)
    rows = [
        (int(p["gpu_count"]), float(p["training_seconds"]) / SECONDS_PER_DAY, float(p["mfu"]), bool(p.get("is_knee")))
        for p in _plotted(kept, chosen_gpu_count)
    ]
    if len(rows) < MIN_POINTS:
        return None
    low, high = math.log2(rows[0][0]), math.log2(rows[-1][0])
    day_ticks, day_top = _axis(max(days for _n, days, _m, _k in rows))
    mfu_ticks, mfu_top = _axis(max(mfu for _n, _d, mfu, _k in rows))

    def x(gpu_count: float) -> float:
        return 100 * (math.log2(gpu_count) - low) / (high - low)

    def mark(row: tuple[int, float, float, bool] | None, column: int, top: float, turn: float) -> Mark | None:
        """`turn`: from here on, in percent, the text stands left of its point."""
        if row is None:
            return None
        at = x(row[0])
        return Mark(
            x=at,
            y=100 - 100 * float(row[column]) / top,
            value=float(row[column]),
            gpu_count=row[0],
            anchor="end" if at > turn else "start",
        )

    first_count, first_days = rows[0][0], rows[0][1]
    chosen = next((row for row in rows if row[0] == chosen_gpu_count), None)
    knee = next((row for row in rows[:-1] if row[3]), None)  # at the end of the curve it is no knee but the end
    deadline_days = deadline_seconds / SECONDS_PER_DAY if deadline_seconds else None
    return ScalingChart(
        rows=tuple(kept),
        days_path=_path([(x(n), 100 - 100 * days / day_top) for n, days, _m, _k in rows]),
        ideal_path=_path([(x(n), 100 - 100 * first_days * first_count / n / day_top) for n, _d, _m, _k in rows]),
        mfu_path=_path([(x(n), 100 - 100 * mfu / mfu_top) for n, _d, mfu, _k in rows]),
        x_ticks=_count_ticks([row[0] for row in rows], x),
        day_ticks=day_ticks,
        mfu_ticks=mfu_ticks,
        chosen_days=mark(chosen, 1, day_top, 75),
        chosen_mfu=mark(chosen, 2, mfu_top, 55),
        knee_days=mark(knee, 1, day_top, 75),
        knee_mfu=mark(knee, 2, mfu_top, 55),
        deadline_at=100 - 100 * deadline_days / day_top if deadline_days and deadline_days <= day_top else None,
        range_at=(
            (
                max(100 - 100 * range_seconds[1] / SECONDS_PER_DAY / day_top, 0.0),
                100 - 100 * range_seconds[0] / SECONDS_PER_DAY / day_top,
            )
            if range_seconds and chosen
            else None
        ),
        poor_from_gpu_count=poor_from([(n, days) for n, days, _m, _k in rows]),
        first_gpu_count=first_count,
        last_gpu_count=rows[-1][0],
        first_mfu=rows[0][2],
        last_mfu=rows[-1][2],
    )


def _worthwhile(points: Sequence[Mapping[str, Any]], chosen_gpu_count: int | None) -> list[Mapping[str, Any]]:
    kept: list[Mapping[str, Any]] = []
    best_seconds = math.inf
    for point in sorted((p for p in points if p.get("training_seconds")), key=lambda p: int(p["gpu_count"])):
        if point["training_seconds"] < best_seconds or point["gpu_count"] == chosen_gpu_count:
            kept.append(point)
            best_seconds = min(best_seconds, point["training_seconds"])
    return kept


def _plotted(points: list[Mapping[str, Any]], chosen_gpu_count: int | None) -> list[Mapping[str, Any]]:
    """What the curve shows: far smaller clusters take years and would flatten the part that is decided on."""
    if chosen_gpu_count is None:
        return points
    near = [point for point in points if point["gpu_count"] * SMALLEST_PLOTTED >= chosen_gpu_count]
    return near if len(near) >= MIN_POINTS else points


def poor_from(sizes: Sequence[tuple[int, float]]) -> int | None:
    """Smallest size from which every further doubling saves less than POOR_DOUBLING_SAVING of the time.

    The time at twice a size is read between the two nearest sizes along a straight line in log-log; None when even
    the last doubling is worth its money or the sizes do not span one.
    """
    poor: int | None = None
    for gpu_count, days in sizes:
        doubled = _interpolated(sizes, 2 * gpu_count)
        if doubled is None:
            break
        is_poor = 1 - doubled / days < POOR_DOUBLING_SAVING
        poor = (poor or gpu_count) if is_poor else None
    return poor


def _interpolated(sizes: Sequence[tuple[int, float]], gpu_count: int) -> float | None:
    for (left, left_days), (right, right_days) in pairwise(sizes):
        if left <= gpu_count <= right:
            weight = math.log(gpu_count / left) / math.log(right / left)
            return math.exp(math.log(left_days) * (1 - weight) + math.log(right_days) * weight)
    return None


def ownership_chart(comparison: Mapping[str, Any]) -> OwnershipChart | None:
    """None when either side has no price."""
    months = [float(month) for month in comparison.get("months") or []]
    rental = [float(value) for value in comparison.get("rental_cumulative") or []]
    purchase = [float(value) for value in comparison.get("purchase_cumulative") or []]
    if len(months) < 2 or len(rental) != len(months) or len(purchase) != len(months):
        return None
    last = months[-1]
    cost_ticks, top = _axis(max(*rental, *purchase))
    month_step = next((step for step in (1, 2, 3, 6, 12, 24) if last / step <= 6), 36)
    break_even = comparison.get("break_even_month")
    inside = break_even is not None and months[0] <= break_even <= last

    def points(values: Sequence[float]) -> list[tuple[float, float]]:
        return [(100 * month / last, 100 - 100 * value / top) for month, value in zip(months, values, strict=True)]

    return OwnershipChart(
        rental_path=_path(points(rental)),
        purchase_path=_path(points(purchase)),
        month_ticks=tuple(Tick(at=100 * month / last, value=month) for month in range(0, int(last) + 1, month_step)),
        cost_ticks=cost_ticks,
        break_even_at=100 * float(break_even) / last if inside and break_even is not None else None,
        break_even_y=(
            100 - 100 * _linear(months, rental, float(break_even)) / top if inside and break_even is not None else None
        ),
        rental_end_y=100 - 100 * rental[-1] / top,
        purchase_end_y=100 - 100 * purchase[-1] / top,
        last_month=int(last),
        rental_total=rental[-1],
        purchase_total=purchase[-1],
    )


def _linear(xs: Sequence[float], ys: Sequence[float], at: float) -> float:
    for (left, low), (right, high) in pairwise(zip(xs, ys, strict=True)):
        if left <= at <= right:
            return low + (high - low) * (at - left) / (right - left)
    return ys[-1]


def agreement_chart(rows: Sequence[Mapping[str, Any]], *, band: float = 0.10) -> AgreementChart | None:
    """Rows of the validation output that were predicted; None when there are none."""
    pairs = [
        (
            float(row["published_tokens_per_second_per_gpu"]),
            float(row["predicted_tokens_per_second_per_gpu"]),
            str(row["id"]),
            str(row.get("gpu") or ""),
        )
        for row in rows
        if not row.get("skipped") and row.get("predicted_tokens_per_second_per_gpu")
    ]
    if not pairs:
        return None
    low = math.floor(math.log10(min(min(published, predicted) for published, predicted, _i, _g in pairs)))
    high = math.ceil(math.log10(max(max(published, predicted) for published, predicted, _i, _g in pairs)))
    span = max(high - low, 1)

    def along(value: float) -> float:
        return 100 * (math.log10(value) - low) / span

    shift = 100 * math.log10(1 + band) / span, 100 * math.log10(1 - band) / span
    return AgreementChart(
        dots=tuple(
            Dot(x=along(published), y=100 - along(predicted), identifier=identifier, group=group)
            for published, predicted, identifier, group in pairs
        ),
        ticks=tuple(Tick(at=100 * (power - low) / span, value=10.0**power) for power in range(low, low + span + 1)),
        band_path=_path([(0, 100 - shift[0]), (100, -shift[0]), (100, -shift[1]), (0, 100 - shift[1])]) + "Z",
    )


def _axis(largest: float) -> tuple[tuple[Tick, ...], float]:
    """Ticks from zero at 1, 2, 2.5 or 5 times a power of ten, three to five of them, and the axis' top."""
    if largest <= 0 or not math.isfinite(largest):
        return (Tick(at=100.0, value=0.0),), 1.0
    power = 10.0 ** math.floor(math.log10(largest / 3))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if largest / (power * factor) <= 4)
    count = math.ceil(largest / step - 1e-9)
    top = step * count
    return tuple(Tick(at=100 - 100 * i / count, value=round(step * i, 12)) for i in range(count + 1)), top


def _count_ticks(counts: Sequence[int], x: Any) -> tuple[Tick, ...]:
    """Powers of two inside the range, thinned until five or fewer remain, so that they stay readable at 320 px."""
    first, last = math.ceil(math.log2(counts[0])), math.floor(math.log2(counts[-1]))
    powers = list(range(first, last + 1))
    stride = max(1, math.ceil(len(powers) / 5))
    return tuple(Tick(at=x(2.0**power), value=2.0**power) for power in powers[::stride])


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)

"""Chart geometry against sums done by hand: positions in percent, takeaways from the data."""

from __future__ import annotations

from typing import Any

import pytest

from advisor import charts

DAY = 86_400


def memory(**changes: float) -> dict[str, Any]:
    """Ten units each of six parts: 60 allocated, 66 reserved, 70 on the device, 80 available."""
    values: dict[str, Any] = {f"{part}_bytes": 10.0 for part in charts.MEMORY_PARTS}
    values |= {"allocated_bytes": 60.0, "reserved_bytes": 66.0, "overhead_bytes": 4.0}
    values |= {"total_bytes": 70.0, "available_bytes": 80.0}
    return values | changes


def test_memory_parts_lie_end_to_end_and_sum_to_the_device_total() -> None:
    chart = charts.memory_chart(memory())
    assert [bar.code for bar in chart.bars] == [*charts.MEMORY_PARTS, "allocator", "overhead"]
    for left, right in zip(chart.bars, chart.bars[1:], strict=False):
        assert left.start + left.length == pytest.approx(right.start)
    assert sum(bar.value for bar in chart.bars) == pytest.approx(70)
    assert chart.bars[-1].start + chart.bars[-1].length == pytest.approx(chart.total.length)


def test_capacity_line_stands_right_of_what_fits_and_left_of_what_does_not() -> None:
    fits = charts.memory_chart(memory())
    # 80 of a scale that ends 4 % past 80
    assert fits.limit_at == pytest.approx(100 / 1.04)
    assert fits.total.length == pytest.approx(100 * 70 / (80 * 1.04))
    assert fits.free_bytes == 10
    over = charts.memory_chart(memory(total_bytes=160.0, reserved_bytes=156.0))
    assert over.limit_at < over.total.length < 100
    assert over.used_share == 2
    assert over.free_bytes == -80


def test_largest_memory_part_is_named() -> None:
    assert charts.memory_chart(memory(activation_bytes=25.0)).largest.code == "activation"


def step(**changes: float | None) -> dict[str, float | None]:
    parts = {"compute": 6.0, "exposed_communication": 1.0, "bubble": 2.0, "optimizer": 1.0}
    values: dict[str, float | None] = {f"{name}_seconds": seconds for name, seconds in parts.items()}
    return values | {"step_seconds": 10.0} | changes


def test_step_shares_and_the_largest_loss() -> None:
    chart = charts.step_chart(step())
    assert chart is not None
    assert [round(bar.share, 3) for bar in chart.bars] == [0.6, 0.1, 0.2, 0.1]
    assert [round(bar.start, 3) for bar in chart.bars] == [0, 60, 70, 90]
    assert chart.largest_loss is not None
    assert chart.largest_loss.code == "bubble"


def test_a_step_stretched_by_virtualization_shows_the_stretch() -> None:
    # 10 s at 20 % loss last 12.5 s: 2.5 s belong to no part of the bare step
    chart = charts.step_chart(step(step_seconds=12.5))
    assert chart is not None
    assert chart.bars[-1].code == "deployment"
    assert chart.bars[-1].value == pytest.approx(2.5)
    assert chart.bars[-1].share == pytest.approx(0.2)


def test_no_step_no_chart() -> None:
    assert charts.step_chart(step(step_seconds=None)) is None


def test_without_losses_none_is_named() -> None:
    chart = charts.step_chart(step(step_seconds=7.0, exposed_communication_seconds=0.0, bubble_seconds=0.0))
    assert chart is not None
    assert chart.largest_loss is None


def scaling(*rows: tuple[int, float, float], knee: int | None = None) -> list[dict[str, Any]]:
    return [
        {"gpu_count": n, "training_seconds": days * DAY, "mfu": mfu, "tokens_per_second": 1.0, "is_knee": n == knee}
        for n, days, mfu in rows
    ]


ROWS = scaling((64, 100, 0.5), (128, 50, 0.5), (256, 40, 0.31), (512, 36, 0.17), knee=128)


def test_each_doubling_takes_the_same_width() -> None:
    chart = charts.scaling_chart(ROWS, chosen_gpu_count=128, deadline_seconds=60 * DAY)
    assert chart is not None
    assert [round(tick.at, 3) for tick in chart.x_ticks] == [0, 33.333, 66.667, 100]
    assert [tick.value for tick in chart.x_ticks] == [64, 128, 256, 512]
    assert chart.chosen_days is not None
    assert chart.chosen_days.x == pytest.approx(100 / 3)
    assert chart.chosen_days.value == 50
    assert chart.knee_mfu is not None
    assert chart.knee_mfu.gpu_count == 128


def test_vertical_axes_start_at_zero_and_the_deadline_has_its_height() -> None:
    chart = charts.scaling_chart(ROWS, chosen_gpu_count=None, deadline_seconds=60 * DAY)
    assert chart is not None
    assert chart.day_ticks[0].value == 0
    assert chart.day_ticks[0].at == 100
    top = chart.day_ticks[-1].value
    assert top >= 100
    assert chart.deadline_at == pytest.approx(100 - 100 * 60 / top)
    assert chart.chosen_days is None


def test_the_last_size_is_no_knee() -> None:
    rows = scaling((64, 100, 0.5), (128, 50, 0.5), (256, 40, 0.31), knee=256)
    chart = charts.scaling_chart(rows, chosen_gpu_count=None, deadline_seconds=None)
    assert chart is not None
    assert chart.knee_mfu is None


def test_range_of_the_chosen_size_is_a_bar_from_slowest_to_fastest() -> None:
    chart = charts.scaling_chart(ROWS, chosen_gpu_count=128, deadline_seconds=None, range_seconds=(40 * DAY, 60 * DAY))
    assert chart is not None
    top = chart.day_ticks[-1].value
    assert chart.range_at == pytest.approx((100 - 100 * 60 / top, 100 - 100 * 40 / top))
    assert chart.chosen_days is not None
    assert chart.range_at is not None
    assert chart.range_at[0] < chart.chosen_days.y < chart.range_at[1]


def test_ideal_line_halves_with_each_doubling() -> None:
    chart = charts.scaling_chart(ROWS, chosen_gpu_count=None, deadline_seconds=None)
    assert chart is not None
    heights = [100 - float(point.split()[1]) for point in chart.ideal_path[1:].split("L")]
    assert heights[0] / heights[1] == pytest.approx(2, rel=0.01)
    assert heights[1] / heights[3] == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([(64, 100.0), (128, 50.0), (256, 25.0)], None),
        ([(64, 100.0), (128, 50.0), (256, 40.0), (512, 36.0)], 128),
        ([(64, 100.0), (128, 90.0), (256, 45.0)], None),  # a poor doubling before a good one is no end of scaling
        ([(64, 100.0), (128, 71.0)], 64),
        ([(64, 100.0), (128, 69.0)], None),
        ([(64, 100.0), (96, 99.0)], None),  # the sizes span no doubling
    ],
)
def test_where_doubling_stops_paying(sizes: list[tuple[int, float]], expected: int | None) -> None:
    assert charts.poor_from(sizes) == expected


def test_two_sizes_are_no_curve() -> None:
    assert charts.scaling_chart(ROWS[:2], chosen_gpu_count=None, deadline_seconds=None) is None


def test_sizes_without_a_training_time_are_left_out() -> None:
    rows = [*ROWS, {"gpu_count": 1024, "training_seconds": None, "mfu": 0.1}]
    chart = charts.scaling_chart(rows, chosen_gpu_count=None, deadline_seconds=None)
    assert chart is not None
    assert chart.last_gpu_count == 512


def test_a_size_that_a_smaller_one_beats_is_left_out_unless_chosen() -> None:
    rows = scaling((64, 100, 0.5), (72, 120, 0.3), (128, 50, 0.5), (256, 40, 0.31))
    plain = charts.scaling_chart(rows, chosen_gpu_count=None, deadline_seconds=None)
    assert plain is not None
    assert [row["gpu_count"] for row in plain.rows] == [64, 128, 256]
    chosen = charts.scaling_chart(rows, chosen_gpu_count=72, deadline_seconds=None)
    assert chosen is not None
    assert [row["gpu_count"] for row in chosen.rows] == [64, 72, 128, 256]


def test_the_curve_starts_near_the_chosen_size_and_the_table_keeps_all() -> None:
    rows = scaling((8, 800, 0.5), (64, 100, 0.5), (128, 50, 0.5), (256, 40, 0.31), (512, 36, 0.17))
    chart = charts.scaling_chart(rows, chosen_gpu_count=512, deadline_seconds=None)
    assert chart is not None
    assert chart.first_gpu_count == 64
    assert len(chart.rows) == 5


def comparison(**changes: Any) -> dict[str, Any]:
    """Renting costs 10 a month; buying 60 and 2 a month: they meet at 7.5 months and 75."""
    months = list(range(13))
    values = {
        "months": months,
        "rental_cumulative": [10.0 * month for month in months],
        "purchase_cumulative": [60 + 2.0 * month for month in months],
        "break_even_month": 7.5,
    }
    return values | changes


def test_break_even_stands_where_the_lines_cross() -> None:
    chart = charts.ownership_chart(comparison())
    assert chart is not None
    top = chart.cost_ticks[-1].value
    assert chart.break_even_at == pytest.approx(100 * 7.5 / 12)
    assert chart.break_even_y == pytest.approx(100 - 100 * 75 / top)
    assert chart.rental_end_y == pytest.approx(100 - 100 * 120 / top)
    assert chart.purchase_end_y == pytest.approx(100 - 100 * 84 / top)


@pytest.mark.parametrize("month", [None, 40])
def test_no_mark_without_a_break_even_in_the_horizon(month: int | None) -> None:
    chart = charts.ownership_chart(comparison(break_even_month=month))
    assert chart is not None
    assert chart.break_even_at is None
    assert chart.break_even_y is None


def test_a_side_without_prices_is_no_chart() -> None:
    assert charts.ownership_chart(comparison(rental_cumulative=[])) is None


def test_agreement_puts_a_perfect_prediction_on_the_diagonal() -> None:
    rows = [
        {"id": "exact", "published_tokens_per_second_per_gpu": 1000, "predicted_tokens_per_second_per_gpu": 1000},
        {"id": "twice", "published_tokens_per_second_per_gpu": 100, "predicted_tokens_per_second_per_gpu": 200},
        {"id": "none", "skipped": "no_throughput"},
    ]
    chart = charts.agreement_chart(rows)
    assert chart is not None
    exact, twice = chart.dots
    assert exact.x == pytest.approx(100 - exact.y)
    assert twice.x < 100 - twice.y
    assert {tick.value for tick in chart.ticks} == {100, 1000}


@pytest.mark.parametrize(
    ("largest", "top"), [(100.0, 100), (124.0, 150), (0.47, 0.6), (41.0, 60), (1.0, 1), (3_000_000.0, 3_000_000)]
)
def test_axes_end_at_a_round_number_not_far_above(largest: float, top: float) -> None:
    ticks, end = charts._axis(largest)
    assert end == pytest.approx(top)
    assert 3 <= len(ticks) <= 6
    assert ticks[0].value == 0


@pytest.mark.parametrize("largest", [0.0, float("inf"), float("nan")])
def test_an_axis_of_nothing_does_not_fail(largest: float) -> None:
    assert charts._axis(largest)[1] == 1

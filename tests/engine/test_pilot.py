"""A pilot rescales the prediction whole, and never widens its range."""

from __future__ import annotations

import math

import pytest

from advisor.engine.pilot import pilot_rescaling


def _rescaled(**changes: float) -> tuple[float, float]:
    values = {"measured_gpu_count": 8, "gpu_count": 512, "log_error_without_pilot": 0.5, **changes}
    return pilot_rescaling(
        values.pop("predicted", 4000.0),
        values.pop("measured", 3600.0),
        **values,  # type: ignore[arg-type]
    )


def test_the_factor_is_measured_over_predicted() -> None:
    factor, _ = _rescaled()
    assert factor == pytest.approx(0.9)


def test_a_pilot_of_the_runs_own_size_leaves_the_spread_of_repeated_runs() -> None:
    _, remaining = _rescaled(gpu_count=8)
    assert remaining == pytest.approx(0.049)


def test_the_range_widens_with_the_distance_in_size() -> None:
    # six doublings: sqrt(0.049^2 + 0.12^2)
    _, remaining = _rescaled()
    assert remaining == pytest.approx(math.sqrt(0.049**2 + 0.12**2))


def test_a_pilot_larger_than_the_run_counts_the_same_distance() -> None:
    assert _rescaled(measured_gpu_count=512, gpu_count=8)[1] == _rescaled()[1]


def test_a_pilot_never_widens_the_range() -> None:
    _, remaining = _rescaled(log_error_without_pilot=0.06)
    assert remaining == 0.06


@pytest.mark.parametrize("changes", [{"measured": 0.0}, {"predicted": math.nan}, {"measured": math.inf}])
def test_a_rate_that_is_none_is_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        _rescaled(**changes)


def test_no_gpu_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one GPU"):
        _rescaled(measured_gpu_count=0)

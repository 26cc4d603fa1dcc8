"""The robust solve on problems with a known answer, and the stacked evaluation beside the engine's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from advisor.calibration_data import current_calibration, prior_calibration
from advisor.calibration_fit import (
    MEASURED_BOUNDS,
    Problem,
    Residuals,
    fit_rows,
    fitted_parameters,
    log_ratios,
    solve,
)
from advisor.engine.estimate import estimate
from advisor.evidence import calibration_runs, read_runs

# what a row says does not depend on what the source leaves open: these state every setting of the layout
FEW = ("foundry-001", "dgxc-25011-034", "internevo-30", "mbridge-005", "mlm20-A100-8B", "xtuner-01")


def problem(jacobian, residuals, *, centre=0.0, upper=10.0, weights=None, pull=1e-4):
    slopes = np.asarray(jacobian, dtype=float)
    rows, columns = slopes.shape
    return Problem(
        residuals=lambda point: np.asarray(residuals, dtype=float) + slopes @ point,
        weights=np.ones(rows) if weights is None else np.asarray(weights, dtype=float),
        centre=np.full(columns, float(centre)),
        upper=np.broadcast_to(np.asarray(upper, dtype=float), columns).copy(),
        pull=np.full(columns, pull),
    )


def solved(of):
    return solve(of, np.zeros(of.centre.size), 30, lambda line, point: None)


def test_exact_residuals_are_removed():
    # residual + 1 * x = 0 for x = -0.3 on each of many rows; the prior's pull is far weaker
    assert solved(problem(np.ones((200, 1)), np.full(200, 0.3)))[0] == pytest.approx(-0.3, abs=0.01)


def test_one_odd_row_does_not_pull():
    residuals = np.full(50, 0.2)
    residuals[0] = -3.0
    assert solved(problem(np.ones((50, 1)), residuals))[0] == pytest.approx(-0.2, abs=0.02)


def test_left_out_rows_have_no_say():
    residuals = np.concatenate([np.full(40, 0.1), np.full(40, -0.5)])
    weights = np.where(np.arange(80) < 40, 1.0, 0.0)
    assert solved(problem(np.ones((80, 1)), residuals, weights=weights))[0] == pytest.approx(-0.1, abs=0.02)


def test_a_constant_without_evidence_goes_to_its_prior():
    jacobian = np.column_stack([np.ones(30), np.zeros(30)])
    assert solved(problem(jacobian, np.zeros(30), centre=0.2))[1] == pytest.approx(0.2, abs=0.01)


def test_bounds_hold_and_the_others_make_up_for_them():
    # both constants could remove 0.3; the first may go to 0.05 only
    point = solved(problem(np.ones((200, 2)), np.full(200, -0.3), upper=[0.05, 10.0]))
    assert point[0] <= 0.05 + 1e-12
    assert point.sum() == pytest.approx(0.3, abs=0.02)


@pytest.fixture(scope="module")
def rows():
    runs = [run for run in calibration_runs(read_runs()) if run.id in FEW]
    assert len(runs) == len(FEW)
    return fit_rows(runs, current_calibration())


def test_stacked_rows_are_what_the_estimate_says(rows):
    calibration = current_calibration()
    for row, ratio in zip(rows, log_ratios(rows, calibration), strict=True):
        answer = estimate(row.scenario, calibration=calibration)
        assert np.exp(ratio) * row.published == pytest.approx(answer.time.tokens_per_second_per_gpu, rel=1e-12)


def test_the_same_rows_follow_other_constants(rows):
    calibration = current_calibration()
    slower = replace(
        calibration, gemm_efficiency={key: value / 2 for key, value in calibration.gemm_efficiency.items()}
    )
    shared = Residuals(rows, calibration)
    assert np.all(shared.at(slower) < shared.at(calibration))


def test_no_constant_may_pass_the_best_shape_measured(rows):
    # ml-engineering notes, mamf-finder: 86.9 % of an A100's peak is the best that any shape reached
    parameters = {(item.name, item.key): item.upper for item in fitted_parameters(rows, prior_calibration())}
    assert parameters[("gemm_efficiency", "Ampere")] == 0.869
    held = current_calibration()
    for (table, key), bound in MEASURED_BOUNDS.items():
        assert getattr(held, table).get(key, 0.0) <= bound

"""Leaving sources out: the robust solve on problems with a known answer, and the upkeep of the stored folds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from advisor import cross_validation
from advisor.calibration_data import current_calibration
from advisor.cross_validation import Linearisation, fingerprint, fold_calibrations, robust_solution, stored_folds


def line(jacobian, residuals, *, centre=0.0, upper=10.0, weights=None):
    jacobian = np.asarray(jacobian, dtype=float)
    rows, columns = jacobian.shape
    return Linearisation(
        parameters=(),
        point=np.zeros(columns),
        centre=np.full(columns, float(centre)),
        upper=np.full(columns, float(upper)),
        residuals=np.asarray(residuals, dtype=float),
        jacobian=jacobian,
        weights=np.ones(rows) if weights is None else np.asarray(weights, dtype=float),
    )


def solve(problem, kept=None):
    kept = np.ones(problem.residuals.size, dtype=bool) if kept is None else np.asarray(kept)
    return robust_solution(problem, kept, problem.point, problem.residuals[kept])


def test_exact_residuals_are_removed():
    # residual + 1 * x = 0 for x = -0.3 on each of many rows; the prior's pull is far weaker
    solution = solve(line(np.ones((200, 1)), np.full(200, 0.3)))
    assert solution[0] == pytest.approx(-0.3, abs=0.01)


def test_one_odd_row_does_not_pull():
    residuals = np.full(50, 0.2)
    residuals[0] = -3.0
    assert solve(line(np.ones((50, 1)), residuals))[0] == pytest.approx(-0.2, abs=0.02)


def test_left_out_rows_have_no_say():
    residuals = np.concatenate([np.full(40, 0.1), np.full(40, -0.5)])
    kept = np.arange(80) < 40
    assert solve(line(np.ones((80, 1)), residuals), kept)[0] == pytest.approx(-0.1, abs=0.02)


def test_a_constant_without_evidence_returns_to_its_prior():
    jacobian = np.column_stack([np.ones(30), np.zeros(30)])
    solution = solve(line(jacobian, np.zeros(30), centre=0.2))
    assert solution[1] == pytest.approx(0.2)


def test_bounds_and_the_largest_move_hold():
    assert solve(line(np.ones((200, 1)), np.full(200, -0.3), upper=0.05))[0] == pytest.approx(0.05)
    assert solve(line(np.ones((200, 1)), np.full(200, 5.0)))[0] == pytest.approx(-cross_validation.LARGEST_MOVE)


def test_stale_folds_are_not_used(tmp_path, monkeypatch):
    path = tmp_path / "folds.json"
    assert stored_folds(path) is None
    path.write_text(json.dumps({"fingerprint": "of other constants", "without": {}}))
    assert stored_folds(path) is None
    monkeypatch.setattr(cross_validation, "stored_folds", lambda: None)
    monkeypatch.setattr(cross_validation, "calibrations_without_each_source", lambda runs, report: {"anew": len(runs)})
    assert fold_calibrations() == {"anew": 1022}


def test_fresh_folds_come_back_as_constants(tmp_path):
    path = tmp_path / "folds.json"
    constants = cross_validation.asdict(current_calibration())
    path.write_text(json.dumps({"fingerprint": fingerprint(), "without": {"dgxc": constants}}))
    assert stored_folds(path) == {"dgxc": current_calibration()}


def test_a_fold_converges_where_the_linearisation_is_wrong():
    # true residual 0.3 + 3 x, but the shared Jacobian says 1: a step of -0.3 overshoots and is halved until it helps
    problem = line(np.ones((200, 1)), np.full(200, 0.3))
    kept = np.ones(200, dtype=bool)
    point = cross_validation.fold_point(problem, kept, lambda at: np.full(200, 0.3) + 3 * at[0])
    assert point[0] == pytest.approx(-0.1, abs=0.03)
    assert cross_validation.true_loss(problem, kept, point, np.full(200, 0.3 + 3 * point[0])) < 0.2 * (
        cross_validation.true_loss(problem, kept, problem.point, problem.residuals)
    )

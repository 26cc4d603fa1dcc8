"""Constants fitted without one source at a time, so that a reported error is one on rows never seen.

All folds start at the priors, which saw no row, and share one Jacobian of the log ratios there: a fold solves the
robust least squares over the kept rows in that linearisation, evaluates the true residuals at the solution, and solves
again from there (a move that made things worse is halved). The predictions of the left-out source then come from the
full model under the fold's constants. The folds are kept as data beside the stored constants, since they take minutes;
a changed calibration or changed evidence makes them stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.calibration_data import current_calibration, prior_calibration
from advisor.calibration_fit import (
    HUBER_DELTA,
    PRIOR_WEIGHT,
    PRIOR_WIDTH,
    FitRow,
    Parameter,
    fit_rows,
    fitted_parameters,
    log_ratios,
    with_values,
)
from advisor.engine.calibration import Calibration
from advisor.evidence import RUNS_CSV, RunRow, calibration_runs, read_runs

FloatArray = NDArray[np.float64]

FOLDS_PATH = Path(__file__).resolve().parent / "data" / "calibration-folds.json"
STEP = 1e-3  # log units, of the one-sided difference
LARGEST_MOVE = 0.7  # log units that a constant may move in one solution
CONVERGED = 1e-6  # log units
ROUNDS = 4
REWEIGHTINGS = 25


@dataclass(frozen=True, slots=True)
class Linearisation:
    """Residuals and their derivatives by the logs of the constants, at `point`."""

    parameters: Sequence[Parameter]
    point: FloatArray  # logs of the constants
    centre: FloatArray  # logs of the priors
    upper: FloatArray  # logs of the bounds
    residuals: FloatArray
    jacobian: FloatArray  # (rows, parameters)
    weights: FloatArray  # of the rows


def linearisation(rows: Sequence[FitRow], start: Calibration, prior: Calibration) -> Linearisation:
    """Residuals and Jacobian of all rows; each column one more evaluation of every row."""
    parameters = fitted_parameters(rows, start)
    point = np.log([parameter.value(start) for parameter in parameters])
    upper = np.log([parameter.upper for parameter in parameters])
    residuals = log_ratios(rows, start)
    jacobian = np.empty((len(rows), len(parameters)))
    for column in range(len(parameters)):
        moved = point.copy()
        moved[column] += STEP if moved[column] + STEP <= upper[column] else -STEP
        change = log_ratios(rows, with_values(start, parameters, np.exp(moved))) - residuals
        jacobian[:, column] = change / (moved[column] - point[column])
    return Linearisation(
        parameters=parameters,
        point=point,
        centre=np.log([parameter.value(prior) for parameter in parameters]),
        upper=upper,
        residuals=residuals,
        jacobian=jacobian,
        weights=np.array([row.weight for row in rows]) ** 2,
    )


def robust_solution(
    line: Linearisation, kept: NDArray[np.bool_], point: FloatArray, residuals: FloatArray
) -> FloatArray:
    """Constants that minimise the weighted Huber loss and the pull of the priors in the linearisation around `point`.

    `residuals` are the true ones of the kept rows at `point`; the Jacobian is the shared one.
    """
    jacobian, weights = line.jacobian[kept], line.weights[kept]
    pull = HUBER_DELTA**2 * PRIOR_WEIGHT / PRIOR_WIDTH**2
    solution: FloatArray = point
    for _ in range(REWEIGHTINGS):
        errors = residuals + jacobian @ (solution - point)
        robust = weights * np.minimum(1.0, HUBER_DELTA / np.maximum(np.abs(errors), 1e-12))
        normal = jacobian.T @ (robust[:, None] * jacobian) + pull * np.eye(solution.size)
        gradient = jacobian.T @ (robust * (residuals - jacobian @ point)) - pull * line.centre
        fresh = np.linalg.solve(normal, -gradient)
        fresh = np.minimum(np.clip(fresh, point - LARGEST_MOVE, point + LARGEST_MOVE), line.upper)
        converged = bool(np.max(np.abs(fresh - solution)) < CONVERGED)
        solution = fresh
        if converged:
            break
    return solution


def calibrations_without_each_source(
    runs: Sequence[RunRow], report: Callable[[str], None] = lambda line: None
) -> dict[str, Calibration]:
    """For each source among the calibration rows, the constants that the other sources give."""
    start = prior_calibration()
    rows = fit_rows(calibration_runs(list(runs)), current_calibration())
    report(f"{len(rows)} rows; derivatives")
    line = linearisation(rows, start, start)
    sources = np.array([row.run.source for row in rows])
    calibrations: dict[str, Calibration] = {}
    for source in sorted(set(sources)):
        kept = sources != source
        kept_rows = [row for row, keep in zip(rows, kept, strict=True) if keep]
        point = fold_point(line, kept, partial(residuals_at, kept_rows, start, line))
        calibrations[str(source)] = with_values(start, line.parameters, np.exp(point))
        report(f"without {source}: {len(kept_rows)} rows")
    return calibrations


def residuals_at(rows: Sequence[FitRow], start: Calibration, line: Linearisation, point: FloatArray) -> FloatArray:
    """True log ratios of the rows under the constants of `point`."""
    return log_ratios(rows, with_values(start, line.parameters, np.exp(point)))


def true_loss(line: Linearisation, kept: NDArray[np.bool_], point: FloatArray, residuals: FloatArray) -> float:
    """The fit's objective: weighted Huber loss of the residuals plus the pull of the priors."""
    absolute = np.abs(residuals)
    huber = np.where(absolute < HUBER_DELTA, absolute**2, 2 * HUBER_DELTA * absolute - HUBER_DELTA**2)
    pull = PRIOR_WEIGHT * ((point - line.centre) / PRIOR_WIDTH) ** 2
    return float(np.sum(line.weights[kept] * huber) + HUBER_DELTA**2 * np.sum(pull))


def fold_point(
    line: Linearisation, kept: NDArray[np.bool_], residuals_of: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Logs of the constants for the kept rows: solve, check the true residuals, halve the move if they got worse."""
    point, residuals = line.point, line.residuals[kept]
    loss = true_loss(line, kept, point, residuals)
    share = 1.0
    for _ in range(ROUNDS):
        candidate = point + share * (robust_solution(line, kept, point, residuals) - point)
        candidate_residuals = residuals_of(candidate)
        candidate_loss = true_loss(line, kept, candidate, candidate_residuals)
        if candidate_loss < loss:
            point, residuals, loss = candidate, candidate_residuals, candidate_loss
        else:
            share /= 2
    return point


def fingerprint() -> str:
    """Of the stored constants and the public runs; folds made from others are stale."""
    constants = json.dumps(asdict(current_calibration()), sort_keys=True)
    return hashlib.sha256(constants.encode() + RUNS_CSV.read_bytes()).hexdigest()


def write_folds(path: Path = FOLDS_PATH, report: Callable[[str], None] = lambda line: None) -> None:
    """Compute the folds of the stored constants and keep them beside these."""
    folds = calibrations_without_each_source(read_runs(RUNS_CSV), report)
    document = {
        "what": "constants fitted to the public runs without the named source, for validate_runs --cross-validate",
        "fingerprint": fingerprint(),
        "without": {source: asdict(calibration) for source, calibration in folds.items()},
    }
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def stored_folds(path: Path = FOLDS_PATH) -> dict[str, Calibration] | None:
    """The kept folds, or None where there are none or they are stale."""
    if not path.is_file():
        return None
    document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if document.get("fingerprint") != fingerprint():
        return None
    return {source: Calibration.from_mapping(values) for source, values in document["without"].items()}


def fold_calibrations(report: Callable[[str], None] = lambda line: None) -> dict[str, Calibration]:
    """The kept folds where they are fresh, else computed anew."""
    return stored_folds() or calibrations_without_each_source(read_runs(RUNS_CSV), report)

"""Constants fitted without one source at a time, so that a reported error is one on rows never seen.

Every fold is a whole fit of its own from the priors, which saw no row. The folds are kept as data beside the stored
constants, since they take minutes; a changed calibration or changed evidence makes them stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from advisor.calibration_data import current_calibration, prior_calibration
from advisor.calibration_fit import Residuals, fit, fit_rows, fitted_parameters
from advisor.engine.calibration import Calibration
from advisor.evidence import RUNS_CSV, RunRow, calibration_runs, read_runs

FOLDS_PATH = Path(__file__).resolve().parent / "data" / "calibration-folds.json"
FOLD_ITERATIONS = 8


def calibrations_without_each_source(
    runs: Sequence[RunRow], report: Callable[[str], None] = lambda line: None
) -> dict[str, Calibration]:
    """For each source among the calibration rows, the constants that the other sources give."""
    prior = prior_calibration()
    rows = fit_rows(calibration_runs(list(runs)), current_calibration())
    parameters, residuals = fitted_parameters(rows, prior), Residuals(rows, prior)
    sources = np.array([row.run.source for row in rows])
    calibrations: dict[str, Calibration] = {}
    for source in sorted(set(sources)):
        left_out = sources == source
        calibrations[str(source)] = fit(
            rows, prior, parameters, iterations=FOLD_ITERATIONS, left_out=left_out, residuals=residuals
        )
        report(f"without {source}: {np.count_nonzero(~left_out)} rows")
    return calibrations


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

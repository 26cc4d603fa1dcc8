"""Constants fitted without one source at a time, so that a reported error is one on rows never seen."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.calibration_data import current_calibration
from advisor.calibration_fit import fit, fit_rows, fitted_parameters
from advisor.engine.calibration import Calibration
from advisor.evidence import RunRow, calibration_runs

FOLD_ITERATIONS = 6


def calibrations_without_each_source(runs: Sequence[RunRow]) -> dict[str, Calibration]:
    """For each source among the calibration rows, the constants that the other sources give."""
    usable = calibration_runs(list(runs))
    start = current_calibration()
    rows = fit_rows(usable, start)
    calibrations: dict[str, Calibration] = {}
    for source in sorted({row.run.source for row in rows}):
        kept = [row for row in rows if row.run.source != source]
        calibrations[source] = fit(kept, start, fitted_parameters(kept, start), iterations=FOLD_ITERATIONS)
    return calibrations

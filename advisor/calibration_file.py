"""Write the fitted constants as data: values, the priors they started from, origin, date and the error they leave."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from advisor.calibration_fit import FitRow, log_ratios
from advisor.engine.calibration import Calibration

SMALLEST_GROUP_FOR_BAND = 8  # rows; smaller kinds share the band of all
BAND_QUANTILE = 0.80  # "in four of five published runs": the low and high of an answer


def as_mapping(calibration: Calibration) -> dict[str, Any]:
    values = {field.name: getattr(calibration, field.name) for field in fields(calibration)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def error_bands(rows: Sequence[FitRow], calibration: Calibration) -> dict[str, float]:
    """80 % quantile of the absolute error by "family/kind", each group of rows weighing the same;
    `other` is over all rows."""
    errors = np.abs(np.expm1(log_ratios(rows, calibration)))
    by_kind: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row, error in zip(rows, errors, strict=True):
        kind = "moe" if row.work.expert_count else "dense"
        by_kind[f"{row.scenario.cluster.gpu.architecture}/{kind}"].append((float(error), row.run.group))
    bands = {
        key: round(group_quantile(values), 3)
        for key, values in sorted(by_kind.items())
        if len(values) >= SMALLEST_GROUP_FOR_BAND
    }
    everything = [value for values in by_kind.values() for value in values]
    return bands | {"other": round(group_quantile(everything), 3)}


def group_quantile(values: Sequence[tuple[float, str]]) -> float:
    """Band quantile in which each group of rows weighs the same, so that one big sweep does not set the band."""
    sizes = Counter(group for _, group in values)
    ordered = sorted(values)
    weights = np.cumsum([1 / sizes[group] for _, group in ordered])
    return ordered[int(np.searchsorted(weights, BAND_QUANTILE * weights[-1]))][0]


def with_error_bands(calibration: Calibration, rows: Sequence[FitRow]) -> Calibration:
    return replace(calibration, error_band_fraction=error_bands(rows, calibration))


def _number(value: float) -> str:
    return repr(float(f"{value:.5g}"))


def _table(name: str, values: Mapping[str, Any]) -> list[str]:
    lines = [f"[{name}]"]
    lines += [f"{key} = {_number(value)}" for key, value in values.items() if not isinstance(value, Mapping)]
    for key, table in values.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}.{key}]"]
            lines += [f'"{inner}" = {_number(value)}' for inner, value in table.items()]
    return [*lines, ""]


def write_calibration(
    path: Path, *, calibration: Calibration, priors: Calibration, rows: Sequence[FitRow], fitted_on: date
) -> None:
    """Write calibration.toml; reading it back gives the constants to five digits."""
    errors = np.abs(np.expm1(log_ratios(rows, calibration)))
    lines = [
        "# Written by `manage.py calibrate`; every constant is explained in advisor/engine/calibration.py.",
        "[origin]",
        'source = "public throughput runs with a full layout, advisor/data/evidence/runs-public.csv"',
        f'fitted_on = "{fitted_on.isoformat()}"',
        f"row_count = {len(rows)}",
        f"row_median_absolute_error = {_number(float(np.median(errors)))}",
        f"p90_absolute_error = {_number(float(np.quantile(errors, 0.9)))}",
        "",
        *_table("constants", as_mapping(calibration)),
        "# Where the fit started and what it is pulled to: measured link and matrix rates (NCCL bus bandwidth, best",
        "# matrix rate per GPU) and counts of passes; see the sources on the method page.",
        *_table("priors", as_mapping(priors)),
    ]
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")

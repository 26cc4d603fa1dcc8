"""Predicted against published: the validation of every row of evidence, computed once per engine and constants."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.core.cache import cache

from advisor.calibration_data import CALIBRATION_PATH, current_calibration
from advisor.charts import AgreementChart, agreement_chart
from advisor.engine import ENGINE_VERSION
from advisor.evidence import MEMORY_CSV, RUNS_CSV, read_memory, read_runs
from advisor.evidence_scoring import RunPrediction, predict_memory, predict_runs
from advisor.evidence_summary import memory_report, run_report


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One published run beside its prediction."""

    id: str
    source: str
    model: str
    gpu: str
    gpu_count: int | None
    generation: str
    precision: str
    published: float | None
    predicted: float | None
    error: float | None
    cause: str  # why it is not in the headline, empty when it is
    is_full_layout: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceLine:
    """Errors of the rows that share a property."""

    name: str
    count: int
    source_count: int
    median_absolute_error: float
    p90_absolute_error: float
    bias: float
    is_judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    runs: Mapping[str, Any]
    all_runs: Mapping[str, Any]
    memory: Mapping[str, Any]
    slices: Mapping[str, Sequence[SliceLine]]
    chart: AgreementChart | None
    lines: Sequence[RunLine]


def validation() -> Validation:
    """The whole validation under the current constants; a cached copy where one is at hand."""
    key = f"advisor:validation:{_state()}"
    found = cache.get(key)
    if found is None:
        found = _computed()
        cache.set(key, found, timeout=None)
    return cast(Validation, found)


def _state() -> str:
    digest = hashlib.sha256(ENGINE_VERSION.encode())
    for path in (CALIBRATION_PATH, RUNS_CSV, MEMORY_CSV):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _computed() -> Validation:
    constants = current_calibration()
    predictions = predict_runs(read_runs(), lambda _row: constants)
    report = run_report([prediction.scored for prediction in predictions])
    memory = memory_report([predict_memory(row, constants).scored for row in read_memory()])
    summary = cast(Mapping[str, Any], report["summary"])
    lines = [_line(prediction) for prediction in predictions]
    return Validation(
        runs=summary,
        all_runs=cast(Mapping[str, Any], report["summary_all_rows"]),
        memory=cast(Mapping[str, Any], memory["summary"]),
        slices={name: _slices(summary[f"by_{name}"]) for name in ("generation", "model_kind", "precision")},
        chart=agreement_chart(
            [
                {
                    "id": line.id,
                    "gpu": line.gpu,
                    "published_tokens_per_second_per_gpu": line.published,
                    "predicted_tokens_per_second_per_gpu": line.predicted,
                }
                for line in lines
                if line.is_full_layout and not line.cause
            ]
        ),
        lines=lines,
    )


def _line(prediction: RunPrediction) -> RunLine:
    scored, scenario = prediction.scored, prediction.row.scenario
    return RunLine(
        id=scored.id,
        source=prediction.row.source_title or scored.source,
        model=scenario.model.name if scenario else "",
        gpu=prediction.row.gpu_label,
        gpu_count=scenario.cluster.gpu_count if scenario else None,
        generation=scored.generation,
        precision=scored.precision,
        published=scored.published,
        predicted=scored.predicted,
        error=scored.error,
        cause=scored.skipped or scored.unmodelled,
        is_full_layout=scored.is_full_layout,
    )


def _slices(table: Mapping[str, Mapping[str, Any]]) -> list[SliceLine]:
    return [
        SliceLine(
            name=name,
            count=row["count"],
            source_count=row["source_count"],
            median_absolute_error=row["median_absolute_error"],
            p90_absolute_error=row["p90_absolute_error"],
            bias=row["bias"],
            is_judged=row["is_judged"],
        )
        for name, row in sorted(table.items(), key=lambda item: -item[1]["count"])
    ]

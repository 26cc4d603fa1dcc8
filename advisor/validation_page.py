"""Predicted against published: the validation of every row of evidence, computed once per engine and constants."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.core.cache import cache

from advisor.calibration_data import CALIBRATION_PATH, current_calibration
from advisor.charts import AgreementChart, agreement_chart
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
    """Summaries as the validation commands print them, every run, and what the page draws of them."""

    runs: Mapping[str, Any]
    all_runs: Mapping[str, Any]
    memory: Mapping[str, Any]
    lines: Sequence[RunLine]

    @property
    def slices(self) -> dict[str, list[SliceLine]]:
        return {name: _slices(self.runs[f"by_{name}"]) for name in ("generation", "model_kind", "precision")}

    @property
    def chart(self) -> AgreementChart | None:
        """Of the runs that the headline counts."""
        return agreement_chart(
            [
                {
                    "id": line.id,
                    "gpu": line.gpu,
                    "published_tokens_per_second_per_gpu": line.published,
                    "predicted_tokens_per_second_per_gpu": line.predicted,
                }
                for line in self.lines
                if line.is_full_layout and not line.cause
            ]
        )


def validation() -> Validation:
    """The whole validation under the current constants: from the cache, else from the stored file, else computed."""
    key = f"advisor:validation:{_state()}"
    stored = cache.get(key)
    if stored is None:
        stored = _read() or _write(_computed())
        cache.set(key, stored, timeout=None)
    return Validation(
        runs=stored["runs"],
        all_runs=stored["all_runs"],
        memory=stored["memory"],
        lines=[RunLine(**line) for line in stored["lines"]],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """How far predictions lie from published runs, in three figures."""

    count: int
    median: float
    p90: float


def validation_headline() -> Headline | None:
    """Of a validation that was computed before; a result page never waits for one. None until then."""
    key = f"advisor:validation-headline:{_state()}"
    found = cache.get(key)
    if found is None:
        stored = cache.get(f"advisor:validation:{_state()}") or _read()
        if stored is None:
            return None
        runs = stored["runs"]
        found = (runs["count"], runs["median_absolute_error"], runs["p90_absolute_error"])
        cache.set(key, found, timeout=None)
    count, median, p90 = found
    return Headline(count=count, median=median, p90=p90)


@lru_cache(maxsize=1)
def _state() -> str:
    """Changes with the engine, the constants, the evidence, and how the evidence is read."""
    folder = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    sources = sorted([*folder.glob("engine/*.py"), *folder.glob("evidence*.py")])
    for path in (CALIBRATION_PATH, RUNS_CSV, MEMORY_CSV, *sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _path() -> Path:
    return Path(settings.VAR_DIR) / "validation" / f"{_state()}.json"


def _read() -> dict[str, Any] | None:
    try:
        return cast(dict[str, Any], json.loads(_path().read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _write(computed: dict[str, Any]) -> dict[str, Any]:
    """Stores it for other processes, whole or not at all; without room the page still has its figures."""
    path = _path()
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(exist_ok=True)
        part.write_text(json.dumps(computed), encoding="utf-8")
        for old in path.parent.glob("*.json"):
            old.unlink(missing_ok=True)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
    return computed


def _computed() -> dict[str, Any]:
    constants = current_calibration()
    predictions = predict_runs(read_runs(), lambda _row: constants)
    report = run_report([prediction.scored for prediction in predictions])
    memory = memory_report([predict_memory(row, constants).scored for row in read_memory()])
    return {
        "runs": report["summary"],
        "all_runs": report["summary_all_rows"],
        "memory": memory["summary"],
        "lines": [asdict(_line(prediction)) for prediction in predictions],
    }


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

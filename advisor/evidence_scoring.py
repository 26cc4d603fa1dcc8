"""Each published outcome beside the engine's prediction; a row that cannot be predicted says why and never raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from advisor.engine.calibration import Calibration
from advisor.engine.estimate import ScenarioError, estimate
from advisor.engine.specs import Estimate, Scenario
from advisor.evidence import MemoryRow, RunRow
from advisor.evidence_summary import ScoredMemory, ScoredRun

# How a published figure was measured -> the engine's figure of the same kind.
MEASURED_AS = {
    "allocated": "allocated_bytes",
    "reserved": "reserved_bytes",
    "nvidia-smi": "total_bytes",
    "unknown": "reserved_bytes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPrediction:
    """A run, its score, and the engine's whole answer (None where there is none)."""

    row: RunRow
    scored: ScoredRun
    estimate: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPrediction:
    """A memory outcome, its score, and the engine's whole answer (None where there is none)."""

    row: MemoryRow
    scored: ScoredMemory
    estimate: Estimate | None


def _answer(
    scenario: Scenario | None, skipped: str | None, calibration: Calibration
) -> tuple[Estimate | None, str | None]:
    """The engine's answer, or why there is none."""
    if skipped or scenario is None:
        return None, skipped or "no_scenario"
    try:
        return estimate(scenario, calibration=calibration), None
    except ScenarioError as error:
        return None, "; ".join(f"{problem.code} at {problem.field}" for problem in error.problems)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:  # a row must never end the command
        return None, f"engine: {type(error).__name__}: {error}"


def predict_run(row: RunRow, calibration: Calibration) -> RunPrediction:
    """Predicted tokens per second per GPU of one run."""
    answer, skipped = _answer(row.scenario, row.skipped, calibration)
    predicted = answer.time.tokens_per_second_per_gpu if answer else None
    if predicted is not None and not 0 < predicted < float("inf"):
        predicted, skipped = None, "engine: no finite throughput"
    scored = ScoredRun(
        id=row.id,
        group=row.score_group,
        source=row.source,
        gpu=row.gpu_sku or row.gpu_label,
        generation=row.gpu_architecture or "unknown",
        model_kind=row.kind,
        precision=row.precision,
        is_full_layout=row.full_layout,
        unmodelled=row.unmodelled,
        note_cause=row.note_cause,
        twin_key=row.twin_key,
        published=row.published_tokens_per_second_per_gpu,
        predicted=predicted,
        skipped=skipped,
    )
    return RunPrediction(row=row, scored=scored, estimate=answer)


def predict_runs(rows: Sequence[RunRow], calibration_for: Callable[[RunRow], Calibration]) -> list[RunPrediction]:
    """Every row under the constants chosen for it (all the same, or those that never saw its source)."""
    return [predict_run(row, calibration_for(row)) for row in rows]


def predict_memory(row: MemoryRow, calibration: Calibration) -> MemoryPrediction:
    """Predicted peak of the row's own measure, and whether the job fits its card."""
    answer, skipped = _answer(row.scenario, row.skipped, calibration)
    peak = float(getattr(answer.memory, MEASURED_AS.get(row.measure, "reserved_bytes"))) if answer else None
    fits = answer.memory.fits if answer and row.kind in ("fits", "oom") else None
    scored = ScoredMemory(
        id=row.id,
        group=row.group,
        source=row.source,
        kind=row.kind,
        measure=row.measure,
        method=row.method,
        recipe=row.scenario.plan.recipe.value if row.scenario else "unknown",
        is_complete=row.is_complete,
        is_at_ceiling=row.is_at_ceiling,
        outcome_cause=row.outcome_cause,
        note_cause=row.note_cause,
        card_bytes=float(row.card_bytes) if row.card_bytes else None,
        published_peak=row.published_peak_bytes,
        predicted_peak=peak,
        predicted_fits=fits,
        skipped=skipped,
    )
    return MemoryPrediction(row=row, scored=scored, estimate=answer)

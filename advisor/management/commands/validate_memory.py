"""Predict each published memory outcome and print how far off the engine is."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from advisor.calibration_data import current_calibration
from advisor.engine.units import GIBI
from advisor.evidence import MEMORY_CSV, read_memory
from advisor.evidence_scoring import MemoryPrediction, predict_memory
from advisor.evidence_summary import memory_report
from advisor.management.commands.validate_runs import percent


def row_answer(prediction: MemoryPrediction) -> dict[str, object]:
    """One row of the JSON output."""
    scored, row = prediction.scored, prediction.row
    memory = prediction.estimate.memory if prediction.estimate else None
    is_peak = scored.kind == "measured_peak"
    relative_error = None
    if is_peak and scored.predicted_peak is not None and scored.published_peak:
        relative_error = scored.predicted_peak / scored.published_peak - 1
    return {
        "id": scored.id,
        "kind": scored.kind,
        "measure": scored.measure,
        "predicted_peak_bytes": scored.predicted_peak,
        "published_peak_bytes": scored.published_peak,
        "relative_error": relative_error,
        "predicted_fits": scored.predicted_fits,
        "published_fits": scored.published_fits,
        "skipped": scored.skipped,
        "group": scored.group,
        "method": scored.method,
        "recipe": scored.recipe,
        "complete": scored.is_complete,
        "at_ceiling": scored.is_at_ceiling,
        "outcome_cause": scored.outcome_cause or None,
        "note_cause": scored.note_cause or None,
        "allocated_bytes": memory.allocated_bytes if memory else None,
        "reserved_bytes": memory.reserved_bytes if memory else None,
        "total_bytes": memory.total_bytes if memory else None,
        "completed": list(row.completed),
    }


def gibibytes(value: float | None) -> str:
    """Bytes in GiB, or a dash."""
    return f"{value / GIBI:.2f}" if value is not None else "-"


class Command(BaseCommand):
    """validate_memory [CSV] [--json]"""

    requires_system_checks = []  # reads files alone: no database, no routes
    help = "Predict each published memory outcome and print the error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("csv", nargs="?", default=str(MEMORY_CSV), help="rows of the schema of memory-public.csv")
        parser.add_argument("--json", action="store_true", help="print rows and summary as JSON")

    def handle(self, *args: object, **options: Any) -> None:
        path = Path(options["csv"])
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        calibration = current_calibration()
        predictions = [predict_memory(row, calibration) for row in read_memory(path)]
        report = memory_report([prediction.scored for prediction in predictions])
        if options["json"]:
            answer = {"rows": [row_answer(prediction) for prediction in predictions], **report}
            self.stdout.write(json.dumps(answer, ensure_ascii=False, allow_nan=False))
            return
        self.print_rows(predictions)
        self.print_summary(report)

    def print_rows(self, predictions: list[MemoryPrediction]) -> None:
        """Predicted and published peak (GiB) or outcome of every row."""
        self.stdout.write(f"{'id':<12}{'kind':<15}{'measure':<12}{'predicted':>10}{'published':>10}{'error':>10}  note")
        for prediction in predictions:
            scored = prediction.scored
            note = f"skipped: {scored.skipped}" if scored.skipped else scored.outcome_cause
            if scored.is_at_ceiling:
                note = f"{note} at the card's ceiling".strip()
            if scored.published_fits is not None and scored.predicted_fits is not None:
                verdict = "right" if scored.published_fits == scored.predicted_fits else "wrong"
                note = f"predicted {'fits' if scored.predicted_fits else 'oom'}: {verdict} {note}".strip()
            self.stdout.write(
                f"{scored.id:<12}{scored.kind:<15}{scored.measure:<12}{gibibytes(scored.predicted_peak):>10}"
                f"{gibibytes(scored.published_peak):>10}{percent(scored.error):>10}  {note}"
            )

    def print_summary(self, report: Mapping[str, Any]) -> None:
        """Headline by measure, confusion counts, ceilings, and outcomes with a cause of their own."""
        for title, name in (("Complete rows", "summary"), ("All rows", "summary_all_rows")):
            summary = report[name]
            fits, ceiling = summary["fits"], summary["ceiling"]
            self.stdout.write("")
            self.stdout.write(
                f"{title}: {summary['count']} peaks of {summary['group_count']} groups, {summary['skipped']} skipped; "
                f"median over groups {percent(summary['median_absolute_error'])}, "
                f"over rows {percent(summary['row_median_absolute_error'])}, "
                f"90th percentile {percent(summary['p90_absolute_error'])}, bias {percent(summary['bias'])}"
            )
            self.stdout.write(
                f"  fits: {fits['fits']['right']} right, {fits['fits']['wrong']} wrong; oom: {fits['oom']['right']} "
                f"right, {fits['oom']['wrong']} wrong; right in all {percent(fits['right_fraction'])}, "
                f"oom called fits {percent(fits['oom_called_fits_fraction'])}"
            )
            self.stdout.write(f"  at the ceiling: {ceiling['right']} right, {ceiling['wrong']} too low")
            for slice_name in ("by_measure", "by_method", "by_recipe", "by_source"):
                self.stdout.write(f"  {slice_name}")
                for key, part in summary[slice_name].items():
                    self.stdout.write(
                        f"    {key[:58]:<60}{part['count']:>5} rows  median "
                        f"{percent(part['median_absolute_error']):>9}  "
                        f"p90 {percent(part['p90_absolute_error']):>9}  bias {percent(part['bias']):>9}"
                    )
        for title, name in (
            ("Decided by something other than the steady-state need (not in the figures above):", "outcome_cause"),
            ("A cause named in the notes alone (in the figures above):", "named_in_notes"),
        ):
            self.stdout.write("")
            self.stdout.write(title)
            for entry in report[name]:
                self.stdout.write(f"  {entry['id']:<12}{percent(entry['relative_error']):>10}  {entry['cause']}")

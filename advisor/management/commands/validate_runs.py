"""Predict each published run and print how far off the engine is."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from advisor.calibration_data import current_calibration
from advisor.cross_validation import fold_calibrations, write_folds
from advisor.evidence import RUNS_CSV, read_runs
from advisor.evidence_scoring import RunPrediction, predict_runs
from advisor.evidence_summary import run_report
from advisor.pilot_evidence import PILOT_GPU_COUNT, SMALLEST_GROWTH, pilot_pairs, pilot_summary

PILOT_SETS: dict[str, dict[str, int]] = {
    f"pilot of at most {PILOT_GPU_COUNT} GPUs": {},
    "pilot of at most 8 GPUs": {"largest_pilot": 8},
    f"pilot of at most {PILOT_GPU_COUNT} GPUs, run of 512 or more": {"smallest_run": 512},
}


def row_answer(prediction: RunPrediction) -> dict[str, object]:
    """One row of the JSON output."""
    scored, row = prediction.scored, prediction.row
    layout = prediction.estimate.layout if prediction.estimate else None
    return {
        "id": scored.id,
        "predicted_tokens_per_second_per_gpu": scored.predicted,
        "published_tokens_per_second_per_gpu": scored.published,
        "relative_error": scored.error,
        "skipped": scored.skipped,
        "group": row.group,
        "gpu": scored.gpu,
        "gpu_count": row.scenario.cluster.gpu_count if row.scenario else None,
        "model": row.scenario.model.name if row.scenario else None,
        "model_kind": scored.model_kind,
        "precision": scored.precision,
        "full_layout": scored.is_full_layout,
        "unmodelled": scored.unmodelled or None,
        "note_cause": scored.note_cause or None,
        "layout": _layout_answer(layout) if layout else None,
        "completed": list(row.completed),
    }


def _layout_answer(layout: Any) -> dict[str, object]:
    return {
        "tensor_parallel": layout.tensor_parallel,
        "pipeline_parallel": layout.pipeline_parallel,
        "data_parallel": layout.data_parallel,
        "context_parallel": layout.context_parallel,
        "expert_parallel": layout.expert_parallel,
        "virtual_stage_count": layout.virtual_stage_count,
        "micro_batch_size": layout.micro_batch_size,
        "zero_stage": layout.zero_stage,
        "recomputation": layout.recomputation.value,
    }


def percent(value: object) -> str:
    """A fraction as a percentage, or a dash."""
    return f"{100 * value:+.1f} %" if isinstance(value, float) else "-"


class Command(BaseCommand):
    """validate_runs [CSV] [--json] [--cross-validate] [--pilot]"""

    requires_system_checks = []  # reads files alone: no database, no routes
    help = "Predict each published training run and print the error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("csv", nargs="?", default=str(RUNS_CSV), help="rows of the schema of runs-public.csv")
        parser.add_argument("--json", action="store_true", help="print rows and summary as JSON")
        parser.add_argument(
            "--cross-validate", action="store_true", help="predict each source with constants that never saw it"
        )
        parser.add_argument(
            "--pilot", action="store_true", help="predict large runs from the measured small ones of their source too"
        )
        parser.add_argument(
            "--write-folds", action="store_true", help="compute the constants without each source and keep them as data"
        )

    def handle(self, *args: object, **options: Any) -> None:
        path = Path(options["csv"])
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        if options["write_folds"]:
            write_folds(report=self.stderr.write)
        rows = read_runs(path)
        calibration = current_calibration()
        by_source: Mapping[str, Any] = {}
        if options["cross_validate"]:
            by_source = fold_calibrations(self.stderr.write)
        predictions = predict_runs(rows, lambda row: by_source.get(row.source, calibration))
        report = run_report([prediction.scored for prediction in predictions])
        if options["pilot"]:
            report["pilot"] = self.pilot_report(predictions)
        if options["json"]:
            answer = {"rows": [row_answer(prediction) for prediction in predictions], **report}
            self.stdout.write(json.dumps(answer, ensure_ascii=False, allow_nan=False))
            return
        self.print_rows(predictions)
        self.print_summary(report)
        if options["pilot"]:
            self.print_pilot(report["pilot"])

    def pilot_report(self, predictions: list[RunPrediction]) -> dict[str, object]:
        """Errors of large runs, predicted plainly and rescaled by a measured small run."""
        found = {name: pilot_summary(pilot_pairs(predictions, **bounds)) for name, bounds in PILOT_SETS.items()}
        return {name: asdict(summary) if summary else None for name, summary in found.items()}

    def print_pilot(self, sets: Any) -> None:
        """One line a set of pairs."""
        self.stdout.write("")
        self.stdout.write(
            f"With a pilot of the same source and settings (runs at least {SMALLEST_GROWTH:g} times as large; "
            "log errors, groups weigh the same):"
        )
        for name, summary in sets.items():
            if summary is None:
                self.stdout.write(f"  {name}: no pairs")
                continue
            self.stdout.write(
                f"  {name}: {summary['pair_count']} pairs of {summary['group_count']} groups; "
                f"median {summary['plain_median']:.3f} -> {summary['rescaled_median']:.3f}, "
                f"four of five within {summary['plain_range']:.3f} -> {summary['rescaled_range']:.3f}; "
                f"{100 * summary['covered_fraction']:.0f} % within what the pilot's range says"
            )

    def print_rows(self, predictions: list[RunPrediction]) -> None:
        """Predicted and published tokens/s per GPU of every row."""
        self.stdout.write(f"{'id':<24}{'predicted':>12}{'published':>12}{'error':>10}  note")
        for prediction in predictions:
            scored = prediction.scored
            predicted = f"{scored.predicted:.1f}" if scored.predicted is not None else "-"
            published = f"{scored.published:.1f}" if scored.published is not None else "-"
            note = f"skipped: {scored.skipped}" if scored.skipped else scored.unmodelled
            self.stdout.write(f"{scored.id:<24}{predicted:>12}{published:>12}{percent(scored.error):>10}  {note}")

    def print_summary(self, report: Mapping[str, Any]) -> None:
        """Headline, floor, slices, and the rows with a cause that the columns do not carry."""
        for title, name in (("Full layout", "summary"), ("All rows", "summary_all_rows")):
            summary = report[name]
            self.stdout.write("")
            self.stdout.write(
                f"{title}: {summary['count']} rows of {summary['group_count']} groups, {summary['skipped']} skipped; "
                f"median over groups {percent(summary['median_absolute_error'])}, "
                f"over rows {percent(summary['row_median_absolute_error'])}, "
                f"90th percentile {percent(summary['p90_absolute_error'])}, bias {percent(summary['bias'])}"
            )
            self.stdout.write(
                f"  floor: {summary['floor_pair_count']} pairs of rows share every column and differ by "
                f"{percent(summary['floor_median'])} (median), {percent(summary['floor_p90'])} (90th percentile)"
            )
            for slice_name in ("by_generation", "by_gpu", "by_model_kind", "by_precision", "by_source"):
                self.stdout.write(f"  {slice_name}")
                for key, part in summary[slice_name].items():
                    self.stdout.write(
                        f"    {key:<40}{part['count']:>5} rows {part['source_count']:>3} sources  "
                        f"median {percent(part['median_absolute_error']):>9}  "
                        f"p90 {percent(part['p90_absolute_error']):>9}  bias {percent(part['bias']):>9}"
                        f"{'' if part['is_judged'] else '  (few)'}"
                    )
        for title, name in (
            ("Outside what the columns can say (not in the figures above):", "unmodelled"),
            ("A cause named in the notes alone (in the figures above, kept out of the calibration):", "named_in_notes"),
        ):
            self.stdout.write("")
            self.stdout.write(title)
            for entry in report[name]:
                self.stdout.write(f"  {entry['id']:<36}{percent(entry['relative_error']):>10}  {entry['cause']}")

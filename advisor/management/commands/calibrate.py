"""Fit the engine's constants to the public runs and write them as data."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from advisor.calibration_data import CALIBRATION_PATH, current_calibration, prior_calibration
from advisor.calibration_file import with_error_bands, write_calibration
from advisor.calibration_fit import fit, fit_rows, fitted_parameters
from advisor.evidence import RUNS_CSV, calibration_runs, read_runs


class Command(BaseCommand):
    help = "Fit the engine's constants to published runs and write advisor/data/calibration.toml."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("csv", nargs="?", default=str(RUNS_CSV), help="rows of the schema of runs-public.csv")
        parser.add_argument("--iterations", type=int, default=12, help="steps of the fit (default 12)")
        parser.add_argument("--output", default=str(CALIBRATION_PATH), help="file to write")
        parser.add_argument("--from-priors", action="store_true", help="start at the priors, not at the stored values")

    def handle(self, *args: Any, **options: Any) -> None:
        priors, stored = prior_calibration(), current_calibration()
        rows = fit_rows(calibration_runs(read_runs(options["csv"])), stored)
        self.stdout.write(f"{len(rows)} runs")
        fitted = fit(
            rows,
            priors,
            fitted_parameters(rows, priors),
            iterations=options["iterations"],
            start=None if options["from_priors"] else stored,
            report=self.stdout.write,
        )
        fitted = with_error_bands(fitted, rows)
        write_calibration(
            Path(options["output"]), calibration=fitted, priors=priors, rows=rows, fitted_on=datetime.now(UTC).date()
        )
        self.stdout.write(self.style.SUCCESS(f"written to {options['output']}"))

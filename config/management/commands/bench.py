"""Runs the sections of the benchmark, each in a process of its own, and prints what they measured."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils.module_loading import import_string

from config.bench.measure import Figure, peak_memory_mib
from config.bench.report import as_document, table_line

# name -> generator of figures; the order of the table
SECTIONS = {
    "candidates": "config.bench.candidates.rates",
    "large_search": "config.bench.candidates.large_search",
    "own_space": "config.bench.candidates.own_space",
    "recommendations": "config.bench.recommending.figures",
    "requests": "config.bench.answering.figures",
    "documents": "config.bench.documents.figures",
    "pages": "config.bench.pages.figures",
    "browser": "config.bench.browsing.figures",
}
# As on a server: no debug pages, no limit per address, one thread of numpy.
ENVIRONMENT = {
    "DEBUG": "false",
    "HTTPS": "false",
    "API_REQUESTS_PER_MINUTE": "0",
    "LOG_LEVEL": "ERROR",
    "OPENBLAS_NUM_THREADS": "1",
}


class Command(BaseCommand):
    help = "Measures speeds, memory and page weights; BENCH_JSON=path also writes the figures as JSON."
    requires_system_checks = ()  # each section's process would repeat them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of: {', '.join(SECTIONS)}; default: all")
        parser.add_argument("--inside", action="store_true", help="run one section here and print its figures as JSON")

    def handle(self, *args: Any, sections: list[str], inside: bool = False, **options: Any) -> None:
        if unknown := set(sections) - set(SECTIONS):
            raise CommandError(f"There is no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}.")
        if inside:
            figures = [figure.as_dict() for figure in import_string(SECTIONS[sections[0]])()]
            self.stdout.write(json.dumps({"figures": figures, "peak_memory_mib": peak_memory_mib()}))
            return
        self.stdout.write(f"Python {platform.python_version()}, {os.cpu_count()} processors, {platform.machine()}")
        measured: list[Figure] = []
        failed: list[str] = []
        for name in sections or SECTIONS:
            try:
                measured += self.run_section(name)
            except CommandError as error:
                failed.append(name)
                self.stderr.write(str(error))
        if path := os.environ.get("BENCH_JSON"):
            Path(path).write_text(json.dumps(as_document(measured), indent=1) + "\n", encoding="utf-8")
        if failed:
            raise CommandError(f"These sections failed: {', '.join(failed)}.")

    def run_section(self, name: str) -> list[Figure]:
        result = subprocess.run(  # noqa: S603 - our own command with a section's name
            [sys.executable, "manage.py", "bench", name, "--inside"],
            cwd=settings.BASE_DIR,
            env=os.environ | ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise CommandError(f"{name}: {result.stderr.strip()[-2000:]}")
        answer = json.loads(result.stdout.strip().splitlines()[-1])
        figures = [Figure(**figure | {"path": tuple(figure["path"])}) for figure in answer["figures"]]
        figures.append(
            Figure(
                path=("peak_memory_mib", name),
                label=f"  peak memory of {name}",
                value=answer["peak_memory_mib"],
                unit="MiB",
            )
        )
        for figure in figures:
            self.stdout.write(table_line(figure))
        return figures

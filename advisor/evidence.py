"""Published outcomes of real training runs, read into the engine's Scenario: throughput rows and memory rows.

Pure Python over CSV files, without Django and without a database, so that calibration, validation commands, tests and
pages read the same rows by the same rules. Every rule that filled a blank is named in `completed`; a row that cannot
be used says why in `skipped`, and none raises.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from advisor.evidence_hardware import csv_rows
from advisor.evidence_memory import MemoryRow, memory_from_row
from advisor.evidence_runs import RunRow, run_from_row

EVIDENCE_DIRECTORY = Path(__file__).resolve().parent / "data" / "evidence"
RUNS_CSV = EVIDENCE_DIRECTORY / "runs-public.csv"
MEMORY_CSV = EVIDENCE_DIRECTORY / "memory-public.csv"

__all__ = ["MEMORY_CSV", "RUNS_CSV", "MemoryRow", "RunRow", "calibration_runs", "read_memory", "read_runs"]


def read_runs(path: Path | str = RUNS_CSV) -> list[RunRow]:
    """Rows of a file of the schema of runs-public.csv, in its order."""
    return [run_from_row(defaultdict(str, row)) for row in csv_rows(Path(path))]


def read_memory(path: Path | str = MEMORY_CSV) -> list[MemoryRow]:
    """Rows of a file of the schema of memory-public.csv, in its order."""
    return [memory_from_row(defaultdict(str, row)) for row in csv_rows(Path(path))]


def calibration_runs(rows: list[RunRow]) -> list[RunRow]:
    """Rows that constants may be fitted to: full layout, a throughput, precision established, no cause of their own."""
    return [
        row
        for row in rows
        if row.full_layout and row.skipped is None and row.precision != "not established"
        if not row.unmodelled and not row.note_cause
    ]

"""The figures as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from config.bench.measure import Figure


def digits(value: float | int | None) -> str:
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table_line(figure: Figure) -> str:
    limit = "" if figure.limit is None else f"{'>=' if figure.is_floor else '<='} {digits(figure.limit)} {figure.unit}"
    state = {None: "", True: "ok", False: "MISSED"}[figure.is_met]
    return (
        f"{figure.label:<58} {digits(figure.value):>12} {figure.unit:<6} {limit:<18} {state:<7}{figure.note}".rstrip()
    )


def as_document(figures: Iterable[Figure]) -> dict[str, Any]:
    """Nested by path: ("candidates_per_second", "10000") becomes {"candidates_per_second": {"10000": ...}}."""
    document: dict[str, Any] = {}
    for figure in figures:
        place = document
        for step in figure.path[:-1]:
            place = place.setdefault(step, {})
        place[figure.path[-1]] = figure.value
    return document

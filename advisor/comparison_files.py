"""Scenarios side by side as a file: JSON, CSV, spreadsheet, PDF. All hold the rows of the page and their numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from advisor.answer_files import JSON_TYPE, PDF_TYPE, STYLESHEETS, AnswerFile, tables_csv
from advisor.answer_tables import AnswerTable, headline
from advisor.pdf_rendering import pdf_bytes
from advisor.scenario_compare import Row, ScenarioColumn, ScenarioComparison, comparison_table
from catalog.cells import Shape
from catalog.sheet_writing import CSV_TYPE, XLSX_TYPE, Column, Table, xlsx_bytes

# percent of the page for the figure's name, each scenario and the mark, by the number of scenarios
_WIDTHS = {1: (40, 50, 10), 2: (26, 32, 10), 3: (24, 22, 10), 4: (22, 17, 10)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSource:
    """`url` is the address of the page with this comparison, `sizing_url` that of a case without its query."""

    found: ScenarioComparison
    url: str
    sizing_url: str

    @property
    def title(self) -> str:
        return _("Estimate: %(count)s scenarios side by side") % {"count": len(self.found.columns)}

    def link(self, column: ScenarioColumn) -> str:
        return f"{self.sizing_url}?{column.query}"


def comparison_file(source: ComparisonSource, kind: str) -> AnswerFile:
    """Raises PdfUnavailableError where the renderer's libraries are not installed."""
    write, content_type = WRITERS[kind]
    return AnswerFile(content=write(source), content_type=content_type, name=f"estimate-comparison.{kind}")


def _json(source: ComparisonSource) -> bytes:
    found = source.found
    document = {
        "title": source.title,
        "url": source.url,
        "scenarios": [
            {
                "name": column.name,
                "url": source.link(column),
                "query": column.query,
                "headline": _said(column),
                "engine_version": column.answer["engine_version"] if column.answer else None,
                "catalog_revision": column.answer["catalog_revision"] if column.answer else None,
            }
            for column in found.columns
        ],
        "inputs": [_row(row) for row in found.inputs],
        "results": [_row(row) for row in found.results],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode()


def _row(row: Row) -> dict[str, Any]:
    cells = [{"value": cell.value, "shown": cell.text, "ratio_to_first": cell.ratio} for cell in row.cells]
    return {"label": row.label, "differs": row.differs, "cells": cells}


def _said(column: ScenarioColumn) -> str:
    return headline(column.answer) if column.answer else column.fault


def _scenarios(source: ComparisonSource) -> AnswerTable:
    rows = [(column.name, _said(column), source.link(column)) for column in source.found.columns]
    headers = (_("Scenario"), _("Answer"), _("Link"))
    return AnswerTable(
        code="scenarios",
        title=_("Scenarios"),
        columns=tuple(Column(header=header) for header in headers),
        widths=(20, 40, 40),
        rows=tuple(rows),
    )


def _csv(source: ComparisonSource) -> bytes:
    return tables_csv(source.title, [comparison_table(source.found), _scenarios(source)])


def _spreadsheet(source: ComparisonSource) -> bytes:
    table = comparison_table(source.found)
    title = (source.title, *("" for _column in table.columns[1:]))
    tables = (replace(table, rows=(title, *table.rows)), _scenarios(source))
    return xlsx_bytes(Table(name=table.title, columns=table.columns, rows=table.rows) for table in tables)


def _paper_table(found: ScenarioComparison, title: str, rows: tuple[Row, ...]) -> AnswerTable:
    """What is shown, without the bare numbers."""
    first, each, last = _WIDTHS[len(found.columns)]
    names = [Column(header=column.name, shape=Shape.NUMBER) for column in found.columns]
    return AnswerTable(
        code="comparison",
        title=title,
        columns=(Column(header=_("Figure")), *names, Column(header=_("Differs"))),
        widths=(first, *(each for _column in found.columns), last),
        rows=tuple(
            (row.label, *(cell.text for cell in row.cells), _("differs") if row.differs else "") for row in rows
        ),
    )


def _paper(source: ComparisonSource) -> bytes:
    found = source.found
    context = {
        "headline": source.title,
        "tables": [
            _scenarios(source),
            _paper_table(found, _("Results"), found.results),
            _paper_table(found, _("Inputs"), found.inputs),
        ],
        "url": source.url,
        "answer": next(column.answer for column in found.columns if column.answer),
        "best": None,
        "memory": None,
        "step": None,
        "html_lang": "en" if (get_language() or "").startswith("en") else "zh-Hans",
    }
    return pdf_bytes(render_to_string("advisor/report.html", context), stylesheets=STYLESHEETS)


WRITERS: dict[str, tuple[Callable[[ComparisonSource], bytes], str]] = {
    "csv": (_csv, CSV_TYPE),
    "xlsx": (_spreadsheet, XLSX_TYPE),
    "pdf": (_paper, PDF_TYPE),
    "json": (_json, JSON_TYPE),
}

"""An answer as a file: JSON, CSV, spreadsheet, PDF. All from the same tables, so that their numbers are the page's."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import get_language

from advisor import charts
from advisor.answer_tables import AnswerTable, answer_tables, headline
from advisor.calculation import calculation
from advisor.inputs import CheckedRecommendation
from advisor.paper_tables import paper_tables
from advisor.pdf_rendering import pdf_bytes
from catalog.cell_habits import FIGURES, guarded
from catalog.sheet_writing import CSV_TYPE, XLSX_TYPE, Table, xlsx_bytes

STYLESHEETS = ("css/tokens.css", "css/pdf/quote.css", "css/pdf/report.css")
JSON_TYPE = "application/json"
PDF_TYPE = "application/pdf"
# characters that a worksheet's name cannot hold
_FORBIDDEN = str.maketrans(dict.fromkeys("[]:*?/\\", " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFile:
    content: bytes
    content_type: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a file is made of; `url` is the address of the page with the same answer."""

    answer: Mapping[str, Any]
    checked: CheckedRecommendation
    url: str

    @property
    def tables(self) -> list[AnswerTable]:
        return answer_tables(self.answer, self.checked, url=self.url)


def json_bytes(source: Source) -> bytes:
    """The API's own answer, with the headline, the link and the calculation."""
    rows = calculation(source.answer, deadline_seconds=source.checked.deadline_seconds)
    document = {"title": headline(source.answer), "url": source.url, **source.answer, "calculation": rows}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode()


def csv_bytes(source: Source) -> bytes:
    return tables_csv(headline(source.answer), source.tables)


def tables_csv(title: str, tables: Iterable[AnswerTable]) -> bytes:
    """Tables below each other, each under its title; UTF-8 with a mark, so that Excel shows Chinese."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([guarded(title)])
    for table in tables:
        writer.writerow([])
        writer.writerow([guarded(table.title)])
        writer.writerow([guarded(column.header) for column in table.columns])
        are_figures = [column.shape in FIGURES for column in table.columns]
        for row in table.rows:
            writer.writerow(
                [cell if is_figure else guarded(cell) for cell, is_figure in zip(row, are_figures, strict=True)]
            )
    return text.getvalue().encode("utf-8-sig")


def spreadsheet_bytes(source: Source) -> bytes:
    """One worksheet a table; the first begins with the headline."""
    tables = []
    for table in source.tables:
        rows = [list(row) for row in table.rows]
        if table.code == "summary":
            rows.insert(0, [headline(source.answer), "", "", ""])
        tables.append(Table(name=table.title.translate(_FORBIDDEN), columns=table.columns, rows=rows))
    return xlsx_bytes(tables)


def report_html(source: Source) -> str:
    best = source.answer["recommended"]
    context = {
        "headline": headline(source.answer),
        "tables": paper_tables(source.tables),
        "url": source.url,
        "answer": source.answer,
        "best": best,
        "memory": charts.memory_chart(best["estimate"]["memory_per_gpu"]) if best else None,
        "step": charts.step_chart(best["estimate"]["time"]) if best else None,
        "html_lang": "en" if (get_language() or "").startswith("en") else "zh-Hans",
    }
    return render_to_string("advisor/report.html", context)


def report_bytes(source: Source) -> bytes:
    """Raises PdfUnavailableError where the renderer's libraries are not installed."""
    return pdf_bytes(report_html(source), stylesheets=STYLESHEETS)


WRITERS: dict[str, tuple[Callable[[Source], bytes], str]] = {
    "json": (json_bytes, JSON_TYPE),
    "csv": (csv_bytes, CSV_TYPE),
    "xlsx": (spreadsheet_bytes, XLSX_TYPE),
    "pdf": (report_bytes, PDF_TYPE),
}


def answer_file(source: Source, kind: str) -> AnswerFile:
    write, content_type = WRITERS[kind]
    best = source.answer["recommended"]
    cluster = f"{best['gpu_count']}x{best['gpu']}" if best else "none"
    return AnswerFile(content=write(source), content_type=content_type, name=f"estimate-{cluster}.{kind}")

"""Tables -> CSV and XLSX that spreadsheet programs open right: typed cells, Chinese intact, no formulas. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from catalog.cell_habits import FIGURES, guarded
from catalog.cells import Shape

CSV_TYPE = "text/csv; charset=utf-8"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_CELL_LENGTH = 32_767  # of a spreadsheet program
MAX_DIGIT_COUNT = 15  # what a spreadsheet program keeps of a number


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    header: str
    shape: Shape = Shape.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells are texts in the one way that the catalogue reads; their column says what they are."""

    name: str
    columns: Sequence[Column]
    rows: Iterable[Sequence[str]]


def csv_bytes(table: Table) -> bytes:
    """UTF-8 with a mark, so that Excel shows Chinese; figures stay figures, texts never start a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([guarded(column.header) for column in table.columns])
    are_figures = [column.shape in FIGURES for column in table.columns]
    for row in table.rows:
        pairs = zip(row, are_figures, strict=True)
        writer.writerow([value if is_figure else guarded(value) for value, is_figure in pairs])
    return text.getvalue().encode("utf-8-sig")


def xlsx_bytes(tables: Iterable[Table]) -> bytes:
    """One worksheet a table; texts are text cells even where they look like numbers, dates or formulas."""
    book = Workbook(write_only=True)
    for table in tables:
        sheet = book.create_sheet(table.name[:31])
        sheet.freeze_panes = "B2"
        for index, column in enumerate(table.columns, start=1):
            width = max(12, min(36, len(column.header) + 2))
            sheet.column_dimensions[get_column_letter(index)].width = width
        heads = []
        for column in table.columns:
            head = WriteOnlyCell(sheet, value=column.header)
            head.font = Font(bold=True)
            heads.append(head)
        sheet.append(heads)
        shapes = [column.shape for column in table.columns]
        for row in table.rows:
            sheet.append([_typed(sheet, value, shape) for value, shape in zip(row, shapes, strict=True)])
    if not book.worksheets:
        book.create_sheet("empty")
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _typed(sheet: object, text: str, shape: Shape) -> object:
    if text == "":
        return None
    if shape in FIGURES and sum(letter.isdigit() for letter in text) <= MAX_DIGIT_COUNT:
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            pass  # written as text
    if shape is Shape.DATE:
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass  # a month or a year alone
    clean = ILLEGAL_CHARACTERS_RE.sub("", text)[:MAX_CELL_LENGTH]
    if shape is Shape.TEXT and clean[:1] not in "=#":
        return clean
    cell = WriteOnlyCell(sheet, value=clean)
    cell.data_type = "s"
    return cell

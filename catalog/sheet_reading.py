"""An uploaded CSV or XLSX file -> its sheets of raw cells, with the encoding and separator that were found. Pure."""

from __future__ import annotations

import codecs
import csv
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time

from django.utils.translation import gettext as _
from openpyxl import load_workbook
from openpyxl.utils.datetime import from_excel

from catalog.cell_habits import Broken, RawCell

MAX_FILE_BYTES = 10_000_000
MAX_UNPACKED_BYTES = 100_000_000  # of a workbook: a packed file may hide a thousand times its size
MAX_PACKING_RATIO = 100  # of a workbook beyond MAX_FILE_BYTES unpacked; tables of parts pack 5 to 30 times
MAX_ROW_COUNT = 20_000
MAX_COLUMN_COUNT = 200
MAX_EMPTY_LINE_COUNT = 20_000  # between two rows: a stray cell at the end of the sheet, or rows meant to stall
ENCODINGS = ("utf-8", "utf-16", "gb18030", "cp1252")
GUESSED_ENCODINGS = ("utf-8", "gb18030", "cp1252")  # UTF-16 is told by its mark or its zero bytes
SEPARATORS = (",", ";", "\t")
MIN_COMMON_SHARE = 0.9  # of the letters beyond ASCII in Chinese text are in GB 2312
_DATE_SERIALS = range(20_000, 80_000)  # 1954 to 2119 as days of a spreadsheet


class SheetError(ValueError):
    """The file as a whole cannot be read; the sentence says why."""


@dataclass(frozen=True, slots=True)
class SheetRow:
    line: int  # as the spreadsheet program counts
    cells: list[RawCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One table: the names of its columns and its rows, empty rows left out."""

    file_name: str
    name: str  # of the worksheet; empty for CSV
    headers: list[str]
    rows: list[SheetRow]
    header_line: int = 1
    encoding: str = ""  # of a CSV file
    separator: str = ""

    @property
    def place(self) -> str:
        return f"{self.file_name} [{self.name}]" if self.name else self.file_name


def read_sheets(content: bytes, file_name: str, *, encoding: str = "") -> tuple[Sheet, ...]:
    """The tables of a file; SheetError when it is too large, damaged, or neither CSV nor XLSX."""
    if len(content) > MAX_FILE_BYTES:
        raise SheetError(_("The file is larger than %(limit)s MB.") % {"limit": MAX_FILE_BYTES // 1_000_000})
    if not content.strip():
        raise SheetError(_("The file is empty."))
    if content[:4] == b"PK\x03\x04":
        sheets = tuple(_workbook_sheets(content, file_name))
        if not sheets:
            raise SheetError(_("The file is empty."))
        return sheets
    if content[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise SheetError(_("This is an old or encrypted Excel file. Save it as .xlsx without a password, or as CSV."))
    return (_csv_sheet(content, file_name, encoding),)


# --- CSV ------------------------------------------------------------------------------------------------------------
def decoded(content: bytes, encoding: str = "") -> tuple[str, str]:
    """Text and encoding: by mark, then UTF-8, then GB 18030 where it gives common Chinese, then Western European."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if content.startswith(mark):
            return _decoded_as(content[len(mark) :], name), name
    if encoding:
        return _decoded_as(content, encoding), encoding
    if b"\0" in content[:1000]:
        name = "utf-16-be" if content[:1] == b"\0" else "utf-16-le"
        try:
            return content.decode(name), name
        except UnicodeDecodeError:
            raise SheetError(_("This is neither a CSV nor an XLSX file.")) from None
    for name in GUESSED_ENCODINGS:
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            continue
        if name != "gb18030" or _is_common_chinese(text):
            return text, name
    raise SheetError(_("The file is none of UTF-8, UTF-16, GB 18030 and Western European text."))


def _decoded_as(content: bytes, name: str) -> str:
    try:
        return content.decode(name)
    except (UnicodeDecodeError, LookupError):
        raise SheetError(_("The file is not %(encoding)s text.") % {"encoding": name}) from None


def _is_common_chinese(text: str) -> bool:
    letters = [letter for letter in text if letter > "\x7f"]
    common = sum(1 for letter in letters if letter.encode("gb2312", "ignore"))
    return common >= MIN_COMMON_SHARE * len(letters)


def _csv_sheet(content: bytes, file_name: str, encoding: str) -> Sheet:
    text, found = decoded(content, encoding)
    if "\0" in text:
        raise SheetError(_("This is neither a CSV nor an XLSX file."))
    first_line = text[: text.find("\n")] if "\n" in text else text
    separator, skipped = _separator(first_line), 0
    if first_line.strip().lower().startswith("sep="):  # Excel's own hint
        separator, skipped = first_line.strip()[4:5] or ",", 1
        text = text[text.index("\n") + 1 :] if "\n" in text else ""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines = _csv_lines(reader, skipped)
    sheet = _sheet_of(lines, file_name, "")
    return Sheet(
        file_name=file_name,
        name="",
        headers=sheet.headers,
        rows=sheet.rows,
        header_line=sheet.header_line,
        encoding=found,
        separator=separator,
    )


def _separator(first_line: str) -> str:
    return max(SEPARATORS, key=first_line.count)


def _csv_lines(reader: Iterator[list[str]], skipped: int) -> Iterator[SheetRow]:
    line = 1 + skipped
    try:
        for values in reader:
            yield SheetRow(line, list(values))
            line = reader.line_num + 1 + skipped  # type: ignore[attr-defined]  # a csv reader, which has no name of its own
    except csv.Error as error:
        message = _("Line %(line)s: not a CSV file: %(reason)s.")
        raise SheetError(message % {"line": line, "reason": error}) from None


# --- XLSX -----------------------------------------------------------------------------------------------------------
def _workbook_sheets(content: bytes, file_name: str) -> Iterator[Sheet]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        limit = min(MAX_UNPACKED_BYTES, max(MAX_FILE_BYTES, len(content) * MAX_PACKING_RATIO))
        if unpacked > limit:
            message = _("Unpacked, the workbook is larger than %(limit)s MB.")
            raise SheetError(message % {"limit": limit // 1_000_000})
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=False, keep_links=False)
        try:
            for worksheet in book.worksheets:
                rows = _worksheet_rows(worksheet, book.epoch)
                sheet = _sheet_of(rows, file_name, str(worksheet.title))
                if sheet.headers:
                    yield sheet
        finally:
            book.close()
    except SheetError:
        raise
    except Exception as error:
        # the library raises anything from KeyError to BadZipFile on a damaged workbook
        raise SheetError(_("The workbook cannot be read: %(reason)s.") % {"reason": str(error)[:200]}) from error


def _worksheet_rows(worksheet: object, epoch: datetime) -> Iterator[SheetRow]:
    rows = worksheet.iter_rows(max_col=MAX_COLUMN_COUNT + 1)  # type: ignore[attr-defined]  # the library has no types
    for line, cells in enumerate(rows, start=1):
        values = [_raw(cell, epoch) for cell in cells]
        while values and values[-1] is None:
            values.pop()
        yield SheetRow(line, values)


def _raw(cell: object, epoch: datetime) -> RawCell:
    value, kind = cell.value, cell.data_type  # type: ignore[attr-defined]
    if value is None or value == "":
        return None
    if kind == "f":
        return Broken(_("The cell holds a formula. Paste its value instead."))
    if kind == "e":
        return Broken(_("The cell holds an error: %(value)s.") % {"value": value})
    if isinstance(value, time):
        return Broken(_("The cell holds a time of day."))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and "%" in (cell.number_format or ""):  # type: ignore[attr-defined]
        return f"{round(value * 100, 10):g}%" if abs(value) < 1e4 else value
    return value if isinstance(value, (str, int, float, bool, date)) else str(value)


def excel_day(value: float, epoch: datetime | None = None) -> date | None:
    """The day behind a spreadsheet's number; None where no day of this trade is meant."""
    if int(value) not in _DATE_SERIALS or value != int(value):
        return None
    found = from_excel(value) if epoch is None else from_excel(value, epoch)
    return found.date() if isinstance(found, datetime) else None


# --- both -----------------------------------------------------------------------------------------------------------
def _sheet_of(lines: Iterator[SheetRow], file_name: str, name: str) -> Sheet:
    """The first row that is not empty names the columns."""
    headers: list[str] = []
    header_line, last_line = 1, 0
    rows: list[SheetRow] = []
    for row in lines:
        if all(value is None or value == "" for value in row.cells):
            if row.line - last_line > MAX_EMPTY_LINE_COUNT:
                message = _("More than %(limit)s empty rows follow line %(line)s. Delete every row below it.")
                raise SheetError(message % {"limit": f"{MAX_EMPTY_LINE_COUNT:,}", "line": last_line})
            continue
        last_line = row.line
        if not headers:
            headers, header_line = _headers(row.cells), row.line
            if len(headers) > MAX_COLUMN_COUNT:
                raise SheetError(_("The table has more than %(limit)s columns.") % {"limit": MAX_COLUMN_COUNT})
            continue
        if len(rows) >= MAX_ROW_COUNT:
            raise SheetError(_("The table has more than %(limit)s rows.") % {"limit": f"{MAX_ROW_COUNT:,}"})
        rows.append(row)
    return Sheet(file_name=file_name, name=name, headers=headers, rows=rows, header_line=header_line)


def _headers(cells: list[RawCell]) -> list[str]:
    # a byte order mark that a program wrote twice is no part of the first name
    headers = ["" if value is None else str(value).lstrip("\ufeff").strip().lower() for value in cells]
    while headers and not headers[-1]:
        headers.pop()
    return headers[: MAX_COLUMN_COUNT + 1]

"""Files of spreadsheet programs: encodings, separators, typed cells, limits; and what we write opens the same."""

from __future__ import annotations

import io
import zipfile
from datetime import date

import pytest
from django.utils import translation
from openpyxl import Workbook, load_workbook

from catalog import sheet_reading
from catalog.cell_habits import Broken
from catalog.cells import Shape
from catalog.sheet_reading import SheetError, read_sheets
from catalog.sheet_writing import Column, Table, csv_bytes, xlsx_bytes

CHINESE = "sku,名称\r\na,九章云极 服务器\r\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (CHINESE.encode("utf-8"), "utf-8"),
        (CHINESE.encode("utf-8-sig"), "utf-8"),
        (CHINESE.encode("gb18030"), "gb18030"),
        (b"\xff\xfe" + CHINESE.encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + CHINESE.encode("utf-16-be"), "utf-16-be"),
        (CHINESE.encode("utf-16-le"), "utf-16-le"),
    ],
    ids=["utf-8", "with mark", "gb18030", "utf-16 le", "utf-16 be", "utf-16 without mark"],
)
def test_chinese_text_is_read_in_each_encoding_of_excel(content: bytes, encoding: str) -> None:
    (sheet,) = read_sheets(content, "a.csv")
    assert (sheet.headers, sheet.rows[0].cells, sheet.encoding) == (["sku", "名称"], ["a", "九章云极 服务器"], encoding)


def test_western_excel_is_not_taken_for_chinese() -> None:
    (sheet,) = read_sheets("sku;Name\r\na;Gehäuse für Lüfter\r\n".encode("cp1252"), "a.csv")
    assert (sheet.rows[0].cells, sheet.encoding, sheet.separator) == (["a", "Gehäuse für Lüfter"], "cp1252", ";")


@pytest.mark.parametrize(("text", "separator"), [("a;b\n1;2", ";"), ("a\tb\n1\t2", "\t"), ("sep=;\na;b\n1;2", ";")])
def test_the_separator_is_found(text: str, separator: str) -> None:
    (sheet,) = read_sheets(text.encode(), "a.csv")
    assert (sheet.separator, sheet.headers, sheet.rows[0].cells) == (separator, ["a", "b"], ["1", "2"])


def test_lines_are_counted_as_the_program_shows_them() -> None:
    (sheet,) = read_sheets(b'a,b\n"two\nlines",1\n\n,\nlast,2\n', "a.csv")
    assert [row.line for row in sheet.rows] == [2, 6]


def workbook(*rows: list[object], **formats: str) -> bytes:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    for place, number_format in formats.items():
        book.active[place].number_format = number_format
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_cells_of_a_workbook_keep_their_kind() -> None:
    content = workbook(["a", "b", "c", "d"], [1.5, date(2026, 11, 30), "=1+1", 0.13], D2="0.0%")
    (sheet,) = read_sheets(content, "a.xlsx")
    number, day, formula, share = sheet.rows[0].cells
    assert (number, day.date().isoformat(), share) == (1.5, "2026-11-30", "13%")
    assert isinstance(formula, Broken)
    assert sheet.place == "a.xlsx [Sheet]"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 not really", "cannot be read"),
        (workbook(["a"], [1])[:1500], "cannot be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", "old or encrypted"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" * 3, "neither|none of"),
        (b'a,b\n"x', "not a CSV file"),
        (b"a\n" * 20_002, "more than 20,000 rows"),
        (b"a\n1\n" + b"\n" * 20_002, "20,000 empty rows follow line 2"),
        (b",".join([b"a"] * 10_000), "more than 200 columns"),
        (workbook(["a"] * 300), "more than 200 columns"),
        (workbook(), "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "neither"),
    ],
    ids=[
        "empty",
        "damaged",
        "half",
        "old Excel",
        "picture",
        "half a CSV",
        "too many rows",
        "a gap without end",
        "wide CSV",
        "wide workbook",
        "empty workbook",
        "half a picture",
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(content: bytes, words: str) -> None:
    with translation.override("en"), pytest.raises(SheetError, match=words):
        read_sheets(content, "file")


def test_a_packed_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_reading, "MAX_UNPACKED_BYTES", 1_000_000)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 2_000_000)
    with translation.override("en"), pytest.raises(SheetError, match="Unpacked"):
        read_sheets(content.getvalue(), "bomb.xlsx")


def test_a_workbook_that_packs_a_thousandfold_is_refused_below_the_limit_too() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"<row></row>" * 1_500_000)
    with translation.override("en"), pytest.raises(SheetError, match="larger than 10 MB"):
        read_sheets(content.getvalue(), "bomb.xlsx")


def test_a_stray_cell_at_the_end_of_a_sheet_is_named() -> None:
    book = Workbook()
    book.active.append(["a"])
    book.active["A1048576"] = "x"
    content = io.BytesIO()
    book.save(content)
    with translation.override("en"), pytest.raises(SheetError, match="empty rows follow line 1"):
        read_sheets(content.getvalue(), "far.xlsx")


def test_a_mark_written_twice_is_no_part_of_a_name() -> None:
    (sheet,) = read_sheets(b"\xef\xbb\xbf\xef\xbb\xbfsku,a\nx,1\n", "a.csv")
    assert sheet.headers == ["sku", "a"]


TABLE = Table(
    name="t",
    columns=[
        Column(header="text"),
        Column(header="figure", shape=Shape.NUMBER),
        Column(header="day", shape=Shape.DATE),
    ],
    rows=[["=HYPERLINK(1)", "-5.00", "2026-11-30"], ["0012", "989.4", "2026-11"], ["中文", "", ""]],
)


def test_texts_stay_texts_and_figures_figures_in_a_workbook() -> None:
    sheet = load_workbook(io.BytesIO(xlsx_bytes([TABLE])))["t"]
    assert [(cell.value, cell.data_type) for cell in sheet[2]][:2] == [("=HYPERLINK(1)", "s"), (-5.0, "n")]
    assert sheet["C2"].value.date() == date(2026, 11, 30)
    assert [cell.value for cell in sheet[3]] == ["0012", 989.4, "2026-11"]


def test_a_csv_opens_in_chinese_excel_and_starts_no_formula() -> None:
    content = csv_bytes(TABLE)
    assert content.startswith(b"\xef\xbb\xbf")
    lines = content.decode("utf-8-sig").splitlines()
    assert lines[1:] == ["'=HYPERLINK(1),-5.00,2026-11-30", "0012,989.4,2026-11", "中文,,"]

"""Figures, dates and answers as Chinese and Western spreadsheet programs write them."""

from __future__ import annotations

import pytest
from django.utils import translation

from catalog.cell_habits import Broken, DecimalMark, decimal_mark_of, guarded, plain_date, plain_text, unguarded
from catalog.cells import CellError, Shape, counts_by_rate

POINT, COMMA = DecimalMark.POINT, DecimalMark.COMMA


@pytest.mark.parametrize(
    ("raw", "mark", "plain"),
    [
        ("1234.5", None, "1234.5"),
        ("1,234.5", None, "1234.5"),
        ("1.234,5", None, "1234.5"),
        ("1 234,5", None, "1234.5"),  # French and Swedish
        ("1\u00a0234,5", None, "1234.5"),
        ("1\u202f234,5", None, "1234.5"),
        ("1'234.5", None, "1234.5"),  # Swiss
        ("1,234,567", None, "1234567"),
        ("1.234.567", None, "1234567"),
        ("0,75", None, "0.75"),
        ("１２３４．５", None, "1234.5"),  # full width
        ("１，２３４．５", None, "1234.5"),
        ("¥1,234.50", None, "1234.50"),
        ("1234.50元", None, "1234.50"),
        ("1,234", POINT, "1234"),
        ("1,234", COMMA, "1.234"),
        ("1.234", POINT, "1.234"),
        ("1.234", COMMA, "1234"),
        ("1.5E+3", None, "1.5E+3"),
        ("-5.00", None, "-5.00"),
    ],
)
def test_a_figure_in_any_usual_writing_is_read(raw: str, mark: DecimalMark | None, plain: str) -> None:
    assert plain_text(raw, Shape.MONEY, mark) == plain


@pytest.mark.parametrize(
    ("raw", "mark", "words"),
    [
        ("1,234", None, "may be 1234 or 1.234"),
        ("1.234", None, "may be 1.234 or 1234"),
        ("1.234,5", POINT, "has a decimal comma"),
        ("1,234.5", COMMA, "has a decimal point"),
        ("=1+1", None, "starts like a formula"),
        ("@SUM(A1)", None, "starts like a formula"),
    ],
)
def test_what_could_be_two_figures_or_runs_is_refused_with_both(raw: str, mark: DecimalMark | None, words: str) -> None:
    with translation.override("en"), pytest.raises(CellError, match=words):
        plain_text(raw, Shape.NUMBER, mark)


@pytest.mark.parametrize(
    ("texts", "mark", "is_mixed"),
    [
        (["1,234", "12.5"], POINT, False),
        (["1.234", "0,75"], COMMA, False),
        (["1,234", "5"], None, False),
        (["1,234.5", "0,75"], None, True),
    ],
)
def test_the_unmistakable_figures_of_a_file_tell_its_decimal_mark(
    texts: list[str], mark: DecimalMark | None, is_mixed: bool
) -> None:
    assert decimal_mark_of((text, Shape.NUMBER) for text in texts) == (mark, is_mixed)


@pytest.mark.parametrize(
    ("raw", "iso"),
    [
        ("2026-11-30", "2026-11-30"),
        ("2026/3/4", "2026-03-04"),
        ("2026年3月4日", "2026-03-04"),
        ("2026.3.4", "2026-03-04"),
        ("2026年3月", "2026-03"),
        ("30.11.2026", "2026-11-30"),
        ("11/30/2026", "2026-11-30"),
        ("30/11/2026", "2026-11-30"),
        ("5/5/2026", "2026-05-05"),
        ("2026-11-30 00:00:00", "2026-11-30"),
        ("2026", "2026"),
    ],
)
def test_a_date_in_any_unmistakable_writing_is_read(raw: str, iso: str) -> None:
    assert plain_date(raw) == iso


def test_day_and_month_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(CellError):
        plain_date("3/4/2026")


@pytest.mark.parametrize(("raw", "plain"), [("是", "y"), ("否", "n"), ("TRUE", "y"), (False, "n"), ("Y", "y")])
def test_an_answer_in_either_language_is_read(raw: str | bool, plain: str) -> None:
    assert plain_text(raw, Shape.FLAG) == plain


def test_a_name_that_the_program_made_a_number_of_is_refused() -> None:
    with pytest.raises(CellError):
        plain_text(100000.0, Shape.TEXT, is_key=True)
    assert plain_text(12.8, Shape.TEXT) == "12.8"
    assert plain_text(12.0, Shape.TEXT) == "12"


def test_a_broken_cell_says_why() -> None:
    with pytest.raises(CellError, match="a formula"):
        plain_text(Broken("a formula"), Shape.NUMBER)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@a", "\tx", "'=1", "''-", "plain", "'quoted'", ""])
def test_the_guard_comes_off_again(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert guarded(text)[:1] not in ("=", "+", "-", "@", "\t", "\r")


def test_counts_by_rate_are_written_fastest_first_in_whatever_order_the_database_has_them() -> None:
    for stored in ({"400G": 64, "1600G": 16, "800G": 32}, {"1600G": 16, "800G": 32, "400G": 64}):
        assert counts_by_rate.write(stored) == "1600G:16;800G:32;400G:64"


@pytest.mark.parametrize("text", ["fast:8", "400:8", "400G:8;400G:9", "400G", "0G:8"])
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with translation.override("en"), pytest.raises(CellError, match="400G:2048"):
        counts_by_rate.read(text)

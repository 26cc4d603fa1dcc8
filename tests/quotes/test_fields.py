"""What people type into a quote."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from quotes.fields import PlainDecimalField, paper_text

PRICE = PlainDecimalField(minimum=Decimal(0), maximum=Decimal(1_000_000_000), decimal_places=4, required=False)
PERCENT = PlainDecimalField(minimum=Decimal(0), maximum=Decimal(100), decimal_places=3, scale=Decimal(100))


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("1234.5", "1234.5"),
        ("1,234.50", "1234.50"),
        (" 1 234 ", "1234"),
        ("１２３４．５", "1234.5"),
        ("0", "0"),
        ("+7", "7"),
        ("0.0001", "0.0001"),
    ],
)
def test_numbers_as_people_write_them(typed, value):
    assert PRICE.clean(typed) == Decimal(value)


@pytest.mark.parametrize(
    "typed",
    [
        "1,40,000",
        "1.234,50",
        "1e5",
        "1e400",
        "nan",
        "inf",
        "-1",
        "--5",
        "=1+1",
        "1٠",
        "1000000001",
        "0.00001",
        "9" * 41,
        "十",
        "1_000",
    ],
)
def test_everything_else_is_refused_in_words(typed):
    with translation.override("en"):
        with pytest.raises(ValidationError) as caught:
            PRICE.clean(typed)
        (message,) = caught.value.messages
    assert message.endswith(".")


def test_empty_is_no_number():
    assert PRICE.clean("") is None


def test_percent_is_stored_as_a_fraction_and_shown_as_percent():
    assert PERCENT.clean("13") == Decimal("0.13")
    assert PERCENT.prepare_value(Decimal("0.13000")) == "13"
    assert PERCENT.prepare_value(Decimal("0.06250")) == "6.25"


def test_a_price_comes_back_in_groups_and_is_read_again():
    shown = PRICE.prepare_value(Decimal("3444148.9400"))
    assert shown == "3,444,148.94"
    assert PRICE.clean(shown) == Decimal("3444148.94")


def test_text_for_paper():
    assert paper_text("  Ame\u0301lie\u2011X ") == "Am\u00e9lie-X"
    assert paper_text("a\r\nb", has_lines=True) == "a\nb"


@pytest.mark.parametrize("text", ["a\x00b", "a\x1bb", "a\nb", "\u202eabc", "a\u200bb"])
def test_control_characters_are_refused(text):
    with pytest.raises(ValidationError) as caught:
        paper_text(text)
    assert "%(point)s" in caught.value.message

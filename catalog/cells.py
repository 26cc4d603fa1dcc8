"""One cell of a catalogue file <-> one checked value in base units. Pure; a wrong cell raises CellError."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from django.utils.translation import gettext as _

Cell = str | int | float | bool | Decimal | date | list[str] | dict[str, int] | None
Parser = Callable[[str], Cell]


class Shape(StrEnum):
    """What kind of value a spreadsheet keeps in such a cell, and so which habits of writing may be met in it."""

    TEXT = "text"
    NUMBER = "number"
    MONEY = "money"
    PERCENT = "percent"
    DATE = "date"
    FLAG = "flag"


def _plain(value: Cell) -> str:
    return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class CellFormat:
    """Reads the text of a cell, and writes a value as the text that reads back as the same value."""

    read: Parser
    write: Callable[[Cell], str] = _plain
    shape: Shape = Shape.TEXT

    def __call__(self, raw: str) -> Cell:
        return self.read(raw)


_SKU = re.compile(r"[a-z0-9][a-z0-9._-]*")
_WHOLE = re.compile(r"\d+")
_RATE = re.compile(r"[1-9][0-9]{0,4}G")
_PARTIAL_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_WINDOW = re.compile(r"(\d+)(?:\s*chunks)?(?:/(\d+):(\d+))?")
_LARGEST = Decimal(10) ** 20  # beyond any figure of this trade; keeps typing errors out of the database


class CellError(ValueError):
    """The sentence that says what is wrong with a cell."""


text = CellFormat(str)


def _read_sku(raw: str) -> str:
    if not _SKU.fullmatch(raw) or len(raw) > 80:
        raise CellError(
            _("“%(value)s” is no SKU: lower-case letters, digits, dots, hyphens, underscores.") % {"value": raw}
        )
    return raw


sku = CellFormat(_read_sku)


def choice(*allowed: str) -> CellFormat:
    def parse(raw: str) -> str:
        if raw not in allowed:
            raise CellError(
                _("“%(value)s” is not one of: %(allowed)s.") % {"value": raw, "allowed": ", ".join(allowed)}
            )
        return raw

    return CellFormat(parse)


def number(raw: str) -> Decimal:
    try:
        value = Decimal(raw)
    except InvalidOperation:
        raise CellError(_("“%(value)s” is not a number.") % {"value": raw}) from None
    # compared by exponent: arithmetic with 1e999999999 overflows, and writing out 1e-999999999 takes a gigabyte
    if not value.is_finite() or (value and not -_LARGEST.adjusted() <= value.adjusted() <= _LARGEST.adjusted()):
        raise CellError(_("“%(value)s” is not a usable number.") % {"value": raw})
    return value


def digits(value: Cell, factor: int | Decimal = 1) -> str:
    """A figure in units of `factor`: all its digits, no exponent, no tail of zeros."""
    if value is None:
        return ""
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value))
    plain = f"{exact / factor:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def quantity(factor: int | Decimal = 1, *, minimum: int | None = None) -> CellFormat:
    """A figure x factor as a float, above zero, or at least `minimum` where one is given."""

    def parse(raw: str) -> float:
        value = number(raw)
        if (value <= 0) if minimum is None else (value < minimum):
            raise CellError(_("%(value)s must be above zero.") % {"value": raw})
        return float(value * factor)

    return CellFormat(parse, lambda value: digits(value, factor), Shape.NUMBER)


def count(factor: int = 1, *, minimum: int = 1) -> CellFormat:
    """A whole number x factor."""

    def parse(raw: str) -> int:
        value = number(raw) * factor
        if value != value.to_integral_value():
            raise CellError(_("“%(value)s” is not a whole number.") % {"value": raw})
        if value < minimum:
            raise CellError(_("%(value)s is below %(minimum)s.") % {"value": raw, "minimum": minimum})
        return int(value)

    return CellFormat(parse, lambda value: digits(value, factor), Shape.NUMBER)


def _read_money(raw: str) -> Decimal:
    value = number(raw)
    if value < 0:
        raise CellError(_("A price cannot be negative: %(value)s.") % {"value": raw})
    return value


money = CellFormat(_read_money, digits, Shape.MONEY)


def _read_percent(raw: str) -> Decimal:
    value = number(raw) / 100
    if value < 0:
        raise CellError(_("A percentage cannot be negative: %(value)s.") % {"value": raw})
    return value


fraction_of_percent = CellFormat(_read_percent, lambda value: digits(value, Decimal("0.01")), Shape.PERCENT)


def _read_yes_no(raw: str) -> bool:
    answers = {"y": True, "yes": True, "n": False, "no": False}
    if raw not in answers:
        raise CellError(_("“%(value)s” is neither y nor n.") % {"value": raw})
    return answers[raw]


yes_no = CellFormat(_read_yes_no, lambda value: "" if value is None else "y" if value else "n", Shape.FLAG)


def _read_day(raw: str) -> date:
    try:
        return date.fromisoformat(raw)
    except ValueError:
        raise CellError(_("“%(value)s” is not a date (YYYY-MM-DD).") % {"value": raw}) from None


day = CellFormat(_read_day, _plain, Shape.DATE)


def _read_partial_day(raw: str) -> date:
    match = _PARTIAL_DATE.fullmatch(raw)
    if not match:
        raise CellError(_("“%(value)s” is not a date (YYYY, YYYY-MM or YYYY-MM-DD).") % {"value": raw})
    return _read_day(f"{match[1]}-{match[2] or '01'}-{match[3] or '01'}")


# `2026`, `2026-08` or `2026-08-22`; what is missing counts as the first
partial_day = CellFormat(_read_partial_day, _plain, Shape.DATE)


def _split(raw: str) -> list[str]:
    return [part.strip() for part in raw.split(";") if part.strip()]


def _joined(value: Cell) -> str:
    return ";".join(value) if isinstance(value, list) else _plain(value)


names = CellFormat(lambda raw: _split(raw), _joined)  # parts of a cell between semicolons


def _read_counts_by_rate(raw: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in _split(raw):
        rate, _separator, value = part.partition(":")
        if not (_WHOLE.fullmatch(value) and _RATE.fullmatch(rate)) or rate in counts:
            raise CellError(_("“%(value)s” is not a list like 400G:2048;200G:8192.") % {"value": raw})
        counts[rate] = int(value)
    return counts


def _rates_text(value: Cell) -> str:
    return ";".join(f"{rate}:{count}" for rate, count in by_rate(value)) if isinstance(value, dict) else _plain(value)


def by_rate(counts: dict[str, int]) -> list[tuple[str, int]]:
    """The fastest first: a JSON column keeps no order of its keys."""
    return sorted(counts.items(), key=lambda item: -int(item[0].removesuffix("G")))


counts_by_rate = CellFormat(_read_counts_by_rate, _rates_text)  # `400G:2048;200G:8192`


def _read_one_count(raw: str) -> int | None:
    return int(raw) if _WHOLE.fullmatch(raw) else None


# a range such as `4-8`, or `many`, is no count; its text is kept beside
one_count_or_none = CellFormat(_read_one_count)


def window(position: int) -> CellFormat:
    """Sliding window `size[/local:global]`: size, windowed layers of a period, layers of a period."""

    def parse(raw: str) -> int:
        match = _WINDOW.fullmatch(raw)
        if not match:
            raise CellError(_("“%(value)s” is no window like 4096 or 1024/5:1.") % {"value": raw})
        local, everywhere = int(match[2] or 1), int(match[3] or 0)
        return (int(match[1]), local, local + everywhere)[position]

    return CellFormat(parse)

"""One cell of a catalogue file -> one checked value in base units. Pure; a wrong cell raises CellError."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation

from django.utils.translation import gettext as _

Cell = str | int | float | bool | Decimal | date | list[str] | dict[str, int] | None
Parser = Callable[[str], Cell]

_SKU = re.compile(r"[a-z0-9][a-z0-9._-]*")
_WHOLE = re.compile(r"\d+")
_PARTIAL_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_WINDOW = re.compile(r"(\d+)(?:\s*chunks)?(?:/(\d+):(\d+))?")
_LARGEST = Decimal(10) ** 20  # beyond any figure of this trade; keeps typing errors out of the database


class CellError(ValueError):
    """The sentence that says what is wrong with a cell."""


def text(raw: str) -> str:
    return raw


def sku(raw: str) -> str:
    if not _SKU.fullmatch(raw) or len(raw) > 80:
        raise CellError(
            _("“%(value)s” is no SKU: lower-case letters, digits, dots, hyphens, underscores.") % {"value": raw}
        )
    return raw


def choice(*allowed: str) -> Parser:
    def parse(raw: str) -> str:
        if raw not in allowed:
            raise CellError(
                _("“%(value)s” is not one of: %(allowed)s.") % {"value": raw, "allowed": ", ".join(allowed)}
            )
        return raw

    return parse


def number(raw: str) -> Decimal:
    try:
        value = Decimal(raw)
    except InvalidOperation:
        raise CellError(_("“%(value)s” is not a number.") % {"value": raw}) from None
    if not value.is_finite() or abs(value) > _LARGEST:
        raise CellError(_("“%(value)s” is not a usable number.") % {"value": raw})
    return value


def quantity(factor: int | Decimal = 1, *, minimum: int | None = None) -> Parser:
    """A figure x factor as a float, above zero, or at least `minimum` where one is given."""

    def parse(raw: str) -> float:
        value = number(raw)
        if (value <= 0) if minimum is None else (value < minimum):
            raise CellError(_("%(value)s must be above zero.") % {"value": raw})
        return float(value * factor)

    return parse


def count(factor: int = 1, *, minimum: int = 1) -> Parser:
    """A whole number x factor."""

    def parse(raw: str) -> int:
        value = number(raw) * factor
        if value != value.to_integral_value():
            raise CellError(_("“%(value)s” is not a whole number.") % {"value": raw})
        if value < minimum:
            raise CellError(_("%(value)s is below %(minimum)s.") % {"value": raw, "minimum": minimum})
        return int(value)

    return parse


def money(raw: str) -> Decimal:
    value = number(raw)
    if value < 0:
        raise CellError(_("A price cannot be negative: %(value)s.") % {"value": raw})
    return value


def fraction_of_percent(raw: str) -> Decimal:
    value = number(raw) / 100
    if value < 0:
        raise CellError(_("A percentage cannot be negative: %(value)s.") % {"value": raw})
    return value


def yes_no(raw: str) -> bool:
    answers = {"y": True, "yes": True, "n": False, "no": False}
    if raw not in answers:
        raise CellError(_("“%(value)s” is neither y nor n.") % {"value": raw})
    return answers[raw]


def day(raw: str) -> date:
    try:
        return date.fromisoformat(raw)
    except ValueError:
        raise CellError(_("“%(value)s” is not a date (YYYY-MM-DD).") % {"value": raw}) from None


def partial_day(raw: str) -> date:
    """`2026`, `2026-08` or `2026-08-22`; what is missing counts as the first."""
    match = _PARTIAL_DATE.fullmatch(raw)
    if not match:
        raise CellError(_("“%(value)s” is not a date (YYYY, YYYY-MM or YYYY-MM-DD).") % {"value": raw})
    return day(f"{match[1]}-{match[2] or '01'}-{match[3] or '01'}")


def names(raw: str) -> list[str]:
    """Parts of a cell between semicolons."""
    return [part.strip() for part in raw.split(";") if part.strip()]


def counts_by_rate(raw: str) -> dict[str, int]:
    """`400G:2048;200G:8192`."""
    counts: dict[str, int] = {}
    for part in names(raw):
        rate, _separator, value = part.partition(":")
        if not _WHOLE.fullmatch(value):
            raise CellError(_("“%(value)s” is not a list like 400G:2048;200G:8192.") % {"value": raw})
        counts[rate] = int(value)
    return counts


def one_count_or_none(raw: str) -> int | None:
    """A range such as `4-8`, or `many`, is no count; its text is kept beside."""
    return int(raw) if _WHOLE.fullmatch(raw) else None


def window(position: int) -> Parser:
    """Sliding window `size[/local:global]`: size, windowed layers of a period, layers of a period."""

    def parse(raw: str) -> int:
        match = _WINDOW.fullmatch(raw)
        if not match:
            raise CellError(_("“%(value)s” is no window like 4096 or 1024/5:1.") % {"value": raw})
        local, everywhere = int(match[2] or 1), int(match[3] or 0)
        return (int(match[1]), local, local + everywhere)[position]

    return parse

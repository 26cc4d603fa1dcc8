"""How people and spreadsheet programs write figures, dates and answers -> the one way the catalogue reads. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from django.utils.translation import gettext as _

from catalog.cells import CellError, Shape


@dataclass(frozen=True, slots=True)
class Broken:
    """A cell that cannot be used, with the sentence that says why."""

    message: str


RawCell = str | int | float | bool | date | Broken | None
FIGURES = frozenset({Shape.NUMBER, Shape.MONEY, Shape.PERCENT})


class DecimalMark(StrEnum):
    POINT = "."
    COMMA = ","


# A text that a spreadsheet program would take for a formula; the guard is one apostrophe more in front.
_FORMULA_START = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_SPACES = re.compile(r"[\s\u00a0\u2007\u202f\u2060\ufeff']")
_MONEY_SIGNS = re.compile(r"^(?:[¥$€£]|CNY|RMB|USD|EUR)|(?:元|[¥$€£]|CNY|RMB|USD|EUR)$", re.IGNORECASE)
_PLAIN = re.compile(r"[+-]?\d+")
_EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d+")
_POINT = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?")
_ISO_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?|月)?")
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_TIME_OF_DAY = re.compile(r"[ T]0?0:00(?::00(?:\.0+)?)?$")
_FLAGS = {
    "y": "y",
    "yes": "y",
    "true": "y",
    "是": "y",
    "1": "y",
    "n": "n",
    "no": "n",
    "false": "n",
    "否": "n",
    "0": "n",
}


def guarded(text: str) -> str:
    """For CSV: no cell starts what a spreadsheet program runs as a formula."""
    return f"'{text}" if _FORMULA_START.match(text) else text


def unguarded(text: str) -> str:
    """The text behind the guard; a cell that starts a formula without one is refused."""
    if _GUARDED.match(text):
        return text[1:]
    if text[:1] in ("=", "@"):
        raise CellError(_("“%(value)s” starts like a formula. Write the value itself.") % {"value": text[:40]})
    return text


def is_point_written(text: str) -> bool:
    return _POINT.fullmatch(text) is not None


def is_comma_written(text: str) -> bool:
    return _COMMA.fullmatch(text) is not None


def _bare(raw: str, shape: Shape) -> str:
    """Half-width digits without spaces, grouping apostrophes, currency or percent signs."""
    text = _SPACES.sub("", unicodedata.normalize("NFKC", raw).replace("−", "-"))
    if shape is Shape.MONEY:
        text = _MONEY_SIGNS.sub("", text)
    return text.removesuffix("%") if shape is Shape.PERCENT else text


def decimal_mark_of(texts: Iterable[tuple[str, Shape]]) -> tuple[DecimalMark | None, bool]:
    """The mark that the unmistakable figures of a file use, and whether they contradict each other."""
    seen = set()
    for raw, shape in texts:
        text = _bare(raw, shape)
        if "," not in text and "." not in text:
            continue
        point, comma = is_point_written(text), is_comma_written(text)
        if point != comma:
            seen.add(DecimalMark.POINT if point else DecimalMark.COMMA)
        if len(seen) > 1:
            return None, True
    return (seen.pop() if seen else None), False


def plain_number(raw: str, shape: Shape, mark: DecimalMark | None) -> str:
    """`1,234.5`, `1.234,5`, `1 234,5`, `１２３`, `¥12` as digits with a point; what could be two figures is refused."""
    text = _bare(raw, shape)
    if _PLAIN.fullmatch(text) or _EXPONENT.fullmatch(text):
        return text
    point, comma = is_point_written(text), is_comma_written(text)
    if point and comma and mark is None:
        as_point, as_comma = text.replace(",", ""), text.replace(".", "").replace(",", ".")
        raise CellError(
            _("“%(value)s” may be %(first)s or %(second)s. Say which decimal mark the file uses.")
            % {"value": raw, "first": as_point, "second": as_comma}
        )
    if mark is DecimalMark.POINT and not point and comma:
        raise CellError(_("“%(value)s” has a decimal comma, the file a decimal point.") % {"value": raw})
    if mark is DecimalMark.COMMA and not comma and point:
        raise CellError(_("“%(value)s” has a decimal point, the file a decimal comma.") % {"value": raw})
    if comma and (mark is DecimalMark.COMMA or not point):
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", "") if point else text


def plain_date(raw: str) -> str:
    """ISO; year first in any usual writing, day first with points, slashes where day and month cannot be confused."""
    text = _TIME_OF_DAY.sub("", unicodedata.normalize("NFKC", raw).strip())
    if match := _ISO_DATE.fullmatch(text):
        year, month, day = match[1], match[2], match[3]
        return f"{year}-{int(month):02d}" + (f"-{int(day):02d}" if day else "")
    if match := _DAY_FIRST.fullmatch(text):
        return f"{match[3]}-{int(match[2]):02d}-{int(match[1]):02d}"
    if match := _SLASHED.fullmatch(text):
        first, second = int(match[1]), int(match[2])
        if first <= 12 and second <= 12 and first != second:
            raise CellError(_("“%(value)s”: day and month cannot be told apart. Write 2026-11-30.") % {"value": raw})
        month_number, day_number = (second, first) if first > 12 else (first, second)
        return f"{match[3]}-{month_number:02d}-{day_number:02d}"
    return text


def plain_text(raw: RawCell, shape: Shape, mark: DecimalMark | None = None, *, is_key: bool = False) -> str:
    """A raw cell as the text that its column reads."""
    if raw is None:
        return ""
    if isinstance(raw, Broken):
        raise CellError(raw.message)
    if is_key and not isinstance(raw, str):
        raise CellError(
            _("The spreadsheet program made a number or date of this name: %(value)s. Format the column as text.")
            % {"value": raw}
        )
    if isinstance(raw, bool):
        return "y" if raw else "n"
    if isinstance(raw, datetime):
        return raw.date().isoformat()
    if isinstance(raw, date):
        return raw.isoformat()
    if isinstance(raw, (int, float)):
        return f"{Decimal(repr(raw)):f}".removesuffix(".0")
    text = unguarded(raw.strip())
    if not text:
        return ""
    if shape in FIGURES:
        return plain_number(text, shape, mark)
    if shape is Shape.DATE:
        return plain_date(text)
    if shape is Shape.FLAG:
        return _FLAGS.get(unicodedata.normalize("NFKC", text).lower(), text)
    return text

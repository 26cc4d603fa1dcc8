"""One raw value to one typed value, by the row of its field; every refusal is an `InputFault`, never another error."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from advisor import figures
from advisor.input_kinds import FieldKind, InputField
from advisor.input_types import InputFault
from advisor.messages import fault_message, shown
from advisor.quantities import Kind, Quantity, QuantityError, canonical, parse_quantity

MAX_TEXT_CHARACTERS = 100
MAX_LIST_ENTRIES = 50
_FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


class Refused(Exception):  # noqa: N818  (control flow inside the reader, never seen outside)
    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code, self.params = code, params


def make_fault(pointer: str, code: str, params: Mapping[str, Any], row: InputField | None = None) -> InputFault:
    """A fault with its sentence; the field's own name and example are always at hand for the words."""
    words = dict(params)
    if row is not None:
        words = {"field": row.label, "example": str(row.example) or "1", **params}
    return InputFault(pointer=pointer, code=code, params=dict(params), message=fault_message(code, words))


def read_value(row: InputField, raw: Any) -> Any:
    """The typed value of a raw one: Quantity, int, Decimal, str, bool, tuple or mapping. Raises Refused."""
    match row.kind:
        case FieldKind.QUANTITY | FieldKind.WHOLE | FieldKind.FRACTION:
            return read_number(row, raw)
        case FieldKind.CHOICE:
            return read_choice(row, raw)
        case FieldKind.CHOICES:
            return tuple(dict.fromkeys(read_choice(row, entry) for entry in _entries(raw)))
        case FieldKind.FLAG:
            return _read_flag(raw)
        case FieldKind.TEXT:
            return _read_text(raw)
        case FieldKind.TEXTS:
            return tuple(dict.fromkeys(_read_text(entry) for entry in _entries(raw)))
        case FieldKind.OBJECT:
            if not isinstance(raw, Mapping):
                raise Refused("not_an_object", value=shown(raw))
            return raw


def read_number(row: InputField, raw: Any) -> Quantity:
    """A JSON number or a written quantity, in the unit of the API, inside the row's bounds."""
    quantity = _quantity(row, raw)
    value = quantity.value
    if row.kind is FieldKind.WHOLE and quantity.was_rounded:
        raise Refused("not_whole", value=shown(raw))
    if row.minimum is None or row.maximum is None:
        return quantity
    if row.is_minimum_excluded and value <= row.minimum:
        raise Refused("not_above", value=shown(raw), **_range(row))
    if row.is_minimum_excluded and value > row.maximum:  # a range would promise the excluded end
        raise Refused("above_maximum", value=shown(raw), **_range(row))
    if not row.minimum <= value <= row.maximum:
        if row.kind is FieldKind.FRACTION and 1 < value <= 100:
            raise Refused("percent_expected", value=shown(raw))
        raise Refused("out_of_range", value=shown(raw), **_range(row))
    return quantity


def _quantity(row: InputField, raw: Any) -> Quantity:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str, Decimal)):
        raise Refused("not_a_number", value=shown(raw))
    if isinstance(raw, str):
        return _written_quantity(row, raw)
    if isinstance(raw, int):
        if raw.bit_length() > 128:
            raise Refused("out_of_range", value=shown(raw), **_range(row))
    elif not math.isfinite(raw):
        raise Refused("not_finite")
    value = Decimal(repr(raw)) if isinstance(raw, float) else Decimal(raw)
    if row.quantity in (Kind.COUNT, Kind.TOKENS) and abs(value) < Decimal("1e30"):
        whole = value.to_integral_value()
        return Quantity(whole, was_rounded=whole != value)
    return Quantity(value)


# digits in any grouping and a power of ten, as links write large numbers (1e3), but no unit
BARE_NUMBER = re.compile(r"[+-]?[0-9][0-9.,_'\s]*(?:[eE][+-]?[0-9]+)?")


def _written_quantity(row: InputField, raw: str) -> Quantity:
    """Text by the grammar; without a unit it means the unit of the API, as a bare number does."""
    text = raw.strip()
    if row.kind is FieldKind.FRACTION and text.endswith(("%", "％")):
        return _parsed(text[:-1], row.quantity, divisor=Decimal(100))
    if row.scale != 1 and BARE_NUMBER.fullmatch(unicodedata.normalize("NFKC", text)):
        return _parsed(text, Kind.NUMBER, divisor=Decimal(1))
    return _parsed(text, row.quantity, divisor=row.scale)


def _parsed(text: str, kind: Kind, divisor: Decimal) -> Quantity:
    try:
        quantity = parse_quantity(text, kind, allows_negative=True)
    except QuantityError as error:
        raise Refused(error.code, **error.params) from None
    return Quantity(quantity.value / divisor, quantity.was_rounded)


def describe(row: InputField, value: Decimal) -> str:
    """A bound as one would type it, exactly: `100T`, `16,777,216 tokens`."""
    short = figures.format_si_count(value, "en")
    if row.quantity in (Kind.COUNT, Kind.TOKENS, Kind.MONEY) and abs(value) >= 100_000 and _is_exact(short, value):
        return short
    unit = f"{figures.NO_BREAK_SPACE}{row.unit}" if row.unit else ""
    number = f"{value:,f}" if abs(value) < 10**8 and value == value.to_integral_value() else canonical(value)
    return f"{number}{unit}"


def _is_exact(text: str, value: Decimal) -> bool:
    return parse_quantity(text).value == value


def _range(row: InputField) -> dict[str, str]:
    return {
        "minimum": describe(row, row.minimum if row.minimum is not None else Decimal(0)),
        "maximum": describe(row, row.maximum if row.maximum is not None else Decimal("1e15")),
    }


def read_choice(row: InputField, raw: Any) -> str:
    if not isinstance(raw, str):
        raise Refused("not_a_text", value=shown(raw))
    code = raw.strip()[:MAX_TEXT_CHARACTERS]
    codes = {known.lower(): known for known, _label in row.choices}
    code = dict(row.aliases).get(code.lower(), code)
    if code.lower() not in codes:
        raise Refused("invalid_choice", value=shown(raw), choices=", ".join(codes.values()))
    return codes[code.lower()]


def _entries(raw: Any) -> list[Any]:
    if not isinstance(raw, (list, tuple)):
        raise Refused("not_a_list", value=shown(raw))
    if len(raw) > MAX_LIST_ENTRIES:
        raise Refused("too_many", count=len(raw), limit=MAX_LIST_ENTRIES)
    return list(raw)


def _read_flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.strip().lower() in _FLAGS:
        return _FLAGS[raw.strip().lower()]
    raise Refused("not_a_flag", value=shown(raw))


def _read_text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise Refused("not_a_text", value=shown(raw))
    text = raw.strip()
    if not text:
        raise Refused("text_empty")
    if len(text) > MAX_TEXT_CHARACTERS:
        raise Refused("text_too_long", limit=MAX_TEXT_CHARACTERS)
    if not text.isprintable():
        raise Refused("text_unusable")
    return text

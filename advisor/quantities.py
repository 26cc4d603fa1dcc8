"""Free-form quantities: `70B`, `1.4 万亿`, `12h` to exact numbers.

The grammar is `number [suffix] [unit word]` after Unicode NFKC; every limit is checked on the text before any number
is built, so that a hostile string costs no more than a short one. `figures.py` writes numbers in forms that this
module reads back.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from decimal import Context, Decimal
from enum import StrEnum

MAX_CHARACTERS = 40
MAX_DIGITS = 20
MAX_EXPONENT = 30
SECONDS_PER_HOUR = 3_600
SECONDS_PER_DAY = 86_400
SECONDS_PER_MONTH = 2_629_800  # 30.4375 days: 365.25 / 12


class Kind(StrEnum):
    """What a quantity counts; decides which suffixes, unit words and signs make sense."""

    COUNT = "count"  # parameters, GPUs, samples: whole
    TOKENS = "tokens"  # whole
    FLOPS = "flops"
    BYTES = "bytes"
    DURATION = "duration"  # seconds; read as days when no unit is written
    WATTS = "watts"
    NUMBER = "number"
    MONEY = "money"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact value in the kind's base unit (bytes, seconds, watts); `was_rounded` when a whole kind had a rest."""

    value: Decimal
    was_rounded: bool = False


@dataclass(slots=True)
class QuantityError(ValueError):
    """Why a text is not a quantity: a stable code and the figures for its sentence (see `advisor.messages`)."""

    code: str
    params: dict[str, str | int] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.code


_THOUSANDS = {"k": 3, "K": 3, "M": 6, "T": 12, "t": 12, "tn": 12, "P": 15, "E": 18}
_BILLIONS = {"B": 9, "b": 9, "bn": 9, "Bn": 9, "BN": 9}
_CHINESE = {
    "百": 2,
    "千": 3,
    "万": 4,
    "十万": 5,
    "百万": 6,
    "千万": 7,
    "亿": 8,
    "十亿": 9,
    "百亿": 10,
    "千亿": 11,
    "万亿": 12,
    "十万亿": 13,
    "百万亿": 14,
}
_ENGLISH = {
    word: exponent
    for name, exponent in (("thousand", 3), ("million", 6), ("billion", 9), ("trillion", 12))
    for word in (name, name.capitalize())
}
_COUNT_SUFFIXES = _THOUSANDS | _BILLIONS | _CHINESE | _ENGLISH
_SUFFIXES: dict[Kind, dict[str, int]] = {
    Kind.COUNT: _COUNT_SUFFIXES,
    Kind.TOKENS: _COUNT_SUFFIXES,
    Kind.FLOPS: _COUNT_SUFFIXES | {"G": 9, "Z": 21, "Y": 24, "R": 27},
    Kind.BYTES: {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18},
    Kind.WATTS: {"k": 3, "K": 3, "M": 6, "G": 9, "千": 3, "兆": 6},
    Kind.NUMBER: _COUNT_SUFFIXES,
    Kind.MONEY: _COUNT_SUFFIXES,
}
_SECONDS_PER_UNIT: dict[str, Decimal] = {
    word: Decimal(seconds)
    for words, seconds in (
        (("ms", "毫秒"), "0.001"),
        (("s", "sec", "secs", "second", "seconds", "秒", "秒钟"), 1),
        (("min", "mins", "minute", "minutes", "分", "分钟"), 60),
        (("h", "hr", "hrs", "hour", "hours", "时", "小时", "个小时"), SECONDS_PER_HOUR),
        (("d", "day", "days", "天", "日"), SECONDS_PER_DAY),
        (("w", "wk", "wks", "week", "weeks", "周", "星期", "个星期"), 7 * SECONDS_PER_DAY),
        (("mo", "month", "months", "月", "个月"), SECONDS_PER_MONTH),
        (("y", "yr", "yrs", "year", "years", "年"), 12 * SECONDS_PER_MONTH),
    )
    for word in words
}
_BYTE_UNITS: dict[str, int] = {
    unit: factor
    for exponent, letter in enumerate("kMGTPE", start=1)
    for unit, factor in (
        (f"{letter}B", 1000**exponent),
        (f"{letter.upper()}iB", 1024**exponent),
        (f"{letter.upper()}i", 1024**exponent),
    )
} | {"KB": 1000, "B": 1, "byte": 1, "bytes": 1, "字节": 1}
_UNIT_WORDS: dict[Kind, frozenset[str]] = {
    Kind.COUNT: frozenset(
        {"parameters", "parameter", "params", "param", "参数", "个参数", "个", "gpus", "gpu", "卡", "张"}
    ),
    Kind.TOKENS: frozenset({"tokens", "token", "个token", "个tokens", "词元", "个词元"}),
    Kind.FLOPS: frozenset({"flop", "flops", "flop/s"}),
    Kind.WATTS: frozenset({"w", "watt", "watts", "瓦"}),
    Kind.NUMBER: frozenset(),
    Kind.MONEY: frozenset({"元", "块", "yuan", "cny", "usd", "rmb", "人民币", "美元"}),
}
_EXACT = Context(prec=60)
_WHOLE = frozenset({Kind.COUNT, Kind.TOKENS})
_CURRENCY_SIGNS = "¥$€£"

_SPLIT = re.compile(r"(?P<sign>[+-]?)(?P<number>[0-9.,_ ]*)(?P<exponent>[eE][+-]?[0-9]+)?\s*(?P<rest>.*)", re.DOTALL)
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+|[0-9]+\.")
_GROUPED = re.compile(r"[0-9]{1,3}(?P<mark>[,_ ])[0-9]{3}(?:(?P=mark)[0-9]{3})*(?:\.[0-9]+)?")
_TIMES = re.compile(r"[0-9]+\s*[xX*×]\s*[0-9.]+\s*[A-Za-z\u4e00-\u9fff]*")
_GLOSS = re.compile(r"([^()]+)\(([^()]+)\)")
_COMPOUND_PART = re.compile(r"[0-9][0-9,.]*\s*[^\s0-9.,]+")
_COMPOUND = re.compile(rf"(?:{_COMPOUND_PART.pattern}\s*){{2,4}}")
_BITS = re.compile(r"[kKMGTPE]?(?:i?b|bits?|bit/s|bps)", re.ASCII)


def parse_quantity(text: str, kind: Kind = Kind.COUNT, *, allows_negative: bool = False) -> Quantity:
    """Exact value of a written quantity, in the base unit of its kind (seconds for time, bytes for memory).

    A gloss in brackets, as in `70B（700 亿）`, must say the same. Time may be compound: `12 d 4 h`.

    Raises
    ------
    QuantityError
        And nothing else, for any text: too long, no number, an unknown suffix, a comma that could be a decimal mark,
        `m` for million, a product such as 8x7B, bits where bytes are meant, digits of several scripts.
    """
    if len(text) > 4 * MAX_CHARACTERS:
        raise QuantityError("quantity_too_long", {"limit": MAX_CHARACTERS})
    cleaned = _normalised(text)
    if gloss := _GLOSS.fullmatch(cleaned):
        first, second = (_parse(part.strip(), kind, allows_negative) for part in gloss.groups())
        if first.value != second.value:
            raise QuantityError("quantity_gloss", {"text": cleaned})
        return first
    if kind is Kind.DURATION and _COMPOUND.fullmatch(cleaned):
        parts = [_parse(part, kind, allows_negative=False) for part in _COMPOUND_PART.findall(cleaned)]
        return Quantity(sum((part.value for part in parts), Decimal(0)))
    return _parse(cleaned, kind, allows_negative)


def _parse(cleaned: str, kind: Kind, allows_negative: bool) -> Quantity:
    if _TIMES.fullmatch(cleaned):
        raise QuantityError("quantity_product", {"text": cleaned})
    parts = _SPLIT.fullmatch(cleaned)
    if parts is None or not any(char.isdigit() for char in parts["number"]):
        raise QuantityError("quantity_not_a_number", {"text": cleaned})
    exponent = _exponent(parts["exponent"], cleaned)
    number = _number(parts["number"].strip(), cleaned)
    value = Decimal(number).scaleb(exponent) * _factor(parts["rest"].strip(), kind, number, cleaned)
    if parts["sign"] == "-":
        if not allows_negative:
            raise QuantityError("quantity_negative", {"text": cleaned})
        value = -value
    if kind in _WHOLE and value != (whole := value.to_integral_value()):
        return Quantity(whole, was_rounded=True)
    return Quantity(value)


def _normalised(text: str) -> str:
    """NFKC, trimmed, one kind of space; ASCII digits only, since a mix of scripts is never a number someone typed."""
    cleaned = " ".join(unicodedata.normalize("NFKC", text).split()).replace("\u2212", "-").strip(_CURRENCY_SIGNS + " ")
    if not cleaned:
        raise QuantityError("quantity_empty")
    if len(cleaned) > MAX_CHARACTERS:
        raise QuantityError("quantity_too_long", {"limit": MAX_CHARACTERS})
    if any(char.isnumeric() and char not in "0123456789" and char not in "十百千万亿兆" for char in cleaned):
        raise QuantityError("quantity_mixed_digits", {"text": cleaned})
    if not cleaned.isprintable():
        raise QuantityError("quantity_not_a_number", {"text": "".join(c for c in cleaned if c.isprintable())})
    if sum(char in "0123456789" for char in cleaned) > MAX_DIGITS + 2:
        raise QuantityError("quantity_too_many_digits", {"limit": MAX_DIGITS})
    return cleaned


def _exponent(text: str | None, cleaned: str) -> int:
    if text is None:
        return 0
    if len(text) > 4 or abs(int(text[1:])) > MAX_EXPONENT:
        raise QuantityError("quantity_exponent", {"text": cleaned, "limit": MAX_EXPONENT})
    return int(text[1:])


def _number(text: str, cleaned: str) -> str:
    """The digits without grouping; groups must be well formed, and `1,4` is refused as it may mean 1.4."""
    if sum(char.isdigit() for char in text) > MAX_DIGITS:
        raise QuantityError("quantity_too_many_digits", {"limit": MAX_DIGITS})
    if _PLAIN.fullmatch(text):
        return text
    if _GROUPED.fullmatch(text):
        return re.sub(r"[,_ ]", "", text)
    if re.fullmatch(r"[0-9]+,[0-9]{1,2}", text):
        raise QuantityError("quantity_decimal_comma", {"text": cleaned, "suggestion": cleaned.replace(",", ".", 1)})
    if any(mark in text for mark in ",_ "):
        raise QuantityError("quantity_grouping", {"text": cleaned})
    raise QuantityError("quantity_not_a_number", {"text": cleaned})


def _factor(rest: str, kind: Kind, number: str, cleaned: str) -> Decimal:
    """What the words after the number multiply it by."""
    if kind is Kind.DURATION:
        seconds = _SECONDS_PER_UNIT.get(rest.lower()) if rest else Decimal(SECONDS_PER_DAY)
        if seconds is not None:
            return seconds
        raise QuantityError("quantity_time_unit", {"text": cleaned, "unit": rest})
    if not rest:
        return Decimal(1)
    if kind is Kind.BYTES:
        if rest in _BYTE_UNITS:
            return Decimal(_BYTE_UNITS[rest])
        if rest in _SUFFIXES[kind]:
            return Decimal(10) ** _SUFFIXES[kind][rest]
        if _BITS.fullmatch(rest):
            raise QuantityError("quantity_bits", {"text": cleaned})
        raise QuantityError("quantity_unit", {"text": cleaned, "unit": rest})
    suffixes = _SUFFIXES[kind]
    for length in range(len(rest), -1, -1):
        suffix, word = rest[:length].strip(), rest[length:].strip()
        if (not suffix or suffix in suffixes) and (not word or word.lower() in _UNIT_WORDS[kind]):
            return Decimal(10) ** suffixes.get(suffix, 0)
    if rest.startswith("m") and (len(rest) == 1 or rest[1:].strip().lower() in _UNIT_WORDS[kind]):
        raise QuantityError("quantity_lower_m", {"text": cleaned, "suggestion": f"{number}M"})
    raise QuantityError("quantity_suffix", {"text": cleaned, "unit": rest})


def canonical(value: Decimal | float | int) -> str:
    """The shortest exact writing, as links carry it: `7e9`, `1.4e12`, `4096`, `0.2`."""
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    sign, digits, exponent = exact.normalize(_EXACT).as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("Only a finite number has a canonical form.")
    if exponent < 3:
        return format(exact.normalize(_EXACT), "f")
    mantissa = "".join(map(str, digits))
    power = exponent + len(mantissa) - 1
    point = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
    return f"{'-' if sign else ''}{mantissa[0]}{point}e{power}"

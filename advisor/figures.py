"""Numbers to text: one way of writing each kind of figure, in both languages, that `quantities.py` reads back.

Three significant digits and never more than the estimate has; a no-break space between number and unit; the exact
value travels beside (in `<data value>`, the API, the snapshot), not inside, the text.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal

from django.utils.translation import get_language

from advisor.engine.units import GIBI
from advisor.quantities import SECONDS_PER_DAY, SECONDS_PER_HOUR

Number = Decimal | float | int
NO_BREAK_SPACE = "\u00a0"
UNKNOWN = "—"

_COUNT_STEPS = ((18, "E"), (15, "P"), (12, "T"), (9, "B"), (6, "M"), (3, "K"))
_CHINESE_STEPS = ((12, "万亿"), (8, "亿"), (4, "万"))
_SI_STEPS = ((27, "R"), (24, "Y"), (21, "Z"), (18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k"))
_TIME_WORDS = {
    "en": {"d": "d", "h": "h", "min": "min", "s": "s", "ms": "ms"},
    "zh": {"d": "天", "h": "小时", "min": "分钟", "s": "秒", "ms": "毫秒"},
}


def _is_chinese(language: str | None) -> bool:
    return (language or get_language() or "").lower().startswith("zh")


def _exact(value: Number) -> Decimal | None:
    """None for what is not a finite number; such a figure is written as unknown, never as 0."""
    if isinstance(value, bool) or not isinstance(value, (Decimal, float, int)) or not math.isfinite(value):
        return None
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def round_significant(value: Decimal, digits: int = 3) -> Decimal:
    if value == 0:
        return Decimal(0)
    return value.quantize(Decimal(1).scaleb(value.adjusted() - digits + 1), rounding=ROUND_HALF_EVEN)


def _grouped(value: Decimal) -> str:
    return f"{value:,f}"


def _trimmed(value: Decimal) -> str:
    text = _grouped(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _with_step(value: Decimal, steps: tuple[tuple[int, str], ...]) -> tuple[Decimal, str]:
    for power, letter in steps:
        if abs(value) >= Decimal(1).scaleb(power):
            return value.scaleb(-power), letter
    return value, ""


def format_significant(value: Number, digits: int = 3) -> str:
    """`0.412`, `41.2`, `412`, `4,120`: as many digits as an estimate has."""
    exact = _exact(value)
    if exact is None:
        return UNKNOWN
    rounded = round_significant(exact, digits)
    if rounded and abs(rounded) < Decimal("0.001"):
        return f"{rounded:.{digits - 1}e}"
    return _grouped(rounded)


def format_count(value: Number) -> str:
    """An exact whole number in groups of three: `16,384`."""
    exact = _exact(value)
    return UNKNOWN if exact is None else f"{exact.to_integral_value():,f}"


def format_si_count(value: Number, language: str | None = None) -> str:
    """`70B`; in Chinese with its own grouping beside it: `70B（700 亿）`."""
    exact = _exact(value)
    if exact is None:
        return UNKNOWN
    rounded = round_significant(exact)
    number, letter = _with_step(rounded, _COUNT_STEPS)
    text = f"{_trimmed(number)}{letter}"
    chinese_number, chinese_word = _with_step(rounded, _CHINESE_STEPS)
    if not chinese_word or not _is_chinese(language):
        return text
    return f"{text}（{_trimmed(chinese_number)}{NO_BREAK_SPACE}{chinese_word}）"


def format_gib(value: Number) -> str:
    """Bytes as GiB, the unit in which drivers and frameworks show GPU memory: `79.6 GiB`."""
    exact = _exact(value)
    return UNKNOWN if exact is None else f"{_grouped(round_significant(exact / GIBI))}{NO_BREAK_SPACE}GiB"


def format_gb(value: Number) -> str:
    """Bytes as GB or, from a thousand on, TB and PB (decimal, as vendors sell): `85.9 GB`, `1.13 TB`."""
    exact = _exact(value)
    if exact is None:
        return UNKNOWN
    rounded = round_significant(exact)
    for power, unit in ((18, "EB"), (15, "PB"), (12, "TB")):
        if abs(rounded) >= Decimal(1).scaleb(power):
            return f"{_grouped(rounded.scaleb(-power))}{NO_BREAK_SPACE}{unit}"
    return f"{_grouped(rounded.scaleb(-9))}{NO_BREAK_SPACE}GB"


def format_percent(fraction: Number) -> str:
    exact = _exact(fraction)
    return UNKNOWN if exact is None else f"{exact * 100:,.1f}%"


def format_flops_rate(value: Number) -> str:
    """`412 TFLOP/s`; precision and sparsity are named by the label beside it."""
    return _si(value, "FLOP/s")


def format_flops(value: Number) -> str:
    """An amount of work: `588 ZFLOP`."""
    return _si(value, "FLOP")


def format_watts(value: Number) -> str:
    exact = _exact(value)
    if exact is None:
        return UNKNOWN
    number, letter = _with_step(round_significant(exact), ((9, "G"), (6, "M"), (3, "k")))
    return f"{_grouped(number)}{NO_BREAK_SPACE}{letter}W"


def _si(value: Number, unit: str) -> str:
    exact = _exact(value)
    if exact is None:
        return UNKNOWN
    number, letter = _with_step(round_significant(exact), _SI_STEPS)
    return f"{_grouped(number)}{NO_BREAK_SPACE}{letter}{unit}"


def format_days(seconds: Number, language: str | None = None) -> str:
    """Seconds as days with three digits: `41.2 d`, `41.2 天`; a whole number of days has no decimals: `30 d`."""
    exact = _exact(seconds)
    if exact is None:
        return UNKNOWN
    words = _TIME_WORDS["zh" if _is_chinese(language) else "en"]
    days = exact / SECONDS_PER_DAY
    # a whole number was said by someone, such as a deadline; an estimate keeps the digits that it has
    number = days if days == days.to_integral_value() else round_significant(days)
    return f"{_grouped(number.to_integral_value() if number is days else number)}{NO_BREAK_SPACE}{words['d']}"


def format_training_time(seconds: Number, language: str | None = None) -> str:
    """A run's time: days with three digits, under two days in hours; a whole number of days stays one."""
    exact = _exact(seconds)
    if exact is None or exact >= 2 * SECONDS_PER_DAY or exact % SECONDS_PER_DAY == 0:
        return format_days(seconds, language)
    return format_duration(seconds, language)


def format_duration(seconds: Number, language: str | None = None) -> str:
    """`41 d 5 h` from two days on, hours below, then minutes, seconds, milliseconds; `41 天 5 小时` in Chinese."""
    exact = _exact(seconds)
    if exact is None:
        return UNKNOWN
    words = _TIME_WORDS["zh" if _is_chinese(language) else "en"]
    if exact >= 100 * SECONDS_PER_DAY - SECONDS_PER_HOUR // 2:  # hours would be the fourth digit
        return f"{format_count(exact / SECONDS_PER_DAY)}{NO_BREAK_SPACE}{words['d']}"
    if exact >= 2 * SECONDS_PER_DAY:
        days, hours = divmod((exact / SECONDS_PER_HOUR).to_integral_value(), 24)
        tail = f" {hours:f}{NO_BREAK_SPACE}{words['h']}" if hours else ""
        return f"{days:f}{NO_BREAK_SPACE}{words['d']}{tail}"
    for unit, size in (("h", SECONDS_PER_HOUR), ("min", 60), ("s", 1)):
        if exact >= (2 * size if size > 1 else 1):
            return f"{_trimmed(round_significant(exact / size))}{NO_BREAK_SPACE}{words[unit]}"
    return f"{_trimmed(round_significant(exact * 1000))}{NO_BREAK_SPACE}{words['ms']}"

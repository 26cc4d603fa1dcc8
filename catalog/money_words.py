"""Amounts in words: 人民币大写 over whole fen, its inverse, and English words for any known currency.

Where the written guidance allows a choice, one form is fixed here:
零 stands before 角 when the 元 digit is 0 and before 分 when there is no 角; none stands merely because the 万 digit is
0; one stands where the next section of four digits begins below 仟 or a whole section is empty; 整 follows 元 only.
Reading accepts the other allowed forms as well.
"""

from __future__ import annotations

import re
from decimal import Decimal

from catalog.money import MINOR_UNITS, round_money

DIGITS = "零壹贰叁肆伍陆柒捌玖"
PREFIX = "人民币"
_PLACES = ((1000, "仟"), (100, "佰"), (10, "拾"))
_WAN, _YI = 10**4, 10**8
RMB_LIMIT = Decimal(10) ** 16  # 万亿 is the largest section written

CURRENCY_NAMES: dict[str, str] = {  # ISO 4217
    "CNY": "Yuan Renminbi",
    "USD": "US Dollar",
    "EUR": "Euro",
    "GBP": "Pound Sterling",
    "HKD": "Hong Kong Dollar",
    "SGD": "Singapore Dollar",
    "JPY": "Yen",
    "KRW": "Won",
    "KWD": "Kuwaiti Dinar",
}


def rmb_words(amount: Decimal) -> str:
    """人民币大写 of an amount in whole fen: 107 000.53 is 人民币壹拾万柒仟元零伍角叁分."""
    if not amount.is_finite() or not 0 <= amount < RMB_LIMIT:
        raise ValueError(f"{amount} is outside 0 to {RMB_LIMIT}; a quotation has no other totals.")
    fen_total = int(amount.scaleb(2))
    if fen_total != amount.scaleb(2):
        raise ValueError(f"{amount} is not a whole number of fen.")
    yuan, rest = divmod(fen_total, 100)
    jiao, fen = divmod(rest, 10)
    if not rest:
        return f"{PREFIX}{_whole(yuan) or '零'}元整"
    words = f"{_whole(yuan)}元" if yuan else ""
    if jiao:
        words += ("零" if yuan and yuan % 10 == 0 else "") + DIGITS[jiao] + "角"
    elif yuan:
        words += "零"
    return f"{PREFIX}{words}{DIGITS[fen] + '分' if fen else ''}"


def _whole(number: int) -> str:
    """A whole number without its unit; empty for 0."""
    for section, mark in ((_YI, "亿"), (_WAN, "万")):
        if number >= section:
            high, low = divmod(number, section)
            joint = "零" if 0 < low < section // 10 else ""
            return f"{_whole(high)}{mark}{joint}{_whole(low)}"
    words, gap = "", False
    for place, mark in _PLACES:
        digit, number = divmod(number, place)
        if digit:
            words += ("零" if gap else "") + DIGITS[digit] + mark
            gap = False
        else:
            gap = bool(words)
    return words + ("零" if gap and number else "") + (DIGITS[number] if number else "")


_WORDS = re.compile(
    rf"(?:{PREFIX})?(?:(?P<yuan>[{DIGITS}拾佰仟万亿]+)[元圆])?"
    rf"(?:零?(?P<jiao>[{DIGITS[1:]}])角)?(?:零?(?P<fen>[{DIGITS[1:]}])分)?[整正]?"
)


def rmb_from_words(words: str) -> Decimal:
    """The amount that a 人民币大写 names; accepts every form that the guidance allows."""
    match = _WORDS.fullmatch(words)
    if match is None or not any(match.groups()):
        raise ValueError(f"{words!r} is not an amount in words.")
    fen = _read_whole(match["yuan"] or "") * 100
    fen += DIGITS.index(match["jiao"]) * 10 if match["jiao"] else 0
    fen += DIGITS.index(match["fen"]) if match["fen"] else 0
    return Decimal(fen).scaleb(-2)


def _read_whole(words: str) -> int:
    for section, mark in ((_YI, "亿"), (_WAN, "万")):
        if mark in words:
            high, low = words.rsplit(mark, 1)
            return _read_whole(high) * section + _read_whole(low)
    value, digit = 0, 0
    values = {mark: place for place, mark in _PLACES}
    for letter in words:
        if letter in values:
            value, digit = value + digit * values[letter], 0
        else:
            digit = DIGITS.index(letter)
    return value + digit


_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand"), (100, "hundred"))


def english_words(amount: Decimal, currency: str) -> str:
    """`US Dollar one thousand two hundred and 50/100 only`: ISO name, whole units, minor units in figures."""
    if not amount.is_finite() or amount != round_money(amount, currency) or not 0 <= amount < RMB_LIMIT:
        raise ValueError(f"{amount} {currency} cannot be written in words.")
    digits = MINOR_UNITS[currency]
    whole, minor = divmod(int(amount.scaleb(digits)), 10**digits)
    fraction = f" and {minor:0{digits}d}/{10**digits}" if minor else ""
    return f"{CURRENCY_NAMES[currency]} {_english_whole(whole)}{fraction} only"


def _english_whole(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
    for scale, name in _SCALES:
        if number >= scale:
            high, low = divmod(number, scale)
            return f"{_english_whole(high)} {name}" + (f" {_english_whole(low)}" if low else "")
    raise AssertionError(number)

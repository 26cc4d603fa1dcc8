"""Thin filters over `advisor.figures`: the text for people, the exact value in `<data value>` for copying and tests.

`gib`, `gb` take bytes; `days`, `duration` take seconds; `percent` takes a fraction; `money` takes the API's
`{"amount", "currency"}` or a `Money`. A missing value is written as a dash, never as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from advisor import figures
from advisor.quantities import SECONDS_PER_DAY

register = template.Library()


def _data(value: Any, formatter: Callable[[figures.Number], str]) -> SafeString | str:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return figures.UNKNOWN
    text = formatter(value)
    return text if text == figures.UNKNOWN else format_html('<data value="{}">{}</data>', value, text)


@register.filter
def si_count(value: Any) -> str:
    """`70B`, in Chinese `70B（700 亿）`."""
    return _data(value, figures.format_si_count)


@register.filter
def count(value: Any) -> str:
    """An exact whole number in groups of three."""
    return _data(value, figures.format_count)


@register.filter
def sig3(value: Any) -> str:
    """Three significant digits."""
    return _data(value, figures.format_significant)


@register.filter
def gib(value: Any) -> str:
    """Bytes as GiB."""
    return _data(value, figures.format_gib)


@register.filter
def gb(value: Any) -> str:
    """Bytes as GB, TB or PB (decimal)."""
    return _data(value, figures.format_gb)


@register.filter
def days(value: Any) -> str:
    """Seconds as days with three digits."""
    return _data(value, figures.format_days)


@register.filter
def day_count(value: Any) -> str:
    """A number of days (not seconds) with three digits."""
    return _data(value, lambda number: figures.format_days(number * SECONDS_PER_DAY))


@register.filter
def duration(value: Any) -> str:
    """Seconds as `41 d 5 h`."""
    return _data(value, figures.format_duration)


@register.filter
def percent(value: Any) -> str:
    """A fraction as percent with one decimal."""
    return _data(value, figures.format_percent)


@register.filter
def flops_rate(value: Any) -> str:
    """FLOP/s with an SI prefix."""
    return _data(value, figures.format_flops_rate)


@register.filter
def flops(value: Any) -> str:
    """An amount of FLOP with an SI prefix."""
    return _data(value, figures.format_flops)


@register.filter
def watts(value: Any) -> str:
    """Watts with an SI prefix."""
    return _data(value, figures.format_watts)


@register.filter
def money(value: Any) -> str:
    """Money of the API's shape, or a `Money`, with its currency code."""
    from catalog.money import format_money

    if isinstance(value, Mapping):
        amount, currency = value.get("amount"), value.get("currency")
    else:
        amount, currency = getattr(value, "amount", None), getattr(value, "currency", None)
    if amount is None or currency is None:
        return figures.UNKNOWN
    return format_html('<data value="{}">{}</data>', amount, format_money(Decimal(amount), currency))

"""Money on the desk's pages: the amount with its currency, the exact value for copying."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from catalog.money import format_amount, format_money, round_money

register = template.Library()


@register.simple_tag
def amount(value: Decimal, currency: str) -> SafeString:
    exact = round_money(value, currency)
    return format_html('<data value="{}">{}</data>', f"{exact:f}", format_money(exact, currency))


@register.simple_tag
def bare_amount(money: dict[str, str]) -> SafeString:
    """An amount in the API's form without its currency, which the table's head names."""
    exact = Decimal(money["amount"])
    return format_html('<data value="{}">{}</data>', f"{exact:f}", format_amount(exact, money["currency"]))


@register.simple_tag
def unit_amount(price: Decimal | None) -> str:
    """A unit price with the digits that it has, two at least."""
    if price is None:
        return "—"
    plain = price.normalize()
    return f"{plain:,f}" if -int(plain.as_tuple().exponent) > 2 else f"{price:,.2f}"


@register.simple_tag
def plain_amount(value: Decimal, currency: str) -> SafeString:
    """An amount in a column whose head names the currency."""
    exact = round_money(value, currency)
    return format_html('<data value="{}">{}</data>', f"{exact:f}", format_amount(exact, currency))

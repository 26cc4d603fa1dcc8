"""Money on the desk's pages: the amount with its currency, the exact value for copying."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from catalog.money import format_money, round_money

register = template.Library()


@register.simple_tag
def amount(value: Decimal, currency: str) -> SafeString:
    exact = round_money(value, currency)
    return format_html('<data value="{}">{}</data>', f"{exact:f}", format_money(exact, currency))

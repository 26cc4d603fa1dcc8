"""Words of a document in its own languages: one below the other where it has two.

`{% label "Unit price" %}` translates a label into each of `languages`; `{% text line.name %}` prints stored words of
each. Dates are written out per language, never as 12/31/26.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django import template
from django.template import Context
from django.utils import translation
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext, pgettext_lazy

from advisor.figures import format_count, format_duration, format_significant
from quotes.wording import DJANGO_LANGUAGES, zone_text

register = template.Library()
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _stack(words: list[tuple[str, str]]) -> SafeString:
    """`(language, word)` pairs as spans; a word that is the same in both languages stands once."""
    if len(words) > 1 and len({word for _language, word in words}) == 1:
        words = words[:1]
    return format_html_join("", '<span class="words" lang="{}">{}</span>', words)


@register.simple_tag(takes_context=True)
def label(context: Context, message: Any, **params: Any) -> SafeString:
    """A message id (or a lazy label) in each language of the document."""
    words = []
    for language in context["languages"]:
        with translation.override(DJANGO_LANGUAGES[language]):
            word = translation.gettext(message) if isinstance(message, str) else str(message)
            words.append((language, word % params if params else word))
    return _stack(words)


@register.simple_tag(takes_context=True)
def text(context: Context, words: Mapping[str, str] | None) -> SafeString:
    """Stored words, where they exist, in each language of the document."""
    found = [(language, (words or {}).get(language, "")) for language in context["languages"]]
    return _stack([(language, word) for language, word in found if word])


@register.simple_tag(takes_context=True)
def day(context: Context, value: date | None) -> SafeString:
    """A date in each language: 2026年12月31日 and 31 Dec 2026."""
    if value is None:
        return _stack([("en", "—")])
    return _stack([(language, _day(value, language)) for language in context["languages"]])


@register.filter
def day_here(value: date | None) -> str:
    """A date in the language of the page."""
    if value is None:
        return "—"
    return _day(value, "zh-Hans" if (translation.get_language() or "").startswith("zh") else "en")


@register.filter
def zone(name: str) -> str:
    """A time zone as readers call it: Beijing time; any other by its name."""
    return zone_text(name)


@register.simple_tag(takes_context=True)
def currency_name(context: Context, code: str) -> SafeString:
    words = []
    for language in context["languages"]:
        with translation.override(DJANGO_LANGUAGES[language]):
            words.append((language, pgettext("currency in a column head", code)))
    return _stack(words)


def _day(value: date, language: str) -> str:
    if language == "zh-Hans":
        return f"{value.year}年{value.month}月{value.day}日"
    return f"{value.day}\u00a0{_MONTHS[value.month - 1]}\u00a0{value.year}"


SEVERITIES = {
    "blocks": pgettext_lazy("severity", "Blocks"),
    "check": pgettext_lazy("severity", "Check before order"),
    "note": pgettext_lazy("severity", "Note"),
}


@register.simple_tag
def severity(code: str) -> Any:
    return SEVERITIES.get(code, code)


RECIPES = {"megatron": "Megatron-LM", "fsdp": "PyTorch FSDP", "deepspeed": "DeepSpeed", "pure_bf16": "BF16"}


@register.simple_tag
def assumption_value(row: Mapping[str, Any]) -> str:
    """Value and unit of an assumption; a number with three digits, a count as it is, a time in its usual unit."""
    value, unit = row.get("value"), str(row.get("unit") or "")
    if row.get("name") == "recipe":
        return RECIPES.get(str(value), str(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        if unit == "s":
            return format_duration(value)
        if unit == "tokens":
            return f"{format_count(value)}\u00a0{gettext('tokens')}"
        if 0 < abs(value) < 1e-3:
            digits, power = f"{value:.2e}".split("e")
            return format_html('{} × 10<sup class="power">−{}</sup>\u00a0{}', digits, abs(int(power)), unit)
    if value is None:
        return "—"
    if isinstance(value, bool):
        shown = gettext("yes") if value else gettext("no")
    elif isinstance(value, int | float):
        shown = format_count(value) if float(value).is_integer() and abs(value) < 1e9 else format_significant(value)
    else:
        shown = str(value)
    return f"{shown}\u00a0{unit}" if unit and unit != "1" else shown

"""Words and plain figures of the pages: navigation, names of codes, and text for places where markup may not stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypedDict

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from advisor import figures
from advisor.calculation_terms import written_number
from advisor.charts_choice import LAYER_HEIGHT
from advisor.engine import ENGINE_VERSION
from advisor.glossary import ENTRIES, ON_RESULT
from advisor.page_words import (
    CALCULATION_GROUPS,
    CONFIGURATIONS,
    CONSTRAINTS,
    COOLINGS,
    LAYERS,
    MEASURES,
    MODEL_KINDS,
    ORIGINS,
    PARTS,
    PRICE_MARKS,
    PRICE_UNITS,
    RECOMPUTATION,
    SEVERITIES,
    STEP_PARTS,
    UNITS,
)
from advisor.quantities import SECONDS_PER_DAY
from catalog.services import current_revision

register = template.Library()
SHORTEST_IN_DAYS = 2
# the light chart colours of tokens.css as sRGB, dark to light, so that neighbours stay apart in grey print
PAPER_COLOURS = ("#004e6f", "#01858a", "#ce903a", "#d5b0d0", "#59544e", "#8a857e", "#b9b5ae", "#dad7d2")
LEADING_STEPS = frozenset({"step_seconds", "training_seconds", "total_bytes", "facility_watts"})
BOX_WIDTH = 3.6  # percent, as the template draws it


class NavItem(TypedDict):
    url: str
    label: str
    is_current: bool


@register.simple_tag(takes_context=True)
def nav_items(context: dict[str, Any]) -> list[NavItem]:
    """The main sections; a section whose address does not exist is left out. Quotes are for staff."""
    request = context.get("request")
    path = request.path if request else ""
    user = context.get("user")
    sections = [
        ("advisor:sizing", _("Sizing")),
        ("catalog:index", _("Catalogue")),
        ("advisor:validation", _("Validation")),
        ("advisor:method", _("Method")),
        ("api-docs", _("API")),
    ]
    if user is not None and user.is_staff:
        sections += [("advisor:scenarios", _("Scenarios")), ("quotes:list", _("Quotes"))]
    items: list[NavItem] = []
    for name, label in sections:
        try:
            url = reverse(name)
        except NoReverseMatch:
            continue
        is_current = path == url if url == "/" else path.startswith(url)
        items.append({"url": url, "label": label, "is_current": is_current})
    return items


@register.simple_tag
def engine_version() -> str:
    return ENGINE_VERSION


@register.simple_tag
def catalog_revision() -> str:
    return current_revision()


@register.filter
def part_label(code: str) -> str:
    """Name of a part of a GPU's memory."""
    return str(PARTS.get(code, code))


@register.filter
def step_label(code: str) -> str:
    """Name of a part of an optimizer step."""
    return str(STEP_PARTS.get(code, code))


@register.filter
def recomputation_label(code: str) -> str:
    return str(RECOMPUTATION.get(code, code))


@register.filter
def configuration_label(code: str) -> str:
    return str(CONFIGURATIONS.get(code, code))


@register.filter
def constraint_label(code: str) -> str:
    return str(CONSTRAINTS.get(code, code))


@register.filter
def severity_label(code: str) -> str:
    return str(SEVERITIES.get(code, code))


@register.filter
def origin_label(code: str) -> str:
    return str(ORIGINS.get(code, code))


@register.filter
def cooling_label(code: str) -> str:
    return str(COOLINGS.get(code, code))


@register.filter
def price_mark(code: str) -> str:
    return str(PRICE_MARKS.get(code, code))


@register.filter
def price_unit(code: str) -> str:
    return str(PRICE_UNITS.get(code, code))


@register.filter
def coordinate(value: float) -> str:
    """A chart coordinate: a plain point as decimal mark in every language."""
    return f"{value:.2f}"


@register.filter
def sig3_plain(value: float) -> str:
    """`sig3` as bare text, for SVG."""
    return figures.format_significant(value)


@register.filter
def count_plain(value: float) -> str:
    return figures.format_count(value)


@register.filter
def percent_plain(value: float) -> str:
    return figures.format_percent(value)


@register.filter
def rate(bytes_per_second: float | None) -> str:
    """A data rate: MB/s under a tenth of a GB, GB/s above."""
    if bytes_per_second is None:
        return figures.UNKNOWN
    if bytes_per_second < 1e8:
        return f"{figures.format_significant(bytes_per_second / 1e6)}\N{NO-BREAK SPACE}MB/s"
    return f"{figures.format_gb(bytes_per_second)}/s"


@register.filter
def gib_plain(value: float) -> str:
    return figures.format_gib(value)


@register.filter
def days_in_words(seconds: float | None) -> str:
    """`27.1 days` for a sentence; a whole number of days has no decimals."""
    if seconds is None:
        return figures.UNKNOWN
    if seconds < SHORTEST_IN_DAYS * SECONDS_PER_DAY:
        return figures.format_duration(seconds)
    days = seconds / SECONDS_PER_DAY
    number = f"{days:g}" if days == int(days) else figures.format_significant(days)
    return ngettext("%(number)s day", "%(number)s days", 1 if days == 1 else 2) % {"number": number}


@register.filter
def signed_percent(fraction: float | None) -> str:
    """A fraction as percent with its sign; the minus is a real one."""
    if fraction is None:
        return figures.UNKNOWN
    sign = "+" if fraction > 0 else "−" if fraction < 0 else ""
    return f"{sign}{figures.format_percent(abs(fraction))}"


@register.filter
def tax_rate(text: str) -> str:
    """`13%` of the decimal text `0.13`."""
    return f"{(Decimal(text) * 100).normalize():f}%"


@register.filter
def mirrored(value: float) -> str:
    """A coordinate counted from the other side: SVG's vertical axis points down."""
    return coordinate(100 - value)


@register.filter
def slice_label(code: str) -> str:
    """Name of a group of runs: a model kind in words, a precision in capitals, a GPU generation as it is."""
    return str(MODEL_KINDS.get(code) or (code.upper() if code.startswith(("bf", "fp", "mx", "tf")) else code))


@register.filter
def measure_label(code: str) -> str:
    return str(MEASURES.get(code, code))


@register.filter
def training_time(seconds: Any) -> str:
    """Days with three digits; under two days in hours, minutes or seconds; a dash where there is no number."""
    if not isinstance(seconds, int | float):
        return figures.UNKNOWN
    is_short = seconds < SHORTEST_IN_DAYS * SECONDS_PER_DAY
    text = figures.format_duration(seconds) if is_short else figures.format_days(seconds)
    return format_html('<data value="{}">{}</data>', seconds, text)


@register.filter
def training_days(days: Any) -> str:
    return training_time(days * SECONDS_PER_DAY if isinstance(days, int | float) else None)


@register.filter
def tick(value: float) -> str:
    """A round number at an axis."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


@register.filter
def short_tick(value: float) -> str:
    """A power of ten at a logarithmic axis: `100`, `10K`, `1M`."""
    return figures.format_si_count(value, "en")


@register.filter
def percent_tick(value: float) -> str:
    return f"{value * 100:g}%"


@register.filter
def million_tick(value: float) -> str:
    return f"{value / 1_000_000:,g}"


# shares of a whole by the end of their name, whatever unit the engine states
SHARES = ("_efficiency", "utilisation_fraction")


@register.filter
def assumption_value(item: Mapping[str, Any]) -> str:
    """Value and unit of an assumption as text."""
    value, unit = item.get("value"), item.get("unit") or ""
    if value is None:
        return figures.UNKNOWN
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, str):
        return value
    if unit == "bytes":
        return figures.format_gib(value)
    name = str(item.get("name") or "")
    if unit in {"fraction", "%"} or name.endswith(SHARES):
        return figures.format_percent(value)
    if unit == "1/year":
        return _("%(share)s a year") % {"share": figures.format_percent(value)}
    if unit == "s":
        return figures.format_duration(value)
    if name == "interruptions_per_gpu_second":
        rate = figures.format_significant(value * SECONDS_PER_DAY * 1000)
        return _("%(rate)s per 1,000 GPU-days") % {"rate": rate}
    text = figures.format_count(value) if isinstance(value, int) else figures.format_significant(value)
    return text if unit in {"", "1"} else f"{text}\N{NO-BREAK SPACE}{UNITS.get(unit, unit)}"


@register.inclusion_tag("components/term.html")
def term(code: str, label: str = "") -> dict[str, Any]:
    """A word with its explanation one press away; the explanations stand once on the page (`term_notes`)."""
    return {"code": code, "label": label or ENTRIES[code].name}


@register.inclusion_tag("components/term_notes.html")
def term_notes() -> dict[str, Any]:
    return {"entries": [ENTRIES[code] for code in ON_RESULT]}


@register.filter
def signed_days(days: float | None) -> str:
    """`+3.2 d`, `−0.8 d`; the minus is a real one."""
    if days is None:
        return figures.UNKNOWN
    sign = "+" if days > 0 else "−" if days < 0 else ""
    return f"{sign}{figures.format_days(abs(days) * SECONDS_PER_DAY)}"


@register.filter
def group_label(code: str) -> str:
    """Name of a group of rows of the calculation."""
    return str(CALCULATION_GROUPS.get(code, code))


@register.filter
def leading_step(steps: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The row of the calculation that stands for its group while the group is folded."""
    return next((step for step in steps if step["code"] in LEADING_STEPS), steps[0])


@register.filter
def exact(value: float) -> str:
    """A number of the calculation, as it can be typed into a calculator."""
    return written_number(value)


@register.filter
def share_length(fraction: float) -> str:
    """A share of a limit as a bar that meets the limit's line at 90 % of the plot."""
    return coordinate(max(0.5, min(fraction * 90, 100.0)))


@register.filter
def layer_label(code: str) -> str:
    """Name of a layer of the network."""
    return str(LAYERS.get(code, code))


@register.filter
def layer_y(index: int) -> int:
    """Where the n-th layer of the network begins."""
    return index * LAYER_HEIGHT


@register.filter
def box_start(middle: float) -> str:
    """Left edge of a box of the network drawing, from its middle."""
    return coordinate(middle - BOX_WIDTH / 2)


@register.filter
def paper_colour(index: int) -> str:
    """Fill of the n-th part of a bar on paper, where no stylesheet reaches into a drawing."""
    return PAPER_COLOURS[index % len(PAPER_COLOURS)]


@register.filter
def cells_of(row: Sequence[str], table: Any) -> list[tuple[str, Any]]:
    """The cells of a row of an answer's table, each with its column."""
    return list(zip(row, table.columns, strict=True))

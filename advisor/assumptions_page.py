"""The assumptions of an answer as the page edits them: each with value, origin, bounds, effect and its own small form.

A form sends the whole case with one value changed, so it works without a script and gives a link to the new case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from advisor import figures
from advisor.input_fields import BY_QUERY
from advisor.input_kinds import FieldKind, InputField
from advisor.quantities import SECONDS_PER_DAY
from advisor.templatetags.page import assumption_value

# the question itself, asked at the head of the form; no assumptions
QUESTION = frozenset(
    {
        "parameters", "active_parameters", "preset", "tokens", "samples", "sample_length", "epochs", "gigabytes",
        "config", "text_language", "deadline_days", "budget", "budget_currency", "gpu", "gpu_count", "limit",
    }
)  # fmt: skip
ADAPTER_METHODS = {"lora", "qlora"}
TARGET_PREFIX = "/training/lora"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionRow:
    """`query` is the name that changes it, empty where it cannot be changed; `pairs` the rest of the case."""

    name: str
    label: str
    text: str
    origin: str
    source: str
    bounds: str
    effect: str
    query: str
    entered: str
    choices: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[str, str], ...]

    @property
    def is_changed(self) -> bool:
        return self.origin == "user"

    @property
    def is_leading(self) -> bool:
        """Whether the row is read before the fold: the user's own, or one that moves the days."""
        return self.is_changed or bool(self.effect)


def assumption_rows(answer: Mapping[str, Any], query: str) -> list[AssumptionRow]:
    """Inputs with a default and the engine's own assumptions; what the user changed stands first, then what has
    a known effect on the days."""
    pairs = parse_qsl(query)
    effects = _effects(answer.get("sensitivity"))
    engine = {item["name"]: item for item in answer["assumptions"]}
    best = answer["recommended"]
    if best:
        engine |= {item["name"]: item for item in best["estimate"]["assumptions"] if item["name"] not in engine}
    rows = [*_input_rows(answer, pairs, engine, effects), *_engine_rows(engine, pairs, effects)]
    return sorted(rows, key=lambda row: (not row.is_changed, not row.effect))


def _input_rows(
    answer: Mapping[str, Any],
    pairs: list[tuple[str, str]],
    engine: Mapping[str, Mapping[str, Any]],
    effects: Mapping[str, str],
) -> Iterator[AssumptionRow]:
    given = dict(pairs)
    for name, (pointer, row) in BY_QUERY.items():
        if name in QUESTION or row.kind in (FieldKind.TEXTS, FieldKind.CHOICES):
            continue
        if pointer.startswith(TARGET_PREFIX) and answer["training"]["method"] not in ADAPTER_METHODS:
            continue
        assumed = engine.get(row.name)
        if name not in given and row.default is None and assumed is None:
            continue  # neither assumed nor said: nothing to show
        yield _input_row(row, name, pairs, assumed, effects)


def _input_row(
    row: InputField,
    name: str,
    pairs: list[tuple[str, str]],
    assumed: Mapping[str, Any] | None,
    effects: Mapping[str, str],
) -> AssumptionRow:
    given = dict(pairs).get(name)
    choices = tuple((code, str(label)) for code, label in row.choices)
    if row.kind is FieldKind.FLAG:
        choices = (("true", _("Yes")), ("false", _("No")))
    if given is not None:
        entered, origin, source = given, "user", _("entered on the form")
    elif assumed is not None:
        entered, origin, source = str(assumed["value"]), assumed["origin"], assumed["source"]
    else:
        entered, origin, source = _default_text(row), "derived", str(row.default_source or row.help)
    text = dict(choices).get(entered, entered)
    if assumed is not None and given is None:
        text = dict(choices).get(entered) or assumption_value(assumed)
    elif not choices:
        text = _written(text, row)
    return AssumptionRow(
        name=row.name,
        label=str(row.label),
        text=text,
        origin=origin,
        source=source,
        bounds=_bounds(row),
        effect=effects.get(row.name, ""),
        query=name,
        entered=entered,
        choices=choices,
        pairs=tuple(pair for pair in pairs if pair[0] != name),
    )


def _written(entered: str, row: InputField) -> str:
    """A value of the form as the page writes numbers: in groups of three, a share as percent, a range of one."""
    if row.kind is FieldKind.FRACTION and _is_number(entered):
        return figures.format_percent(Decimal(entered))
    number = figures.format_count(int(entered)) if entered.isdecimal() else entered
    return f"{number}{figures.NO_BREAK_SPACE}{row.unit}" if row.unit else number


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _default_text(row: InputField) -> str:
    return str(row.default).lower() if isinstance(row.default, bool) else str(row.default)


def _bounds(row: InputField) -> str:
    if row.choices or row.minimum is None or row.maximum is None:
        return ""
    if row.kind is FieldKind.FRACTION:
        return _span(figures.format_percent(row.minimum), figures.format_percent(row.maximum))
    return _span(figures.format_si_count(row.minimum, "en"), figures.format_si_count(row.maximum, "en"))


def _span(low: str, high: str) -> str:
    return pgettext("bounds of a value", "%(low)s to %(high)s") % {"low": low, "high": high}


def _engine_rows(
    engine: Mapping[str, Mapping[str, Any]], pairs: list[tuple[str, str]], effects: Mapping[str, str]
) -> Iterator[AssumptionRow]:
    known = {row.name for _pointer, row in BY_QUERY.values()}
    for name, item in engine.items():
        if name not in known:
            yield AssumptionRow(
                name=name,
                label=item.get("label") or name,
                text=assumption_value(item),
                origin=item["origin"],
                source=item["source"],
                bounds="",
                effect=effects.get(name, ""),
                query="",
                entered="",
                choices=(),
                pairs=(),
            )


def _effects(sensitivity: Mapping[str, Any] | None) -> dict[str, str]:
    """`30.1 d to 44.0 d` by the name of the input."""
    found = {}
    for item in (sensitivity or {}).get("inputs", ()):
        low, high = item["low"]["training_days"], item["high"]["training_days"]
        if low is not None and high is not None:
            days = [figures.format_days(value * SECONDS_PER_DAY) for value in sorted((low, high))]
            found[item["name"]] = _span(*days)
    return found

"""Up to four scenarios beside each other: inputs and results row by row, differences said in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.utils.translation import gettext as _

from advisor import figures
from advisor.answer_tables import AnswerTable, number
from advisor.config_page import config_words
from advisor.input_fields import BY_QUERY
from advisor.input_kinds import FieldKind, InputField
from advisor.input_types import InputError
from advisor.quantities import SECONDS_PER_DAY, Kind, QuantityError, parse_quantity
from advisor.scenarios import answer_to
from catalog.cells import Shape
from catalog.money import format_money
from catalog.sheet_writing import Column

MAX_SCENARIOS = 4
MAX_QUERY_LENGTH = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioColumn:
    """One scenario: its link, its answer or the sentence that says why it has none."""

    name: str
    query: str
    answer: Mapping[str, Any] | None
    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A value as shown, with its ratio to the first column's minus one where both are numbers."""

    text: str
    value: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    label: str
    cells: tuple[Cell, ...]

    @property
    def differs(self) -> bool:
        return len({cell.text for cell in self.cells}) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioComparison:
    columns: tuple[ScenarioColumn, ...]
    inputs: tuple[Row, ...]
    results: tuple[Row, ...]


def query_of(text: str) -> str:
    """The query string in whatever was pasted: a whole address, its part after the question mark, or itself."""
    stripped = text.strip()
    query = urlsplit(stripped).query if "?" in stripped else stripped
    kept = [pair for pair in parse_qsl(query) if pair[0] in BY_QUERY or pair[0] == "v"]
    return urlencode(sorted(kept))


def compared(queries: Sequence[str]) -> ScenarioComparison:
    """Of the first four queries, in their order; the first is what the others are measured against."""
    columns = tuple(_column(index, query) for index, query in enumerate(queries[:MAX_SCENARIOS], start=1))
    return ScenarioComparison(columns=columns, inputs=tuple(_inputs(columns)), results=tuple(_results(columns)))


def _column(index: int, query: str) -> ScenarioColumn:
    name = _("Scenario %(letter)s") % {"letter": "ABCD"[index - 1]}
    try:
        answer, canonical = answer_to(query[:MAX_QUERY_LENGTH])
    except InputError as error:
        fault = " ".join(str(item.message) for item in error.errors[:2])
        return ScenarioColumn(name=name, query=query[:MAX_QUERY_LENGTH], answer=None, fault=fault)
    return ScenarioColumn(name=name, query=canonical, answer=answer, fault="")


def _inputs(columns: Sequence[ScenarioColumn]) -> Iterable[Row]:
    given = [dict(parse_qsl(column.query)) for column in columns]
    for name, (_pointer, row) in BY_QUERY.items():
        if not any(name in entries for entries in given):
            continue
        default = "" if row.default is None else str(row.default)
        texts = [_shown(row, entries.get(name, default)) for entries in given]
        yield Row(label=str(row.label), cells=tuple(Cell(text=text) for text in texts))


def _shown(row: InputField, text: str) -> str:
    """An input as people write it: the word of a choice, 7B for 7e9, the unit beside a number."""
    if not text:
        return figures.UNKNOWN
    choices = {code: str(label) for code, label in row.choices}
    if row.kind is FieldKind.OBJECT:
        return config_words(text)
    if text in choices or row.kind is not FieldKind.QUANTITY:
        return choices.get(text, text)
    if row.quantity in (Kind.COUNT, Kind.TOKENS):
        try:
            return figures.format_si_count(parse_quantity(text, row.quantity).value)
        except QuantityError:
            return text  # the column says what is wrong with it
    return f"{text}{figures.NO_BREAK_SPACE}{row.unit}" if row.unit else text


Figure = tuple[str, Callable[[Mapping[str, Any]], Any], Callable[[Any], str]]


def _figures() -> list[Figure]:
    """Label, where the value lies in a configuration, and how it is written."""
    return [
        ("GPU", lambda best: best["gpu_name"], str),
        (_("GPUs"), lambda best: best["gpu_count"], figures.format_count),
        (_("Servers"), lambda best: best["server_count"], figures.format_count),
        (_("Training time"), lambda best: best["training_days"], _days),
        (_("Training time, fastest"), lambda best: best["training_days_low"], _days),
        (_("Training time, slowest"), lambda best: best["training_days_high"], _days),
        ("MFU", lambda best: best["estimate"]["time"]["mfu"], figures.format_percent),
        (_("GPU memory used"), lambda best: best["estimate"]["memory_per_gpu"]["total_bytes"], figures.format_gib),
        (_("IT power"), lambda best: best["power"].get("it_watts"), figures.format_watts),
        (_("Racks"), lambda best: best["power"].get("rack_count"), figures.format_count),
        (_("Energy, kWh"), lambda best: best["power"].get("energy_kilowatt_hours"), figures.format_significant),
        (
            _("Expected interruptions"),
            lambda best: best["reliability"].get("interruptions_expected"),
            figures.format_significant,
        ),
        (_("Cost of the run"), lambda best: best["run_cost"], _money),
        (_("Rental a month, tax included"), lambda best: (best["prices"]["rental"] or {}).get("monthly"), _money),
        (_("Purchase, tax included"), lambda best: (best["prices"]["purchase"] or {}).get("total"), _money),
    ]


def _days(days: float) -> str:
    return figures.format_days(days * SECONDS_PER_DAY)


def _money(money: Mapping[str, str]) -> str:

    return format_money(Decimal(money["amount"]), money["currency"])


def _results(columns: Sequence[ScenarioColumn]) -> Iterable[Row]:
    bests = [column.answer["recommended"] if column.answer else None for column in columns]
    for label, value_of, write in _figures():
        values = [value_of(best) if best else None for best in bests]
        if any(value is not None for value in values):
            yield Row(label=label, cells=_cells(values, write))


def _cells(values: Sequence[Any], write: Callable[[Any], str]) -> tuple[Cell, ...]:
    plain = [_number(value) for value in values]
    currencies = {value["currency"] for value in values if isinstance(value, Mapping)}
    base = plain[0] if len(currencies) < 2 else None  # yuan over dollars is no ratio
    return tuple(
        Cell(
            text=figures.UNKNOWN if value is None else write(value),
            value=own,
            ratio=own / base - 1 if index and own is not None and base else None,
        )
        for index, (value, own) in enumerate(zip(values, plain, strict=True))
    )


def _number(value: Any) -> float | None:
    if isinstance(value, Mapping):
        return float(value["amount"])
    return float(value) if isinstance(value, int | float) else None


def comparison_table(found: ScenarioComparison) -> AnswerTable:
    """For the spreadsheet: what is shown, and beside it the bare number."""
    columns = [Column(header=_("Figure"))]
    for column in found.columns:
        columns += [Column(header=column.name), Column(header=f"{column.name} #", shape=Shape.NUMBER)]
    columns.append(Column(header=_("Differs")))
    rows = [
        (
            row.label,
            *(text for cell in row.cells for text in (cell.text, "" if cell.value is None else number(cell.value))),
            _("differs") if row.differs else "",
        )
        for row in (*found.inputs, *found.results)
    ]
    return AnswerTable(code="comparison", title=_("Comparison"), columns=tuple(columns), widths=(20,), rows=tuple(rows))

"""What a quotation says beside its lines, in both languages: payments, clauses, tax, exchange rate, licences.

Read from a snapshot by paper and pages alike; nothing is computed here, only written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from catalog.money import format_amount
from quotes.clause_words import (
    CHOICE_LABELS,
    CLAUSE_LABELS,
    PART_LABELS,
    PAYMENT_EVENT_LABELS,
    PAYMENT_SHARE_LABELS,
)
from quotes.clauses import CLAUSES, Kind, Part
from quotes.snapshot import Snapshot

ACCEPTANCE = "acceptance"
DJANGO_LANGUAGES = {"zh-Hans": "zh-hans", "en": "en"}
Text = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentRow:
    """One instalment: when it falls due, of what it is a share, what it comes to."""

    event: Promise | str
    days: int
    share: str
    share_of: Promise | str
    parts: tuple[str, ...]  # 12 × 1,234.00, where it is paid in parts
    amount: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One part of a clause: a value, or a table of rows under `columns`."""

    label: Promise | str
    value: Text
    columns: tuple[Promise | str, ...] = ()
    rows: tuple[tuple[Text, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseText:
    name: str
    label: Promise | str
    items: tuple[Item, ...]

    @property
    def values(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if not item.columns)

    @property
    def tables(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Particulars:
    payments: tuple[PaymentRow, ...]
    clauses: tuple[ClauseText, ...]
    acceptance: Item | None  # the tests before hand-over: an annex of their own
    tax_notes: tuple[Text, ...]
    exchange: Text
    special_terms: str
    licences: tuple[Text, ...]
    controlled_parts: str
    prices_include_tax: bool


def particulars_of(snapshot: Snapshot) -> Particulars:
    seller = snapshot["seller"] or {}
    clauses = tuple(_clauses(snapshot["clauses"], snapshot["currency"]))
    tests = [item for clause in clauses if clause.name == ACCEPTANCE for item in clause.tables]
    return Particulars(
        payments=tuple(_payment(row) for row in snapshot["payments"]),
        clauses=clauses,
        acceptance=tests[0] if tests else None,
        tax_notes=tuple(_tax_note(row) for row in snapshot["tax_basis"]),
        exchange=_exchange(snapshot["exchange"]),
        special_terms=snapshot["special_terms"],
        licences=tuple(_licence(row) for row in seller.get("licences") or ()),
        controlled_parts=", ".join(snapshot["controlled_parts"]),
        prices_include_tax=snapshot["prices_include_tax"],
    )


def percent(fraction: str | Decimal) -> str:
    """0.13 -> 13 %, 0.995 -> 99.5 %."""
    return f"{(Decimal(fraction) * 100).normalize():f}\u00a0%"


def _payment(row: Mapping[str, Any]) -> PaymentRow:
    parts = row["parts"]
    in_parts = sum(part["count"] for part in parts) > 1
    return PaymentRow(
        event=PAYMENT_EVENT_LABELS[row["event"]],
        days=row["days"],
        share=percent(row["fraction"]),
        share_of=PAYMENT_SHARE_LABELS[row["share_of"]],
        parts=tuple(f"{part['count']} × {_amount(part['amount'])}" for part in parts) if in_parts else (),
        amount=_amount(row["amount"]),
    )


def _clauses(clauses: Mapping[str, Mapping[str, Any]], currency: str) -> Iterator[ClauseText]:
    """In the order of the table; a part that is not said is left out."""
    for name, clause in CLAUSES.items():
        values = clauses.get(name, {})
        items = tuple(
            _item(part, clause.parts[part], values[part], currency) for part in clause.parts if part in values
        )
        if items:
            yield ClauseText(name=name, label=CLAUSE_LABELS[name], items=items)


def _item(name: str, part: Part, value: Any, currency: str) -> Item:
    if part.kind is not Kind.ROWS:
        return Item(label=PART_LABELS[name], value=_value(part, value, currency))
    # a code is for machines; the other columns say the same in words
    columns = {column: kind for column, kind in part.columns.items() if column != "code"}
    shown = [column for column in columns if any(column in row for row in value)]
    return Item(
        label=PART_LABELS[name],
        value={},
        columns=tuple(PART_LABELS[column] for column in shown),
        rows=tuple(
            tuple(_value(columns[column], row[column], currency) if column in row else {} for column in shown)
            for row in value
        ),
    )


def _value(part: Part, value: Any, currency: str) -> Text:
    if part.kind is Kind.TEXT:
        return dict(value)
    if part.kind is Kind.CHOICE:
        return _in_both(CHOICE_LABELS[value])
    if part.kind is Kind.FLAG:
        return _in_both(gettext_lazy("yes") if value else gettext_lazy("no"))
    if part.kind is Kind.FRACTION:
        return _same(percent(value))
    if part.kind is Kind.AMOUNT:
        return _same(f"{currency}\u00a0{format_amount(Decimal(value), currency)}")
    if part.kind is Kind.DATE:
        return _same(date.fromisoformat(value).isoformat())
    return _same(str(value))


def _tax_note(row: Mapping[str, Any]) -> Text:
    note = row.get("legal_note") or {}
    return {language: f"{percent(row['rate'])}: {text}" for language, text in note.items() if text}


def _exchange(exchange: Mapping[str, Any]) -> Text:
    if not exchange:
        return {}
    params = {**exchange, "source": exchange["source"], "date": exchange["date"]}
    return _in_both(gettext_lazy("Converted at 1 %(base)s = %(rate)s %(quote)s (%(source)s, %(date)s)."), params)


def _licence(row: Mapping[str, Any]) -> Text:
    words = {}
    for language, name in row["name"].items():
        with translation.override(DJANGO_LANGUAGES[language]):
            until = gettext("valid until %(day)s") % {"day": row["valid_until"]} if row.get("valid_until") else ""
        words[language] = ", ".join(part for part in (f"{name} {row['number']}", until) if part)
    return words


def _same(text: str) -> Text:
    return dict.fromkeys(DJANGO_LANGUAGES, text)


def _in_both(message: Promise, params: Mapping[str, Any] | None = None) -> Text:
    words = {}
    for language, code in DJANGO_LANGUAGES.items():
        with translation.override(code):
            words[language] = str(message) % params if params else str(message)
    return words


def _amount(money: Mapping[str, str]) -> str:
    return format_amount(Decimal(money["amount"]), money["currency"])

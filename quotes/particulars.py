"""What a quotation says beside its lines, in both languages: payments, clauses, tax, exchange rate, licences.

Read from a snapshot by paper and pages alike; nothing is computed here, only written.
"""

from __future__ import annotations

import re
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
from quotes.wording import DJANGO_LANGUAGES, percent

ACCEPTANCE = "acceptance"
Text = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentRow:
    """One instalment: when it falls due, which share of what, what it comes to."""

    due: Text
    portion: Text
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

    @property
    def has_parts(self) -> bool:
        """Whether any payment is made in parts, which have a column of their own."""
        return any(row.parts for row in self.payments)

    @property
    def says_invoice(self) -> bool:
        """Whether a clause names the kind of invoice: the seller's usual kind is then not printed beside it."""
        return any(clause.name == "invoice" for clause in self.clauses)


def particulars_of(snapshot: Snapshot) -> Particulars:
    seller = snapshot["seller"] or {}
    clauses = tuple(_clauses(snapshot["clauses"], snapshot["currency"]))
    tests = [item for clause in clauses if clause.name == ACCEPTANCE for item in clause.tables]
    return Particulars(
        payments=payment_rows(snapshot),
        clauses=clauses,
        acceptance=tests[0] if tests else None,
        tax_notes=tuple(_tax_note(row) for row in snapshot["tax_basis"]),
        exchange=_exchange(snapshot["exchange"]),
        special_terms=snapshot["special_terms"],
        licences=tuple(_licence(row) for row in seller.get("licences") or ()),
        controlled_parts=", ".join(snapshot["controlled_parts"]),
        prices_include_tax=snapshot["prices_include_tax"],
    )


def payment_rows(snapshot: Snapshot) -> tuple[PaymentRow, ...]:
    return tuple(_payment(row) for row in snapshot["payments"])


def _payment(row: Mapping[str, Any]) -> PaymentRow:
    parts = row["parts"]
    in_parts = sum(part["count"] for part in parts) > 1
    return PaymentRow(
        due=_due(PAYMENT_EVENT_LABELS[row["event"]], row["days"]),
        portion=_portion(PAYMENT_SHARE_LABELS[row["share_of"]], percent(row["fraction"])),
        parts=tuple(f"{part['count']} × {_amount(part['amount'])}" for part in parts) if in_parts else (),
        amount=_amount(row["amount"]),
    )


def _due(event: Promise, days: int) -> Text:
    """合同签订后 7 天内; 按月预付，5 天内; on signature, within 7 days."""
    after, within = _in_both(event), _in_both(gettext_lazy("within %(days)s days"), {"days": days})
    if not days:
        return after
    joint = "\u00a0" if after["zh-Hans"].endswith("后") else "，"
    return {"zh-Hans": f"{after['zh-Hans']}{joint}{within['zh-Hans']}", "en": f"{after['en']}, {within['en']}"}


def _portion(of_what: Promise, share: str) -> Text:
    """占总价 30%; 30% of the total."""
    words = _in_both(of_what)
    return {"zh-Hans": f"{words['zh-Hans']}\u00a0{share}", "en": f"{share} {words['en']}"}


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
    """The rate stands before its law, unless the sentence names it itself."""
    rate, note = percent(row["rate"]), row.get("legal_note") or {}
    colon = {"zh-Hans": "：", "en": ": "}
    return {
        language: text if rate in re.sub(r"\s%", "%", text) else f"{rate}{colon[language]}{text}"
        for language, text in note.items()
        if text
    }


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
        comma = "，" if language == "zh-Hans" else ", "
        words[language] = comma.join(part for part in (f"{name} {row['number']}", until) if part)
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

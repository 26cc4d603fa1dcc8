"""Two revisions side by side: lines added, removed and changed, price and terms; and a draft against its sizing.

Reads snapshots only, so that issued revisions are compared as they were printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from catalog.money import format_amount
from quotes.clause_words import CLAUSE_LABELS, PART_LABELS
from quotes.models import TAX_MODES, Basis, Language, QuoteLine
from quotes.particulars import payment_rows
from quotes.snapshot import Snapshot

_LINE_FIELDS: tuple[tuple[str, Any], ...] = (
    ("quantity", _("Quantity")),
    ("period_count", _("Periods")),
    ("unit_price", _("Unit price")),
    ("discount_fraction", _("Discount in percent")),
    ("discount_amount", _("Discount as an amount")),
    ("tax_rate", _("Tax rate")),
    ("net", _("Net amount")),
    ("is_optional", _("Option, outside the total")),
)
_CUSTOMER_FIELDS: tuple[tuple[str, Any], ...] = (
    ("name", _("Customer")),
    ("tax_id", _("customer's unified social credit code")),
    ("address", _("customer's address")),
    ("contact_name", _("contact")),
    ("contact_phone", _("telephone")),
    ("contact_email", _("e-mail")),
    ("delivery_place", _("place of delivery")),
)
_TOTALS: tuple[tuple[str, Any], ...] = (
    ("subtotal", _("Subtotal")),
    ("discount", _("Discount")),
    ("net", _("Net total")),
    ("tax", _("Tax")),
    ("gross", _("Total including tax")),
)
_CHOICES: Mapping[str, Mapping[str, Any]] = {
    "language": dict(Language.choices),
    "basis": dict(Basis.choices),
    "tax_mode": {str(code): label for code, label in TAX_MODES},
}
_DOCUMENT_FIELDS: tuple[tuple[str, Any], ...] = (
    ("project", _("Project")),
    ("valid_through", _("Valid through")),
    ("pricing_date", _("prices of")),
    ("language", _("language")),
    ("paper", _("paper")),
    ("basis", _("Basis")),
    ("term_months", _("Term")),
    ("currency", _("Currency")),
    ("tax_mode", _("tax rounded")),
    ("deposit", _("Deposit")),
    ("special_terms", _("Terms beside the standard ones")),
    ("customer_note", _("Note to the customer")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One value before and after, as text; `delta` is the difference of two amounts, with its sign."""

    label: Any
    before: str
    after: str
    delta: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """A line that came, went or changed; `kind` is added, removed or changed."""

    kind: str
    name: Mapping[str, str]
    sku: str
    changes: tuple[Change, ...] = ()
    net: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    totals: tuple[Change, ...]
    lines: tuple[LineChange, ...]
    document: tuple[Change, ...]
    terms: tuple[Change, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.lines or self.document or self.terms or any(change.delta for change in self.totals))


def compared(before: Snapshot, after: Snapshot) -> Comparison:
    """What changed from one revision to the next."""
    return Comparison(
        totals=tuple(_totals(before, after)),
        lines=tuple(_lines(before["lines"], after["lines"])),
        document=(
            *_changes(_DOCUMENT_FIELDS, before, after, currency=after["currency"]),
            *_changes(_CUSTOMER_FIELDS, before["customer"], after["customer"]),
        ),
        terms=tuple(_terms(before, after)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingDifference:
    """A line whose quantity is not the one that the sizing computed."""

    number: int | None
    line: QuoteLine

    @property
    def sized(self) -> Decimal | None:
        return self.line.sized_quantity


def sizing_differences(lines: Iterable[QuoteLine], printed: Mapping[int, int]) -> list[SizingDifference]:
    return [
        SizingDifference(number=printed.get(line.position), line=line)
        for line in lines
        if line.sized_quantity not in (None, line.quantity)
    ]


def _totals(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    for name, label in _TOTALS:
        old, new = before["totals"][name], after["totals"][name]
        delta = ""
        if old["currency"] == new["currency"] and old != new:
            difference = Decimal(new["amount"]) - Decimal(old["amount"])
            delta = f"{'+' if difference > 0 else '−'}{format_amount(abs(difference), new['currency'])}"
        yield Change(label=label, before=_money(old), after=_money(new), delta=delta)


def _lines(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> Iterator[LineChange]:
    old_lines, new_lines = _keyed(before), _keyed(after)
    for key, line in new_lines.items():
        old = old_lines.get(key)
        if old is None:
            yield LineChange(kind="added", name=line["name"], sku=line["sku"], net=_money(line["net"]))
            continue
        changes = tuple(_changes(_LINE_FIELDS, old, line))
        if changes:
            yield LineChange(kind="changed", name=line["name"], sku=line["sku"], changes=changes)
    for key, line in old_lines.items():
        if key not in new_lines:
            yield LineChange(kind="removed", name=line["name"], sku=line["sku"], net=_money(line["net"]))


def _keyed(lines: Iterable[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Lines by what they are; the same part a second time is told apart by its turn."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in lines:
        identity = (line["sku"] or line["name"]["en"], line["kind"], line["unit"], line["is_included"])
        turn = sum(1 for key in found if key[:-1] == identity)
        found[*identity, turn] = line
    return found


def _changes(
    fields: Iterable[tuple[str, Any]], before: Mapping[str, Any], after: Mapping[str, Any], *, currency: str = ""
) -> Iterator[Change]:
    for name, label in fields:
        old, new = before.get(name), after.get(name)
        if (old or None) != (new or None):
            yield Change(label=label, before=_shown(name, old), after=_shown(name, new))


def _shown(name: str, value: Any) -> str:
    if value in (None, "", [], {}):
        return "—"
    if isinstance(value, Mapping):
        return _money(value)
    if name in _CHOICES:
        return str(_CHOICES[name].get(value, value))
    if name in {"discount_fraction", "tax_rate"}:
        return f"{(Decimal(value) * 100).normalize():f}%"
    if isinstance(value, bool):
        return str(pgettext_lazy("answer", "yes") if value else pgettext_lazy("answer", "no"))
    return f"{Decimal(value):,f}" if name == "quantity" else str(value)


def _money(value: Mapping[str, str] | None) -> str:
    return "—" if value is None else f"{value['currency']} {Decimal(value['amount']):,f}"


def _terms(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    old, new = before["terms"] or {}, after["terms"] or {}
    versions = [f"{terms['code']} {terms['version']}" if terms else "—" for terms in (old, new)]
    if versions[0] != versions[1]:
        yield Change(label=_("Terms"), before=versions[0], after=versions[1])
    for code, label in CLAUSE_LABELS.items():
        first, second = before["clauses"].get(code), after["clauses"].get(code)
        if first != second:
            yield Change(label=label, before=_clause(first), after=_clause(second))
    if before["payments"] != after["payments"]:
        yield Change(label=_("Payments"), before=_payments(before), after=_payments(after))


def _clause(parts: Any) -> str:
    """Parts in one line, in both languages as they are stored."""
    if isinstance(parts, Mapping):
        if parts.keys() <= {"zh-Hans", "en"}:
            return str(parts.get("zh-Hans") or parts.get("en"))
        # in the order of the table: a JSON column and the snapshot keep their keys in orders of their own
        known = [name for name in PART_LABELS if name in parts]
        return "; ".join(_clause(parts[name]) for name in [*known, *sorted(parts.keys() - set(known))])
    if isinstance(parts, list):
        return " / ".join(_clause(row) for row in parts)
    return "—" if parts is None else str(parts)


def _payments(content: Snapshot) -> str:
    """When which part falls due and what it comes to, as on the paper."""
    language = "zh-Hans" if (get_language() or "").startswith("zh") else "en"
    rows = (f"{row.due[language]}: {row.portion[language]}, {row.amount}" for row in payment_rows(content))
    return "; ".join(rows) or "—"

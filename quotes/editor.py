"""The editor of a draft as one thing: what was typed, the order of the lines, and the quote as it would be.

Nothing here is saved. Every button but Save posts the whole editor and gets it back, so that lines can be added and
moved and totals looked at without a script and without touching the draft.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.http import QueryDict

from quotes.clause_forms import ClausesForm, PaymentsForm
from quotes.editor_forms import RevisionForm
from quotes.line_forms import HandLineForm, LineForm, initial_of, tax_choices
from quotes.models import MAX_LINES, Basis, QuoteLine, QuoteRevision
from quotes.price_choices import Offer, book_of, offers_of
from quotes.pricing import group_of, is_monthly
from quotes.services import AddedLine, LineEdit
from quotes.tax import rates_on

HOME_COUNTRY = "CN"
_NEW = "new-"


@dataclass(slots=True, kw_only=True)
class EditorLine:
    """A line with its form, and the parts inside its price; `line` None: made by hand and not stored yet."""

    key: str
    form: LineForm
    line: QuoteLine | None = None
    parts: list[QuoteLine] = field(default_factory=list)
    number: int | None = None

    @property
    def group(self) -> str:
        if self.line is not None:
            return group_of(self.line.kind)
        if isinstance(self.form, HandLineForm) and self.form.offer is not None:
            return group_of(self.form.offer.kind)
        return str(self.form["group"].value() or "other")

    @property
    def is_new(self) -> bool:
        return self.line is None

    @property
    def name_zh(self) -> str:
        return self.line.name_zh if self.line else self._offer_name("name_zh")

    @property
    def name_en(self) -> str:
        return self.line.name_en if self.line else self._offer_name("name_en")

    @property
    def sku(self) -> str:
        if self.line is not None:
            return self.line.sku
        offer = self.form.offer if isinstance(self.form, HandLineForm) else None
        return offer.price.sku if offer else ""

    @property
    def differs_from_sizing(self) -> bool:
        return self.line is not None and self.line.sized_quantity not in (None, self.line.quantity)

    def _offer_name(self, name: str) -> str:
        offer = self.form.offer if isinstance(self.form, HandLineForm) else None
        return str(getattr(offer, name)) if offer else ""


class Editor:
    """All forms of one draft, bound to `data` where something was posted; `do` is the button that was pressed."""

    def __init__(
        self, revision: QuoteRevision, lines: Sequence[QuoteLine], data: QueryDict | None = None, *, do: str = ""
    ) -> None:
        self.revision, self.data, self.do = revision, data, do
        self.form = RevisionForm(data, instance=revision)
        self.clauses = ClausesForm(data, value=revision.clauses, basis=revision.basis)
        self.payments = PaymentsForm(data, value=revision.payment_schedule)
        self.book = book_of(revision)
        self.offers: dict[int, Offer] = offers_of(revision)
        country = revision.seller.country if revision.seller else HOME_COUNTRY
        self.taxes = tax_choices(rates_on(country, revision.pricing_date))
        self.lines = self._ordered([*self._stored(lines), *self._by_hand()])
        self._press(do)
        self.order = ",".join(row.key for row in self.lines)
        self.is_unsaved = data is not None

    def is_valid(self) -> bool:
        checks = [self.form.is_valid(), self.clauses.is_valid(), self.payments.is_valid()]
        return all([*checks, *(row.form.is_valid() for row in self.lines)])

    @property
    def column_count(self) -> int:
        """Columns of the table behind the number: a purchase has no months."""
        return 6 if self.revision.basis == Basis.PURCHASE else 7

    @property
    def expected_version(self) -> int:
        return int(self.form.cleaned_data["expected_version"])

    def fields(self) -> dict[str, Any]:
        return self.form.edits() | {"clauses": self.clauses.value(), "payment_schedule": self.payments.value()}

    def edits(self) -> list[LineEdit]:
        return [row.form.edit(row.line.position) for row in self.lines if row.line is not None]

    def added(self) -> list[AddedLine]:
        return [row.form.added() for row in self.lines if isinstance(row.form, HandLineForm)]

    def positions(self) -> list[int]:
        """The order as `quote_edit` takes it; empty where the lines stand as they stood."""
        positions, fresh = [], 0
        for row in self.lines:
            if row.line is not None:
                positions.append(row.line.position)
            else:
                fresh -= 1
                positions.append(fresh)
        stored = [position for position in positions if position > 0]
        stands = positions == [*sorted(stored), *(position for position in positions if position < 0)]
        return [] if stands else positions

    def drafted(self) -> tuple[QuoteRevision, list[QuoteLine]]:
        """The quote as it would be saved, in memory; valid editors only."""
        revision = copy.copy(self.revision)
        for name, value in self.fields().items():
            setattr(revision, name, value)
        lines: list[QuoteLine] = []
        for row in self.lines:
            if row.line is not None:
                edit = row.form.edit(row.line.position)
                if edit.is_removed:
                    continue
                lines.append(_changed(row.line, edit))
                lines += [copy.copy(part) for part in row.parts]
            elif isinstance(row.form, HandLineForm):
                lines.append(QuoteLine(revision=revision, **row.form.added().values()))
        for position, line in enumerate(lines, start=1):
            line.position, line.revision = position, revision
        return revision, lines

    def errors(self) -> list[tuple[str, Any, Any]]:
        """(line's name or "", field, sentence) of everything that is wrong, for the summary above the form."""
        found: list[tuple[str, Any, Any]] = []
        for row in self.lines:
            name = row.sku or row.name_en or row.key
            found += [(name, bound, error) for bound in row.form for error in bound.errors]
            found += [(name, None, error) for error in row.form.non_field_errors()]
        for form in (self.form, self.payments, self.clauses):
            found += [("", bound, error) for bound in form for error in bound.errors]
            found += [("", None, error) for error in form.non_field_errors()]
        return found

    def _stored(self, lines: Sequence[QuoteLine]) -> Iterator[EditorLine]:
        current: EditorLine | None = None
        for line in lines:
            if line.is_included and current is not None:
                current.parts.append(line)
                continue
            prefix = f"line-{line.pk}"
            is_posted = self.data is not None and f"{prefix}-quantity" in self.data
            form = LineForm(
                self.data if is_posted else _standing(line, self.revision, prefix) if self.data is not None else None,
                prefix=prefix,
                initial=initial_of(line, self.revision.basis),
                basis=self.revision.basis,
                taxes=self.taxes,
            )
            if current is not None:
                yield current
            current = EditorLine(key=str(line.pk), line=line, form=form)
        if current is not None:
            yield current

    def _by_hand(self) -> Iterator[EditorLine]:
        keys = self.data.get("order", "").split(",") if self.data is not None else []
        for key in [key for key in dict.fromkeys(keys) if key.startswith(_NEW)][:MAX_LINES]:
            if self.data is not None and f"{key}-quantity" in self.data:
                raw = self.data.get(f"{key}-price_key", "")
                offer = self.offers.get(int(raw)) if raw.isdecimal() and len(raw) < 12 else None
                yield EditorLine(key=key, form=self._hand_form(key, offer, bound=True))

    def _hand_form(self, key: str, offer: Offer | None, *, bound: bool) -> HandLineForm:
        initial: dict[str, Any] = {"quantity": Decimal(1), "period_count": 1, "group": "services", "unit": "each"}
        if offer is not None:
            initial |= {"unit_price": offer.unit_price, "price_key": offer.price.pk}
            if is_monthly(offer.unit):
                initial["period_count"] = self.revision.term_months or 1
        initial["tax"] = self._usual_tax(offer)
        return HandLineForm(
            self.data if bound else None,
            prefix=key,
            initial=initial,
            offer=offer,
            basis=self.revision.basis,
            taxes=self.taxes,
        )

    def _usual_tax(self, offer: Offer | None) -> str:
        """What such a line bears: services, or goods sold or leased; nothing abroad."""
        category = "services"
        if offer is not None and offer.kind != "service":
            category = "lease" if self.revision.basis == Basis.RENTAL else "goods"
        if self.revision.currency != "CNY":
            category = "zero_rated"
        return next((value for value, _label in self.taxes if value.startswith(f"{category}:")), "")

    def _ordered(self, rows: list[EditorLine]) -> list[EditorLine]:
        if self.data is None:
            return rows
        place = {key: index for index, key in enumerate(self.data.get("order", "").split(","))}
        return sorted(rows, key=lambda row: place.get(row.key, len(place)))  # stable: the rest stays behind, in order

    def _press(self, do: str) -> None:
        verb, _colon, key = do.partition(":")
        if verb == "add" and len(self.lines) < MAX_LINES:
            raw = self.data.get("offer", "") if key == "offer" and self.data is not None else ""
            offer = self.offers.get(int(raw)) if raw.isdecimal() and len(raw) < 12 else None
            if key == "free" or offer is not None:
                self.lines.append(self._fresh(offer))
        elif verb == "drop" and key.startswith(_NEW):
            self.lines = [row for row in self.lines if row.key != key]
        elif verb in {"up", "down"}:
            self._move(key, up=verb == "up")

    def _fresh(self, offer: Offer | None) -> EditorLine:
        used = [int(row.key[len(_NEW) :]) for row in self.lines if row.is_new and row.key[len(_NEW) :].isdecimal()]
        key = f"{_NEW}{max(used, default=0) + 1}"
        return EditorLine(key=key, form=self._hand_form(key, offer, bound=False))

    def _move(self, key: str, *, up: bool) -> None:
        """Past the next line of the same group: on paper, lines stand by groups."""
        index = next((place for place, row in enumerate(self.lines) if row.key == key), None)
        if index is None:
            return
        row = self.lines[index]
        others = range(index - 1, -1, -1) if up else range(index + 1, len(self.lines))
        target = next((place for place in others if self.lines[place].group == row.group), None)
        if target is not None:
            self.lines.pop(index)
            self.lines.insert(target, row)


def _changed(line: QuoteLine, edit: LineEdit) -> QuoteLine:
    changed = copy.copy(line)
    for name in ("quantity", "period_count", "unit_price", "discount_fraction", "discount_amount", "discount_reason"):
        setattr(changed, name, getattr(edit, name))
    for name in ("tax_category", "tax_rate", "change_reason", "is_optional"):
        setattr(changed, name, getattr(edit, name))
    return changed


def _standing(line: QuoteLine, revision: QuoteRevision, prefix: str) -> dict[str, Any]:
    """A stored line as if it had been posted unchanged: for lines that came after the editor was opened."""
    initial = initial_of(line, revision.basis)
    form = LineForm(prefix=prefix, initial=initial, basis=revision.basis, taxes=())
    values = {name: form.fields[name].prepare_value(initial.get(name)) for name in form.fields}
    return {f"{prefix}-{name}": value for name, value in values.items() if value not in (None, False)}

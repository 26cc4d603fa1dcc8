"""Clauses and payments of the editor, drawn from the tables that define them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from quotes.clause_words import CHOICE_LABELS, CLAUSE_LABELS, PART_LABELS, PAYMENT_EVENT_LABELS, PAYMENT_SHARE_LABELS
from quotes.clauses import CLAUSES, Clause, Kind, Part, clean_clauses
from quotes.fields import PlainDecimalField, paper_text
from quotes.forms import HUNDRED
from quotes.payments import EVENTS, MAX_DAYS, SHARES, clean_schedule

LANGUAGES = (("zh-Hans", _("in Chinese")), ("en", _("in English")))
_MAX_ROWS = 60
_LARGEST = {Kind.DAYS: 3660, Kind.MONTHS: 120, Kind.HOURS: 8784}


def _field(part: Part) -> forms.Field:
    if part.kind in _LARGEST:
        return forms.IntegerField(
            required=False,
            min_value=0,
            max_value=_LARGEST[part.kind],
            widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        )
    if part.kind is Kind.FRACTION:
        return PlainDecimalField(
            required=False, minimum=Decimal(0), maximum=HUNDRED, decimal_places=4, scale=HUNDRED, unit="%"
        )
    if part.kind is Kind.AMOUNT:
        return PlainDecimalField(required=False, minimum=Decimal(0), maximum=Decimal(10) ** 9, decimal_places=4)
    if part.kind is Kind.CHOICE:
        return forms.ChoiceField(
            required=False, choices=[("", "—"), *((code, CHOICE_LABELS.get(code, code)) for code in part.choices)]
        )
    if part.kind is Kind.FLAG:
        return forms.ChoiceField(required=False, choices=[("", "—"), ("yes", _("yes")), ("no", _("no"))])
    if part.kind is Kind.DATE:
        return forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))
    return forms.CharField(required=False, max_length=1000)


def _to_initial(part: Part, value: Any) -> Any:
    if part.kind in (Kind.FRACTION, Kind.AMOUNT):
        return None if value is None else Decimal(str(value))
    if part.kind is Kind.FLAG:
        return {True: "yes", False: "no"}.get(value, "")
    return value


def _to_json(part: Part, value: Any) -> Any:
    """A cleaned value as it is stored; None and "" where nothing was entered."""
    if value in (None, ""):
        return None
    if part.kind in (Kind.FRACTION, Kind.AMOUNT):
        return f"{value.normalize():f}"
    if part.kind is Kind.FLAG:
        return value == "yes"
    return value.isoformat() if part.kind is Kind.DATE else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """A part as the page draws it: its fields, or a table of rows with one empty row at the end."""

    label: Any
    fields: tuple[forms.BoundField, ...] = ()
    heads: tuple[Any, ...] = ()
    rows: tuple[tuple[forms.BoundField, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownClause:
    code: str
    label: Any
    is_due: bool
    parts: tuple[ShownPart, ...]
    has_errors: bool


class ClausesForm(forms.Form):
    """Every part of every clause as fields; `value` is the JSON of the revision."""

    def __init__(self, data: Any = None, *, value: Mapping[str, Any], basis: str) -> None:
        super().__init__(data, prefix="clause")
        self.basis = basis
        self.row_counts: dict[str, int] = {}
        for code, clause in CLAUSES.items():
            stored = value.get(code, {})
            for name, part in clause.parts.items():
                if part.kind is Kind.ROWS:
                    self._add_rows(f"{code}-{name}", part, stored.get(name, []))
                else:
                    self._add(f"{code}-{name}", part, stored.get(name), PART_LABELS.get(name, name))

    def value(self) -> dict[str, Any]:
        """Cleaned clauses; empty parts are left out."""
        return self.cleaned_data["clauses"]  # type: ignore[no-any-return]

    def clean(self) -> dict[str, Any]:
        super().clean()
        raw = {code: self._parts_json(code, clause) for code, clause in CLAUSES.items()}
        cleaned: dict[str, Any] = {}
        if not self.errors:
            try:
                cleaned = clean_clauses(raw)
            except ValidationError as error:
                self.add_error(None, error)
        return {"clauses": cleaned}

    def shown(self) -> Iterator[ShownClause]:
        for code, clause in CLAUSES.items():
            parts = tuple(self._shown_part(code, name, part) for name, part in clause.parts.items())
            yield ShownClause(
                code=code,
                label=CLAUSE_LABELS[code],
                is_due=self.basis in clause.due_for,
                parts=parts,
                has_errors=any(name.startswith(f"{code}-") for name in self.errors),
            )

    def _add(self, name: str, part: Part, value: Any, label: Any) -> None:
        if part.kind is Kind.TEXT:
            for language, word in LANGUAGES:
                field = _field(part)
                field.label = _("%(label)s, %(language)s") % {"label": label, "language": word}
                field.initial = (value or {}).get(language, "")
                self.fields[f"{name}-{language}"] = field
            return
        field = _field(part)
        field.label, field.initial = label, _to_initial(part, value)
        self.fields[name] = field

    def _add_rows(self, name: str, part: Part, stored: list[Mapping[str, Any]]) -> None:
        posted = [
            int(key.split("-")[3])
            for key in (self.data or ())
            if key.startswith(f"clause-{name}-") and key.split("-")[3].isdecimal() and len(key.split("-")[3]) < 3
        ]
        count = min(max([len(stored) + 1, *(index + 1 for index in posted)]), _MAX_ROWS)
        self.row_counts[name] = count
        for index in range(count):
            row = stored[index] if index < len(stored) else {}
            for column, inner in part.columns.items():
                self._add(f"{name}-{index}-{column}", inner, row.get(column), PART_LABELS.get(column, column))

    def _json(self, name: str, part: Part) -> Any:
        if part.kind is Kind.TEXT:
            texts = {language: self._text(f"{name}-{language}") for language, _word in LANGUAGES}
            return {language: text for language, text in texts.items() if text} or None
        return _to_json(part, self.cleaned_data.get(name))

    def _text(self, name: str) -> str:
        try:
            return paper_text(self.cleaned_data.get(name) or "")
        except ValidationError as error:
            self.add_error(name, error)
            return ""

    def _parts_json(self, code: str, clause: Clause) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        for name, part in clause.parts.items():
            if part.kind is not Kind.ROWS:
                parts[name] = self._json(f"{code}-{name}", part)
                continue
            rows = [
                {column: self._json(f"{code}-{name}-{index}-{column}", inner) for column, inner in part.columns.items()}
                for index in range(self.row_counts[f"{code}-{name}"])
            ]
            parts[name] = [row for row in rows if any(value is not None for value in row.values())]
        return parts

    def _bound(self, name: str, part: Part) -> tuple[forms.BoundField, ...]:
        if part.kind is Kind.TEXT:
            return tuple(self[f"{name}-{language}"] for language, _word in LANGUAGES)
        return (self[name],)

    def _shown_part(self, code: str, name: str, part: Part) -> ShownPart:
        label = PART_LABELS.get(name, name)
        if part.kind is not Kind.ROWS:
            return ShownPart(label=label, fields=self._bound(f"{code}-{name}", part))
        rows = tuple(
            tuple(
                field
                for column, inner in part.columns.items()
                for field in self._bound(f"{code}-{name}-{index}-{column}", inner)
            )
            for index in range(self.row_counts[f"{code}-{name}"])
        )
        return ShownPart(label=label, heads=tuple(field.label for field in rows[0]), rows=rows)


class PaymentsForm(forms.Form):
    """The rows of the payment schedule, with one empty row at the end."""

    def __init__(self, data: Any = None, *, value: list[Mapping[str, Any]]) -> None:
        super().__init__(data, prefix="payment")
        posted = [
            int(key.split("-")[1]) + 1
            for key in (self.data or ())
            if key.startswith("payment-") and key.split("-")[1].isdecimal() and len(key.split("-")[1]) < 3
        ]
        self.row_count = min(max([len(value) + 1, *posted]), 24)
        for index in range(self.row_count):
            row = value[index] if index < len(value) else {}
            self.fields |= self._row_fields(index, row)

    def _row_fields(self, index: int, row: Mapping[str, Any]) -> dict[str, forms.Field]:
        return {
            f"{index}-event": forms.ChoiceField(
                label=_("Payment due"),
                required=False,
                initial=row.get("event", ""),
                choices=[("", "—"), *((code, PAYMENT_EVENT_LABELS[code]) for code in EVENTS)],
            ),
            f"{index}-days": forms.IntegerField(
                label=_("Days after it"),
                required=False,
                initial=row.get("days"),
                min_value=-MAX_DAYS,
                max_value=MAX_DAYS,
                widget=forms.TextInput(attrs={"inputmode": "numeric"}),
            ),
            f"{index}-fraction": PlainDecimalField(
                label=_("Part in percent"),
                required=False,
                initial=Decimal(str(row["fraction"])) if row else None,
                minimum=Decimal(0),
                maximum=HUNDRED,
                decimal_places=4,
                scale=HUNDRED,
            ),
            f"{index}-share_of": forms.ChoiceField(
                label=_("Of what"),
                required=False,
                initial=row.get("share_of", ""),
                choices=[(code, PAYMENT_SHARE_LABELS[code]) for code in SHARES],
            ),
        }

    def rows(self) -> list[list[forms.BoundField]]:
        names = ("event", "days", "fraction", "share_of")
        return [[self[f"{index}-{name}"] for name in names] for index in range(self.row_count)]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        rows = []
        for index in range(self.row_count):
            event, fraction = data.get(f"{index}-event"), data.get(f"{index}-fraction")
            if not event and fraction is None:
                continue
            rows.append(
                {
                    "event": event,
                    "share_of": data.get(f"{index}-share_of") or "total",
                    "fraction": f"{(fraction or Decimal(0)).normalize():f}",
                    "days": data.get(f"{index}-days") or 0,
                }
            )
        schedule: list[dict[str, Any]] = []
        if not self.errors:
            try:
                schedule = clean_schedule(rows)
            except ValidationError as error:
                self.add_error(None, error)
        return {"schedule": schedule}

    def value(self) -> list[dict[str, Any]]:
        return self.cleaned_data["schedule"]  # type: ignore[no-any-return]

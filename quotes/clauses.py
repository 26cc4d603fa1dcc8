"""What a buyer's lawyer and engineer look for, as a typed table: which clauses there are, their parts, which are due.

Stored on the revision as JSON, `{clause: {part: value}}`; fractions and amounts are strings. A mandatory part that is
missing blocks issue and is named. Words of the codes: `quotes.clause_words`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from quotes.clause_words import CLAUSE_LABELS, PART_LABELS

RENTAL, PURCHASE = "rental", "purchase"
BOTH = frozenset({RENTAL, PURCHASE})
MAX_TEXT, MAX_ROWS = 1000, 60


class Kind(StrEnum):
    TEXT = "text"  # {"zh-Hans": ..., "en": ...}; one language at least
    CODE = "code"  # a plain word or number, the same in every language
    CHOICE = "choice"
    DAYS = "days"
    MONTHS = "months"
    HOURS = "hours"
    FRACTION = "fraction"
    AMOUNT = "amount"
    FLAG = "flag"
    DATE = "date"
    ROWS = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One value of a clause; `is_due` where the clause is, `choices` for a choice, `columns` for rows."""

    kind: Kind
    is_due: bool = True
    choices: tuple[str, ...] = ()
    columns: Mapping[str, Part] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """`due_for`: bases whose quotes need it; `is_standard`: a change against the terms needs approval."""

    parts: Mapping[str, Part]
    due_for: frozenset[str] = frozenset()
    is_standard: bool = False


_TEXT, _OPTIONAL_TEXT = Part(kind=Kind.TEXT), Part(kind=Kind.TEXT, is_due=False)

CLAUSES: dict[str, Clause] = {
    "acceptance": Clause(
        due_for=BOTH,
        parts={
            "window_days": Part(kind=Kind.DAYS),
            "remedy_days": Part(kind=Kind.DAYS),
            "tests": Part(
                kind=Kind.ROWS,
                columns={
                    "code": Part(kind=Kind.CODE),
                    "name": _TEXT,
                    "threshold": _TEXT,
                    "tool": Part(kind=Kind.CODE, is_due=False),
                },
            ),
        },
    ),
    "service_level": Clause(
        due_for=frozenset({RENTAL}),
        is_standard=True,
        parts={
            "availability_fraction": Part(kind=Kind.FRACTION),
            "replacement_hours": Part(kind=Kind.HOURS),
            "credits": Part(
                kind=Kind.ROWS,
                columns={"below_fraction": Part(kind=Kind.FRACTION), "credit_fraction": Part(kind=Kind.FRACTION)},
            ),
            "note": _OPTIONAL_TEXT,
        },
    ),
    "delivery": Clause(
        due_for=BOTH,
        parts={
            "milestones": Part(
                kind=Kind.ROWS,
                columns={
                    "what": _TEXT,
                    "days_after_order": Part(kind=Kind.DAYS, is_due=False),
                    "on": Part(kind=Kind.DATE, is_due=False),
                },
            ),
            "place": _OPTIONAL_TEXT,
        },
    ),
    "ownership": Clause(
        due_for=BOTH,
        is_standard=True,
        parts={
            "owner": Part(
                kind=Kind.CHOICE,
                choices=("seller_keeps", "passes_on_delivery", "passes_on_full_payment", "third_party_lessor"),
            ),
            "condition": Part(kind=Kind.CHOICE, choices=("new", "refurbished", "used", "new_or_refurbished")),
            "note": _OPTIONAL_TEXT,
        },
    ),
    "invoice": Clause(
        due_for=BOTH,
        parts={
            "kind": Part(
                kind=Kind.CHOICE,
                choices=(
                    "special_vat",
                    "general_vat",
                    "special_vat_electronic",
                    "general_vat_electronic",
                    "commercial",
                ),
            ),
            "days_after_payment": Part(kind=Kind.DAYS),
        },
    ),
    "warranty": Clause(
        due_for=frozenset({PURCHASE}),
        is_standard=True,
        parts={"months": Part(kind=Kind.MONTHS), "on_site_hours": Part(kind=Kind.HOURS, is_due=False)},
    ),
    "early_exit": Clause(
        due_for=frozenset({RENTAL}),
        is_standard=True,
        parts={"notice_days": Part(kind=Kind.DAYS), "fee_fraction": Part(kind=Kind.FRACTION), "note": _OPTIONAL_TEXT},
    ),
    "renewal": Clause(
        due_for=frozenset({RENTAL}),
        is_standard=True,
        parts={
            "kind": Part(kind=Kind.CHOICE, choices=("none", "month_by_month", "same_term", "by_agreement")),
            "notice_days": Part(kind=Kind.DAYS),
            "price": Part(kind=Kind.CHOICE, choices=("same", "book_of_the_day", "by_agreement")),
        },
    ),
    "data_return": Clause(
        due_for=frozenset({RENTAL}),
        is_standard=True,
        parts={
            "return_days": Part(kind=Kind.DAYS),
            "erasure_days": Part(kind=Kind.DAYS),
            "method": _TEXT,
            "has_certificate": Part(kind=Kind.FLAG),
        },
    ),
    "extras": Clause(
        due_for=frozenset({RENTAL}),
        parts={
            name: Part(kind=Kind.CHOICE, choices=("included", "priced_apart", "not_offered"))
            for name in ("egress", "public_addresses", "storage", "support")
        }
        | {
            "prices": Part(
                kind=Kind.ROWS,
                is_due=False,
                columns={"what": _TEXT, "unit": _TEXT, "net_amount": Part(kind=Kind.AMOUNT)},
            ),
        },
    ),
}


def clean_clauses(raw: Any) -> dict[str, dict[str, Any]]:
    """Known clauses with values of their kind; raises `ValidationError` naming clause, part and what would pass.

    Empty values are left out, so that a missing part is missing and nothing else.
    """
    if not isinstance(raw, Mapping):
        raise ValidationError(_("Clauses are an object of clauses."))
    unknown = [name for name in raw if name not in CLAUSES]
    if unknown:
        raise ValidationError(
            _("“%(name)s” is not a clause. Clauses: %(known)s."),
            params={"name": str(unknown[0])[:60], "known": ", ".join(CLAUSES)},
        )
    cleaned = {}
    for name, values in raw.items():
        parts = _clean_parts(name, CLAUSES[name].parts, values)
        if parts:
            cleaned[name] = parts
    return cleaned


def missing_parts(clauses: Mapping[str, Any], basis: str) -> tuple[tuple[str, str], ...]:
    """(clause, part) of what a quote of this basis must say and does not."""
    return tuple(_missing(clauses, basis))


def _missing(clauses: Mapping[str, Any], basis: str) -> Iterator[tuple[str, str]]:
    for name, clause in CLAUSES.items():
        values = clauses.get(name, {})
        for part_name, part in clause.parts.items():
            if basis in clause.due_for and part.is_due and part_name not in values:
                yield name, part_name


def differing_clauses(clauses: Mapping[str, Any], standard: Mapping[str, Any]) -> tuple[str, ...]:
    """Clauses of the standard terms that this quote words otherwise."""
    return tuple(
        name for name, clause in CLAUSES.items() if clause.is_standard and clauses.get(name) != standard.get(name)
    )


def acceptance_tests(sizing: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The annex from a sizing basis (`quotes.drafting`): each test with its threshold, by language."""
    rows: dict[str, dict[str, Any]] = {}
    for language, basis in sizing.get("by_language", {}).items():
        configuration = basis.get("configuration") or {}
        for test in configuration.get("acceptance", ()):
            row = rows.setdefault(
                test["code"], {"code": test["code"], "name": {}, "threshold": {}, "tool": test.get("tool", "")}
            )
            row["name"][language] = test["name"]
            row["threshold"][language] = str(test["threshold_text"])  # says "at least" and "at most" itself
    return [row if row["tool"] else {key: row[key] for key in ("code", "name", "threshold")} for row in rows.values()]


def _clean_parts(where: str, parts: Mapping[str, Part], values: Any) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise ValidationError(
            _("%(where)s: give its parts, %(parts)s."), params={"where": where, "parts": ", ".join(parts)}
        )
    cleaned = {}
    for name, value in values.items():
        if name not in parts:
            raise ValidationError(
                _("%(where)s has no part “%(name)s”. Parts: %(parts)s."),
                params={"where": where, "name": str(name)[:60], "parts": ", ".join(parts)},
            )
        if value is None or value == "" or value == [] or value == {}:
            continue
        result = _clean_value(f"{where}.{name}", parts[name], value)
        if result not in (None, "", [], {}):
            cleaned[name] = result
    return cleaned


def _clean_value(where: str, part: Part, value: Any) -> Any:
    if part.kind in _WHOLE:
        return _whole(where, value, _WHOLE[part.kind])
    if part.kind is Kind.FRACTION:
        return _decimal(where, value, Decimal(1), _("a fraction from 0 to 1"))
    if part.kind is Kind.AMOUNT:
        return _decimal(where, value, Decimal(10) ** 9, _("an amount from 0 to 1,000,000,000"))
    if part.kind is Kind.FLAG:
        return _expect(where, value, isinstance(value, bool), _("true or false"))
    if part.kind is Kind.CHOICE:
        return _expect(
            where, value, value in part.choices, _("one of %(choices)s") % {"choices": ", ".join(part.choices)}
        )
    if part.kind is Kind.CODE:
        return _expect(where, value, isinstance(value, str) and len(value) <= MAX_TEXT, _("a short text")).strip()
    if part.kind is Kind.DATE:
        return _date(where, value)
    if part.kind is Kind.TEXT:
        return _text(where, value)
    return _rows(where, part, value)


_WHOLE = {Kind.DAYS: 3660, Kind.MONTHS: 120, Kind.HOURS: 8784}


def _in_words(where: str) -> str:
    """`service_level.credits[2].below_fraction` as people call it."""
    clause, *parts = where.split(".")
    words = [str(CLAUSE_LABELS.get(clause, clause))]
    for part in parts:
        name, bracket, row = part.partition("[")
        words.append(str(PART_LABELS.get(name, name)) + (f" {row.rstrip(']')}" if bracket else ""))
    return " / ".join(words)


def _fault(where: str, value: Any, expected: str) -> ValidationError:
    return ValidationError(
        _("%(where)s: “%(value)s” is not %(expected)s."),
        params={"where": _in_words(where), "value": str(value)[:60], "expected": expected},
    )


def _expect(where: str, value: Any, is_right: bool, expected: str) -> Any:
    if not is_right:
        raise _fault(where, value, expected)
    return value


def _whole(where: str, value: Any, largest: int) -> int:
    is_right = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest
    return int(_expect(where, value, is_right, _("a whole number from 0 to %(largest)d") % {"largest": largest}))


def _decimal(where: str, value: Any, largest: Decimal, expected: str) -> str:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise _fault(where, value, expected) from None
    if not (number.is_finite() and 0 <= number <= largest) or isinstance(value, bool):
        raise _fault(where, value, expected)
    return f"{number.normalize():f}"


def _date(where: str, value: Any) -> str:
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise _fault(where, value, _("a date like 2026-12-31")) from None


def _text(where: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or value.keys() - {"zh-Hans", "en"}:
        raise _fault(where, value, _("a text by language, zh-Hans and en"))
    texts = {language: text.strip() for language, text in value.items() if isinstance(text, str) and text.strip()}
    if any(len(text) > MAX_TEXT for text in texts.values()):
        raise _fault(where, "…", _("a text of at most %(limit)d characters") % {"limit": MAX_TEXT})
    return texts


def _rows(where: str, part: Part, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_ROWS:
        raise _fault(where, value, _("a list of at most %(limit)d rows") % {"limit": MAX_ROWS})
    rows = []
    for number, row in enumerate(value, start=1):
        cleaned = _clean_parts(f"{where}[{number}]", part.columns, row)
        lacking = [name for name, column in part.columns.items() if column.is_due and name not in cleaned]
        if cleaned and lacking:
            raise _fault(f"{where}[{number}].{lacking[0]}", "", _("filled in"))
        if cleaned:
            rows.append(cleaned)
    return rows

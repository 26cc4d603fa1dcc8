"""A quote as the API says it: of an issued one its snapshot and its life, of a draft what would be frozen now.

Nothing here is internal: no cost, no floor price, no internal note. Money is a string with its currency.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypedDict

from django.contrib.auth.models import User
from django.utils import timezone

from catalog.money import money_json
from quotes import access, snapshot
from quotes.models import QuoteLine, QuoteRevision
from quotes.services import approvals_needed, issue_faults
from quotes.states import OPEN_STATES


class Money(TypedDict):
    amount: str
    currency: str


class CustomerAnswer(TypedDict):
    name: str
    tax_id: str
    address: str
    contact_name: str
    contact_phone: str
    contact_email: str
    delivery_place: str


class QuoteLineAnswer(TypedDict):
    position: int
    group: str
    kind: str
    sku: str
    name: dict[str, str]
    specification: dict[str, str]
    unit: str
    quantity: str
    period_count: int
    list_price: Money | None
    unit_price: Money | None
    discount_fraction: str
    discount_amount: Money | None
    tax_rate: str
    tax_category: str
    net: Money | None
    tax: Money | None
    gross: Money | None
    is_included: bool
    is_optional: bool
    sized_quantity: str | None
    price_origin: str
    price_as_of: str | None
    is_indicative: bool
    lead_time_days: int | None


class TaxGroupAnswer(TypedDict):
    rate: str
    base: Money
    tax: Money


class TotalsAnswer(TypedDict):
    subtotal: Money
    discount: Money
    net: Money
    tax_groups: list[TaxGroupAnswer]
    tax: Money
    gross: Money


class NoticeAnswer(TypedDict):
    code: str
    message: str


class SizingAnswer(TypedDict):
    query: str
    engine_version: str | None
    catalog_revision: str | None


class RevisionAnswer(TypedDict):
    revision: int
    number: str | None
    state: str


class QuoteAnswer(TypedDict):
    id: str
    number: str | None
    revision: int
    state: str
    owner: str
    basis: str
    language: str
    paper: str
    currency: str
    term_months: int | None
    project: str
    customer: CustomerAnswer
    customer_note: str
    pricing_date: str
    valid_through: str
    time_zone: str
    prices_include_tax: bool
    discount_fraction: str
    discount_amount: Money | None
    lines: list[QuoteLineAnswer]
    totals: TotalsAnswer
    amount_in_words: dict[str, str]
    monthly_net: Money | None
    monthly_gross: Money | None
    deposit: Money | None
    payments: list[dict[str, Any]]
    missing_prices: list[int]
    created_at: str
    updated_at: str
    issued_at: str | None
    expires_at: str | None
    decided_at: str | None
    snapshot_sha256: str | None
    pdf_sha256: str | None
    actions: list[str]
    faults: list[NoticeAnswer]
    approvals_needed: list[NoticeAnswer]
    sizing: SizingAnswer
    revisions: list[RevisionAnswer]
    engine_version: str | None
    catalog_revision: str | None


class QuoteRowAnswer(TypedDict):
    """A quote in the list: its newest revision."""

    id: str
    number: str | None
    revision: int
    state: str
    owner: str
    basis: str
    customer_name: str
    project: str
    total_net: Money
    total_gross: Money
    valid_through: str
    created_at: str
    issued_at: str | None


def quote_answer(revision: QuoteRevision, user: User) -> QuoteAnswer:
    """What the user sees of one revision."""
    lines = list(revision.lines.all())
    content = snapshot.parse(revision.snapshot) if revision.is_frozen else snapshot.build(revision, lines)
    now = timezone.now()
    state = revision.effective_state(now)
    sizing = _sizing(content)
    return {
        "id": str(revision.quote.public_id),
        "number": revision.number,
        "revision": revision.revision_index,
        "state": state,
        "owner": revision.quote.owner.get_username(),
        "basis": content["basis"],
        "language": content["language"],
        "paper": content["paper"],
        "currency": content["currency"],
        "term_months": content["term_months"],
        "project": content["project"],
        "customer": {name: content["customer"][name] for name in CustomerAnswer.__annotations__},  # type: ignore[typeddict-item]
        "customer_note": content["customer_note"],
        "pricing_date": content["pricing_date"],
        "valid_through": content["valid_through"],
        "time_zone": content["time_zone"],
        "prices_include_tax": content["prices_include_tax"],
        "discount_fraction": content["discount_fraction"],
        "discount_amount": content.get("discount_amount"),
        "lines": [_line(line) for line in content["lines"]],
        "totals": _picked(content["totals"], TotalsAnswer),
        "amount_in_words": content["words"],
        "monthly_net": content["monthly_net"],
        "monthly_gross": content["monthly_gross"],
        "deposit": content["deposit"],
        "payments": content["payments"],
        "missing_prices": content["missing_prices"],
        "created_at": revision.created_at.isoformat(),
        "updated_at": revision.updated_at.isoformat(),
        "issued_at": _time(revision.issued_at),
        "expires_at": _time(revision.expires_at),
        "decided_at": _time(revision.decided_at),
        "snapshot_sha256": revision.snapshot_sha256 or None,
        "pdf_sha256": revision.pdf_sha256 or None,
        "actions": sorted(access.open_actions(user, revision)),
        **_open_questions(revision, lines),
        "sizing": sizing,
        "revisions": [
            {
                "revision": other.revision_index,
                "number": other.number,
                "state": other.effective_state(now),
            }
            for other in revision.quote.revisions.order_by("revision_index").defer("snapshot", "sizing")
        ],
        "engine_version": sizing["engine_version"],
        "catalog_revision": sizing["catalog_revision"],
    }


def quote_row(revision: QuoteRevision) -> QuoteRowAnswer:
    def money(amount: Decimal) -> Money:
        return {"amount": money_json(amount, revision.currency)["amount"], "currency": revision.currency}

    return {
        "id": str(revision.quote.public_id),
        "number": revision.number,
        "revision": revision.revision_index,
        "state": revision.effective_state(timezone.now()),
        "owner": revision.quote.owner.get_username(),
        "basis": revision.basis,
        "customer_name": revision.customer_name,
        "project": revision.project,
        "total_net": money(revision.total_net),
        "total_gross": money(revision.total_gross),
        "valid_through": revision.valid_through.isoformat(),
        "created_at": revision.created_at.isoformat(),
        "issued_at": _time(revision.issued_at),
    }


def etag_of(revision: QuoteRevision) -> str:
    """Changes with content, state and every other write to the revision; an expiry changes it too."""
    parts = (
        revision.quote.public_id,
        revision.revision_index,
        revision.content_version,
        revision.effective_state(timezone.now()),
        revision.updated_at.isoformat(),
    )
    return f'"{hashlib.sha256(":".join(str(part) for part in parts).encode()).hexdigest()[:32]}"'


def _open_questions(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> Any:
    """What stands against issue, and whose approval it needs; nothing once the draft is one no more."""
    if revision.state not in OPEN_STATES:
        return {"faults": [], "approvals_needed": []}
    return {
        "faults": [{"code": row.code, "message": row.message} for row in issue_faults(revision, lines, timezone.now())],
        "approvals_needed": [
            {"code": need.rule_code, "message": f"{need.message} {need.obstacle}".rstrip()}
            for need in approvals_needed(revision, lines)
        ],
    }


def _line(line: dict[str, Any]) -> QuoteLineAnswer:
    return _picked(line, QuoteLineAnswer)  # type: ignore[return-value]


def _picked(values: dict[str, Any], shape: Any) -> dict[str, Any]:
    """Only the names of the answer: what is added to the snapshot does not leak into it."""
    return {name: values.get(name) for name in shape.__annotations__}


def _sizing(content: snapshot.Snapshot) -> SizingAnswer:
    sizing = content["sizing"] or {}
    basis = sizing.get("by_language", {}).get("en", {})
    return {
        "query": sizing.get("query", ""),
        "engine_version": basis.get("engine_version"),
        "catalog_revision": basis.get("catalog_revision"),
    }


def _time(value: Any) -> str | None:
    return value.isoformat() if value else None

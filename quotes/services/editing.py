"""Work on a draft: its content, its lines, its end, and the draft of a next revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from quotes import access
from quotes.clauses import clean_clauses
from quotes.models import QuoteRevision, SellerEntity, Terms
from quotes.payments import clean_schedule
from quotes.services.approvals import void_approval
from quotes.services.creation import CONTENT_FIELDS, copy_lines, store_totals
from quotes.services.line_edits import AddedLine, LineEdit, StaleEditError, apply_lines
from quotes.services.log import checked, locked, log
from quotes.states import OPEN_STATES, Action, State, TransitionError

# What the editor may change; basis, currency and sizing belong to the draft's making.
EDITABLE_FIELDS = frozenset(CONTENT_FIELDS) - {
    "basis",
    "currency",
    "price_book",
    "sizing",
    "term_months",
    "exchange",
} | {
    "valid_through",
    "internal_note",
}


def quote_edit(
    *,
    actor: access.Actor,
    revision: QuoteRevision,
    expected_version: int,
    fields: Mapping[str, Any],
    lines: Sequence[LineEdit] = (),
    added: Sequence[AddedLine] = (),
    order: Sequence[int] = (),
) -> QuoteRevision:
    """Change a draft; lines by the rules of `line_edits.apply_lines`.

    Raises `StaleEditError` when it is no longer at `expected_version`.
    """
    unknown = fields.keys() - EDITABLE_FIELDS
    if unknown:
        raise ValueError(f"Not editable: {', '.join(sorted(unknown))}.")
    with transaction.atomic():
        current = locked(revision)
        checked(actor, Action.EDIT, current)
        if current.content_version != expected_version:
            raise StaleEditError(f"The draft is at version {current.content_version}, not {expected_version}.")
        before, after = _apply(current, _checked_fields(fields))
        rows, line_changes = apply_lines(current, lines, added=added, order=order)
        current.content_version += 1
        current.full_clean(exclude=["quote"])
        current.save()
        store_totals(current, rows)
        void_approval(actor, current, rows)
        log(
            actor, Action.EDIT, current, before=before, after=after | {"lines": line_changes} if line_changes else after
        )
        return current


def quote_cancel(*, actor: access.Actor, revision: QuoteRevision, reason: str = "") -> QuoteRevision:
    """Give a draft up. It stays readable and never gets a number."""
    with transaction.atomic():
        current = locked(revision)
        before, after = checked(actor, Action.CANCEL, current)
        current.state = after
        current.save(update_fields=["state", "updated_at"])
        log(actor, Action.CANCEL, current, before={"state": before}, after={"state": after}, reason=reason)
        return current


def quote_revise(*, actor: access.Actor, revision: QuoteRevision) -> QuoteRevision:
    """A draft of the next revision. The issued one stands until the draft is issued; a second call gives the same."""
    with transaction.atomic():
        current = locked(revision)
        checked(actor, Action.REVISE, current)
        newest = current.quote.revisions.order_by("-revision_index").first()
        if newest is not None and newest.pk != current.pk:
            if newest.revises_id == current.pk and State(newest.state) in OPEN_STATES:
                return newest
            if newest.state != State.CANCELLED:
                raise TransitionError(State(newest.state), Action.REVISE)
        draft = _next_draft(current, actor, index=(newest or current).revision_index + 1)
        store_totals(draft, copy_lines(current, draft))
        log(actor, Action.REVISE, draft, before={"revises": current.number or ""})
        return draft


def _next_draft(current: QuoteRevision, actor: access.Actor, *, index: int) -> QuoteRevision:
    seller: SellerEntity | None = current.seller
    terms: Terms | None = current.terms
    now = timezone.now()
    today = seller.today(now) if seller else timezone.localdate(now)
    draft = QuoteRevision(
        quote=current.quote,
        revision_index=index,
        revises=current,
        created_by=actor.user,
        pricing_date=today,
        valid_through=today + timedelta(days=terms.validity_days if terms else 15),
        internal_note=current.internal_note,
        **{name: getattr(current, name) for name in CONTENT_FIELDS},
    )
    draft.full_clean(exclude=["quote"])
    draft.save()
    return draft


_CLEANERS = {"payment_schedule": clean_schedule, "clauses": clean_clauses}


def _checked_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with a schema of their own in its canonical form; raises `ValidationError` by field."""
    checked_values = dict(fields)
    for name, clean in _CLEANERS.items():
        if name in checked_values:
            try:
                checked_values[name] = clean(checked_values[name])
            except ValidationError as error:
                raise ValidationError({name: error}) from None
    return checked_values


def _apply(revision: QuoteRevision, fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for name, value in fields.items():
        old = getattr(revision, name)
        if old != value:
            before[name], after[name] = _plain(old), _plain(value)
            setattr(revision, name, value)
    return before, after


def _plain(value: Any) -> Any:
    """A value as the log keeps it."""
    if isinstance(value, Decimal | date):
        return str(value)
    return value if isinstance(value, str | int | bool | list | dict | None) else str(value)

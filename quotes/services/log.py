"""The audit log and the locked row: what each change begins and ends with."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from quotes import access
from quotes.models import AuditEntry, QuoteRevision
from quotes.states import Action, State, state_after


class ReasonMissingError(ValueError):
    """The step needs a reason in words."""


def log(
    actor: access.Actor,
    action: Action | str,
    revision: QuoteRevision,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    reason: str = "",
) -> AuditEntry:
    """Append to the log; call it inside the transaction of the change."""
    return AuditEntry.objects.create(
        quote_id=revision.quote_id,
        revision=revision,
        actor=actor.user,
        actor_kind=actor.kind if actor.kind != "user" or actor.user is not None else "customer",
        token_name=actor.token_name,
        actor_text=actor.text,
        action=str(action),
        before=before or {},
        after=after or {},
        reason=reason,
        request_id=actor.request_id,
        address=actor.address,
    )


def locked(revision: QuoteRevision) -> QuoteRevision:
    """The row as it is now, held until the transaction ends (SQLite: the whole file is)."""
    rows = QuoteRevision.objects.select_related("quote", "seller", "terms").select_for_update(of=("self",))
    return rows.get(pk=revision.pk)


def checked(actor: access.Actor, action: Action, revision: QuoteRevision) -> tuple[State, State]:
    """State now and after `action`; raises `NotAllowedError` or `TransitionError`."""
    access.require(actor, action, revision)
    state = revision.effective_state(timezone.now())
    return state, state_after(state, action)


def require_open(actor: access.Actor, action: Action, revision: QuoteRevision) -> None:
    """Raises when the action is not open: before a page offers it."""
    checked(actor, action, revision)

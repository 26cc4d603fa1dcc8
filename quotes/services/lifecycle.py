"""What happens to an issued quote: handed over, shared, answered, withdrawn."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from quotes import access
from quotes.models import CustomerLink, QuoteRevision, link_digest, new_link_token
from quotes.services.log import checked, locked, log
from quotes.states import Action, TransitionError, state_after


class ReasonMissingError(ValueError):
    """The step needs a reason in words."""


def quote_mark_sent(*, actor: access.Actor, revision: QuoteRevision, reason: str) -> QuoteRevision:
    """Record that the quote was handed over, and how."""
    return _move(actor, Action.MARK_SENT, revision, reason)


def quote_withdraw(*, actor: access.Actor, revision: QuoteRevision, reason: str) -> QuoteRevision:
    """Take an unanswered quote back; it keeps its number."""
    return _move(actor, Action.WITHDRAW, revision, reason)


def quote_accept(*, actor: access.Actor, revision: QuoteRevision, reason: str) -> QuoteRevision:
    """Record the customer's yes that reached the staff; `reason` says what proves it."""
    return _move(actor, Action.ACCEPT, revision, reason)


def quote_decline(*, actor: access.Actor, revision: QuoteRevision, reason: str) -> QuoteRevision:
    """Record the customer's no and its reason."""
    return _move(actor, Action.DECLINE, revision, reason)


def quote_share(*, actor: access.Actor, revision: QuoteRevision) -> str:
    """A new link for the customer; returns the token, which is not stored."""
    token = new_link_token()
    if actor.user is None:
        raise access.NotAllowedError("A link is made by a member of staff.")
    with transaction.atomic():
        current = locked(revision)
        checked(actor, Action.SHARE, current)
        link = CustomerLink.objects.create(revision=current, token_sha256=link_digest(token), created_by=actor.user)
        log(actor, Action.SHARE, current, after={"link": str(link)})
    return token


def quote_unshare(*, actor: access.Actor, revision: QuoteRevision) -> int:
    """Close all links of a revision; returns how many were open."""
    with transaction.atomic():
        current = locked(revision)
        access.require(actor, Action.SHARE, current)
        closed = current.links.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())
        if closed:
            log(actor, "unshare", current, before={"open_links": closed})
    return closed


def quote_answer_by_customer(
    *, actor: access.Actor, revision: QuoteRevision, action: Action, pdf_sha256: str, statement: dict[str, Any]
) -> QuoteRevision:
    """The customer's own yes or no through a link.

    Refused (`TransitionError`) when the validity has run out at this moment, when the revision no longer stands, or
    when the document that was shown is not the one stored. The same answer twice returns the first one.
    """
    with transaction.atomic():
        current = locked(revision)
        state = current.effective_state(timezone.now())
        if current.decision.get("action") == action and current.decision.get("by") == "customer":
            return current
        after = state_after(state, action)
        if pdf_sha256 != current.pdf_sha256:
            raise TransitionError(state, action)
        decision = {"action": action, "by": "customer", "pdf_sha256": pdf_sha256, **statement}
        return _decide(actor, action, current, after, decision, reason=statement.get("reason", ""))


def _move(actor: access.Actor, action: Action, revision: QuoteRevision, reason: str) -> QuoteRevision:
    if not reason.strip():
        raise ReasonMissingError(f"{action} needs a reason.")
    with transaction.atomic():
        current = locked(revision)
        _before, after = checked(actor, action, current)
        decision = {"action": action, "by": "staff", "reason": reason}
        return _decide(actor, action, current, after, decision, reason=reason)


def _decide(
    actor: access.Actor,
    action: Action,
    current: QuoteRevision,
    after: str,
    decision: dict[str, Any],
    *,
    reason: str,
) -> QuoteRevision:
    before = current.state
    current.state = after
    changed = ["state", "updated_at"]
    if action is not Action.MARK_SENT:
        current.decided_at, current.decision = timezone.now(), decision
        changed += ["decided_at", "decision"]
    current.save(update_fields=changed)
    log(actor, action, current, before={"state": before}, after={"state": after}, reason=reason)
    return current

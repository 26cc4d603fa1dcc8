"""What happens to an issued quote: handed over, shared, answered, withdrawn."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from quotes import access
from quotes.models import DECLINE_REASONS, AcceptanceProof, CustomerLink, QuoteRevision, link_digest, new_link_token
from quotes.services.faults import controlled_skus
from quotes.services.log import ReasonMissingError, checked, locked, log
from quotes.services.mails import answer_mails
from quotes.states import Action, TransitionError, state_after


def quote_mark_sent(*, actor: access.Actor, revision: QuoteRevision, reason: str) -> QuoteRevision:
    """Record that the quote was handed over, and how."""
    return _move(actor, Action.MARK_SENT, revision, reason)


def quote_withdraw(*, actor: access.Actor, revision: QuoteRevision, reason: str) -> QuoteRevision:
    """Take an unanswered quote back; it keeps its number."""
    return _move(actor, Action.WITHDRAW, revision, reason)


MAX_PROOF_BYTES = 10 * 1024 * 1024
# What a proof may be, told by its first bytes; a name or a browser's word proves nothing.
_PROOF_TYPES = ((b"%PDF-", "application/pdf"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFile:
    """The signed order or its photograph, as uploaded."""

    name: str
    content: bytes

    @property
    def media_type(self) -> str:
        """By content; raises `ValidationError` for what is neither PDF nor picture, empty or too large."""
        found = next((kind for head, kind in _PROOF_TYPES if self.content.startswith(head)), None)
        if found is None or len(self.content) > MAX_PROOF_BYTES:
            raise ValidationError(_("The proof must be a PDF, PNG or JPEG file of at most 10 MB."))
        return found


def quote_accept(
    *, actor: access.Actor, revision: QuoteRevision, reason: str, proof: ProofFile | None = None
) -> QuoteRevision:
    """Record the customer's yes that reached the staff; `reason` says what proves it, `proof` is it.

    Raises `ReasonMissingError` without either.
    """
    access.require(actor, Action.ACCEPT, revision)
    if proof is None:
        raise ReasonMissingError("An acceptance needs its proof: the signed order as a file.")
    if actor.user is None:
        raise access.NotAllowedError("An acceptance is recorded by a member of staff.")
    media_type, digest = proof.media_type, hashlib.sha256(proof.content).hexdigest()
    with transaction.atomic():
        accepted = _move(actor, Action.ACCEPT, revision, reason, proof_sha256=digest)
        AcceptanceProof.objects.create(
            revision=accepted,
            name=proof.name[-200:],
            media_type=media_type,
            content=proof.content,
            sha256=digest,
            uploaded_by=actor.user,
        )
        return accepted


def quote_decline(
    *, actor: access.Actor, revision: QuoteRevision, reason: str, reason_code: str = "other"
) -> QuoteRevision:
    """Record the customer's no, its reason of the list (`DECLINE_REASONS`) and in words."""
    return _move(actor, Action.DECLINE, revision, reason, reason_code=known_decline_reason(reason_code))


def known_decline_reason(code: str) -> str:
    """The code; raises `ValidationError` when the list does not hold it."""
    if code not in dict(DECLINE_REASONS):
        raise ValidationError(_("“%(code)s” is not a reason of the list."), params={"code": code[:40]})
    return code


def quote_acknowledge_export(*, actor: access.Actor, revision: QuoteRevision, statement: str) -> QuoteRevision:
    """Record that licence and destination of the controlled parts were checked; by whom, when and with which result.

    It holds for the parts that are in the draft now; another controlled part needs another statement.
    """
    if not statement.strip():
        raise ReasonMissingError("The acknowledgement needs a statement.")
    with transaction.atomic():
        current = locked(revision)
        checked(actor, Action.EDIT, current)
        before = current.export_acknowledgement
        current.export_acknowledgement = {
            "statement": statement.strip()[:1000],
            "by": actor.user.get_username() if actor.user else actor.text,
            "at": timezone.now().isoformat(),
            "skus": controlled_skus(list(current.lines.all())),
        }
        current.content_version += 1
        current.save(update_fields=["export_acknowledgement", "content_version", "updated_at"])
        log(
            actor,
            "acknowledge_export",
            current,
            before={"skus": before.get("skus", [])},
            after={"skus": current.export_acknowledgement["skus"]},
            reason=statement,
        )
        return current


def quote_set_shared(*, actor: access.Actor, revision: QuoteRevision, is_shared: bool) -> None:
    """Let the other representatives see the quote, or no longer."""
    with transaction.atomic():
        current = locked(revision)
        access.require(actor, Action.EDIT, current)
        before = current.quote.is_shared
        if before == is_shared:
            return
        current.quote.is_shared = is_shared
        current.quote.save(update_fields=["is_shared"])
        log(actor, "share_in_team", current, before={"is_shared": before}, after={"is_shared": is_shared})


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
        decided = _decide(actor, action, current, after, decision, reason=statement.get("reason", ""))
        answer_mails(decided, action, statement)
        return decided


def _move(actor: access.Actor, action: Action, revision: QuoteRevision, reason: str, **details: str) -> QuoteRevision:
    if not reason.strip():
        raise ReasonMissingError(f"{action} needs a reason.")
    with transaction.atomic():
        current = locked(revision)
        _before, after = checked(actor, action, current)
        decision = {"action": action, "by": "staff", "reason": reason, **details}
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

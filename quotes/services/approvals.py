"""Submit, recall, approve, reject: what a draft needs before it may be issued, and who says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from quotes import access, approval, payments, snapshot
from quotes.approval import ApprovalNeed, Facts, MeasuredLine
from quotes.clause_words import CLAUSE_LABELS
from quotes.clauses import differing_clauses
from quotes.models import ApprovalRequest, ApprovalRule, QuoteLine, QuoteRevision
from quotes.pricing import group_of
from quotes.services.approvers import limits_in_force, open_requests_for, with_obstacles
from quotes.services.faults import IssueRefusedError, issue_faults
from quotes.services.line_edits import StaleEditError
from quotes.services.log import ReasonMissingError, checked, locked, log
from quotes.states import Action, State, TransitionError

Decision = ApprovalRequest.Decision
# What an approval covers. The customer's address, contacts and notes are not among it.
COMMERCIAL_FIELDS = (
    "basis",
    "currency",
    "tax_mode",
    "prices_include_tax",
    "term_months",
    "discount_fraction",
    "discount_amount",
    "valid_through",
    "deposit_months",
    "payment_schedule",
    "clauses",
    "special_terms",
    "seller_id",
    "terms_id",
)
COMMERCIAL_LINE_FIELDS = (
    "position",
    "kind",
    "sku",
    "name_zh",
    "name_en",
    "specification_zh",
    "specification_en",
    "unit",
    "quantity",
    "period_count",
    "list_price",
    "list_period_count",
    "unit_price",
    "discount_fraction",
    "discount_amount",
    "tax_category",
    "tax_rate",
    "is_included",
    "is_optional",
)


def content_sha256(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> str:
    """Hash of price, quantity, term, tax, validity and clauses: what an approval is given for."""
    content = {
        "revision": {name: _plain(getattr(revision, name)) for name in COMMERCIAL_FIELDS},
        "customer": revision.customer_name,
        "lines": [{name: _plain(getattr(line, name)) for name in COMMERCIAL_LINE_FIELDS} for line in lines],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return value if isinstance(value, str | int | bool | list | dict | None) else str(value)


def facts_of(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> Facts:
    """The quote as the rules see it. Options count by their own price, parts inside another price do not."""
    sums = snapshot.revision_totals(revision, lines)
    measured = []
    for line in lines:
        if line.is_included or line.unit_price is None:
            continue
        exact = line.quantity * line.period_count * line.unit_price * (1 - line.discount_fraction)
        paid = exact - line.discount_amount
        if not line.is_optional:
            paid *= 1 - sums.net_discount_fraction
        if revision.prices_include_tax:
            paid /= 1 + line.tax_rate
        measured.append(
            MeasuredLine(
                position=line.position,
                name_zh=line.name_zh,
                name_en=line.name_en,
                group=group_of(line.kind),
                quantity=line.quantity,
                list_price=line.list_price,
                list_periods=approval.list_periods(
                    unit=line.unit,
                    period_count=line.period_count,
                    stated=line.list_period_count,
                    term_months=revision.term_months,
                ),
                paid=paid,
                floor_price=line.floor_price,
                cost_price=line.cost_price,
            )
        )
    return Facts(
        basis=revision.basis,
        currency=revision.currency,
        lines=measured,
        net_total=sums.totals.net,
        term_months=revision.term_months,
        payment_days=payments.latest_days(revision.payment_schedule),
        validity_days=(revision.valid_through - revision.pricing_date).days,
        changed_terms=_changed_terms(revision),
    )


def _changed_terms(revision: QuoteRevision) -> tuple[tuple[str, str], ...]:
    """What is not as the standard terms have it, in Chinese and in English."""
    terms = revision.terms
    changed: list[Any] = []
    if terms is not None:
        changed += [CLAUSE_LABELS[name] for name in differing_clauses(revision.clauses, terms.clauses)]
        if not terms.is_current:
            changed.append(_("terms of an earlier version"))
        if revision.payment_schedule != terms.payment_schedule:
            changed.append(_("payment schedule"))
    if revision.special_terms.strip():
        changed.append(_("terms beside the standard ones"))
    return tuple((_word("zh-hans", label), _word("en", label)) for label in changed)


def _word(language: str, label: Any) -> str:
    with translation.override(language):
        return str(label)


def approvals_needed(revision: QuoteRevision, lines: Sequence[QuoteLine] | None = None) -> tuple[ApprovalNeed, ...]:
    """Which approvals this content needs, and why. The limits are those of the quote's owner."""
    rows = list(revision.lines.all()) if lines is None else lines
    owner = revision.quote.owner
    limits = limits_in_force()
    needs = approval.needs(
        facts_of(revision, rows),
        _rules(),
        limits,
        seller_id=owner.pk,
        seller_roles=frozenset(str(role) for role in access.roles_of(owner)),
    )
    return with_obstacles(needs, revision, limits)


def _rules() -> list[approval.Rule]:
    names = approval.Rule.__dataclass_fields__
    rows = ApprovalRule.objects.filter(is_active=True).values(*names)
    return [approval.Rule(**row) for row in rows]


def has_standing_approval(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> bool:
    """Whether this very content was approved."""
    return revision.state == State.APPROVED and revision.approved_sha256 == content_sha256(revision, lines)


def quote_submit(*, actor: access.Actor, revision: QuoteRevision, expected_version: int | None = None) -> QuoteRevision:
    """Ask for the approvals that the draft needs; where it needs none it is approved at once.

    Raises
    ------
    IssueRefusedError
        When the draft is not complete.
    StaleEditError
        When it is not at `expected_version`.
    """
    with transaction.atomic():
        current = locked(revision)
        before, after = checked(actor, Action.SUBMIT, current)
        if actor.user is None:
            raise access.NotAllowedError("A draft is submitted by a member of staff.")
        if expected_version is not None and current.content_version != expected_version:
            raise StaleEditError(f"The draft is at version {current.content_version}, not {expected_version}.")
        lines = list(current.lines.all())
        faults = issue_faults(current, lines, timezone.now())
        if faults:
            raise IssueRefusedError(faults)
        needed, content = approvals_needed(current, lines), content_sha256(current, lines)
        current.submitted_at, current.submitted_by = timezone.now(), actor.user
        if needed:
            current.state = after
            ApprovalRequest.objects.bulk_create(_request(current, need, content, actor.user) for need in needed)
        else:
            current.state, current.approved_at, current.approved_sha256 = State.APPROVED, timezone.now(), content
        current.save()
        log(
            actor,
            Action.SUBMIT,
            current,
            before={"state": before},
            after={"state": current.state, "approvals": [need.rule_code for need in needed], "content_sha256": content},
        )
        return current


def _request(revision: QuoteRevision, need: ApprovalNeed, content: str, user: User) -> ApprovalRequest:
    names = ("rule_code", "condition", "product_group", "approver_role", "measured", "message_zh", "message_en")
    return ApprovalRequest(
        revision=revision, content_sha256=content, requested_by=user, **{name: getattr(need, name) for name in names}
    )


def quote_recall(*, actor: access.Actor, revision: QuoteRevision, reason: str = "") -> QuoteRevision:
    """Take the draft back from those who approve, or from its approval."""
    with transaction.atomic():
        current = locked(revision)
        before, after = checked(actor, Action.RECALL, current)
        _close(current, Decision.RECALLED)
        _back_to(current, State(after))
        current.save()
        log(actor, Action.RECALL, current, before={"state": before}, after={"state": after}, reason=reason)
        return current


def quote_approve(
    *, actor: access.Actor, revision: QuoteRevision, comment: str = "", expected_sha256: str = ""
) -> QuoteRevision:
    """Agree to all that the actor may decide; the quote is approved when nothing is pending any more.

    Raises
    ------
    NotAllowedError
        When the actor is an author, or nothing of it is within their role and limit.
    StaleEditError
        When the content is not the one that was submitted, or not the one shown (`expected_sha256`).
    """
    with transaction.atomic():
        current = locked(revision)
        before, after = checked(actor, Action.APPROVE, current)
        content = content_sha256(current, list(current.lines.all()))
        if expected_sha256 and expected_sha256 != content:
            raise StaleEditError("The draft is not the one that was shown.")
        decided = _decide(actor, current, Decision.APPROVED, comment)
        if any(request.content_sha256 != content for request in decided):
            raise StaleEditError("The draft changed after it was submitted.")
        if not current.approval_requests.filter(decision=Decision.PENDING).exists():
            current.state, current.approved_at, current.approved_sha256 = after, timezone.now(), content
            current.save()
        log(
            actor,
            Action.APPROVE,
            current,
            before={"state": before},
            after={"state": current.state, "rules": [r.rule_code for r in decided], "content_sha256": content},
            reason=comment,
        )
        return current


def quote_reject(*, actor: access.Actor, revision: QuoteRevision, comment: str) -> QuoteRevision:
    """Refuse, with a comment; the quote is a draft again and all that was pending is closed."""
    if not comment.strip():
        raise ReasonMissingError("A rejection needs a comment.")
    with transaction.atomic():
        current = locked(revision)
        before, after = checked(actor, Action.REJECT, current)
        decided = _decide(actor, current, Decision.REJECTED, comment)
        _close(current, Decision.VOID)
        _back_to(current, State(after))
        current.save()
        rules = [request.rule_code for request in decided]
        log(
            actor,
            Action.REJECT,
            current,
            before={"state": before},
            after={"state": after, "rules": rules},
            reason=comment,
        )
        return current


def void_approval(actor: access.Actor, current: QuoteRevision, lines: Sequence[QuoteLine]) -> None:
    """After an edit: back to draft where the content is no longer what was submitted or approved."""
    state = State(current.state)
    if state not in {State.PENDING_APPROVAL, State.APPROVED}:
        return
    if content_sha256(current, lines) == _submitted_content(current):
        return
    _close(current, Decision.VOID)
    _back_to(current, State.DRAFT)
    current.save(update_fields=["state", "approved_at", "approved_sha256", "updated_at"])
    log(actor, "void_approval", current, before={"state": state}, after={"state": State.DRAFT})


def _submitted_content(current: QuoteRevision) -> str:
    if current.state == State.APPROVED:
        return current.approved_sha256
    newest = current.approval_requests.filter(decision__in=[Decision.PENDING, Decision.APPROVED]).last()
    return newest.content_sha256 if newest else ""


def _decide(
    actor: access.Actor, current: QuoteRevision, decision: ApprovalRequest.Decision, comment: str
) -> list[ApprovalRequest]:
    own = open_requests_for(actor.user, current) if actor.user is not None else []
    if not own:
        raise access.NotAllowedError("Approval needs another person: with the role and limit, and not an author.")
    for request in own:
        request.decision, request.decided_by, request.decided_at = decision, actor.user, timezone.now()
        request.comment = comment
        request.save()
    return own


def _close(current: QuoteRevision, decision: ApprovalRequest.Decision) -> None:
    current.approval_requests.filter(decision=Decision.PENDING).update(decision=decision, decided_at=timezone.now())


def _back_to(current: QuoteRevision, state: State) -> None:
    current.state, current.approved_at, current.approved_sha256 = state, None, ""


def require_approval(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> Iterable[ApprovalNeed]:
    """What still stands against issue: nothing where this content is approved or needs nobody."""
    if revision.state == State.APPROVED:
        return () if has_standing_approval(revision, lines) else approvals_needed(revision, lines)
    if revision.state == State.DRAFT:
        return approvals_needed(revision, lines)
    raise TransitionError(State(revision.state), Action.ISSUE)

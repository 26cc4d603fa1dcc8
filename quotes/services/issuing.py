"""Issue: check, hold a number, render, and store number, snapshot and PDF in one transaction.

The order is what makes it safe (see `quotes.numbers`): everything slow happens before the transaction, on a snapshot of
the draft; the transaction begins by checking that the draft is still the one that was rendered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from quotes import access, numbers, snapshot, verification
from quotes.models import Quote, QuoteDocument, QuoteLine, QuoteRevision, VerificationCode, end_of_day
from quotes.pdf import render as render_pdf
from quotes.services.approvals import require_approval
from quotes.services.faults import Fault, IssueRefusedError, issue_faults
from quotes.services.line_edits import StaleEditError
from quotes.services.log import checked, locked, log
from quotes.states import LIVE_STATES, Action, State, state_after

ATTEMPTS = 3


def quote_issue(
    *,
    actor: access.Actor,
    revision: QuoteRevision,
    expected_version: int | None = None,
    render: Callable[[snapshot.Snapshot], bytes] = render_pdf,
    now: datetime | None = None,
) -> QuoteRevision:
    """Issue a draft. `render` makes the PDF of a snapshot; it runs outside any transaction.

    `now` is the time of issue where it is not this moment: sample quotes of the past.

    Raises
    ------
    IssueRefusedError
        When the draft is incomplete or lacks an approval, with the faults.
    StaleEditError
        When the draft is not at `expected_version`, or changed while it was rendered.
    """
    current = QuoteRevision.objects.select_related("quote", "seller", "terms").get(pk=revision.pk)
    checked(actor, Action.ISSUE, current)
    if expected_version is not None and current.content_version != expected_version:
        raise StaleEditError(f"The draft is at version {current.content_version}, not {expected_version}.")
    lines = list(current.lines.all())
    faults = [*issue_faults(current, lines, now or timezone.now()), *_missing_approvals(current, lines)]
    if faults:
        raise IssueRefusedError(faults)
    for attempt in range(1, ATTEMPTS + 1):
        issued_at = now or timezone.now()
        with _number(current, issued_at) as (number, held):
            content = snapshot.build(
                current, lines, number=number, issued_at=issued_at, verification=verification.new_verification()
            )
            document = render(content)
            try:
                return _store(actor, current, content, document, held)
            except numbers.NumberLostError:
                if attempt == ATTEMPTS:
                    raise
    raise AssertionError  # the loop returns or raises


def _missing_approvals(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> Iterator[Fault]:
    for need in require_approval(revision, lines):
        yield Fault(
            code="approval_missing",
            message=_("Needs approval: %(why)s Submit the draft first.") % {"why": need.message},
            params={"rule": need.rule_code, "role": need.approver_role},
        )


@contextmanager
def _number(revision: QuoteRevision, issued_at: datetime) -> Iterator[tuple[str, numbers.HeldNumber | None]]:
    """The number to print: a new one for a first issue, else the quote's own with the revision."""
    if revision.quote.number:
        yield f"{revision.quote.number}-R{revision.revision_index}", None
        return
    zone = revision.seller.time_zone if revision.seller else "Asia/Shanghai"
    series = numbers.series_for_year(issued_at.astimezone(ZoneInfo(zone)).year)
    with numbers.held_number(series) as held:
        yield held.number, held


@transaction.atomic
def _store(
    actor: access.Actor,
    rendered: QuoteRevision,
    content: snapshot.Snapshot,
    document: bytes,
    held: numbers.HeldNumber | None,
) -> QuoteRevision:
    current = locked(rendered)
    before, after = checked(actor, Action.ISSUE, current)
    if (current.content_version, current.state) != (rendered.content_version, rendered.state):
        raise StaleEditError("The draft changed while it was being issued.")
    if held is not None:
        numbers.take(held)
        Quote.objects.filter(pk=current.quote_id, number__isnull=True).update(number=held.number)
        current.quote.number = held.number
    _supersede(actor, current)
    text = snapshot.canonical(content)
    current.state = after
    current.number = content["number"]
    current.issued_at = datetime.fromisoformat(content["issued_at"])
    current.issued_by = actor.user
    current.expires_at = end_of_day(current.valid_through, content["time_zone"])
    current.snapshot, current.snapshot_sha256 = text, snapshot.digest(text)
    current.pdf_sha256 = hashlib.sha256(document).hexdigest()
    current.total_net = Decimal(content["totals"]["net"]["amount"])
    current.total_gross = Decimal(content["totals"]["gross"]["amount"])
    current.save()
    QuoteDocument.objects.create(revision=current, pdf=document, sha256=current.pdf_sha256)
    VerificationCode.objects.create(revision=current, code=content["verification"]["code"])
    log(
        actor,
        Action.ISSUE,
        current,
        before={"state": before},
        after={"state": after, "number": current.number, "snapshot_sha256": current.snapshot_sha256},
    )
    return current


def _supersede(actor: access.Actor, current: QuoteRevision) -> None:
    """The revision that this one replaces no longer stands; refused when the customer has accepted it meanwhile."""
    if current.revises_id is None:
        return
    replaced = QuoteRevision.objects.select_for_update().get(pk=current.revises_id)
    state_after(replaced.effective_state(timezone.now()), Action.REVISE)
    if State(replaced.state) not in LIVE_STATES:
        return
    before, replaced.state = replaced.state, State.SUPERSEDED
    replaced.save(update_fields=["state", "updated_at"])
    log(actor, "supersede", replaced, before={"state": before}, after={"state": State.SUPERSEDED})

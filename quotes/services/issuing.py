"""Issue: check, hold a number, render, and store number, snapshot and PDF in one transaction.

The order is what makes it safe (see `quotes.numbers`): everything slow happens before the transaction, on a snapshot of
the draft; the transaction begins by checking that the draft is still the one that was rendered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from quotes import access, fonts, numbers, snapshot
from quotes.models import (
    MAX_LINES,
    Quote,
    QuoteDocument,
    QuoteLine,
    QuoteRevision,
    end_of_day,
)
from quotes.paper import line_numbers
from quotes.pdf import render as render_pdf
from quotes.services.line_edits import StaleEditError
from quotes.services.log import checked, locked, log
from quotes.states import LIVE_STATES, Action, State, state_after

ATTEMPTS = 3
MAX_VALIDITY_DAYS = 366


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that stands against issue, in words that name what to do."""

    code: str
    message: str
    params: dict[str, str] = field(default_factory=dict)


class IssueRefusedError(Exception):
    """The draft is not complete; `faults` say what is missing."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(" ".join(fault.message for fault in faults))


def issue_faults(revision: QuoteRevision, lines: Sequence[QuoteLine], now: datetime) -> tuple[Fault, ...]:
    """All that stands against issuing this draft now."""
    content = snapshot.build(revision, lines)
    return (*_content_faults(revision, now), *_line_faults(revision, lines, content), *_letter_faults(content))


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
        When the draft is incomplete, with the faults.
    StaleEditError
        When the draft is not at `expected_version`, or changed while it was rendered.
    """
    current = QuoteRevision.objects.select_related("quote", "seller", "terms").get(pk=revision.pk)
    checked(actor, Action.ISSUE, current)
    if expected_version is not None and current.content_version != expected_version:
        raise StaleEditError(f"The draft is at version {current.content_version}, not {expected_version}.")
    lines = list(current.lines.all())
    faults = issue_faults(current, lines, now or timezone.now())
    if faults:
        raise IssueRefusedError(faults)
    for attempt in range(1, ATTEMPTS + 1):
        issued_at = now or timezone.now()
        with _number(current, issued_at) as (number, held):
            content = snapshot.build(current, lines, number=number, issued_at=issued_at)
            document = render(content)
            try:
                return _store(actor, current, content, document, held)
            except numbers.NumberLostError:
                if attempt == ATTEMPTS:
                    raise
    raise AssertionError  # the loop returns or raises


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
    if current.content_version != rendered.content_version:
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


def _content_faults(revision: QuoteRevision, now: datetime) -> Iterator[Fault]:
    if revision.seller is None:
        yield Fault(code="seller_missing", message=_("The seller is missing. Choose one, or add one in the admin."))
    if revision.terms is None:
        yield Fault(code="terms_missing", message=_("The terms are missing. Choose a version."))
    if not revision.customer_name.strip():
        yield Fault(code="customer_missing", message=_("The customer's name is missing."))
    today = revision.seller.today(now) if revision.seller else timezone.localdate(now)
    if revision.valid_through < today:
        yield Fault(
            code="validity_past",
            message=_("The validity ended on %(day)s. Set a later day.") % {"day": revision.valid_through.isoformat()},
        )
    latest = today + timedelta(days=MAX_VALIDITY_DAYS)
    if revision.valid_through > latest:
        yield Fault(
            code="validity_far",
            message=_("The validity runs to %(day)s. The latest day is %(latest)s.")
            % {"day": revision.valid_through.isoformat(), "latest": latest.isoformat()},
        )


def _line_faults(revision: QuoteRevision, lines: Sequence[QuoteLine], content: snapshot.Snapshot) -> Iterator[Fault]:
    """Faults of lines, each named by the number that the paper prints."""
    printed = line_numbers(content)
    sums = snapshot.revision_totals(revision, lines)
    if not sums.totals.line_nets and not sums.missing_positions:
        yield Fault(code="no_lines", message=_("There is no line with a price."))
    if len(lines) > MAX_LINES:
        yield Fault(
            code="too_many_lines",
            message=_("A quote has at most %(limit)d lines; this one has %(count)d.")
            % {"limit": MAX_LINES, "count": len(lines)},
        )
    book = revision.price_book.get("en", {}).get("code") or "—"
    for line in lines:
        if line.position in sums.missing_positions:
            yield Fault(
                code="price_missing",
                message=_(
                    "Line %(number)d, %(sku)s: no price in book %(book)s on %(day)s. Enter one or take the line out."
                )
                % {
                    "number": printed.get(line.position, line.position),
                    "sku": line.sku or line.name_en,
                    "book": book,
                    "day": revision.pricing_date.isoformat(),
                },
                params={"sku": line.sku, "book": book, "date": revision.pricing_date.isoformat()},
            )
        if line.sized_quantity not in (None, line.quantity) and not line.change_reason.strip():
            yield Fault(
                code="reason_missing",
                message=_("Line %(number)d: the quantity differs from the sizing. Say why.")
                % {"number": printed.get(line.position, line.position)},
            )


def _letter_faults(content: snapshot.Snapshot) -> Iterator[Fault]:
    """Characters that the shipped font cannot print: they would come out as boxes."""
    missing = fonts.missing_characters(snapshot.canonical(content))
    if missing:
        shown = " ".join(f"{letter} (U+{ord(letter):04X})" for letter in missing[:10])
        yield Fault(
            code="letters_missing",
            message=_("The document's font cannot print: %(letters)s. Write it otherwise.") % {"letters": shown},
        )

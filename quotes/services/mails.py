"""Which mails a change causes, to whom, and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from quotes import access, snapshot
from quotes.mail_texts import LINK_PLACE, mail_text
from quotes.models import (
    CustomerLink,
    MailKind,
    MailState,
    OutboxMail,
    QuoteRequest,
    QuoteRevision,
    link_digest,
)
from quotes.services.log import checked, locked, log
from quotes.services.sending import link_token, mail_store, new_nonce
from quotes.states import Action, Role

MAX_RECIPIENTS = 10
REMINDER_DAYS = (7, 2)
SAME_MAIL_WITHIN = timedelta(minutes=1)  # a double click


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What a mail says of an issued quote, from its snapshot."""

    number: str
    language: str
    customer: str
    contact: str
    contact_email: str
    seller: str
    currency: str
    total: str
    day: str
    zone: str

    def context(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class TooManyRecipientsError(ValueError):
    """More recipients than one quote is sent to at a time, or none."""


def quote_mail(
    *, actor: access.Actor, revision: QuoteRevision, recipients: Sequence[str], message: str = ""
) -> list[OutboxMail]:
    """Send an issued quote: a mail with the stored PDF and an own link for each recipient.

    The quote becomes `sent` when the first of them is accepted by the mail server. A mail to the same recipient that
    still waits, or went a moment ago, is not doubled.
    """
    addresses = list(dict.fromkeys(address.strip() for address in recipients))
    if not 1 <= len(addresses) <= MAX_RECIPIENTS:
        raise TooManyRecipientsError(f"A quote goes to 1 to {MAX_RECIPIENTS} recipients at a time.")
    if actor.user is None:
        raise access.NotAllowedError("A quote is sent by a member of staff.")
    with transaction.atomic():
        current = locked(revision)
        checked(actor, Action.SHARE, current)
        under_way = {mail.recipient: mail for mail in _under_way(current)}
        new = [_quote_mail(actor.user, current, address, message) for address in addresses if address not in under_way]
        stored = mail_store(new)
        if stored:
            log(actor, "mail", current, after={"recipients": [mail.recipient for mail in stored]})
        return [*(under_way[address] for address in addresses if address in under_way), *stored]


def answer_mails(revision: QuoteRevision, action: Action, statement: dict[str, Any]) -> list[OutboxMail]:
    """Receipts of the customer's yes or no: one to who gave it, one to the quote's owner."""
    facts = _facts(revision)
    kind = MailKind.ACCEPTED if action == Action.ACCEPT else MailKind.DECLINED
    owner: User = revision.quote.owner
    at = timezone.now().astimezone(ZoneInfo(facts.zone))
    context = facts.context() | {
        "at": f"{at:%Y-%m-%d %H:%M} ({facts.zone})",
        "name": statement.get("name", ""),
        "reason": statement.get("reason", ""),
        "pdf_sha256": revision.pdf_sha256,
    }
    mails = []
    for recipient, reply_to, desk_link in (
        (statement.get("email") or facts.contact_email, owner.email, ""),
        (owner.email, statement.get("email") or facts.contact_email, _desk_link(revision)),
    ):
        if recipient:
            subject, body = mail_text(kind, facts.language, context | {"desk_link": desk_link})
            mails.append(
                OutboxMail(
                    kind=kind,
                    revision=revision,
                    recipient=recipient,
                    reply_to=reply_to,
                    subject=subject,
                    body=body,
                    next_try_at=timezone.now(),
                )
            )
    return mail_store(mails)


def request_mails(request: QuoteRequest, sentence: str) -> list[OutboxMail]:
    """Tell the desk of a new request; who asked stands on the page only, behind the login."""
    link = settings.PUBLIC_URL + request.get_absolute_url()
    context = {"reference": request.reference, "sentence": sentence, "desk_link": link}
    subject, body = mail_text(MailKind.REQUEST, request.language, context)
    return mail_store(
        OutboxMail(
            kind=MailKind.REQUEST,
            request=request,
            recipient=recipient,
            subject=subject,
            body=body,
            next_try_at=timezone.now(),
        )
        for recipient in _desk_addresses()
    )


def reminder_mails(now: datetime | None = None) -> list[OutboxMail]:
    """Remind the owners of quotes that expire in 7 or 2 days; each reminder is made once."""
    moment = now or timezone.now()
    stored: list[OutboxMail] = []
    horizon = moment + timedelta(days=max(REMINDER_DAYS) + 2)
    rows = QuoteRevision.objects.live_until(moment).filter(expires_at__lte=horizon)
    for revision in rows.select_related("quote__owner").order_by("expires_at"):
        for mail in _reminders_due(revision, moment):
            with transaction.atomic():
                if not OutboxMail.objects.filter(once_key=mail.once_key).exists():
                    stored += mail_store([mail])
    return stored


def _reminders_due(revision: QuoteRevision, now: datetime) -> Iterator[OutboxMail]:
    """The last reminder whose day has come; one that was missed is not sent beside it."""
    owner: User = revision.quote.owner
    facts = _facts(revision)
    left = (revision.valid_through - now.astimezone(ZoneInfo(facts.zone)).date()).days
    due = [days for days in REMINDER_DAYS if left <= days]
    if not due or not owner.email or not owner.is_active:
        return
    context = facts.context() | {"days": left, "desk_link": _desk_link(revision)}
    subject, body = mail_text(MailKind.EXPIRY, facts.language, context)
    yield OutboxMail(
        kind=MailKind.EXPIRY,
        once_key=f"expiry:{revision.pk}:{min(due)}",
        revision=revision,
        recipient=owner.email,
        subject=subject,
        body=body,
        next_try_at=now,
    )


def _quote_mail(sender: User, revision: QuoteRevision, address: str, message: str) -> OutboxMail:
    nonce = new_nonce()
    CustomerLink.objects.create(revision=revision, token_sha256=link_digest(link_token(nonce)), created_by=sender)
    facts = _facts(revision)
    context = facts.context() | {
        "link": LINK_PLACE,
        "message": message.strip(),
        "sender": sender.get_full_name() or "",
    }
    subject, body = mail_text(MailKind.QUOTE, facts.language, context)
    return OutboxMail(
        kind=MailKind.QUOTE,
        created_by=sender,
        revision=revision,
        recipient=address,
        reply_to=sender.email,
        subject=subject,
        body=body,
        link_nonce=nonce,
        has_document=True,
        next_try_at=timezone.now(),
    )


def _under_way(revision: QuoteRevision) -> list[OutboxMail]:
    mails = revision.mails.filter(kind=MailKind.QUOTE)
    recent = timezone.now() - SAME_MAIL_WITHIN
    return [
        *mails.filter(state=MailState.ACCEPTED, created_at__gt=recent),
        *mails.filter(state=MailState.QUEUED),
    ]


def _facts(revision: QuoteRevision) -> _Facts:
    content = snapshot.parse(revision.snapshot)
    gross = content["totals"]["gross"]
    customer, seller = content["customer"], content["seller"] or {"name": {}}
    language = content["language"]
    return _Facts(
        number=content["number"],
        language=language,
        customer=customer["name"],
        contact=customer["contact_name"],
        contact_email=customer["contact_email"],
        seller=seller["name"].get("en" if language == "en" else "zh-Hans", ""),
        currency=gross["currency"],
        total=f"{Decimal(gross['amount']):,f}",
        day=content["valid_through"],
        zone=content["time_zone"],
    )


def _desk_link(revision: QuoteRevision) -> str:
    return settings.PUBLIC_URL + reverse("quotes:detail", args=[revision.quote.public_id])


def _desk_addresses() -> list[str]:
    """`DESK_EMAIL`, or the addresses of the sales managers where it is empty."""
    if settings.DESK_EMAIL:
        return list(settings.DESK_EMAIL)
    managers = User.objects.filter(is_active=True, groups__name=str(Role.SALES_MANAGER)).exclude(email="")
    return list(managers.order_by("pk").values_list("email", flat=True)[:MAX_RECIPIENTS])

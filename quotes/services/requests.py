"""Requests of visitors: received, counted, taken, quoted, closed, and forgotten when their time is over."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from quotes import access
from quotes.consent import CONSENT_VERSION
from quotes.models import OutboxMail, QuoteRequest, QuoteRevision, RequestState
from quotes.models.requests import unguessable_fingerprint
from quotes.request_words import answer_sentence
from quotes.services.creation import CustomerData, quote_create_from_recommendation
from quotes.services.editing import quote_edit
from quotes.services.mails import request_mails
from quotes.sizing_basis import kept_answers
from quotes.states import Role

if TYPE_CHECKING:
    from advisor.answers import RecommendationAnswer

# Limits of what becomes a row; several people may share an address, and one may be tried by many machines.
PER_ADDRESS = (10, timedelta(hours=1))
PER_MAILBOX = (10, timedelta(days=1))
IN_ALL = (300, timedelta(hours=1))
MIN_RETENTION_DAYS = 1


class TooManyRequestsError(Exception):
    """A limit is reached; HTTP 429."""

    def __init__(self, retry_after: timedelta) -> None:
        self.retry_after = retry_after
        super().__init__("Too many requests.")


class RequestClosedError(Exception):
    """The step is not open for a request in this state; HTTP 409."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestData:
    """What the visitor wrote, checked by the form."""

    company: str
    contact_name: str
    email: str
    basis: str
    language: str
    phone: str = ""
    destination: str = ""
    wanted_by: date | None = None
    message: str = ""


def address_hash(address: str) -> str:
    """A network address as it is stored: keyed, so that it counts and tells nothing."""
    return salted_hmac("quotes.request-address", address, algorithm="sha256").hexdigest()


def request_receive(
    *,
    data: RequestData,
    answers: Mapping[str, RecommendationAnswer],
    query: str,
    address: str,
    now: datetime | None = None,
) -> QuoteRequest:
    """Store a request and tell the desk. The same request again on the same day gives the first one back.

    Raises `TooManyRequestsError` when one address, one mailbox or all together sent too many.
    """
    moment = now or timezone.now()
    fingerprint = _fingerprint(data, query, timezone.localdate(moment))
    sender = address_hash(address)
    if repeated := _repeat(fingerprint, moment):
        return repeated
    _refuse_flood(sender, data.email, moment)
    answer = answers["en"]
    block = answer["recommended"]["prices"][data.basis] if answer["recommended"] else None  # type: ignore[literal-required]
    try:
        with transaction.atomic():
            request = QuoteRequest(
                **asdict(data),
                fingerprint=fingerprint,
                address_hash=sender,
                last_sent_at=moment,
                consent_version=CONSENT_VERSION,
                consented_at=moment,
                query=query,
                answers=kept_answers(answers),
                engine_version=answer["engine_version"],
                catalog_revision=answer["catalog_revision"],
                currency=block["currency"] if block else "",
                total_gross=Decimal(block["total"]["amount"]) if block else None,
            )
            request.full_clean()
            request.save(force_insert=True)
            request_mails(request, answer_sentence(request.answers, request.language))
            return request
    except IntegrityError:  # the other half of a double click was first
        if repeated := _repeat(fingerprint, moment):
            return repeated
        raise


def request_take(*, actor: access.Actor, request: QuoteRequest, assignee: User | None = None) -> QuoteRequest:
    """Take a request; a manager may give it to someone. Closed ones open again."""
    user = _seller(actor)
    if assignee is not None and assignee != user and Role.SALES_MANAGER not in actor.roles:
        raise access.NotAllowedError("Giving a request to others needs another role.")
    with transaction.atomic():
        current = _locked(request)
        if current.assigned_to not in (None, user) and Role.SALES_MANAGER not in actor.roles:
            raise RequestClosedError("Someone else took it.")
        current.assigned_to = assignee or user
        current.state = RequestState.QUOTED if current.quote_id else RequestState.TAKEN
        current.closed_reason = ""
        current.save(update_fields=["assigned_to", "state", "closed_reason"])
        return current


def request_note(*, actor: access.Actor, request: QuoteRequest, note: str) -> QuoteRequest:
    _seller(actor)
    with transaction.atomic():
        current = _locked(request)
        current.note = note
        current.save(update_fields=["note"])
        return current


def request_close(*, actor: access.Actor, request: QuoteRequest, reason: str) -> QuoteRequest:
    """Close a request, with the reason."""
    user = _seller(actor)
    with transaction.atomic():
        current = _locked(request)
        if current.state == RequestState.CLOSED:
            return current
        current.state, current.closed_reason = RequestState.CLOSED, reason
        current.assigned_to = current.assigned_to or user
        current.save(update_fields=["state", "closed_reason", "assigned_to"])
        return current


def request_draft(
    *,
    actor: access.Actor,
    request: QuoteRequest,
    answers: Mapping[str, RecommendationAnswer],
    creation_key: uuid.UUID,
) -> QuoteRevision:
    """A draft with customer, contact, wishes and lines of the request; `answers` are those of then or of today.

    Raises `NothingToQuoteError` where they hold no configuration or no price.
    """
    user = _seller(actor)
    with transaction.atomic():
        current = _locked(request)
        revision = quote_create_from_recommendation(
            actor=actor,
            answers=answers,
            basis=current.basis,
            language=current.language,
            customer=CustomerData(
                customer_name=current.company or current.contact_name,
                contact_name=current.contact_name,
                contact_phone=current.phone,
                contact_email=current.email,
                delivery_place=current.destination,
            ),
            query=current.query,
            creation_key=creation_key,
        )
        if current.quote_id == revision.quote_id:  # the second click
            return revision
        revision = quote_edit(
            actor=actor,
            revision=revision,
            expected_version=revision.content_version,
            fields={"internal_note": _wishes(current)},
        )
        current.quote = revision.quote
        current.state, current.assigned_to = RequestState.QUOTED, current.assigned_to or user
        current.save(update_fields=["quote", "state", "assigned_to"])
        return revision


def requests_erase(rows: QuerySet[QuoteRequest], now: datetime | None = None) -> int:
    """Take out who asked, and what was written to or about them; the sizing stays, for counting. Returns how many."""
    moment = now or timezone.now()
    with transaction.atomic():
        count = 0
        for request in rows.filter(erased_at__isnull=True).select_for_update():
            request.company = request.contact_name = request.email = request.phone = ""
            request.destination = request.message = request.note = request.closed_reason = ""
            request.address_hash = ""
            request.fingerprint = unguessable_fingerprint()
            request.erased_at = moment
            if request.state in (RequestState.NEW, RequestState.TAKEN):
                request.state = RequestState.CLOSED
            request.save()
            OutboxMail.objects.filter(request=request).update(body="")
            count += 1
        return count


def expired_requests(now: datetime | None = None) -> QuerySet[QuoteRequest]:
    """Requests whose contact data is past its retention."""
    days = max(settings.REQUEST_RETENTION_DAYS, MIN_RETENTION_DAYS)
    limit = (now or timezone.now()) - timedelta(days=days)
    return QuoteRequest.objects.filter(created_at__lt=limit, erased_at__isnull=True)


def _wishes(request: QuoteRequest) -> str:
    """Reference, date and message, for the internal note; the page of the request has the rest."""
    parts = [request.reference, request.wanted_by.isoformat() if request.wanted_by else "", request.message]
    return "\n".join(part for part in parts if part)


def _seller(actor: access.Actor) -> User:
    if actor.user is None or not access.may_create(actor.user):
        raise access.NotAllowedError("Requests are for the sales staff.")
    return actor.user


def _locked(request: QuoteRequest) -> QuoteRequest:
    rows = QuoteRequest.objects.select_related("assigned_to", "quote").select_for_update(of=("self",))
    return rows.get(pk=request.pk)


def _fingerprint(data: RequestData, query: str, day: date) -> str:
    fields = asdict(data) | {"email": data.email.lower(), "query": query, "day": day}
    return hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()


def _repeat(fingerprint: str, now: datetime) -> QuoteRequest | None:
    rows = QuoteRequest.objects.filter(fingerprint=fingerprint)
    if not rows.update(sent_count=F("sent_count") + 1, last_sent_at=now):
        return None
    return rows.get()


def _refuse_flood(sender: str, email: str, now: datetime) -> None:
    """Counted in the table, so that all processes count together; parallel senders may pass by a few."""
    for rows, (limit, span) in (
        (QuoteRequest.objects.filter(address_hash=sender), PER_ADDRESS),
        (QuoteRequest.objects.filter(email__iexact=email), PER_MAILBOX),
        (QuoteRequest.objects.all(), IN_ALL),
    ):
        recent = rows.filter(last_sent_at__gt=now - span)
        if recent.count() >= limit:
            raise TooManyRequestsError(span)

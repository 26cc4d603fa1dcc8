"""Who sees requests of visitors and the outbox: sellers, because both name customers."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404

from quotes import access
from quotes.models import MailKind, MailState, OutboxMail, QuoteRequest, RequestState
from quotes.states import Role

_SELLERS = frozenset({Role.SALES_REP, Role.SALES_MANAGER})


def visible_requests(user: access.AnyUser) -> QuerySet[QuoteRequest]:
    """Managers see all; a representative those of nobody and the own ones; nobody else any."""
    return _requests(user, access.roles_of(user))


def request_for(user: access.AnyUser, reference: str) -> QuoteRequest:
    """One request; what the user may not see does not exist (404)."""
    found = visible_requests(user).filter(reference=reference).first()
    if found is None:
        raise Http404("No such request.")
    return found


def visible_mails(user: access.AnyUser) -> QuerySet[OutboxMail]:
    """Mails of the quotes and requests that the user sees."""
    return _mails(user, access.roles_of(user))


@dataclass(frozen=True, slots=True)
class Notice:
    """What waits at the desk."""

    new_requests: int
    failed_mails: int


def notice_for(user: access.AnyUser) -> Notice | None:
    """The counts for the line above the desk's pages, in three queries; None for who does not sell."""
    roles = access.roles_of(user)
    if not roles & _SELLERS:
        return None
    return Notice(
        _requests(user, roles).filter(state=RequestState.NEW).count(),
        _unresolved(_mails(user, roles)).count(),
    )


def _requests(user: access.AnyUser, roles: frozenset[Role]) -> QuerySet[QuoteRequest]:
    rows = QuoteRequest.objects.select_related("assigned_to", "quote")
    if Role.SALES_MANAGER in roles:
        return rows
    if Role.SALES_REP in roles:
        return rows.filter(Q(assigned_to__isnull=True) | Q(assigned_to=user.pk))
    return rows.none()


def _mails(user: access.AnyUser, roles: frozenset[Role]) -> QuerySet[OutboxMail]:
    rows = OutboxMail.objects.select_related("revision__quote", "request", "created_by")
    if Role.SALES_MANAGER in roles:
        return rows
    if Role.SALES_REP in roles:
        return rows.filter(Q(revision__quote__owner=user.pk) | Q(request__in=_requests(user, roles)))
    return rows.none()


def _unresolved(rows: QuerySet[OutboxMail]) -> QuerySet[OutboxMail]:
    """Failed mails that still matter: nothing later went for the quote, and nobody took the request yet."""
    later = OutboxMail.objects.exclude(state=MailState.FAILED).filter(
        kind=MailKind.QUOTE, revision=OuterRef("revision"), created_at__gt=OuterRef("created_at")
    )
    failed = rows.filter(state=MailState.FAILED)
    return failed.exclude(Exists(later), kind=MailKind.QUOTE).exclude(
        ~Q(request__state=RequestState.NEW), kind=MailKind.REQUEST
    )

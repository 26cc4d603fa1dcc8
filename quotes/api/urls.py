"""Routes of the quotes' API, and its steps with the service behind each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.urls import path

from quotes import services
from quotes.access import Actor
from quotes.api import bodies, examples
from quotes.api.views import QuoteDetail, QuoteList, QuotePdf, step
from quotes.models import QuoteRevision, Scope
from quotes.services.mails import quote_mail


def _issue(actor: Actor, revision: QuoteRevision, data: Mapping[str, Any], key: uuid.UUID) -> QuoteRevision:
    return services.quote_issue(actor=actor, revision=revision, expected_version=revision.content_version)


def _send(actor: Actor, revision: QuoteRevision, data: Mapping[str, Any], key: uuid.UUID) -> QuoteRevision:
    if "handed_over" in data:
        return services.quote_mark_sent(actor=actor, revision=revision, reason=data["handed_over"])
    quote_mail(actor=actor, revision=revision, recipients=data["recipients"], message=data.get("message", ""))
    return revision


SUBMIT = step(
    "submit",
    summary="Ask for the approvals that the draft needs",
    scope=Scope.DRAFT,
    body=bodies.EmptyRequestSerializer,
    run=lambda actor, revision, data, key: services.quote_submit(
        actor=actor, revision=revision, expected_version=revision.content_version
    ),
)
APPROVE = step(
    "approve",
    summary="Approve what is asked of the token's owner",
    scope=Scope.APPROVE,
    body=bodies.CommentRequestSerializer,
    run=lambda actor, revision, data, key: services.quote_approve(
        actor=actor, revision=revision, comment=data.get("comment", "")
    ),
)
REJECT = step(
    "reject",
    summary="Refuse, with a comment; the quote is a draft again",
    scope=Scope.APPROVE,
    body=bodies.RejectRequestSerializer,
    run=lambda actor, revision, data, key: services.quote_reject(
        actor=actor, revision=revision, comment=data["comment"]
    ),
    example={"comment": "Below the floor price"},
)
ISSUE = step(
    "issue",
    summary="Issue: number, snapshot and PDF; needs an Idempotency-Key",
    scope=Scope.ISSUE,
    body=bodies.EmptyRequestSerializer,
    run=_issue,
    needs_key=True,
)
SEND = step(
    "send",
    summary="Send by mail, or record another hand-over",
    scope=Scope.ISSUE,
    body=bodies.SendRequestSerializer,
    run=_send,
    example=examples.SEND,
)
REVISE = step(
    "revise",
    summary="A draft of the next revision; the issued one stands until then",
    scope=Scope.DRAFT,
    body=bodies.EmptyRequestSerializer,
    run=lambda actor, revision, data, key: services.quote_revise(actor=actor, revision=revision),
    makes_another=True,
)
WITHDRAW = step(
    "withdraw",
    summary="Take an unanswered quote back",
    scope=Scope.ISSUE,
    body=bodies.ReasonRequestSerializer,
    run=lambda actor, revision, data, key: services.quote_withdraw(
        actor=actor, revision=revision, reason=data["reason"]
    ),
    example=examples.REASON,
)
DUPLICATE = step(
    "duplicate",
    summary="A new draft with the same customer and lines, at today's prices or the old ones",
    scope=Scope.DRAFT,
    body=bodies.DuplicateRequestSerializer,
    run=lambda actor, revision, data, key: services.quote_duplicate(
        actor=actor, revision=revision, creation_key=key, reprice=data["reprice"]
    ),
    makes_another=True,
    example={"reprice": True},
)

STEPS = {
    "submit": SUBMIT,
    "approve": APPROVE,
    "reject": REJECT,
    "issue": ISSUE,
    "send": SEND,
    "revise": REVISE,
    "withdraw": WITHDRAW,
    "duplicate": DUPLICATE,
}
urlpatterns = [
    path("quotes", QuoteList.as_view(), name="api-quotes"),
    path("quotes/<uuid:public_id>", QuoteDetail.as_view(), name="api-quote"),
    path("quotes/<uuid:public_id>/pdf", QuotePdf.as_view(), name="api-quote-pdf"),
    *(
        path(f"quotes/<uuid:public_id>/{name}", view.as_view(), name=f"api-quote-{name}")
        for name, view in STEPS.items()
    ),
]

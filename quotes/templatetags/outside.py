"""Words and shapes of requests and mails, and the banner of mails that did not go."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.functional import Promise

from quotes import mail_failures
from quotes.models import MailState, RequestState
from quotes.request_access import Notice, notice_for

register = template.Library()
_REQUEST_KINDS = {
    RequestState.NEW: "check",
    RequestState.TAKEN: "note",
    RequestState.QUOTED: "ok",
    RequestState.CLOSED: "note",
}
_MAIL_KINDS = {MailState.QUEUED: "check", MailState.ACCEPTED: "ok", MailState.FAILED: "blocks"}


@register.filter
def request_kind(state: str) -> str:
    return _REQUEST_KINDS[RequestState(state)]


@register.filter
def mail_kind(state: str) -> str:
    return _MAIL_KINDS[MailState(state)]


@register.filter
def failure_words(reason: str) -> Promise | str:
    return mail_failures.failure_words(reason)


@register.simple_tag(takes_context=True)
def desk_notice(context: dict[str, Any]) -> Notice | None:
    """What waits at the desk; nothing outside it."""
    request, user = context.get("request"), context.get("user")
    if request is None or user is None or not request.path.startswith("/quotes/"):
        return None
    return notice_for(user)

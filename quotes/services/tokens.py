"""API tokens of the staff: made once, known by their hash, ended by date or by hand."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from quotes import access
from quotes.models import ApiToken, IdempotentCall, Scope

PREFIX = "gca_"
SHOWN_CHARACTERS = 10
MAX_TOKENS = 20
MAX_DAYS = 366
ANSWERS_KEPT = timedelta(hours=24)  # of calls with an Idempotency-Key
USED_EVERY = timedelta(minutes=1)  # a write for every request would cost more than most requests


class TooManyTokensError(Exception):
    """The user has the most open tokens that one may have."""


def token_digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def token_make(*, user: User, name: str, scopes: Sequence[str], days: int) -> tuple[ApiToken, str]:
    """A new token and its secret, which is not stored and so shown this once."""
    if not access.may_open_desk(user):
        raise access.NotAllowedError("A token is for those who work with quotes.")
    if not scopes or not set(scopes) <= set(Scope.values) or not 1 <= days <= MAX_DAYS:
        raise ValueError("A token has at least one known scope and ends within a year.")
    now = timezone.now()
    if ApiToken.objects.filter(user=user, revoked_at__isnull=True, expires_at__gt=now).count() >= MAX_TOKENS:
        raise TooManyTokensError(f"{MAX_TOKENS} tokens are open; revoke one first.")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=secret[:SHOWN_CHARACTERS],
        token_sha256=token_digest(secret),
        scopes=[scope for scope in Scope.values if scope in set(scopes)],
        expires_at=now + timedelta(days=days),
    )
    return token, secret


def token_revoke(*, user: User, token: ApiToken) -> None:
    """End a token of one's own; a second time changes nothing."""
    ApiToken.objects.filter(pk=token.pk, user=user, revoked_at__isnull=True).update(revoked_at=timezone.now())


def token_of(secret: str) -> ApiToken | None:
    """The open token with this secret, of a user who still works here; notes that it was used."""
    found = ApiToken.objects.select_related("user").filter(token_sha256=token_digest(secret)).first()
    now = timezone.now()
    if found is None or not found.is_open(now) or not access.may_open_desk(found.user):
        return None
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - USED_EVERY)
    ApiToken.objects.filter(stale, pk=found.pk).update(last_used_at=now)
    return found


def kept_answers_drop() -> int:
    """Delete the answers kept for a repeated call that are past their time, of every token; how many there were."""
    return IdempotentCall.objects.filter(created_at__lt=timezone.now() - ANSWERS_KEPT).delete()[0]

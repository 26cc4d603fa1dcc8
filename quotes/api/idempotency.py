"""The same POST twice is done once: the answer is kept for a day under the caller's Idempotency-Key.

Kept are answers that changed something (2xx). A refusal is not: nothing happened, so the same key may be tried again
with a better body. A call that died is given up after a minute and done anew; what it may have made already is found
again by keys that are derived from the caller's.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from config.api_errors import Unprocessable
from quotes.api.authentication import token_of_request
from quotes.api.refusals import BadRequest, Conflict, fault
from quotes.models import ApiToken, IdempotentCall
from quotes.services.tokens import ANSWERS_KEPT

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
HELD = timedelta(minutes=1)  # longer than any call takes
RETRY_SECONDS = 2
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def key_of(request: Request, *, is_required: bool) -> str:
    """The caller's key; empty without one. Raises `BadRequest`."""
    key = request.headers.get(HEADER, "").strip()
    if not key and is_required:
        raise BadRequest(
            _("Send an Idempotency-Key, so that the step is not taken twice."), code="idempotency_key_required"
        )
    if key and not _KEY.fullmatch(key):
        raise BadRequest(
            _("An Idempotency-Key has 1 to 255 printable ASCII characters."), code="idempotency_key_invalid"
        )
    return key


def creation_key(request: Request, key: str) -> uuid.UUID:
    """What a new quote is known by: the same for the same key of the same token, else new."""
    if not key:
        return uuid.uuid4()
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{token_of_request(request).pk}/{request.path}/{key}")


def once(request: Request, key: str, work: Callable[[], Response]) -> Response:
    """Do the work, or give its kept answer. Raises `Unprocessable` for another body, `Conflict` while it runs."""
    if not key:
        return work()
    token = token_of_request(request)
    digest = _digest(request)
    kept = _begin(token, key, digest)
    if kept is not None:
        response = Response(json.loads(kept.body), status=kept.status, headers={REPLAYED: "true"})
        if kept.etag:
            response["ETag"] = kept.etag
        return response
    rows = IdempotentCall.objects.filter(token=token, key=key, status__isnull=True)
    try:
        response = work()
    except BaseException:
        rows.delete()
        raise
    body = json.dumps(response.data, ensure_ascii=False, default=str)
    rows.update(status=response.status_code, body=body, etag=response.headers.get("ETag", ""))
    return response


def _begin(token: ApiToken, key: str, digest: str) -> IdempotentCall | None:
    """Mark the call as running; a finished one is returned. Raises as `once` does."""
    now = timezone.now()
    IdempotentCall.objects.filter(token=token, created_at__lt=now - ANSWERS_KEPT).delete()
    values: dict[str, Any] = {"request_sha256": digest, "created_at": now, "held_until": now + HELD}
    try:
        with transaction.atomic():
            IdempotentCall.objects.create(token=token, key=key, **values)
        return None
    except IntegrityError:
        pass
    found = IdempotentCall.objects.filter(token=token, key=key).first()
    if found is None:  # it failed at this very moment
        raise _running()
    if found.request_sha256 != digest:
        sentence = _("This Idempotency-Key was used for another request. Take a new key for a new request.")
        raise Unprocessable([fault("idempotency_key_reused", sentence)], detail=sentence)
    if found.status is not None:
        return found
    given_up = IdempotentCall.objects.filter(pk=found.pk, status__isnull=True, held_until__lt=now)
    if not given_up.update(held_until=now + HELD):
        raise _running()
    return None


def _running() -> Conflict:
    return Conflict(
        _("The same call is still being worked on. Send it again in a moment."),
        code="idempotent_call_running",
        wait=RETRY_SECONDS,
    )


def _digest(request: Request) -> str:
    parts = (request.method, request.get_full_path(), json.dumps(request.data, sort_keys=True))
    return hashlib.sha256("\n".join(str(part) for part in parts).encode()).hexdigest()

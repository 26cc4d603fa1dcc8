"""Answers that were given before go out again as they went: written, packed and with their headers.

A question of the public API is the same one when its address, body and the headers that shape an answer are the same,
and the engine, the catalogue and the day (prices have dates) are too. Then nothing below needs to run; the request is
counted all the same.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from advisor.engine import ENGINE_VERSION
from catalog.services import current_revision
from config.api_throttle import count_request

CACHE_SECONDS = 300
REVISION_SECONDS = 2  # a loaded catalogue is seen this late; asking the database every time would cost most of a hit
PATHS = frozenset({"/api/v1/estimates", "/api/v1/recommendations"})
KEPT_BYTES = 16 << 20  # of a process; a full recommendation is about 0.3 MB
# what decides about an answer beside address and body: its language, packing, host and security
SHAPING_HEADERS = (
    "HTTP_ACCEPT_LANGUAGE",
    "HTTP_ACCEPT_ENCODING",
    "HTTP_ACCEPT",
    "CONTENT_TYPE",
    "HTTP_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_FORWARDED_HOST",
    "wsgi.url_scheme",
)


def answer_basis() -> tuple[str, str, str]:
    """What every answer rests on beside its inputs: engine, catalogue and day."""
    revision = cache.get_or_set("api:catalog-revision", current_revision, REVISION_SECONDS)
    return ENGINE_VERSION, str(revision), timezone.localdate().isoformat()


@dataclass(frozen=True, slots=True)
class Given:
    """An answer as it left: until when it may be repeated, its bytes and its headers."""

    until: float
    content: bytes
    headers: dict[str, str]


class GivenAnswers:
    """The answers that were asked for last, up to KEPT_BYTES; safe between threads."""

    def __init__(self, limit_bytes: int = KEPT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Given, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> Given | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
        return found[0] if found[0].until > time.monotonic() else None

    def keep(self, key: Hashable, given: Given, key_bytes: int) -> None:
        size = len(given.content) + key_bytes
        if size > self.limit_bytes:
            return
        with self._lock:
            self._drop(key)
            self._kept[key] = given, size
            self._bytes += size
            while self._bytes > self.limit_bytes:
                self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def _drop(self, key: Hashable) -> None:
        if (dropped := self._kept.pop(key, None)) is not None:
            self._bytes -= dropped[1]


GIVEN = GivenAnswers()


class RepeatedAnswerMiddleware:
    """Stands before all that only an answer in the making needs: sessions, policies, places for work."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        body = _body(request) if request.path in PATHS else None
        if body is None:
            return self.get_response(request)
        meta = request.META
        try:
            basis = answer_basis()
        except (OperationalError, InterfaceError):  # the view says in the API's own words that the database is down
            return self.get_response(request)
        shape = tuple(meta.get(name) for name in SHAPING_HEADERS)
        query = meta.get("QUERY_STRING", "")
        key = (request.method, request.path, query, body, shape, basis)
        given = GIVEN.get(key)
        if given is not None and count_request(request):
            return HttpResponse(given.content, headers=given.headers)
        response = self.get_response(request)
        if response.status_code == 200:
            kept = Given(time.monotonic() + CACHE_SECONDS, response.content, dict(response.items()))
            # all that a visitor can make long counts: a query of 4 kB, headers of 8 kB each
            GIVEN.keep(key, kept, len(body) + len(query) + sum(len(value) for value in shape if value))
        return response


def _body(request: HttpRequest) -> bytes | None:
    """What a question says beside its address; None where only the view can tell what to do."""
    if request.method == "GET":
        return None if "HTTP_IF_NONE_MATCH" in request.META else b""
    if request.method != "POST" or not request.META.get("CONTENT_LENGTH", "").isdecimal():
        return None
    if int(request.META["CONTENT_LENGTH"]) > settings.API_REQUEST_LIMIT_BYTES:
        return None
    return request.body

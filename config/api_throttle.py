"""How many requests one address may send in a minute: one counter in the cache, so that its cost does not grow.

The count is told in the two fields of draft-ietf-httpapi-ratelimit-headers-10, which `api_middleware` writes.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which itself imports this module, as a setting

WINDOW_SECONDS = 60


class PerMinute(BaseThrottle):
    """A fixed window. With several worker processes the count is shared only through REDIS_URL."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        return count_request(request._request)

    def wait(self) -> float:
        """Seconds until the next window, for Retry-After."""
        return WINDOW_SECONDS - time.time() % WINDOW_SECONDS


def count_request(request: HttpRequest) -> bool:
    """Counts it once and tells whether its address may still ask; what is left goes into the answer's headers."""
    limit = settings.API_REQUESTS_PER_MINUTE
    if not limit:
        return True
    if (counted := getattr(request, "rate_limit", None)) is None:
        now = time.time()
        key = f"api-requests:{_address(request)}:{int(now) // WINDOW_SECONDS}"
        cache.add(key, 0, timeout=2 * WINDOW_SECONDS)
        try:
            count = cache.incr(key)
        except ValueError:  # evicted between the two calls: begin again
            count = 1
        counted = (limit, limit - count, math.ceil(WINDOW_SECONDS - now % WINDOW_SECONDS))
        request.rate_limit = counted  # type: ignore[attr-defined]
    return bool(counted[1] >= 0)


def _address(request: HttpRequest) -> str:
    """Of the client, by NUM_PROXIES; DRF's rule reads nothing but META."""
    return str(BaseThrottle().get_ident(request))  # type: ignore[arg-type]

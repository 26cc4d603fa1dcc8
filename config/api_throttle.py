"""How many requests one address may send in a minute: one counter in the cache, so that its cost does not grow.

The count is told in the two fields of draft-ietf-httpapi-ratelimit-headers-10, which `api_middleware` writes.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which itself imports this module, as a setting

WINDOW_SECONDS = 60


class PerMinute(BaseThrottle):
    """A fixed window. With several worker processes the count is shared only through REDIS_URL."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        limit = settings.API_REQUESTS_PER_MINUTE
        if not limit:
            return True
        self.now = time.time()
        key = f"api-requests:{self.get_ident(request)}:{int(self.now) // WINDOW_SECONDS}"
        cache.add(key, 0, timeout=2 * WINDOW_SECONDS)
        try:
            count = cache.incr(key)
        except ValueError:  # evicted between the two calls: begin again
            count = 1
        request._request.rate_limit = (limit, max(0, limit - count), math.ceil(self.wait()))  # type: ignore[attr-defined]
        return count <= limit

    def wait(self) -> float:
        """Seconds until the next window, for Retry-After."""
        return WINDOW_SECONDS - self.now % WINDOW_SECONDS

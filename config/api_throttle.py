"""How many requests one address may send in a minute: one counter in the cache, so that its cost does not grow.

The count is told in the two fields of draft-ietf-httpapi-ratelimit-headers-10, which `api_middleware` writes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from config.visitors import Counter, client_address

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which itself imports this module, as a setting

WINDOW_SECONDS = 60
REQUESTS = Counter(name="api-requests", window_seconds=WINDOW_SECONDS)


class PerMinute(BaseThrottle):
    """A fixed window. With several worker processes the count is shared only through REDIS_URL."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        return count_request(request._request)

    def wait(self) -> float:
        """Seconds until the next window, for Retry-After."""
        return REQUESTS.seconds_left()


def count_request(request: HttpRequest) -> bool:
    """Counts it once and tells whether its address may still ask; what is left goes into the answer's headers."""
    limit = settings.API_REQUESTS_PER_MINUTE
    if not limit:
        return True
    if (counted := getattr(request, "rate_limit", None)) is None:
        count = REQUESTS.add(client_address(request))
        counted = (limit, limit - count, math.ceil(REQUESTS.seconds_left()))
        request.rate_limit = counted  # type: ignore[attr-defined]
    return bool(counted[1] >= 0)

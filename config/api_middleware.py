"""What answers of the API carry: leave for pages of other sites to read the public ones, and the rate that is left."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from config.api_throttle import WINDOW_SECONDS

Handler = Callable[[HttpRequest], HttpResponse]
PUBLIC_PREFIX = "/api/v1/"
PRIVATE_PREFIX = "/api/v1/quotes"  # staff only; no other site may read it
PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Accept, Accept-Language, Content-Type, If-None-Match, X-Request-Id",
    "Access-Control-Max-Age": "86400",
}
EXPOSED = "ETag, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Engine-Version, X-Catalog-Revision"


class PublicApiMiddleware:
    """Cross-origin reading without credentials on the public routes; a preflight needs no view."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(PUBLIC_PREFIX) or request.path.startswith(PRIVATE_PREFIX):
            return with_rate(request, self.get_response(request))
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            response = HttpResponse(status=204, headers=PREFLIGHT_HEADERS)
        else:
            response = self.get_response(request)
        response["Access-Control-Allow-Origin"] = "*"
        response["Access-Control-Expose-Headers"] = EXPOSED
        return with_rate(request, response)


def with_rate(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Tells how many requests are left; the throttle has counted this one."""
    if rate := getattr(request, "rate_limit", None):
        limit, remaining, seconds = rate
        response["RateLimit-Policy"] = f'"address";q={limit};w={WINDOW_SECONDS}'
        response["RateLimit"] = f'"address";r={max(0, remaining)};t={seconds}'
    return response

"""Sheds load: a request that finds no free place in time is told to come back, instead of waiting without end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from config.api_errors import problem_json
from config.errors import plain_page

EXEMPT_PATHS = {"/healthz", "/readyz"}
RETRY_AFTER_SECONDS = "5"


class OverloadMiddleware:
    """A process works on CONCURRENT_REQUESTS; the others wait at most QUEUE_SECONDS for their turn, then get 503."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.places = threading.BoundedSemaphore(settings.CONCURRENT_REQUESTS)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in EXEMPT_PATHS:
            return self.get_response(request)
        if not self.places.acquire(timeout=settings.QUEUE_SECONDS):
            return self.refusal(request)
        try:
            return self.get_response(request)
        finally:
            self.places.release()

    @staticmethod
    def refusal(request: HttpRequest) -> HttpResponse:
        title, advice = _("The site is busy."), _("Please try again in a few seconds.")
        response: HttpResponse
        if request.path.startswith("/api/"):
            response = problem_json(request, 503, "overloaded", f"{title} {advice}")
        else:
            response = plain_page(request, 503, title, advice)
        response["Retry-After"] = RETRY_AFTER_SECONDS
        return response

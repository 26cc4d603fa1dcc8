"""Request id on every answer, and the choice of language without a prefix in the address."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import parse_accept_lang_header

from config.log import request_id_of_context

Handler = Callable[[HttpRequest], HttpResponse]
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_LANGUAGE_ALIASES = {"zh": "zh-hans", "zh-cn": "zh-hans", "zh-hans": "zh-hans", "en": "en"}


def language_code(raw: str | None) -> str | None:
    """Django's code for a requested language (`zh-Hans`, `zh-CN`, `en-US` ...), or None when it is not served."""
    if not raw:
        return None
    key = raw.strip().lower()
    return _LANGUAGE_ALIASES.get(key) or _LANGUAGE_ALIASES.get(key.split("-")[0])


class RequestIdMiddleware:
    """Accepts a well-formed X-Request-Id or makes one; `request.request_id` and the answer's header carry it."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]
        token = request_id_of_context.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            request_id_of_context.reset(token)
        response["X-Request-Id"] = request_id
        return response


class LanguageMiddleware:
    """`?lang=` wins and is remembered by the language switch's cookie; then the cookie; then Accept-Language."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        from_query = language_code(request.GET.get("lang"))
        from_cookie = language_code(request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME))
        is_api = request.path.startswith("/api/")
        is_embedded = request.path.startswith("/embed/")  # a frame on other sites: no cookies
        language = from_query or (None if is_api else from_cookie) or self._accepted(request)
        translation.activate(language)
        request.LANGUAGE_CODE = language
        response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"] if is_api else ["Accept-Language", "Cookie"])
        response.headers.setdefault("Content-Language", "zh-Hans" if language == "zh-hans" else "en")
        if from_query and not is_api and not is_embedded and from_query != from_cookie:
            response.set_cookie(
                settings.LANGUAGE_COOKIE_NAME, from_query, max_age=31_536_000, samesite="Lax", secure=settings.HTTPS
            )
        translation.deactivate()
        return response

    @staticmethod
    def _accepted(request: HttpRequest) -> str:
        # Django sorts by the client's preference and drops what is malformed or refused (q=0)
        for tag, _preference in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
            if code := language_code(tag):
                return code
        return settings.LANGUAGE_CODE

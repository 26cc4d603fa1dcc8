"""Answers to what no view answered: problem JSON below /api/, a page elsewhere."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.translation import gettext as _

from config.api_errors import problem_json


def answer(request: HttpRequest, status: int, code: str, title: str, advice: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        return problem_json(request, status, code, f"{title} {advice}".strip())
    context = {"title": title, "advice": advice, "status": status}
    return render(request, "error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(
        request,
        400,
        "bad_request",
        _("The request could not be read."),
        _("Go back, check the values, try again."),
    )


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(
        request,
        403,
        "permission_denied",
        _("You may not open this."),
        _("Log in with an account that may."),
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return answer(
        request,
        403,
        "csrf_failed",
        _("The form had expired."),
        _("Go back, reload the page and send it again; cookies must be allowed."),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(
        request,
        404,
        "not_found",
        _("There is nothing at this address."),
        _("Check the address, or start over."),
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """Uses no database and no context processor: either may be what is broken."""
    title, advice = _("Something failed on our side."), _("Quote the request id to us.")
    if request.path.startswith("/api/"):
        return problem_json(request, 500, "internal_error", f"{title} {advice}")
    return plain_page(request, HTTPStatus.INTERNAL_SERVER_ERROR, title, advice)


def plain_page(request: HttpRequest, status: int, title: str, advice: str) -> HttpResponse:
    is_chinese = getattr(request, "LANGUAGE_CODE", "en") == "zh-hans"
    context = {
        "title": title,
        "advice": advice,
        "request_id": getattr(request, "request_id", ""),
        "html_lang": "zh-Hans" if is_chinese else "en",
        "stylesheets": _stylesheets(),
    }
    return HttpResponse(render_to_string("error_plain.html", context), status=status)


def _stylesheets() -> list[str]:
    """The site's look, unless its files are what is broken: this page must come out in any case."""
    try:
        return [static(f"css/{name}.css") for name in ("tokens", "base", "layout")]
    except ValueError:  # not in the manifest
        return []

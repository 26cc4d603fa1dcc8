"""The one error shape of the API: application/problem+json (RFC 9457) with a code, a request id and field errors."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

logger = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
DATABASE_RETRY_SECONDS = "5"
TITLES = {
    400: _("Bad request"),
    401: _("Log in first"),
    403: _("Not allowed"),
    404: _("Not found"),
    405: _("Method not allowed"),
    406: _("Only JSON is served"),
    409: _("Conflict"),
    412: _("Changed meanwhile"),
    413: _("Request too large"),
    415: _("Only JSON is read"),
    422: _("Values cannot be used"),
    428: _("The version is missing"),
    429: _("Too many requests"),
    500: _("Error on our side"),
    503: _("Busy"),
}


class Unprocessable(exceptions.APIException):
    """422: well-formed but wrong. `errors` are dicts with pointer, code and detail."""

    status_code = 422
    default_code = "invalid_request"

    def __init__(self, errors: list[dict[str, Any]], detail: str | None = None) -> None:
        super().__init__(detail or gettext("The request is well formed, but some values cannot be used."))
        self.errors = errors


def problem_body(
    request: HttpRequest | None, status: int, code: str, detail: str, errors: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The problem as JSON; a command has no request and so no instance."""
    body: dict[str, Any] = {
        "type": f"/api/docs#{code}",
        "title": str(TITLES.get(status, HTTPStatus(status).phrase)),
        "status": status,
        "detail": detail,
        "instance": request.path if request is not None else None,
        "code": code,
        "request_id": getattr(request, "request_id", None),
    }
    if errors is not None:
        body["errors"] = errors
    return body


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler; unexpected errors are logged with the request id and answered without their inside."""
    request = context["request"]._request
    headers: dict[str, str] = {}
    if isinstance(error, exceptions.ValidationError):
        error = Unprocessable(list(field_errors(error.get_full_details())))
    if isinstance(error, Http404):
        error = exceptions.NotFound(gettext("There is nothing at this address."))
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if isinstance(error, exceptions.APIException):
        status, code = error.status_code, str(error.get_codes()) if isinstance(error.get_codes(), str) else "invalid"
        detail = str(error.detail)
        if wait := getattr(error, "wait", None):
            headers["Retry-After"] = str(max(1, math.ceil(wait)))
        if challenge := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = challenge
    elif isinstance(error, (OperationalError, InterfaceError)):
        logger.error("database error, request %s", getattr(request, "request_id", "-"), exc_info=error)
        status, code = 503, "database_unavailable"
        detail = gettext("The database does not answer. Try again in a few seconds.")
        headers["Retry-After"] = DATABASE_RETRY_SECONDS
    else:
        logger.exception("unhandled error, request %s", getattr(request, "request_id", "-"), exc_info=error)
        status, code, detail = (
            500,
            "internal_error",
            gettext("Something failed on our side. Quote the request id to us."),
        )
    set_rollback()
    body = problem_body(request, status, code, detail, getattr(error, "errors", None))
    return Response(body, status=status, headers=headers, content_type=MEDIA_TYPE)


def field_errors(details: Any, pointer: str = "") -> Iterator[dict[str, Any]]:
    """DRF's nested error details as a flat list with JSON pointers."""
    if isinstance(details, dict) and {"message", "code"} == set(details):
        yield {"pointer": pointer, "code": str(details["code"]), "detail": str(details["message"])}
    elif isinstance(details, dict):
        for key, value in details.items():
            yield from field_errors(value, pointer if key == "non_field_errors" else f"{pointer}/{key}")
    elif isinstance(details, list):
        is_leaf_list = all(isinstance(item, dict) and {"message", "code"} == set(item) for item in details)
        for index, item in enumerate(details):
            yield from field_errors(item, pointer if is_leaf_list else f"{pointer}/{index}")


def problem_json(request: HttpRequest, status: int, code: str, detail: str) -> JsonResponse:
    """The same shape outside DRF's views (unknown addresses, 500)."""
    return JsonResponse(problem_body(request, status, code, detail), status=status, content_type=MEDIA_TYPE)

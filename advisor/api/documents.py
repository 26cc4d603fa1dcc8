"""The OpenAPI document, the page made from it, and the answer to API addresses that do not exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from advisor.api import examples
from advisor.api.schemas import REQUEST_NAMES
from advisor.input_fields import TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION, FieldKind, InputField, Text
from advisor.input_reading import describe
from advisor.messages import FAULTS

METHODS = ("get", "post", "put", "patch", "delete")
# codes of whole answers; those of single fields are in `messages.FAULTS`
ANSWER_CODES: tuple[tuple[int, str, Text], ...] = (
    (400, "parse_error", _("The body is not JSON in UTF-8, repeats a name, or is nested too deeply.")),
    (400, "idempotency_key_required", _("This step of a quote is taken under an Idempotency-Key.")),
    (401, "authentication_failed", _("The token is unknown, revoked or past its end.")),
    (403, "scope_missing", _("The token does not carry the scope that this operation needs.")),
    (403, "not_allowed", _("The role of the token's owner does not allow this on this quote.")),
    (404, "not_found", _("There is nothing at this address.")),
    (405, "method_not_allowed", _("The address exists, but takes another method; see the Allow header.")),
    (406, "not_acceptable", _("Only JSON is served; ask for application/json.")),
    (409, "state_conflict", _("The quote's state does not allow this step.")),
    (409, "idempotent_call_running", _("The same call is still being worked on; wait for Retry-After seconds.")),
    (412, "etag_mismatch", _("The quote was changed since the ETag in If-Match was given.")),
    (413, "too_large", _("The body is over 64 KiB.")),
    (415, "unsupported_media_type", _("Send the body as application/json.")),
    (422, "invalid_request", _("The JSON is well formed, but some values cannot be used; errors names each.")),
    (428, "if_match_required", _("A change of a quote names the version that it is about, in If-Match.")),
    (429, "throttled", _("Too many requests from one address; wait for Retry-After seconds.")),
    (500, "internal_error", _("Our fault. The request id finds it in our log.")),
    (503, "overloaded", _("Busy; wait for Retry-After seconds.")),
    (503, "database_unavailable", _("The database does not answer. Try again in a few seconds.")),
)


@lru_cache(maxsize=4)
def document(language: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document in the active language, which is named only to keep them apart."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    schema: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return json.loads(json.dumps(schema, default=str))  # type: ignore[no-any-return]


@lru_cache(maxsize=4)
def _document_bytes(language: str) -> bytes:
    return json.dumps(document(language), ensure_ascii=False, indent=1).encode()


@extend_schema(exclude=True)
class OpenApiView(APIView):
    """`/api/v1/openapi.json`."""

    def get(self, request: Request) -> HttpResponse:
        response = HttpResponse(_document_bytes(get_language() or "en"), content_type="application/json")
        response["Cache-Control"] = "public, max-age=300"
        return response


@extend_schema(exclude=True)
class NothingHereView(APIView):
    """Answers every other address below /api/ in the one problem shape, also where DEBUG would show a page."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        raise Http404

    post = put = patch = delete = get


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One line of the table of a request's fields."""

    pointer: str
    query: str
    label: Text
    help: Text
    values: str
    default: str


def field_rows(route: str) -> Iterator[FieldRow]:
    for pointer, row in TABLE[route].items():
        default = "" if row.default is None else json.dumps(row.default)
        yield FieldRow(
            pointer=pointer,
            query=(row.query or "") if route == RECOMMENDATION else "",
            label=row.label,
            help=row.help,
            values=_values(row),
            default=default,
        )


def _values(row: InputField) -> str:
    if row.choices:
        return " | ".join(code for code, _label in row.choices)
    if row.kind is FieldKind.FLAG:
        return "true | false"
    if row.minimum is not None and row.maximum is not None:
        low = "> " if row.is_minimum_excluded else ""
        return f"{low}{describe(row, row.minimum)} … {describe(row, row.maximum)}"
    return str(row.example)


def operations(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Every operation with what a reader needs of it, in the order of the addresses."""
    return [
        {
            "method": method.upper(),
            "path": path,
            "id": operation["operationId"],
            "summary": operation.get("summary") or operation.get("description", ""),
            "parameters": [row for row in operation.get("parameters", ()) if row["in"] == "query"],
            "responses": [(status, answer.get("description", "")) for status, answer in operation["responses"].items()],
        }
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]


def fault_pattern(text: str) -> str:
    """The sentence of a fault with its places marked: `‹field› is ‹value›; ...`."""
    return re.sub(r"%\((\w+)\)s", r"‹\1›", text).replace("%%", "%")


@require_GET
def api_docs(request: HttpRequest) -> HttpResponse:
    """The readable page: addresses, fields, examples, codes; made on the server, without scripts."""
    origin = f"{request.scheme}://{request.get_host()}"
    context = {
        "operations": operations(document(get_language() or "en")),
        "requests": [
            {
                "name": REQUEST_NAMES[route],
                "path": path,
                "rows": list(field_rows(route)),
                "has_links": route == RECOMMENDATION,
                "example": json.dumps(example, indent=2, ensure_ascii=False),
            }
            for route, path, example in (
                (ESTIMATE, "/api/v1/estimates", examples.ESTIMATE_EXAMPLE),
                (RECOMMENDATION, "/api/v1/recommendations", examples.RECOMMENDATION_EXAMPLE),
            )
        ],
        "get_example": f"{origin}/api/v1/recommendations?{examples.RECOMMENDATION_QUERY_EXAMPLE}",
        "origin": origin,
        "answer_codes": ANSWER_CODES,
        "fault_codes": [
            (code, fault_pattern(str(text))) for code, text in FAULTS.items() if code != "unknown_field_like"
        ],
    }
    return render(request, "api/docs.html", context)

"""`/api/v1/quotes`: read, call one service, write. The services hold rights and states, as for the pages."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from advisor.api.schemas import reference
from catalog.api.views import CatalogPages
from config.api_errors import Unprocessable
from config.visitors import client_address
from quotes import access, files
from quotes.api import bodies, examples
from quotes.api.answers import etag_of, quote_answer, quote_row
from quotes.api.authentication import HasScope, TokenAuthentication, token_of_request
from quotes.api.idempotency import HEADER, creation_key, key_of, once
from quotes.api.refusals import PreconditionFailed, PreconditionRequired, fault, refusal
from quotes.listing import filtered_revisions
from quotes.models import QuoteRevision, Scope
from quotes.services import quote_create, quote_create_from_recommendation, quote_edit
from quotes.sizing_basis import answers_of_body, reasons_against_draft
from quotes.states import State

QUOTE = reference("QuoteAnswer")
NOTHING = {"type": "object", "additionalProperties": False}
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="ETag of the quote; a changed one is refused with 412."
)
KEY = OpenApiParameter(
    HEADER, str, OpenApiParameter.HEADER, description="Up to 255 characters; the same key again gives the same answer."
)
REVISION = OpenApiParameter("revision", int, description="An older revision; without it the newest.")


class QuoteView(APIView):
    """What all operations on quotes share."""

    authentication_classes = [TokenAuthentication]
    permission_classes = [HasScope]
    scopes: ClassVar[dict[str, str]] = {}

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(refusal(exc))

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "private, no-store"
        return response

    @property
    def caller(self) -> User:
        return cast(User, self.request.user)

    def actor(self) -> access.Actor:
        request = self.request
        token = token_of_request(request)
        return access.actor_of(
            self.caller,
            request_id=getattr(request._request, "request_id", ""),
            address=client_address(request._request) or None,
            token_name=f"{token.prefix} {token.name}"[:100],
        )

    def found(self, public_id: uuid.UUID) -> QuoteRevision:
        """The quote as the caller sees it (404), in the revision that the query names."""
        return access.revision_for(self.caller, public_id, _revision_index(self.request))

    def answer(self, revision: QuoteRevision, status: int = 200) -> Response:
        current = access.revision_for(self.caller, revision.quote.public_id, revision.revision_index)
        answer = quote_answer(current, self.caller)
        return Response(answer, status=status, headers={"ETag": etag_of(current)})


class QuoteList(QuoteView):
    scopes: ClassVar = {"GET": Scope.READ, "POST": Scope.DRAFT}

    @extend_schema(
        operation_id="list_quotes",
        summary="Quotes that the token's owner sees, newest first",
        parameters=[
            bodies.QuoteListQuerySerializer,
            OpenApiParameter("page", int),
            OpenApiParameter("page_size", int),
            OpenApiParameter("lang", str, enum=["zh-Hans", "en"]),
        ],
        responses={200: reference("QuotePage")},
        tags=["quotes"],
    )
    def get(self, request: Request) -> Response:
        _refuse_unknown(request, {"q", "state", "basis", "currency", "page", "page_size", "lang"})
        query = bodies.QuoteListQuerySerializer(data=request.query_params)
        query.is_valid(raise_exception=True)
        filters = dict(query.validated_data)
        if filters.get("state") and filters["state"] not in set(State):
            raise Unprocessable([fault("unknown_state", _("There is no state of this code."), "/state")])
        rows = filtered_revisions(access.visible_revisions(request.user), filters, timezone.now())
        pages = CatalogPages()
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response([quote_row(revision) for revision in page or []])

    @extend_schema(
        operation_id="create_quote",
        summary="A draft, from a recommendation or from lines",
        parameters=[KEY],
        request=bodies.QuoteCreateRequestSerializer,
        responses={201: QUOTE},
        examples=[
            OpenApiExample("From a recommendation", value=examples.FROM_RECOMMENDATION, request_only=True),
            OpenApiExample("From lines", value=examples.FROM_LINES, request_only=True),
        ],
        tags=["quotes"],
    )
    def post(self, request: Request) -> Response:
        key = key_of(request, is_required=False)
        data = _read(bodies.QuoteCreateRequestSerializer, request)
        return once(request, key, lambda: self._create(data, creation_key(request, key)))

    def _create(self, data: Mapping[str, Any], key: uuid.UUID) -> Response:
        with transaction.atomic():
            make = self._from_recommendation if "recommendation" in data else self._from_lines
            revision = make(data, key)
        return self.answer(revision, status=201)

    def _from_recommendation(self, data: Mapping[str, Any], key: uuid.UUID) -> QuoteRevision:
        answers, query = answers_of_body(data["recommendation"])
        shown = "en" if self.request._request.LANGUAGE_CODE == "en" else "zh-Hans"
        if reasons := reasons_against_draft(answers[shown], data["basis"]):
            raise Unprocessable([fault("nothing_to_quote", reason, "/recommendation") for reason in reasons])
        revision = quote_create_from_recommendation(
            actor=self.actor(),
            answers=answers,
            basis=data["basis"],
            language=data["language"],
            customer=bodies.QuoteCreateRequestSerializer.customer_of(data),
            project=data.get("project", ""),
            query=query,
            creation_key=key,
        )
        rest = {name: data[name] for name in ("paper", "valid_through", "customer_note") if name in data}
        changed = {name: value for name, value in rest.items() if getattr(revision, name) != value}
        if not changed:
            return revision
        return quote_edit(
            actor=self.actor(), revision=revision, expected_version=revision.content_version, fields=changed
        )

    def _from_lines(self, data: Mapping[str, Any], key: uuid.UUID) -> QuoteRevision:
        names = ("basis", "currency", "language", "paper", "term_months", "valid_through", "project", "customer_note")
        content = {name: data[name] for name in names if name in data}
        content |= bodies.CustomerBody.fields_of(data.get("customer") or {})
        lines = [bodies.LineBody.line_of(line) for line in data["lines"]]
        return quote_create(actor=self.actor(), lines=lines, content=content, creation_key=key)


class QuoteDetail(QuoteView):
    scopes: ClassVar = {"GET": Scope.READ, "PATCH": Scope.DRAFT}

    @extend_schema(
        operation_id="read_quote",
        summary="One quote: content, totals, state, and what may be done with it",
        parameters=[REVISION],
        responses={200: QUOTE},
        tags=["quotes"],
    )
    def get(self, request: Request, public_id: uuid.UUID) -> Response:
        return self.answer(self.found(public_id))

    @extend_schema(
        operation_id="change_quote",
        summary="Change a draft's customer, project, language, paper, validity or note",
        parameters=[OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, required=True, description="Its ETag.")],
        request=bodies.QuoteChangeRequestSerializer,
        responses={200: QUOTE},
        examples=[OpenApiExample("Project and telephone", value=examples.CHANGE, request_only=True)],
        tags=["quotes"],
    )
    def patch(self, request: Request, public_id: uuid.UUID) -> Response:
        revision = self.found(public_id)
        if "If-Match" not in request.headers:
            raise PreconditionRequired(_("Send the quote's ETag as If-Match, so that no change of others is lost."))
        refuse_other_version(request, revision)
        data = dict(_read(bodies.QuoteChangeRequestSerializer, request))
        fields = bodies.CustomerBody.fields_of(data.pop("customer", None) or {}) | data
        return self.answer(
            quote_edit(actor=self.actor(), revision=revision, expected_version=revision.content_version, fields=fields)
        )


class AnyAccept(DefaultContentNegotiation):
    """The document is a PDF whatever is asked for; a problem is JSON."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class QuotePdf(QuoteView):
    scopes: ClassVar = {"GET": Scope.READ}
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="read_quote_pdf",
        summary="The stored PDF of an issued quote, or a draft's with its watermark",
        parameters=[REVISION],
        responses={(200, "application/pdf"): OpenApiResponse(OpenApiTypes.BINARY)},
        tags=["quotes"],
    )
    def get(self, request: Request, public_id: uuid.UUID) -> HttpResponse:
        return files.pdf_response(self.found(public_id))


def step(
    name: str,
    *,
    summary: str,
    scope: Scope,
    body: type[Serializer[Any]],
    run: Callable[[access.Actor, QuoteRevision, Mapping[str, Any], uuid.UUID], QuoteRevision],
    needs_key: bool = False,
    makes_another: bool = False,
    example: dict[str, Any] | None = None,
) -> type[QuoteView]:
    """The view of one POST: a step in a quote's life, done once for each Idempotency-Key."""
    status = 201 if makes_another else 200

    class StepView(QuoteView):
        scopes: ClassVar = {"POST": scope}

        @extend_schema(
            operation_id=f"{name}_quote",
            summary=summary,
            description=f"Scope: {scope}.",
            parameters=[
                OpenApiParameter(HEADER, str, OpenApiParameter.HEADER, required=needs_key, description=KEY.description),
                IF_MATCH,
            ],
            # the generator leaves out a serializer without fields, and with it that a body may come
            request={"application/json": NOTHING} if body is bodies.EmptyRequestSerializer else body,
            responses={status: QUOTE},
            examples=[OpenApiExample(summary, value=example or {}, request_only=True)],
            tags=["quotes"],
        )
        def post(self, request: Request, public_id: uuid.UUID) -> Response:
            key = key_of(request, is_required=needs_key)
            revision = self.found(public_id)
            data = _read(body, request)

            def work() -> Response:
                refuse_other_version(request, revision)
                after = run(self.actor(), revision, data, creation_key(request, key))
                return self.answer(after, status=status)

            return once(request, key, work)

    StepView.__name__ = f"Quote{name.title()}"
    return StepView


def refuse_other_version(request: Request, revision: QuoteRevision) -> None:
    """Raises `PreconditionFailed` when If-Match names another version than the stored one."""
    header = request.headers.get("If-Match", "")
    if not header or header.strip() == "*":
        return
    held = [tag.removeprefix("W/") for tag in parse_etags(header)]
    if etag_of(revision) not in held:
        raise PreconditionFailed(_("The quote was changed meanwhile. Read it again, then repeat your change."))


def _read(serializer: type[Serializer[Any]], request: Request) -> Mapping[str, Any]:
    """The checked body; none at all counts as an empty one."""
    found = serializer(data=request.data if request.data is not None else {})
    found.is_valid(raise_exception=True)
    return found.validated_data  # type: ignore[no-any-return]


def _revision_index(request: Request) -> int | None:
    _refuse_unknown(request, {"revision", "lang"})
    raw = request.query_params.get("revision")
    if raw is None:
        return None
    if not (raw.isascii() and raw.isdigit() and len(raw) <= 4):
        raise Unprocessable([fault("not_a_number", _("Write a revision as a whole number."), "/revision")])
    return int(raw)


def _refuse_unknown(request: Request, allowed: set[str]) -> None:
    unknown = [name for name in request.query_params if name not in allowed]
    if unknown:
        raise Unprocessable(
            [fault("unknown_field", _("There is no parameter of this name."), f"/{name[:60]}") for name in unknown]
        )

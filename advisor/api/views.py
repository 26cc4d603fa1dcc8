"""`/api/v1/estimates` and `/api/v1/recommendations`: read, call one service, write; the words are in the services."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from django.core.cache import cache
from django.http import HttpResponse, QueryDict
from django.utils.http import parse_etags
from django.utils.translation import get_language
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from advisor.api.examples import (
    ESTIMATE_EXAMPLE,
    FINE_TUNING_EXAMPLE,
    RECOMMENDATION_EXAMPLE,
)
from advisor.api.explained import (
    EXPLAIN,
    EXPLAIN_PARAMETER,
    explained_estimate,
    explained_search,
    wants_explanation,
)
from advisor.api.repeats import CACHE_SECONDS, answer_basis
from advisor.api.schemas import query_parameters, reference
from advisor.inputs import (
    InputError,
    body_from_query,
    parse_estimate_request,
    parse_recommendation_request,
    query_from_body,
)
from advisor.services import scenario_estimate
from config.api_errors import Unprocessable


class EstimateView(APIView):
    """One job on one stated cluster."""

    @extend_schema(
        operation_id="estimate",
        summary="One job on one stated cluster: memory, step time, training days",
        request={"application/json": reference("EstimateRequest")},
        parameters=[EXPLAIN_PARAMETER],
        responses={200: reference("EstimateAnswer")},
        examples=[
            OpenApiExample("Pretraining 70B on 512 GPUs", value=ESTIMATE_EXAMPLE, request_only=True),
            OpenApiExample("QLoRA on one server", value=FINE_TUNING_EXAMPLE, request_only=True),
        ],
        tags=["sizing"],
    )
    def post(self, request: Request) -> HttpResponse:
        """Kept nowhere but among the repeats: it takes as long to find in a shared cache as to compute."""
        body, explains = request.data, wants_explanation(request)
        return sent(
            *written(
                lambda: explained_estimate(
                    scenario_estimate(checked=parse_estimate_request(body), is_kept=False), explains
                )
            )
        )


class RecommendationView(APIView):
    """Which cluster to take."""

    @extend_schema(
        operation_id="recommend",
        summary="Which cluster to take for a job, a deadline and a budget",
        request={"application/json": reference("RecommendationRequest")},
        parameters=[EXPLAIN_PARAMETER],
        responses={200: reference("RecommendationAnswer")},
        examples=[OpenApiExample("70B in 30 days", value=RECOMMENDATION_EXAMPLE, request_only=True)],
        tags=["sizing"],
    )
    def post(self, request: Request) -> HttpResponse:
        body, explains = request.data, wants_explanation(request)
        key = answer_key("recommendation", json.dumps((body, explains), sort_keys=True))
        return written_answer(key, lambda: explained_search(parse_recommendation_request(body), explains))

    @extend_schema(
        operation_id="recommend_by_link",
        summary="The same by the query string of the page; cacheable, without cookies",
        parameters=[
            OpenApiParameter("v", OpenApiTypes.STR, enum=["1"], description="Version of the link."),
            OpenApiParameter("lang", OpenApiTypes.STR, enum=["zh-Hans", "en"], description="Language of the words."),
            EXPLAIN_PARAMETER,
            *(OpenApiParameter(**row) for row in query_parameters()),
        ],
        responses={
            200: reference("RecommendationAnswer"),
            304: OpenApiResponse(description="Unchanged since the ETag in If-None-Match."),
        },
        tags=["sizing"],
    )
    def get(self, request: Request) -> HttpResponse:
        """Unchanged for whoever holds the ETag: it covers the inputs, engine, catalogue, day and language."""
        query, explains = request.GET.copy(), wants_explanation(request)
        query.pop(EXPLAIN, None)
        try:
            key = answer_key("recommendation-link", json.dumps((_question(query.urlencode()), explains)))
        except InputError as error:
            raise Unprocessable(error.as_dicts()) from error
        etag = f'"{key}"'
        # an answer that was packed on its way out carries its ETag as a weak one
        held = [tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-None-Match", ""))]
        response: HttpResponse
        if etag in held:  # given only with an answer, and it names all that the answer rests on
            response = HttpResponse(status=304)
        else:
            response = written_answer(
                key, lambda: explained_search(parse_recommendation_request(body_from_query(query)), explains)
            )
        response["ETag"] = etag
        response["Cache-Control"] = f"public, max-age={CACHE_SECONDS}"
        return response


@lru_cache(maxsize=512)
def _question(query_string: str) -> str:
    """What a link asks, in the one way of writing it: 70B and 7e10 are one question. Raises InputError."""
    body = body_from_query(QueryDict(query_string))
    # what was rounded is told in the answer, and the canonical link does not show it
    notes = [dict(note.params) for note in parse_recommendation_request(body).problems]
    return json.dumps((query_from_body(body), notes))


def answer_key(route: str, inputs: str) -> str:
    """Name of an answer: same inputs, engine, catalogue, day (prices have dates) and language, same answer."""
    parts = (route, inputs, *answer_basis(), get_language())
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def written_answer(key: str, compute: Callable[[], Mapping[str, Any]]) -> HttpResponse:
    """The written answer, from the cache where it was given before. Raises Unprocessable."""
    stored = cache.get(key)
    if stored is None:
        content, *versions = written(compute)
        cache.set(key, (zlib.compress(content, 1), *versions), CACHE_SECONDS)
        return sent(content, *versions)
    packed, *versions = stored
    return sent(zlib.decompress(packed), *versions)


def written(compute: Callable[[], Mapping[str, Any]]) -> tuple[bytes, str, str]:
    """The answer as JSON, and the versions of engine and catalogue it rests on. Raises Unprocessable."""
    try:
        answer = compute()
    except InputError as error:
        raise Unprocessable(error.as_dicts()) from error
    content = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return content, answer["engine_version"], answer["catalog_revision"]


def sent(content: bytes, engine_version: str, catalog_revision: str) -> HttpResponse:
    return HttpResponse(
        content,
        content_type="application/json",
        headers={"X-Engine-Version": engine_version, "X-Catalog-Revision": catalog_revision},
    )

"""`/api/v1/offer-comparisons`: read, call one service, write."""

from __future__ import annotations

import json

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from advisor.api.market_schemas import OFFER_EXAMPLE
from advisor.api.schemas import reference
from advisor.api.views import answer_key, written_answer
from advisor.offer_inputs import parse_offer_comparison
from advisor.rival_offer import offers_compare


class OfferComparisonView(APIView):
    """Rival offers by the cost of a finished run."""

    @extend_schema(
        operation_id="compare_offers",
        summary="What rival offers cost by the finished run, beside the same GPUs on our bare metal",
        request={"application/json": reference("OfferComparisonRequest")},
        responses={200: reference("OfferComparisonAnswer")},
        examples=[OpenApiExample("Two offers for 64 H100", value=OFFER_EXAMPLE, request_only=True)],
        tags=["sizing"],
    )
    def post(self, request: Request) -> HttpResponse:
        body = request.data
        key = answer_key("offers", json.dumps(body, sort_keys=True))
        return written_answer(key, lambda: offers_compare(checked=parse_offer_comparison(body)))

"""`/api/v1/offer-comparisons` and `/api/v1/upgrades`: read, call one service, write."""

from __future__ import annotations

import json

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from advisor.api.market_schemas import OFFER_EXAMPLE, UPGRADE_EXAMPLE
from advisor.api.schemas import reference
from advisor.api.views import answer_key, written_answer
from advisor.offer_inputs import parse_offer_comparison
from advisor.rival_offer import offers_compare
from advisor.upgrade import cluster_upgrade
from advisor.upgrade_inputs import parse_upgrade_request


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


class UpgradeView(APIView):
    """From a present cluster to a target."""

    @extend_schema(
        operation_id="upgrade_cluster",
        summary="What to add to a present cluster for a job, what stays, and what cannot grow",
        request={"application/json": reference("UpgradeRequest")},
        responses={200: reference("UpgradeAnswer")},
        examples=[OpenApiExample("From 64 H100", value=UPGRADE_EXAMPLE, request_only=True)],
        tags=["sizing"],
    )
    def post(self, request: Request) -> HttpResponse:
        body = request.data
        key = answer_key("upgrade", json.dumps(body, sort_keys=True))
        return written_answer(key, lambda: cluster_upgrade(checked=parse_upgrade_request(body)))

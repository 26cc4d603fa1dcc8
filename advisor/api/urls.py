"""Routes of the advisor's API and of its documents."""

from __future__ import annotations

from django.urls import path

from advisor.api.documents import OpenApiView
from advisor.api.market_views import OfferComparisonView, UpgradeView
from advisor.api.views import EstimateView, RecommendationView

urlpatterns = [
    path("estimates", EstimateView.as_view(), name="estimates"),
    path("recommendations", RecommendationView.as_view(), name="recommendations"),
    path("offer-comparisons", OfferComparisonView.as_view(), name="offer-comparisons"),
    path("upgrades", UpgradeView.as_view(), name="upgrades"),
    path("openapi.json", OpenApiView.as_view(), name="openapi"),
]

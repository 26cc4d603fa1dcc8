"""Pages beside sizing: rival offers, and growth of a present cluster."""

from __future__ import annotations

from django.urls import path

from advisor.offer_views import offers

app_name = "market"
urlpatterns = [
    path("offers", offers, name="offers"),
]

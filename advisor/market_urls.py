"""Pages beside sizing: rival offers, and growth of a present cluster."""

from __future__ import annotations

from django.urls import path

from advisor.offer_views import offers
from advisor.upgrade_views import upgrade

app_name = "market"
urlpatterns = [
    path("offers", offers, name="offers"),
    path("upgrade", upgrade, name="upgrade"),
]

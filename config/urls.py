"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from advisor.api.documents import NothingHereView, api_docs
from config.accounts import Login
from config.health import healthz, readyz

urlpatterns = [
    path("", include("advisor.urls")),
    path("", include("advisor.market_urls")),
    path("catalog/", include("catalog.urls")),
    path("", include("quotes.request_urls")),
    path("quotes/", include("quotes.urls")),
    path("q/", include("quotes.customer_urls")),
    path("v/", include("quotes.verification_urls")),
    path("api/v1/", include("advisor.api.urls")),
    path("api/v1/", include("catalog.api.urls")),
    path("api/v1/", include("quotes.api.urls")),
    path("api/docs", api_docs, name="api-docs"),
    re_path(r"^api/", NothingHereView.as_view()),
    path("accounts/login/", Login.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    # one login for the whole site, with its brake on guessing
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
]

handler400 = "config.errors.bad_request"
handler403 = "config.errors.forbidden"
handler404 = "config.errors.not_found"
handler500 = "config.errors.server_error"

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("advisor.urls")),
    path("catalog/", include("catalog.urls")),
    path("quotes/", include("quotes.urls")),
    path("api/v1/", include("advisor.api.urls")),
    path("api/v1/", include("catalog.api.urls")),
    path("api/v1/", include("quotes.api.urls")),
    path("admin/", admin.site.urls),
]

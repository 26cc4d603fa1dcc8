from __future__ import annotations

from django.urls import path

from quotes.views import verification

app_name = "verification"
urlpatterns = [
    path("", verification.check, name="check"),
    path("<str:code>", verification.confirm, name="code"),
]

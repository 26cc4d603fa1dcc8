from __future__ import annotations

from django.urls import path

from advisor import views

app_name = "advisor"
urlpatterns = [
    path("", views.sizing, name="sizing"),
    path("compare", views.compare, name="compare"),
    path("method", views.method, name="method"),
    path("glossary", views.glossary, name="glossary"),
    path("validation", views.validation, name="validation"),
    path("theme/", views.theme, name="theme"),
    path("favicon.ico", views.favicon, name="favicon"),
]

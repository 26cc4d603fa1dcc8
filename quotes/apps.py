from __future__ import annotations

from django.apps import AppConfig


class QuotesConfig(AppConfig):
    name = "quotes"

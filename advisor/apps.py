from __future__ import annotations

from django.apps import AppConfig


class AdvisorConfig(AppConfig):
    name = "advisor"

"""The project's own app: system checks and site-wide pieces."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.staticfiles.apps import StaticFilesConfig


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401  (registers the checks)


class SiteStaticFiles(StaticFilesConfig):
    """Leaves out what no page asks for: the PDF's font, and the pages of the API framework, which are switched off."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "fonts", "rest_framework"]

"""System checks with stable ids: what would otherwise fail only when a customer needs it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

PDF_LIBRARIES = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"


@register()
def fonts_present(**kwargs: Any) -> list[CheckMessage]:
    """The PDF has no Chinese letters without the shipped font, and WeasyPrint would not complain."""
    missing = [
        name
        for name in ("NotoSansSC-Regular.ttf", "NotoSansSC-Bold.ttf")
        if not (settings.BASE_DIR / "static" / "fonts" / name).is_file()
    ]
    return [Error(f"static/fonts/{name} is missing.", hint="Restore it from git.", id="config.E001") for name in missing]

"""System checks with stable ids: what would otherwise fail only when a customer needs it."""

from __future__ import annotations

import ctypes.util
import sys
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

PDF_PACKAGES = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
PDF_LIBRARIES = ("pango-1.0", "pangoft2-1.0", "harfbuzz-subset")
FONT_FILES = ("NotoSansSC-Regular.ttf", "NotoSansSC-Bold.ttf")


def missing_fonts() -> list[str]:
    folder = settings.BASE_DIR / "static" / "fonts"
    return [name for name in FONT_FILES if not (folder / name).is_file()]


@register()
def fonts_present(**kwargs: Any) -> list[CheckMessage]:
    """The PDF has no Chinese letters without the shipped font, and WeasyPrint would not complain."""
    return [
        Error(f"static/fonts/{name} is missing.", hint="Restore it from the repository.", id="config.E001")
        for name in missing_fonts()
    ]


@register()
def pdf_libraries_present(**kwargs: Any) -> list[CheckMessage]:
    """WeasyPrint loads these when the first PDF is drawn; here they are only looked up, which costs nothing."""
    if not sys.platform.startswith("linux"):
        return []
    missing = [name for name in PDF_LIBRARIES if ctypes.util.find_library(name) is None]
    if not missing:
        return []
    return [
        Warning(
            f"Quotes cannot be drawn as PDF: missing {', '.join(missing)}.",
            hint=f"apt-get install {PDF_PACKAGES}",
            id="config.W001",
        )
    ]

"""What every page's template may use."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, Any]:
    """The page's language as an HTML tag value, the same address in the other language, and the chosen theme."""
    other = request.GET.copy()
    is_chinese = getattr(request, "LANGUAGE_CODE", "en") == "zh-hans"
    other["lang"] = "en" if is_chinese else "zh-Hans"
    theme = request.COOKIES.get("theme", "")
    return {
        "html_lang": "zh-Hans" if is_chinese else "en",
        "other_language_url": f"{request.path}?{other.urlencode()}",
        "theme": theme if theme in {"light", "dark"} else "",
    }

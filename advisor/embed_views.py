"""The sizer inside other people's pages: a frame that sets no cookie, and the script that puts it there.

Only `/embed/sizer` may be framed. Everything it does is a GET of itself, so it works where third-party cookies are
blocked and in a sandbox without `allow-same-origin`.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_GET

from advisor.form_page import is_asked, page_form
from advisor.inputs import InputError
from advisor.result_page import EXAMPLE_QUERY
from advisor.services import scenario_search

# what the frame asks; everything else of a case travels along unseen
FIELDS = ("parameters", "preset", "tokens", "method", "deadline_days")
THEMES = ("light", "dark")
LOADER = Path(settings.BASE_DIR) / "static" / "js" / "embed-loader.js"
FRAMES = {"frame-ancestors": ["*"]}


@require_GET
@xframe_options_exempt
@csp_replace(FRAMES)
def sizer(request: HttpRequest) -> HttpResponse:
    """The short form and the short answer; the whole answer opens in a window of its own."""
    form = page_form(request.GET if is_asked(request.GET) else None)
    answer: Any = None
    if form.is_bound and form.is_valid() and form.checked is not None:
        try:
            answer = scenario_search(checked=form.checked)
        except InputError as error:
            form.add_faults(error)
    theme = request.GET.get("theme", "")
    context = {
        "form": form,
        "fields": [form[name] for name in FIELDS],
        "kept": [(name, value) for name in form.fields if name not in FIELDS for value in request.GET.getlist(name)],
        "answer": answer,
        "best": answer["recommended"] if answer else None,
        "deadline_seconds": form.checked.deadline_seconds if answer and form.checked else None,
        "full_url": f"{reverse('advisor:sizing')}?{form.query}&lang={_language(request)}" if answer else "",
        "language": _language(request),
        "theme": theme if theme in THEMES else "",
    }
    return render(request, "embed/sizer.html", context, status=422 if form.is_bound and form.errors else 200)


def _language(request: HttpRequest) -> str:
    return "en" if getattr(request, "LANGUAGE_CODE", "en") == "en" else "zh-Hans"


@lru_cache(maxsize=1)
def loader_text() -> str:
    return LOADER.read_text(encoding="utf-8")


def loader_integrity() -> str:
    """The script's hash, for pages that want to pin it."""
    return "sha384-" + base64.b64encode(hashlib.sha384(loader_text().encode()).digest()).decode()


@require_GET
@cache_control(public=True, max_age=3600)
def loader(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(loader_text(), content_type="text/javascript; charset=utf-8")
    response["Access-Control-Allow-Origin"] = "*"
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


@require_GET
def embed_docs(request: HttpRequest) -> HttpResponse:
    origin = f"{request.scheme}://{request.get_host()}"
    context = {
        "origin": origin,
        "integrity": loader_integrity(),
        "example_query": EXAMPLE_QUERY,
        "language": _language(request),
    }
    return render(request, "embed/docs.html", context)

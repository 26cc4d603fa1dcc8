"""The public pages: parse by form, call one service, render."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

THEMES = ("light", "dark")
THEME_COOKIE_SECONDS = 31_536_000


@require_GET
def sizing(request: HttpRequest) -> HttpResponse:
    return render(request, "advisor/sizing.html")


@require_POST
@csrf_exempt  # a colour preference: nothing to gain by forging it, and pages stay the same for every visitor
def theme(request: HttpRequest) -> HttpResponse:
    """Remembers light or dark in a cookie, or forgets it ("system"), and goes back to the page asked from."""
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        target = "/"
    response = HttpResponseRedirect(target)
    choice = request.POST.get("theme", "")
    if choice in THEMES:
        response.set_cookie(
            "theme", choice, max_age=THEME_COOKIE_SECONDS, samesite="Lax", secure=settings.HTTPS, httponly=True
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


@require_GET
@cache_control(max_age=86_400, public=True)
def favicon(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect(static("img/favicon.svg"))

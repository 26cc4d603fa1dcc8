"""API tokens of the logged-in member of staff: the list, a new one shown once, revoking."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from quotes.models import ApiToken
from quotes.services import tokens as services
from quotes.token_forms import TokenForm
from quotes.views.guards import desk


@desk
@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    form = TokenForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            token, secret = services.token_make(
                user=user,
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                days=int(form.cleaned_data["days"]),
            )
        except services.TooManyTokensError:
            form.add_error(None, _("20 tokens are open, which is the most. Revoke one first."))
            return _page(request, form, status=422)
        return _page(request, TokenForm(), made=token, secret=secret)
    return _page(request, form, status=422 if form.errors else 200)


@desk
@require_POST
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    user = cast(User, request.user)
    token = get_object_or_404(ApiToken, pk=pk, user=user)
    services.token_revoke(user=user, token=token)
    messages.success(request, _("The token %(name)s is revoked.") % {"name": token.name})
    return redirect("tokens")


def _page(request: HttpRequest, form: forms.Form, *, status: int = 200, **context: Any) -> HttpResponse:
    rows = ApiToken.objects.filter(user=cast(User, request.user))
    now = timezone.now()
    tokens = [(token, token.is_open(now)) for token in rows]
    return render(request, "requests/tokens.html", {"form": form, "tokens": tokens, **context}, status=status)

"""Who gets into the desk's pages, and as whom they act."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import cache_control

from config.visitors import client_address
from quotes import access
from quotes.models import STATE_LABELS
from quotes.states import TransitionError

View = Callable[..., HttpResponseBase]
private = cache_control(private=True, no_store=True)


def desk(view: View) -> View:
    """For staff with a role at the desk: others log in, or find nothing here."""

    @wraps(view)
    @private
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not access.may_open_desk(request.user):
            raise Http404("No such page.")
        try:
            return view(request, *args, **kwargs)
        except TransitionError as error:
            context = {"state": STATE_LABELS[error.state], "code": error.action}
            return render(request, "quotes/refused.html", context, status=409)
        except access.NotAllowedError:
            return render(request, "quotes/refused.html", {"state": None}, status=403)

    return guarded


def actor(request: HttpRequest) -> access.Actor:
    return access.actor_of(
        cast(User, request.user),
        request_id=getattr(request, "request_id", ""),
        address=client_address(request) or None,
    )

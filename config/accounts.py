"""Staff log in through one door, which slows down guessing."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from rest_framework.throttling import BaseThrottle

from config.errors import plain_page

ATTEMPT_LIMIT = 10
LOCK_SECONDS = 300


def attempts_key(request: HttpRequest) -> str:
    """One counter for an address and a name, so that one guesser locks out neither the house nor the account."""
    address = BaseThrottle().get_ident(request)  # type: ignore[arg-type]  # reads META only, which both requests have
    digest = hashlib.sha256(f"{address} {request.POST.get('username', '').lower()}".encode()).hexdigest()
    return f"login-attempts:{digest}"


class Login(LoginView):
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = attempts_key(request)
        if cache.get(key, 0) < ATTEMPT_LIMIT:
            return super().post(request, *args, **kwargs)
        response = plain_page(request, 429, _("Too many attempts."), _("Wait five minutes, then try again."))
        response["Retry-After"] = str(LOCK_SECONDS)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        key = attempts_key(self.request)
        cache.add(key, 0, timeout=LOCK_SECONDS)
        try:
            cache.incr(key)
        except ValueError:  # evicted in between
            cache.set(key, 1, timeout=LOCK_SECONDS)
        return super().form_invalid(form)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        cache.delete(attempts_key(self.request))
        return super().form_valid(form)

"""Staff log in through one door, which slows down guessing."""

from __future__ import annotations

import math
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from config.errors import plain_page
from config.visitors import Counter, client_address
from quotes.access import may_open_desk

ATTEMPT_LIMIT = 10
LOCK_SECONDS = 300
ATTEMPTS = Counter(name="login-attempts", window_seconds=LOCK_SECONDS)


def who_tries(request: HttpRequest) -> str:
    """One counter for an address and a name, so that one guesser locks out neither the house nor the account."""
    return f"{client_address(request)} {request.POST.get('username', '').lower()}"


class Login(LoginView):
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        """The quotes for whom they are open; editors of the catalogue begin there."""
        return super().get_default_redirect_url() if may_open_desk(self.request.user) else reverse("catalog:index")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if ATTEMPTS.count(who_tries(request)) < ATTEMPT_LIMIT:
            return super().post(request, *args, **kwargs)
        response = plain_page(request, 429, _("Too many attempts."), _("Wait five minutes, then try again."))
        response["Retry-After"] = str(math.ceil(ATTEMPTS.seconds_left()))
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        ATTEMPTS.add(who_tries(self.request))
        return super().form_invalid(form)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        ATTEMPTS.clear(who_tries(self.request))
        return super().form_valid(form)

"""Who calls: a program with a token of a member of staff, which never allows more than they may."""

from __future__ import annotations

from typing import Any, cast

from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from quotes.models import ApiToken
from quotes.services.tokens import token_of

SCHEME = "Bearer"
MAX_SECRET_CHARACTERS = 200


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer gca_…`; `request.auth` is the token, `request.user` whose it is."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        scheme, _space, secret = header.partition(" ")
        secret = secret.strip()
        found = None
        if scheme.lower() == SCHEME.lower() and 0 < len(secret) <= MAX_SECRET_CHARACTERS:
            found = token_of(secret)
        if found is None:
            raise AuthenticationFailed(_("The token is unknown, revoked or past its end. Make a new one at the desk."))
        return found.user, found

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="quotes"'


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The scheme in the OpenAPI document."""

    target_class = TokenAuthentication
    name = "staffToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of the page /quotes/tokens/, with the scopes that the operation names.",
        }


def token_of_request(request: Request) -> ApiToken:
    """The token that `HasScope` let in."""
    return cast(ApiToken, request.auth)


class HasScope(BasePermission):
    """The view says which scope each method needs, in `scopes`."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken):
            return False
        needed = view.scopes.get(str(request.method))  # type: ignore[attr-defined]
        if needed is not None and needed not in token.scopes:
            raise PermissionDenied(_("The token lacks the scope %(scope)s.") % {"scope": needed}, code="scope_missing")
        return True

"""A program with a token, and the quotes that the tests of the API are about."""

from __future__ import annotations

import json

from django.test import Client

from quotes.models import Scope
from quotes.services.tokens import token_make

STEPS = ("submit", "approve", "reject", "issue", "send", "revise", "withdraw", "duplicate")
QUOTES = "/api/v1/quotes"


def pdf_bytes(content):
    return f"%PDF {content['number']}".encode()


class Api:
    """A program with a token."""

    def __init__(self, user, *scopes):
        _token, self.secret = token_make(user=user, name="test", scopes=scopes or tuple(Scope.values), days=1)
        self.client = Client(HTTP_AUTHORIZATION=f"Bearer {self.secret}", HTTP_ACCEPT_LANGUAGE="en")

    def get(self, path, **headers):
        return self.client.get(path, headers=headers)

    def post(self, path, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, json.dumps(body or {}), content_type="application/json", headers=named)

    def patch(self, path, body, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.patch(path, json.dumps(body), content_type="application/json", headers=named)


def path(revision, step=""):
    return f"{QUOTES}/{revision.quote.public_id}" + (f"/{step}" if step else "")


def problem(response, status, code):
    assert response.status_code == status, response.content.decode()
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["code"] == code
    return body

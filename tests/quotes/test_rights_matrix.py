"""Every address of the quotes and every route of their API, as every role: what is foreign does not exist, and what
one may not do changes nothing. New addresses are walked by themselves; only what is public is named."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from quotes.models import AuditEntry, QuoteRequest, QuoteRevision, Scope
from quotes.services import quote_issue, quote_share
from quotes.services.tokens import token_make
from quotes.states import Action, Role
from tests import factories
from tests.quotes.drafts import make_draft

# Without login on purpose: asking for a quote, the customer's link, the check of a paper.
PUBLIC = {
    "request-quote",
    "request-thanks",
    "customer:quote",
    "customer:pdf",
    "customer:accept",
    "customer:decline",
    "verification:check",
    "verification:code",
}


METHODS = ("get", "post", "put", "patch", "delete")


def _methods(client: Client) -> list[Callable[[str], Any]]:
    return [getattr(client, method) for method in METHODS]


def _patterns(resolver: URLResolver, prefix: str = "", namespace: str = "") -> Iterator[tuple[str, str, URLPattern]]:
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from _patterns(pattern, route, inner)
        elif pattern.callback.__module__.startswith("quotes.") and pattern.name:
            yield namespace + pattern.name, route, pattern


def _routes() -> dict[str, str]:
    return {name: "/" + route.lstrip("^") for name, route, _pattern in _patterns(get_resolver())}


def _addresses(route: str, revision: QuoteRevision, reference: str) -> list[str]:
    """The route with its placeholders filled: every action where it takes one."""
    values = {
        "<uuid:public_id>": str(revision.quote.public_id),
        "<int:revision_index>": "1",
        "<int:other_index>": "1",
        "<int:pk>": "1",
        "<str:reference>": reference,
        "<str:token>": "x" * 43,
        "<str:code>": "XXXX-XXXX",
    }
    for placeholder, value in values.items():
        route = route.replace(placeholder, value)
    filled = [route.replace("<slug:action>", str(action)) for action in Action]
    assert "<" not in filled[0], f"{filled[0]}: the walk does not know this placeholder"
    return sorted(set(filled))


def _trace() -> tuple[object, ...]:
    """What a refused request must leave as it was."""
    return (
        tuple(QuoteRevision.objects.order_by("pk").values_list("pk", "state", "content_version", "updated_at")),
        AuditEntry.objects.count(),
    )


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice)


@pytest.fixture
def issued(as_alice):
    revision = quote_issue(actor=as_alice, revision=make_draft(as_alice), render=lambda content: b"%PDF-1.7")
    quote_share(actor=as_alice, revision=revision)
    return revision


def _desk_routes() -> dict[str, str]:
    return {name: route for name, route in _routes().items() if name not in PUBLIC and not route.startswith("/api/")}


def _api_routes() -> dict[str, str]:
    return {name: route for name, route in _routes().items() if route.startswith("/api/")}


def test_the_walk_finds_the_addresses():
    assert {"quotes:list", "quotes:detail", "quotes:step", "requests", "tokens"} <= _desk_routes().keys()
    steps = {"submit", "approve", "reject", "issue", "send", "revise", "withdraw", "duplicate"}
    assert {f"api-quote-{step}" for step in steps} <= _api_routes().keys()
    assert _routes().keys() >= PUBLIC


@pytest.mark.parametrize("name", sorted(_desk_routes()))
def test_a_stranger_is_sent_to_the_login(client, draft, name):
    before = _trace()
    for address in _addresses(_desk_routes()[name], draft, "R0000000"):
        for method in _methods(client):
            answer = method(address)
            assert answer.status_code in {302, 405}, address
            if answer.status_code == 302:
                assert answer["Location"].startswith("/accounts/login/"), address
    assert _trace() == before


@pytest.mark.parametrize("role", ["none", "catalog_editor"])
@pytest.mark.parametrize("name", sorted(_desk_routes()))
def test_staff_without_a_part_in_quotes_finds_nothing(client, draft, name, role):
    client.force_login(factories.staff("ed", *([] if role == "none" else [role])))
    before = _trace()
    for address in _addresses(_desk_routes()[name], draft, "R0000000"):
        for method in _methods(client):
            assert method(address).status_code in {404, 405}, address
    assert _trace() == before


@pytest.mark.parametrize("name", sorted(name for name, route in _desk_routes().items() if "public_id" in route))
def test_another_representatives_quote_does_not_exist(client, draft, issued, name):
    client.force_login(factories.bob())
    before = _trace()
    for revision in (draft, issued):
        for address in _addresses(_desk_routes()[name], revision, "R0000000"):
            for method in _methods(client):
                assert method(address).status_code in {404, 405}, address
    assert _trace() == before


@pytest.mark.parametrize("role", [Role.FINANCE_VIEWER, Role.ADMIN], ids=str)
@pytest.mark.parametrize("name", sorted(name for name, route in _desk_routes().items() if "public_id" in route))
def test_who_only_looks_changes_nothing(client, draft, issued, name, role):
    user = factories.root() if role is Role.ADMIN else factories.staff("fay", str(role))
    client.force_login(user)
    before = _trace()
    for revision in (draft, issued):
        for address in _addresses(_desk_routes()[name], revision, "R0000000"):
            for method in _methods(client)[1:]:
                answer = method(address)
                assert answer.status_code in {200, 302, 403, 404, 405, 409, 422}, address
                if name == "quotes:preview":
                    continue  # computes, and keeps nothing
                assert answer.status_code != 200, address
    assert _trace() == before


def test_a_request_of_a_visitor_is_not_for_viewers(client, draft):
    lead = QuoteRequest.objects.create(
        last_sent_at=factories.NOON,
        fingerprint="f" * 64,
        basis="purchase",
        consent_version="1",
        consented_at=factories.NOON,
        query="",
        engine_version="1",
        catalog_revision="1",
    )
    client.force_login(factories.staff("fay", "finance_viewer"))
    for name, route in _desk_routes().items():
        if "reference" in route:
            for address in _addresses(route, draft, lead.reference):
                for method in _methods(client):
                    assert method(address).status_code in {403, 404, 405}, name


class TestApi:
    @pytest.mark.parametrize("name", sorted(_api_routes()))
    def test_without_a_token(self, client, draft, name):
        before = _trace()
        for address in _addresses(_api_routes()[name], draft, ""):
            for method in METHODS:
                answer = _asked(client, method, address)
                assert answer.status_code in {401, 405}, address
                assert answer["Content-Type"].startswith("application/problem+json")
        assert _trace() == before

    @pytest.mark.parametrize("name", sorted(name for name, route in _api_routes().items() if "public_id" in route))
    def test_another_representatives_token(self, client, draft, issued, name):
        _token, secret = token_make(user=factories.bob(), name="all", scopes=list(Scope.values), days=1)
        before = _trace()
        for revision in (draft, issued):
            (address,) = _addresses(_api_routes()[name], revision, "")
            for method in METHODS:
                answer = _asked(client, method, address, secret)
                assert answer.status_code in {404, 405}, address
        assert _trace() == before

    @pytest.mark.parametrize("role", [Role.FINANCE_VIEWER, Role.ADMIN], ids=str)
    @pytest.mark.parametrize("name", sorted(_api_routes()))
    def test_a_token_of_who_only_looks(self, client, draft, issued, name, role):
        user = factories.root() if role is Role.ADMIN else factories.staff("fay", str(role))
        _token, secret = token_make(user=user, name="all", scopes=list(Scope.values), days=1)
        before = _trace()
        for revision in (draft, issued):
            (address,) = _addresses(_api_routes()[name], revision, "")
            for method in METHODS[1:]:
                answer = _asked(client, method, address, secret)
                assert answer.status_code in {403, 404, 405, 409, 412, 422, 428}, (address, answer.content)
        assert _trace() == before

    def test_a_token_to_read_does_nothing_else(self, client, draft, as_alice):
        _token, secret = token_make(user=as_alice.user, name="read", scopes=[Scope.READ], days=1)
        before = _trace()
        for name, route in _api_routes().items():
            (address,) = _addresses(route, draft, "")
            for method in METHODS[1:]:
                assert _asked(client, method, address, secret).status_code in {403, 405}, name
        assert _trace() == before


def _asked(client: Client, method: str, address: str, secret: str = "") -> Any:
    given = _headers(secret) if secret else {"data": {}, "content_type": "application/json"}
    return getattr(client, method)(address, **given)


def _headers(secret: str) -> dict[str, object]:
    return {
        "data": {},
        "content_type": "application/json",
        "HTTP_AUTHORIZATION": f"Bearer {secret}",
        "HTTP_IDEMPOTENCY_KEY": str(uuid.uuid4()),
    }

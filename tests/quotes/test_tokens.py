"""API tokens: shown once, known by their hash, ended by date, by hand, or with their owner's work here."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from quotes import access
from quotes.models import ApiToken
from quotes.services import tokens as services
from tests import factories


def make(user, *scopes, days=30):
    return services.token_make(user=user, name="crm", scopes=scopes or ("read",), days=days)


def test_only_the_hash_is_stored(alice):
    _token, secret = make(alice)
    assert secret.startswith("gca_")
    assert len(secret) >= 4 + 43  # 256 bits
    row = str(ApiToken.objects.values().get())
    assert secret not in row
    assert secret[10:] not in row
    assert services.token_of(secret).user == alice


@pytest.mark.parametrize("guess", ["", "gca_", "gca_" + "A" * 43, "\ud800", "x" * 5000])
def test_a_guess_is_none(alice, guess):
    make(alice)
    assert services.token_of(guess) is None


def test_ends_by_its_date(alice):
    token, secret = make(alice)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    assert services.token_of(secret) is None


def test_ends_by_hand(alice):
    token, secret = make(alice)
    services.token_revoke(user=factories.bob(), token=token)  # not his
    assert services.token_of(secret) is not None
    services.token_revoke(user=alice, token=token)
    assert services.token_of(secret) is None


@pytest.mark.parametrize("change", ["inactive", "not staff", "no role"])
def test_ends_with_its_owners_work(alice, change):
    _token, secret = make(alice)
    if change == "no role":
        alice.groups.clear()
    else:
        setattr(alice, "is_active" if change == "inactive" else "is_staff", False)
        alice.save()
    assert services.token_of(secret) is None


def test_notes_its_use_once_a_minute(alice, django_assert_num_queries):
    token, secret = make(alice)
    services.token_of(secret)
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    services.token_of(secret)
    token.refresh_from_db()
    assert token.last_used_at == first


@pytest.mark.parametrize(("scopes", "days"), [((), 30), (("read", "root"), 30), (("read",), 0), (("read",), 400)])
def test_without_scope_or_end_there_is_none(alice, scopes, days):
    with pytest.raises(ValueError, match="at least one known scope"):
        services.token_make(user=alice, name="x", scopes=scopes, days=days)


def test_twenty_are_the_most(alice):
    for _number in range(services.MAX_TOKENS):
        make(alice)
    with pytest.raises(services.TooManyTokensError):
        make(alice)


def test_is_for_those_who_work_with_quotes(db):
    with pytest.raises(access.NotAllowedError):
        make(factories.charlie())


class TestThePage:
    @pytest.fixture
    def desk(self, client, alice):
        client.cookies["lang"] = "en"
        client.force_login(alice)
        return client

    def test_shows_a_new_one_once(self, desk):
        response = desk.post(reverse("tokens"), {"name": "crm", "scopes": ["read", "draft"], "days": "90"})
        secret = re.search(r'value="(gca_[\w-]+)"', response.content.decode())[1]
        found = services.token_of(secret)
        assert (found.scopes, found.name) == (["read", "draft"], "crm")
        assert timedelta(days=89) < found.expires_at - timezone.now() <= timedelta(days=90)
        assert response["Cache-Control"] == "private, no-store" or "no-store" in response["Cache-Control"]
        assert secret not in desk.get(reverse("tokens")).content.decode()

    def test_wrong_entries_come_back(self, desk):
        response = desk.post(reverse("tokens"), {"name": "crm", "days": "90"})
        assert response.status_code == 422
        assert 'value="crm"' in response.content.decode()
        assert not ApiToken.objects.exists()

    def test_revokes_own_ones_only(self, desk, alice):
        own, _secret = make(alice)
        other, _secret = make(factories.bob())
        assert desk.post(reverse("token-revoke", args=[own.pk])).status_code == 302
        assert desk.post(reverse("token-revoke", args=[other.pk])).status_code == 404
        assert desk.get(reverse("token-revoke", args=[own.pk])).status_code == 405
        assert set(ApiToken.objects.filter(revoked_at__isnull=False)) == {own}

    def test_is_for_the_desk(self, client, db):
        assert client.get(reverse("tokens")).url.startswith("/accounts/login/")
        client.force_login(factories.charlie())
        assert client.get(reverse("tokens")).status_code == 404


def test_a_role_given_later_counts_at_once(alice):
    """Rights are those of now, not those of when the token was made."""
    _token, secret = make(alice, "read", "approve")
    alice.groups.add(Group.objects.get_or_create(name="sales_manager")[0])
    assert "sales_manager" in access.roles_of(services.token_of(secret).user)

"""The login and its brake."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from config.accounts import ATTEMPT_LIMIT, LOCK_SECONDS
from tests import factories

pytestmark = pytest.mark.django_db


def log_in(client: Client, name: str, password: str):
    return client.post("/accounts/login/", {"username": name, "password": password}, headers={"Accept-Language": "en"})


def test_staff_log_in_and_out(client: Client) -> None:
    factories.alice()
    assert log_in(client, "alice", factories.PASSWORD)["Location"] == "/quotes/"
    assert "_auth_user_id" in client.session
    assert client.post("/accounts/logout/")["Location"] == "/"
    assert "_auth_user_id" not in client.session


def test_an_editor_of_the_catalogue_begins_there(client: Client) -> None:
    factories.staff("erin", "catalog_editor")
    assert log_in(client, "erin", factories.PASSWORD)["Location"] == "/catalog/"


def test_guessing_is_stopped_even_with_the_right_password_at_last(client: Client) -> None:
    factories.alice()
    for _attempt in range(ATTEMPT_LIMIT):
        assert log_in(client, "alice", "wrong").status_code == 200
    response = log_in(client, "alice", factories.PASSWORD)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= LOCK_SECONDS
    assert "_auth_user_id" not in client.session


def test_one_guesser_locks_out_no_one_else(client: Client) -> None:
    factories.alice(), factories.bob()
    for _attempt in range(ATTEMPT_LIMIT):
        log_in(client, "alice", "wrong")
    assert log_in(client, "bob", factories.PASSWORD).status_code == 302
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert log_in(elsewhere, "alice", factories.PASSWORD).status_code == 302


def test_the_lock_ends_and_success_clears_the_count(client: Client) -> None:
    factories.alice()
    for _attempt in range(ATTEMPT_LIMIT - 1):
        log_in(client, "alice", "wrong")
    assert log_in(client, "alice", factories.PASSWORD).status_code == 302
    client.logout()
    assert log_in(client, "alice", "wrong").status_code == 200
    cache.clear()  # what the time-out does
    assert log_in(client, "alice", factories.PASSWORD).status_code == 302


def test_the_admin_uses_the_same_door(client: Client) -> None:
    response = client.get("/admin/login/?next=/admin/catalog/")
    assert response["Location"] == "/accounts/login/?next=/admin/catalog/"


def test_the_next_page_must_be_on_this_site(client: Client) -> None:
    factories.alice()
    response = client.post(
        "/accounts/login/?next=https://elsewhere.example/",
        {"username": "alice", "password": factories.PASSWORD, "next": "https://elsewhere.example/"},
    )
    assert response["Location"] == "/quotes/"

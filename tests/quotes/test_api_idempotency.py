"""Idempotency-Key: the same call is done once, another body is refused, a running one is waited for."""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from quotes import access, policy
from quotes.api import examples
from quotes.models import IdempotentCall, OutboxMail, Quote, QuoteRevision
from quotes.samples import seed_parties
from quotes.services import quote_issue
from quotes.services.tokens import ANSWERS_KEPT
from tests import factories
from tests.quotes.api_calls import QUOTES, Api, path, pdf_bytes, problem
from tests.quotes.drafts import make_draft


@pytest.fixture
def api(alice):
    return Api(alice)


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice)


@pytest.fixture(autouse=True)
def _fast_pdf(monkeypatch):
    monkeypatch.setattr(quote_issue, "__kwdefaults__", quote_issue.__kwdefaults__ | {"render": pdf_bytes})


def create(api, key, body=examples.FROM_LINES):
    return api.post(QUOTES, body, Idempotency_Key=key)


def test_the_same_key_gives_the_same_answer(api):
    first, second = create(api, "a"), create(api, "a")
    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert first["ETag"] == second["ETag"]
    assert "Idempotent-Replayed" not in first
    assert second["Idempotent-Replayed"] == "true"
    assert Quote.objects.count() == 1


def test_another_key_is_another_quote(api):
    create(api, "a")
    create(api, "b")
    assert Quote.objects.count() == 2


def test_another_body_under_the_same_key_is_refused(api):
    create(api, "a")
    errors = problem(create(api, "a", examples.FROM_LINES | {"project": "x"}), 422, "invalid_request")["errors"]
    assert errors[0]["code"] == "idempotency_key_reused"
    assert Quote.objects.count() == 1


def test_another_address_under_the_same_key_is_refused(api, draft):
    create(api, "a")
    problem(api.post(path(draft, "submit"), {}, Idempotency_Key="a"), 422, "invalid_request")


def test_keys_of_two_tokens_are_two(api, carol):
    create(api, "a")
    assert create(Api(carol), "a").status_code == 201
    assert Quote.objects.count() == 2


def test_a_refused_call_may_be_mended_under_its_key(api):
    problem(create(api, "a", examples.FROM_LINES | {"basis": "gift"}), 422, "invalid_request")
    assert create(api, "a").status_code == 201


def test_a_refused_step_is_not_kept(api, as_alice):
    incomplete = make_draft(as_alice, lines=[("2", None, "0.13")])
    problem(api.post(path(incomplete, "issue"), Idempotency_Key="a"), 422, "invalid_request")
    assert not IdempotentCall.objects.exists()


def test_issue_needs_one(api, draft):
    problem(api.post(path(draft, "issue")), 400, "idempotency_key_required")
    draft.refresh_from_db()
    assert draft.state == "draft"


@pytest.mark.parametrize("key", ["x" * 256, "a b", "schlüssel"])
def test_a_malformed_key_is_refused(api, draft, key):
    problem(api.post(path(draft, "issue"), Idempotency_Key=key), 400, "idempotency_key_invalid")


def test_two_clicks_on_issue_take_one_number(api, draft):
    first, second = (api.post(path(draft, "issue"), Idempotency_Key="a").json() for _click in range(2))
    assert first["number"] == second["number"]
    assert QuoteRevision.objects.exclude(number=None).count() == 1


def test_two_clicks_on_send_send_one_mail(api, draft):
    api.post(path(draft, "issue"), Idempotency_Key="a")
    for _click in range(2):
        assert api.post(path(draft, "send"), examples.SEND, Idempotency_Key="b").status_code == 200
    assert OutboxMail.objects.count() == 1


def test_a_running_call_is_waited_for(api):
    create(api, "a")
    IdempotentCall.objects.update(status=None)
    response = create(api, "a")
    problem(response, 409, "idempotent_call_running")
    assert int(response["Retry-After"]) >= 1


def test_a_call_that_died_is_done_anew_and_makes_nothing_twice(api):
    first = create(api, "a").json()
    past = timezone.now() - timedelta(seconds=1)
    IdempotentCall.objects.update(status=None, held_until=past)  # made the quote, died before it kept its answer
    second = create(api, "a")
    assert second.status_code == 201
    assert second.json()["id"] == first["id"]
    assert Quote.objects.count() == 1


def test_a_key_is_free_again_after_a_day(api):
    create(api, "a")
    IdempotentCall.objects.update(created_at=timezone.now() - ANSWERS_KEPT - timedelta(seconds=1))
    assert create(api, "a", examples.FROM_LINES | {"project": "x"}).status_code == 201


def test_kept_answers_of_every_token_go_with_the_daily_command(api):
    create(api, "old")
    IdempotentCall.objects.update(created_at=timezone.now() - ANSWERS_KEPT - timedelta(seconds=1))
    create(Api(factories.carol()), "new")
    call_command("erase_requests", "--expired", stdout=io.StringIO())
    assert [call.key for call in IdempotentCall.objects.all()] == ["new"]


def test_a_kept_answer_is_for_its_caller_only(api, draft):
    """The replay passes through the same doors: who no longer sees the quote gets 404, not the kept body."""
    api.post(path(draft, "submit"), {}, Idempotency_Key="a")
    Quote.objects.update(owner=factories.bob())
    problem(api.post(path(draft, "submit"), {}, Idempotency_Key="a"), 404, "not_found")


@pytest.mark.django_db(transaction=True)
def test_two_threads_with_one_key_issue_once(monkeypatch):
    """Both start together: one does it, the other is told to wait, and asks again for the answer."""
    policy.load()
    seed_parties()
    alice = factories.alice()
    revision = make_draft(access.actor_of(alice))
    refused = threading.Event()
    drawn: list[str] = []

    def slow_pdf(content):
        drawn.append(content["number"])
        assert refused.wait(timeout=30), "the second call was not answered while the first one ran"
        return pdf_bytes(content)

    monkeypatch.setattr(quote_issue, "__kwdefaults__", quote_issue.__kwdefaults__ | {"render": slow_pdf})
    programs = [Api(alice)] * 2
    both = threading.Barrier(len(programs))

    def issue(program):
        try:
            both.wait(timeout=30)
            response = program.post(path(revision, "issue"), Idempotency_Key="a")
            if response.status_code == 409:
                refused.set()
            return response
        finally:
            connection.close()

    with ThreadPoolExecutor(len(programs)) as threads:
        done, waited = sorted(threads.map(issue, programs), key=lambda response: response.status_code)
    assert done.status_code == 200
    problem(waited, 409, "idempotent_call_running")
    again = programs[0].post(path(revision, "issue"), Idempotency_Key="a")
    assert (again["Idempotent-Replayed"], again.json()) == ("true", done.json())
    assert drawn == [done.json()["number"]] == [QuoteRevision.objects.get().number]

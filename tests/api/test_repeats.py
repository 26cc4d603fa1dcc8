"""Answers given before: the same bytes and headers, counted, and never past what they rest on."""

from __future__ import annotations

import json

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client

from advisor.api.repeats import Given, GivenAnswers

pytestmark = pytest.mark.django_db
URL = "/api/v1/estimates"
LINK = "/api/v1/recommendations?v=1&parameters=7e9&tokens=1e11&deadline_days=30&gpu=nvidia-h100-sxm5-80gb"
BODY = {
    "model": {"parameters": "7B"},
    "training": {"tokens": "100B"},
    "cluster": {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 64},
}
FRESH = {"X-Request-Id", "RateLimit", "RateLimit-Policy"}


@pytest.fixture
def ask(client: Client, catalog, monkeypatch):
    """Asks and tells whether the view had to work."""
    passed: list[str] = []
    keep = GivenAnswers.keep

    def noted(answers: GivenAnswers, key, given: Given, key_bytes: int) -> None:
        passed.append(key)
        keep(answers, key, given, key_bytes)

    monkeypatch.setattr(GivenAnswers, "keep", noted)

    def send(path: str, body: object = None, **headers: str):
        before = len(passed)
        if body is None:
            response = client.get(path, headers=headers)
        else:
            response = client.post(path, json.dumps(body), content_type="application/json", headers=headers)
        return response, len(passed) > before

    return send


def _headers(response) -> dict[str, str]:
    return {name: value for name, value in response.items() if name not in FRESH}


@pytest.mark.parametrize(("path", "body"), [(URL, BODY), (LINK, None)], ids=["estimate", "recommendation"])
def test_the_second_time_goes_out_as_the_first_did(ask, path: str, body: object) -> None:
    first, first_is_fresh = ask(path, body)
    second, second_is_fresh = ask(path, body)
    assert (first.status_code, first_is_fresh, second_is_fresh) == (200, True, False)
    assert (second.content, _headers(second)) == (first.content, _headers(first))
    assert second["X-Request-Id"] != first["X-Request-Id"]


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ({"accept-language": "en"}, URL),
        ({"accept-encoding": "gzip"}, URL),
        ({"x-forwarded-proto": "https"}, URL),
        ({}, URL + "?explain=true"),
        ({}, URL + "?lang=en"),
    ],
    ids=["language", "packing", "scheme", "explained", "language in the address"],
)
def test_another_question_is_answered_anew(ask, headers: dict[str, str], address: str) -> None:
    ask(URL, BODY, **{"accept-language": "zh-Hans"})
    _response, is_fresh = ask(address, BODY, **headers)
    assert is_fresh


def test_a_new_catalogue_is_answered_anew(ask) -> None:
    ask(URL, BODY)
    cache.set("api:catalog-revision", "another", 60)
    _response, is_fresh = ask(URL, BODY)
    assert is_fresh


def test_packed_answers_stay_packed_and_unpacked_ones_plain(ask) -> None:
    for _turn in range(2):
        assert ask(LINK, None, **{"accept-encoding": "gzip"})[0]["Content-Encoding"] == "gzip"
        assert "Content-Encoding" not in ask(LINK)[0].headers


def test_repeats_are_counted_and_refused_like_all_others(ask, settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 3
    left = [ask(URL, BODY)[0]["RateLimit"].split("r=")[1].split(";")[0] for _turn in range(3)]
    assert left == ["2", "1", "0"]
    refused, _is_fresh = ask(URL, BODY)
    assert (refused.status_code, "Retry-After" in refused) == (429, True)
    assert refused["RateLimit"].startswith('"address";r=0')


def test_a_foreign_host_is_refused_whatever_was_given_before(ask) -> None:
    ask(URL, BODY)
    assert ask(URL, BODY, host="elsewhere.example")[0].status_code == 400


@pytest.mark.parametrize(("path", "body"), [(URL, BODY), (LINK, None)], ids=["estimate", "recommendation"])
def test_a_database_that_is_down_is_said_in_the_words_of_the_api(ask, monkeypatch, path: str, body: object) -> None:
    def refuse() -> str:
        raise OperationalError("connection to server at 10.0.0.1 failed")

    cache.delete("api:catalog-revision")
    for asks in ("advisor.api.repeats", "advisor.hardware"):
        monkeypatch.setattr(f"{asks}.current_revision", refuse)
    response, _is_fresh = ask(path, body)
    assert (response.status_code, response.json()["code"]) == (503, "database_unavailable")


def test_faults_are_never_repeated(ask) -> None:
    for _turn in range(2):
        response, is_kept = ask(URL, {"model": {}})
        assert (response.status_code, is_kept) == (422, False)


def test_who_holds_the_etag_is_told_that_nothing_changed(ask) -> None:
    etag = ask(LINK)[0]["ETag"]
    assert ask(LINK, None, **{"if-none-match": etag})[0].status_code == 304


def test_what_is_too_old_is_gone() -> None:
    answers = GivenAnswers()
    answers.keep("old", Given(until=0.0, content=b"x", headers={}), 0)
    assert answers.get("old") is None


def test_long_headers_and_addresses_take_their_room(ask, monkeypatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(GivenAnswers, "keep", lambda _answers, _key, _given, key_bytes: sizes.append(key_bytes))
    ask(URL, BODY)
    ask(f"{URL}?lang=en", BODY, **{"accept-language": "en," * 1000})
    assert sizes[1] - sizes[0] == len("lang=en") + 3000


def test_the_least_asked_goes_when_the_room_is_full() -> None:
    answers = GivenAnswers(limit_bytes=100)
    kept = {name: Given(until=float("inf"), content=b"x" * 40, headers={}) for name in ("a", "b", "c")}
    answers.keep("a", kept["a"], 1)
    answers.keep("b", kept["b"], 1)
    assert answers.get("a") is kept["a"]
    answers.keep("c", kept["c"], 1)
    assert (answers.get("b"), answers.get("a"), answers.get("c")) == (None, kept["a"], kept["c"])
    answers.keep("huge", Given(until=float("inf"), content=b"x" * 101, headers={}), 0)
    assert answers.get("huge") is None
    assert answers.get("a") is kept["a"]

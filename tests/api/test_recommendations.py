"""`/api/v1/recommendations`: by body and by link the same answer; the link is cacheable and leaves no cookie."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from advisor.api.examples import RECOMMENDATION_QUERY_EXAMPLE
from advisor.inputs import body_from_query

URL = "/api/v1/recommendations"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog")]


def get(query: str, **headers: str):
    return Client().get(f"{URL}?{query}", headers={"accept-language": "en", **headers})


class TestLink:
    def test_gives_the_same_answer_as_the_body(self):
        from django.http import QueryDict

        body = body_from_query(QueryDict(RECOMMENDATION_QUERY_EXAMPLE))
        posted = Client().post(
            URL, json.dumps(body), content_type="application/json", headers={"accept-language": "en"}
        )
        assert get(RECOMMENDATION_QUERY_EXAMPLE).json() == posted.json()

    def test_has_the_names_of_the_contract(self):
        answer = get(RECOMMENDATION_QUERY_EXAMPLE).json()
        assert {
            "tier",
            "requirement",
            "recommended",
            "alternatives",
            "rejected",
            "deployment_comparison",
            "rent_or_buy",
            "evaluated_layout_count",
            "problems",
            "assumptions",
            "engine_version",
            "catalog_revision",
        } <= set(answer)
        best = answer["recommended"]
        assert best["estimate"]["memory_per_gpu"]["fits"] is True
        assert best["estimate"]["time"]["training_seconds"] <= 30 * 86_400

    def test_is_cacheable_and_cookie_less(self):
        response = get(RECOMMENDATION_QUERY_EXAMPLE)
        assert response["Cache-Control"] == "public, max-age=300"
        assert response["ETag"].startswith('"')
        assert "Cookie" not in response["Vary"]
        assert not response.cookies
        assert response["Access-Control-Allow-Origin"] == "*"

    def test_unchanged_is_said_without_the_answer(self):
        etag = get(RECOMMENDATION_QUERY_EXAMPLE)["ETag"]
        response = get(RECOMMENDATION_QUERY_EXAMPLE, **{"if-none-match": etag})
        assert (response.status_code, response.content, response["ETag"]) == (304, b"", etag)

    def test_the_etag_of_a_packed_answer_is_known_too(self):
        packed = get(RECOMMENDATION_QUERY_EXAMPLE, **{"accept-encoding": "gzip"})
        response = get(RECOMMENDATION_QUERY_EXAMPLE, **{"if-none-match": packed["ETag"]})
        assert response.status_code == 304

    def test_the_etag_covers_inputs_and_language(self):
        etag = get(RECOMMENDATION_QUERY_EXAMPLE)["ETag"]
        assert get(RECOMMENDATION_QUERY_EXAMPLE.replace("7e10", "8e10"))["ETag"] != etag
        assert get(RECOMMENDATION_QUERY_EXAMPLE, **{"accept-language": "zh-Hans"})["ETag"] != etag

    def test_the_etag_is_the_questions_not_the_writings(self):
        short = "gpu=nvidia-h100-sxm5-80gb&limit=1&parameters={}&tokens=100B"
        etag = get(short.format("70B"))["ETag"]
        assert get(short.format("7e10"))["ETag"] == etag
        assert get(f"{short.format('700亿')}&method=pretrain&max_gpu_count=4096&v=1&utm_source=x")["ETag"] == etag
        assert get("tokens=1e11&limit=1&parameters=70000000000&gpu=nvidia-h100-sxm5-80gb")["ETag"] == etag

    def test_a_rounded_count_is_another_answer(self):
        short = "gpu=nvidia-h100-sxm5-80gb&limit=1&parameters={}&tokens=100B"
        whole, rounded = get(short.format("7123456789")), get(short.format("7.1234567890123B"))
        assert "rounded_to_whole" not in {problem["code"] for problem in whole.json()["problems"]}
        assert "rounded_to_whole" in {problem["code"] for problem in rounded.json()["problems"]}
        assert whole["ETag"] != rounded["ETag"]

    def test_a_refused_link_is_not_cached_and_has_no_etag(self):
        response = get("parameters=8x7B")
        assert response.status_code == 422
        assert "ETag" not in response
        assert "public" not in response.get("Cache-Control", "")

    @pytest.mark.parametrize(
        ("query", "pointer", "code"),
        [
            ("parameters=7B&colour=red", "/colour", "unknown_field"),
            ("parameters=7B&deadline_days=-1", "/target/deadline_days", "not_above"),
            ("v=9&parameters=7B", "", "unsupported_version"),
            ("", "/model", "required"),
        ],
    )
    def test_refused(self, query, pointer, code):
        response = get(query)
        assert response.status_code == 422
        assert [(error["pointer"], error["code"]) for error in response.json()["errors"]] == [(pointer, code)]


def test_a_preflight_of_another_site_is_answered():
    response = Client().options(
        URL, headers={"origin": "https://elsewhere.example", "access-control-request-method": "POST"}
    )
    assert response.status_code == 204
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Access-Control-Max-Age"] == "86400"
    assert "Access-Control-Allow-Credentials" not in response


def test_no_other_site_may_read_quotes():
    response = Client().get("/api/v1/quotes", headers={"origin": "https://elsewhere.example"})
    assert "Access-Control-Allow-Origin" not in response


def test_nothing_feasible_is_an_answer_with_relaxations():
    response = get("parameters=405B&tokens=15T&deadline_days=1&max_gpu_count=64")
    assert response.status_code == 200
    answer = response.json()
    assert answer["recommended"] is None
    assert answer["problems"]


def test_a_cluster_smaller_than_a_server_is_answered():
    response = Client().post(
        URL, json.dumps({"model": {"parameters": "7B"}, "hardware": {"gpu_count": 1}}), content_type="application/json"
    )
    assert response.status_code == 200
    assert response.json()["problems"] or response.json()["recommended"]

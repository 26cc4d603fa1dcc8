"""What answers when no view does: a page for people, problem JSON below /api/, each in the asker's language."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from config import urls as site_urls

handler400, handler403 = site_urls.handler400, site_urls.handler403
handler404, handler500 = site_urls.handler404, site_urls.handler500


def forbid(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied


def suspect(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation


def fail(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the inside of the site")


def accept(request: HttpRequest) -> HttpResponse:
    return HttpResponse("accepted")


FAULTS = [
    path(prefix + name, view)
    for prefix in ("", "api/v1/")
    for name, view in (("forbid", forbid), ("suspect", suspect), ("fail", fail), ("accept", accept))
]
urlpatterns = FAULTS + site_urls.urlpatterns
CASES = [
    ("forbid", 403, "permission_denied"),
    ("suspect", 400, "bad_request"),
    ("nowhere", 404, "not_found"),
    ("fail", 500, "internal_error"),
]


@pytest.fixture
def faulty(client: Client) -> Any:
    client.raise_request_exception = False
    with override_settings(ROOT_URLCONF=__name__):
        yield client


@pytest.mark.parametrize(("name", "status", "code"), CASES)
def test_the_api_answers_with_a_problem_document(faulty: Client, name: str, status: int, code: str) -> None:
    response = faulty.get(f"/api/v1/{name}", headers={"X-Request-Id": "request-12345"})
    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    body = json.loads(response.content)
    assert (body["status"], body["code"]) == (status, code)
    assert body["instance"] == f"/api/v1/{name}"
    assert body["request_id"] == response["X-Request-Id"] == "request-12345"
    assert "inside" not in response.text


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "status", "code"), CASES)
@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_a_page_answers_people(faulty: Client, name: str, status: int, code: str, language: str) -> None:
    response = faulty.get(f"/{name}", headers={"Accept-Language": language})
    assert response.status_code == status
    assert response["Content-Type"].startswith("text/html")
    assert f'lang="{language}"' in response.text
    assert response.text.count("<h1") == 1
    assert response["X-Request-Id"] in response.text
    assert "inside" not in response.text


def test_a_page_of_a_failure_wears_the_site_s_look_and_does_without(
    faulty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.findall(r'href="/static/css/(\w+)', faulty.get("/fail").text) == ["tokens", "base", "layout"]

    def broken(_path: str) -> str:
        raise ValueError("Missing staticfiles manifest entry")

    monkeypatch.setattr("config.errors.static", broken)
    response = faulty.get("/fail")
    assert response.status_code == 500
    assert response.text.count("<h1") == 1
    assert "/static/" not in response.text


def test_the_detail_follows_the_language_and_the_code_does_not(faulty: Client) -> None:
    english = json.loads(faulty.get("/api/v1/nowhere", headers={"Accept-Language": "en"}).content)
    chinese = json.loads(faulty.get("/api/v1/nowhere", headers={"Accept-Language": "zh-CN"}).content)
    assert english["code"] == chinese["code"]
    assert english["detail"].startswith("There is nothing")
    assert chinese["detail"].startswith("此地址没有内容")


@pytest.mark.django_db
def test_a_form_without_token_is_refused_in_words() -> None:
    client = Client(enforce_csrf_checks=True)
    with override_settings(ROOT_URLCONF=__name__):
        response = client.post("/accept", headers={"Accept-Language": "en"})
    assert response.status_code == 403
    assert "The form had expired." in response.text


def test_the_log_names_the_request(faulty: Client, caplog: pytest.LogCaptureFixture) -> None:
    from config.log import RequestIdFilter

    caplog.handler.addFilter(RequestIdFilter())
    with caplog.at_level(logging.ERROR, logger="django.request"):
        faulty.get("/fail", headers={"X-Request-Id": "request-12345"})
    assert {record.request_id for record in caplog.records} == {"request-12345"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("given", ["short", "x" * 65, "line\nbreak12", "with space 123"])
def test_a_malformed_request_id_is_replaced(client: Client, given: str) -> None:
    assert client.get("/healthz", headers={"X-Request-Id": given})["X-Request-Id"] != given


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("en-GB,en;q=0.9", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("en;q=0.3, zh;q=0.9", "zh-Hans"),
        ("fr, en;q=0.5", "en"),
        ("fr", "zh-Hans"),
        ("", "zh-Hans"),
        ("en;q=0, zh", "zh-Hans"),
    ],
)
def test_the_language_follows_the_preference(client: Client, header: str, language: str) -> None:
    assert client.get("/healthz", headers={"Accept-Language": header})["Content-Language"] == language


def test_the_switch_is_remembered_by_pages_and_not_by_the_api(client: Client) -> None:
    assert settings.LANGUAGE_COOKIE_NAME not in client.get("/api/v1/nowhere?lang=en").cookies
    response = client.get("/healthz?lang=en", headers={"Accept-Language": "zh"})
    assert response["Content-Language"] == "en"
    assert client.get("/healthz", headers={"Accept-Language": "zh"})["Content-Language"] == "en"
    assert client.get("/api/v1/nowhere", headers={"Accept-Language": "zh"})["Content-Language"] == "zh-Hans"

"""The embedded sizer: framable alone, without cookies, small; the script that loads it."""

from __future__ import annotations

import base64
import gzip
import hashlib

import pytest
from django.test import Client

from tests.advisor.test_views import Page, case

pytestmark = pytest.mark.django_db


def test_the_frame_may_be_framed_and_sets_no_cookie(client: Client, catalog: None) -> None:
    response = client.get("/embed/sizer", case(lang="zh-Hans"))
    assert response.status_code == 200
    assert "frame-ancestors *" in response["Content-Security-Policy"]
    assert "unsafe" not in response["Content-Security-Policy"]
    assert "X-Frame-Options" not in response
    assert not response.cookies
    assert Page(response).all("html", lang="zh-Hans")


@pytest.mark.parametrize("path", ["/", "/compare", "/method", "/glossary", "/embed", "/validation", "/embed.js"])
def test_nothing_else_may_be_framed(client: Client, catalog: None, path: str) -> None:
    response = client.get(path)
    assert response["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


def test_the_frame_answers_keeps_the_case_and_opens_the_rest_outside(client: Client, catalog: None) -> None:
    page = Page(client.get("/embed/sizer", case(lang="en", precision="fp8", theme="dark")))
    [result] = [attributes for _tag, attributes in page.tags if "data-result" in attributes]
    assert int(result["data-count"]) > 0
    assert page.all("input", type="hidden", name="precision", value="fp8")
    assert page.all("html", data_theme="dark")
    [link] = [a for a in page.all("a") if a["href"].startswith("/?")]
    assert (link["target"], link["rel"]) == ("_blank", "noopener")
    assert all(form["method"] == "get" for form in page.all("form"))
    assert not page.unbalanced


def test_a_fault_in_the_frame_is_said_there(client: Client, catalog: None) -> None:
    response = client.get("/embed/sizer", case(parameters="8x7B"))
    assert response.status_code == 422
    assert "8x7B" in response.content.decode()


def test_the_loader_is_small_public_and_pinned_by_the_page(client: Client) -> None:
    response = client.get("/embed.js")
    assert response["Content-Type"].startswith("text/javascript")
    assert response["Access-Control-Allow-Origin"] == "*"
    assert len(gzip.compress(response.content)) <= 5_000
    digest = base64.b64encode(hashlib.sha384(response.content).digest()).decode()
    assert f"sha384-{digest}" in client.get("/embed").content.decode().replace("&#x2B;", "+")

"""A result handed on: QR code, mail, oEmbed; each leads to our own page with the entries of the form and no others."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from xml.etree import ElementTree

import pytest
import segno
from django.test import Client

from tests.advisor.test_views import Page, case, get

pytestmark = pytest.mark.django_db
SVG = "{http://www.w3.org/2000/svg}"
ORIGIN = "http://testserver"


def dark_modules(svg: bytes) -> set[tuple[int, int]]:
    """Column and row of each dark module, read from the strokes of the drawing."""
    path = ElementTree.fromstring(svg).findall(f".//{SVG}path")[-1].attrib["d"]  # noqa: S314
    found, x, y = set(), 0.0, 0.0
    for kind, numbers in re.findall(r"([Mmh])([^Mmh]+)", path):
        values = [float(text) for text in re.findall(r"-?[\d.]+", numbers)]
        if kind == "h":
            found |= {(int(x) + step, int(y)) for step in range(int(values[0]))}
            x += values[0]
        elif kind == "M":
            x, y = values
        else:
            x, y = x + values[0], y + values[1]
    return found


def test_the_qr_code_is_that_of_the_shared_link(client: Client, catalog: None) -> None:
    context = get(client, **case()).context
    response = client.get(context["qr_url"])
    assert response["Content-Type"] == "image/svg+xml"
    link = parse_qs(urlsplit(context["share_url"]).query)
    # the same entries in the same order, or the picture would differ
    expected = segno.make(context["share_url"], error="m", micro=False)
    drawn = {(x, y) for y, row in enumerate(expected.matrix_iter(border=4)) for x, module in enumerate(row) if module}
    assert dark_modules(response.content) == drawn
    assert set(link) == {"v", "parameters", "tokens", "deadline_days", "gpu", "seen"}


@pytest.mark.parametrize("query", ["", "evil=1", "seen=x", "parameters=" + "7" * 3000])
def test_there_is_no_qr_code_of_anything_else(client: Client, query: str) -> None:
    assert client.get(f"/share.svg?{query}").status_code == 404


def test_what_was_seen_is_no_link_by_itself(client: Client, catalog: None) -> None:
    seen = parse_qs(urlsplit(get(client, **case()).context["share_url"]).query)["seen"][0]
    assert client.get("/share.svg", {"seen": seen}).status_code == 404


def test_the_mail_says_the_estimate_and_carries_the_link(client: Client, catalog: None) -> None:
    response = get(client, **case())
    address = response.context["mail_url"]
    assert address.startswith("mailto:?subject=Estimate")
    assert quote(response.context["share_url"], safe="") in address
    assert "\n" not in address
    assert any(node["href"] == address for node in Page(response).all("a") if "href" in node)


def test_oembed_gives_the_frame_of_a_link_of_ours(client: Client, catalog: None) -> None:
    address = get(client, **case()).context["oembed_url"]
    found = client.get(f"{address}&maxwidth=400").json()
    assert (found["type"], found["version"], found["width"]) == ("rich", "1.0", 400)
    source = re.search(r'src="([^"]+)"', found["html"])
    assert source is not None
    frame = client.get(source[1].replace("&amp;", "&"))
    assert frame.status_code == 200
    assert frame.context["best"] is not None
    xml = client.get(f"{address}&format=xml").content
    assert ElementTree.fromstring(xml).findtext("type") == "rich"  # noqa: S314


@pytest.mark.parametrize(
    "url",
    ["", "https://elsewhere.example/?v=1", f"{ORIGIN}/scenarios/", f"{ORIGIN}@elsewhere.example/", "javascript:1"],
)
def test_oembed_knows_no_other_addresses(client: Client, url: str) -> None:
    assert client.get("/oembed", {"url": url}).status_code == 404


def test_oembed_carries_no_text_of_the_address_into_the_frame(client: Client) -> None:
    url = f"{ORIGIN}/?" + urlencode({"tokens": '"><script>alert(1)</script>', "evil": "x"})
    text = client.get("/oembed", {"url": url}).json()["html"]
    assert "<script" not in text
    assert "evil" not in text
    assert client.get("/oembed", {"url": f"{ORIGIN}/", "format": "yaml"}).status_code == 501


def test_visitors_have_a_list_of_their_own_and_staff_a_saved_one(client: Client, catalog: None) -> None:
    """The server only sends the empty place; what stands there never comes to it."""
    page = Page(get(client, **case()))
    [place] = page.all("section", **{"data-recent": ""})
    assert "hidden" in place
    [step] = [node for node in page.all("section") if "data-recent-query" in node]
    assert step["data-recent-query"] == "deadline_days=30&gpu=nvidia-h100-sxm5-80gb&parameters=7e9&tokens=1e11&v=1"
    assert step["data-recent-title"].startswith("7B · 100B tokens → 8 × H100")

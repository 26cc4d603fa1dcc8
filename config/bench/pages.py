"""What the first view of each page weighs, with the compressed files that a browser fetches for it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

from django.test import Client

from config.bench.measure import Figure
from config.static_files import collect_if_changed

PAGES = {
    "form": "/",
    "result": "/?v=1&parameters=70e9&tokens=1.4e12&deadline_days=30",
    "catalog": "/catalog/",
    "method": "/method",
    "validation": "/validation",
}
RESOURCE = re.compile(
    r"<(?:script|img|source)\b(?![^>]*\bloading=\"lazy\")[^>]*\bsrc=\"([^\"]+)\"|<link\b[^>]*>", re.IGNORECASE
)
FETCHED_LINKS = ("stylesheet", "icon", "manifest", "preload")
HEADERS = {"Accept-Encoding": "gzip", "Accept-Language": "zh-CN"}


def resources(html: str, base: str) -> list[str]:
    """Addresses that the browser fetches for the page, each once.

    Lazy pictures are not among them: ours stand in closed folds, and are fetched when one is opened.
    """
    found = []
    for match in RESOURCE.finditer(html):
        if match[1]:
            found.append(match[1])
        elif any(kind in match[0] for kind in FETCHED_LINKS) and (href := re.search(r'href="([^"]+)"', match[0])):
            found.append(href[1])
    return list(dict.fromkeys(urljoin(base, address) for address in found if not address.startswith("data:")))


def fetch(client: Client, address: str) -> tuple[bytes, str]:
    """The body as it goes over the wire, and as text."""
    response = client.get(address, headers=HEADERS)
    if response.status_code != 200:
        raise ValueError(f"{address} answered {response.status_code}.")
    body = b"".join(response) if response.streaming else response.content
    is_packed = response.get("Content-Encoding") == "gzip"
    text = (gzip.decompress(body) if is_packed else body).decode("utf-8", "replace")
    return body, text


def figures() -> Iterator[Figure]:
    collect_if_changed()
    client = Client(SERVER_NAME="localhost")
    for name, address in PAGES.items():
        body, html = fetch(client, address)
        addresses = resources(html, address)
        third = [url for url in addresses if urlsplit(url).netloc]
        weights = [len(fetch(client, url)[0]) for url in addresses if not urlsplit(url).netloc]
        yield Figure(
            path=("page_kb", name),
            label=f"{address.split('?')[0]} ({name}), compressed",
            value=(len(body) + sum(weights)) / 1000,
            unit="kB",
            limit=100.0,
            note=f" {len(body) / 1000:.1f} kB of it HTML",
        )
        yield Figure(path=("page_requests", name), label="  requests", value=1 + len(addresses), unit="", limit=12)
        yield Figure(path=("page_third_parties", name), label="  of them to others", value=len(third), unit="", limit=0)

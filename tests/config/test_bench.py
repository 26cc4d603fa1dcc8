"""The benchmark's own arithmetic, and that what it asks the site for exists."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.module_loading import import_string

from config.bench import answering, pages
from config.bench.measure import Figure, percentile
from config.bench.report import as_document, table_line
from config.management.commands.bench import SECTIONS


@pytest.mark.parametrize(
    ("values", "fraction", "expected"),
    [
        (range(1, 101), 0.95, 95),
        (range(1, 21), 0.95, 19),
        (range(1, 21), 0.5, 10),
        ([3, 1, 2], 0.5, 2),
        ([7], 0.95, 7),
    ],
)
def test_a_percentile_is_the_nearest_rank(values: Any, fraction: float, expected: float) -> None:
    assert percentile(list(values), fraction) == expected


def figure(**changes: Any) -> Figure:
    return replace(Figure(path=("a", "b"), label="speed", value=2_000_000.0, unit="/s"), **changes)


def test_a_line_says_whether_the_limit_is_kept() -> None:
    assert "MISSED" in table_line(figure(limit=3e6, is_floor=True))
    assert " ok" in table_line(figure(limit=1e6, is_floor=True))
    assert "MISSED" in table_line(figure(limit=1e6))
    assert "2,000,000" in table_line(figure())
    assert table_line(figure(value=None, limit=1.0)).split()[1] == "-"


def test_the_document_is_nested_by_path() -> None:
    figures = [figure(path=("candidates_per_second", "10000")), figure(path=("x",), value=1)]
    assert as_document(figures) == {"candidates_per_second": {"10000": 2_000_000.0}, "x": 1}


@pytest.mark.parametrize("path", SECTIONS.values(), ids=SECTIONS.keys())
def test_every_section_can_be_called(path: str) -> None:
    assert callable(import_string(path))


def test_an_unknown_section_is_refused_with_the_list() -> None:
    with pytest.raises(CommandError, match="there are candidates"):
        call_command("bench", "nonsense")


def test_resources_of_a_page_are_each_counted_once() -> None:
    html = (
        '<link rel="stylesheet" href="/static/a.css"><link rel="alternate" href="/other"><script src="/static/a.js">'
        '</script><script src="/static/a.js"></script><img src="data:image/png;base64,AA"><img src="pic.png">'
        '<img src="folded.svg" loading="lazy" alt="">'
        '<link rel="stylesheet" href="https://elsewhere.example/x.css">'
    )
    assert pages.resources(html, "/catalog/") == [
        "/static/a.css",
        "/static/a.js",
        "/catalog/pic.png",
        "https://elsewhere.example/x.css",
    ]


@pytest.mark.parametrize("name", [name for name in answering.SHOTS if name != "empty"])
def test_the_measured_requests_are_answered(name: str, client: Client, catalog: None) -> None:
    shot = answering.SHOTS[name][0]
    if shot.body is None:
        response = client.get(shot.path)
    else:
        response = client.post(shot.path, shot.body.replace("{n}", "1400000"), content_type="application/json")
    assert response.status_code == 200, response.text


def test_the_varying_estimate_is_a_different_job_each_time() -> None:
    body = answering.SHOTS["estimate"][0].body
    assert body is not None
    tokens = {json.loads(body.replace("{n}", str(n)))["training"]["tokens"] for n in (1_000_001, 1_000_002)}
    assert tokens == {1_000_001_000_000, 1_000_002_000_000}


@pytest.mark.parametrize("address", pages.PAGES.values(), ids=pages.PAGES.keys())
def test_the_weighed_pages_exist(address: str, client: Client, catalog: None) -> None:
    assert client.get(address).status_code == 200

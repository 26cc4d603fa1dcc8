"""Method and validation pages: every formula with its source, every figure from the validation itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import translation

from advisor.calibration_data import calibration_document
from advisor.evidence import read_runs
from advisor.method_page import sections, source_link
from advisor.method_text import SECTIONS
from advisor.validation_page import validation
from tests.advisor.test_views import Page

pytestmark = pytest.mark.django_db


def test_method_page_shows_every_formula_with_its_source(client: Client, catalog: None) -> None:
    page = Page(client.get("/method", {"lang": "en"}))
    for section in SECTIONS:
        assert section.code in page.ids
        for formula in section.formulas:
            with translation.override("en"):
                assert " ".join(str(formula.formula).split()) in page.text
                assert str(formula.source) in page.text


def test_every_calibrated_constant_is_listed(client: Client, catalog: None) -> None:
    page = Page(client.get("/method", {"lang": "en"}))
    for name, value in calibration_document()["constants"].items():
        names = [f"{name}.{family}" for family in value] if isinstance(value, dict) else [name]
        for constant in names:
            assert constant in page.text


@pytest.mark.parametrize(
    ("source", "link"),
    [
        ("arXiv:2205.05198", "https://arxiv.org/abs/2205.05198"),
        ("arXiv:2104.04473, arXiv:2204.02311", "https://arxiv.org/abs/2104.04473"),
        ("doi:10.1145/361147.361115", "https://doi.org/10.1145/361147.361115"),
        ("definition", ""),
    ],
)
def test_sources_link_to_the_paper(source: str, link: str) -> None:
    assert source_link(source) == link


def test_most_formulas_name_a_paper() -> None:
    links = [row.link for section in sections() for row in section.formulas]
    assert sum(bool(link) for link in links) >= 0.6 * len(links)


def test_validation_page_shows_the_summary(client: Client, catalog: None) -> None:
    found = validation()
    content = client.get("/validation", {"lang": "en"}).content.decode()
    for name in ("median_absolute_error", "p90_absolute_error"):
        assert f'<data value="{found.runs[name]}">' in content
    assert f'<data value="{found.runs["count"]}">' in content


def test_every_row_of_evidence_is_on_a_page_or_says_why_not() -> None:
    found = validation()
    assert len(found.lines) == len(read_runs())
    assert all(line.error is not None or line.cause for line in found.lines)


def test_validation_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = validation()
    monkeypatch.setattr("advisor.validation_page._computed", lambda: pytest.fail("computed twice"))
    assert validation().runs == first.runs


def test_a_stored_validation_is_read_by_the_next_process(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    first = validation()
    cache.clear()
    (stored,) = (tmp_path / "validation").glob("*.json")
    changed = json.loads(stored.read_text(encoding="utf-8"))
    changed["runs"]["count"] += 1
    stored.write_text(json.dumps(changed), encoding="utf-8")
    assert validation().runs["count"] == first.runs["count"] + 1


def test_a_broken_or_unwritable_store_costs_only_time(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path / "missing" / "folder"
    assert validation().runs["count"] > 0
    cache.clear()
    settings.VAR_DIR = tmp_path
    validation()
    (stored,) = (tmp_path / "validation").glob("*.json")
    stored.write_text("{ half", encoding="utf-8")
    cache.clear()
    assert validation().runs["count"] > 0


def test_runs_are_filtered_by_generation(client: Client, catalog: None) -> None:
    lines = [line for line in validation().lines if line.generation == "Volta"]
    page = Page(client.get("/validation", {"lang": "en", "generation": "Volta"}))
    assert lines
    for line in lines[:50]:
        assert line.id in page.text


@pytest.mark.parametrize("number", ["0", "-1", "10000", "x", "1e400"])
def test_any_page_number_answers(client: Client, catalog: None, number: str) -> None:
    assert client.get("/validation", {"page": number}).status_code == 200

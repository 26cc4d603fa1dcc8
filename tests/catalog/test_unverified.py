"""The page of what is not verified, against the files themselves."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from django.test import Client
from django.utils import translation

from catalog.revisions import current_revision
from catalog.unverified import DERIVED, UNVERIFIED, doubts

pytestmark = pytest.mark.usefixtures("catalog")
DATA = Path(__file__).resolve().parents[2] / "catalog" / "data"


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("kind", "file"), [("gpus", "gpus"), ("servers", "servers"), ("nics", "nics"), ("switches", "switches")]
)
def test_every_unverified_column_of_the_files_is_listed(kind: str, file: str) -> None:
    written = sum(len([name for name in row["unverified_fields"].split(";") if name.strip()]) for row in rows(file))
    listed = [item for item in doubts(current_revision()) if (item.kind_code, item.state) == (kind, UNVERIFIED)]
    assert written > 0
    assert len(listed) == written


def test_derived_figures_are_told_from_sourced_ones() -> None:
    derived = {(item.sku, item.field) for item in doubts(current_revision()) if item.state == DERIVED}
    for row in rows("switches"):
        is_rule = row["power_w_origin"].startswith(("derived", "typical"))
        assert ((row["sku"], "power_watts") in derived) == is_rule
    for row in rows("servers"):
        by_rule = bool(row["max_power_w_derived"]) and not row["max_power_w"]
        assert ((row["sku"], "max_power_watts_derived") in derived) == by_rule


def test_each_says_what_would_settle_it() -> None:
    with translation.override("en"):
        by_field = {item.field: str(item.settles) for item in doubts(current_revision())}
    assert "nvidia-smi" in by_field["memory_bytes"]
    assert "ECCN" in next(text for field, text in by_field.items() if "export" in field)
    assert "meter" in by_field["power_watts"]
    assert all(by_field.values())


@pytest.mark.parametrize("lang", ["en", "zh-Hans"])
def test_the_page_lists_a_kind_and_costs_few_queries(lang: str, django_assert_max_num_queries: pytest.Function) -> None:
    client = Client(headers={"accept-language": lang})
    client.get("/catalog/unverified/")  # fills what is kept by revision
    with django_assert_max_num_queries(6):
        response = client.get("/catalog/unverified/?kind=switches")
    assert response.status_code == 200
    assert {row.doubt.kind_code for row in response.context["rows"]} == {"switches"}
    assert "NVIDIA" in response.content.decode()


def test_an_unknown_kind_is_not_there() -> None:
    assert Client().get("/catalog/unverified/?kind=nonsense").status_code == 404

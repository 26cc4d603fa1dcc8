"""The catalogue's tables: ranges of figures in the units shown, files of what is shown, parts side by side."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from openpyxl import load_workbook

from catalog.change_plans import plan_of_sheets
from catalog.kinds import KINDS, Kind
from catalog.models import Gpu, Server, Ssd
from catalog.ranges import range_names
from catalog.sheet_reading import read_sheets
from tests.catalog.test_api import add_drives
from tests.catalog.test_views import page, rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog")]
GIB = 2**30


@pytest.fixture
def visitor() -> Client:
    return Client(headers={"accept-language": "en"})


def test_a_range_is_in_the_unit_of_its_column(visitor: Client) -> None:
    found = rows(page(visitor, "gpus/?from_memory_bytes=80&to_tdp_watts=400&ordering=sku"))
    expected = Gpu.objects.filter(is_active=True, memory_bytes__gte=80 * GIB, tdp_watts__lte=400).order_by("sku")
    assert found == list(expected.values_list("sku", flat=True))
    assert found


def test_a_range_of_a_figure_that_two_columns_make_works_too(visitor: Client) -> None:
    found = set(rows(page(visitor, "servers/?from_power_watts=10000")))
    expected = {server.sku for server in Server.objects.filter(is_active=True) if (server.power_watts or 0) >= 10_000}
    assert found == expected
    assert found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_column_of_figures_has_a_range_that_page_file_and_api_understand(visitor: Client, kind: Kind) -> None:
    for name in range_names(kind)[:3]:
        query = f"?from_{name}=0&to_{name}=1000"
        text = page(visitor, f"{kind.code}/{query}")
        assert visitor.get(f"/catalog/{kind.code}/table.csv{query}").status_code == 200
        link = re.search(r'href="(/api/v1/[^"]*)"', text)
        assert link
        assert visitor.get(link[1].replace("&amp;", "&")).status_code == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from_memory_bytes=lots", "is not a number"),
        ("from_memory_bytes=90&to_memory_bytes=80", "holds nothing"),
        ("from_memory_bytes=-1", "is not a usable number"),
        ("from_memory_bytes=9000000000", "is not a usable number"),
        ("from_memory_bytes=1e99", "is not a usable number"),
        ("from_memory_bytes=" + "9" * 500, "is not a"),
    ],
)
def test_a_wrong_range_is_422_with_a_word_beside_the_field(visitor: Client, query: str, words: str) -> None:
    text = page(visitor, f"gpus/?{query}", status=422)
    assert words in text
    assert 'aria-invalid="true"' in text


def test_the_file_holds_what_the_table_shows_in_its_order_and_reads_back(visitor: Client) -> None:
    query = "?vendor=AMD&ordering=-memory_bytes"
    content = visitor.get(f"/catalog/gpus/table.csv{query}").content
    listed = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert [row["sku"] for row in listed] == rows(page(visitor, f"gpus/{query}"))
    assert {row["vendor"] for row in listed} == {"AMD"}
    plan = plan_of_sheets(read_sheets(content, "gpus.csv"))
    assert (plan.rows, plan.faults, plan.unchanged_count) == ((), (), len(listed))
    book = load_workbook(io.BytesIO(visitor.get(f"/catalog/gpus/table.xlsx{query}").content))
    assert book["gpus"].max_row == len(listed) + 1
    whole = load_workbook(io.BytesIO(visitor.get("/catalog/catalog.xlsx").content))
    assert set(whole.sheetnames) == {kind.code for kind in KINDS}


PAIR = "sku=nvidia-h100-sxm5-80gb&sku=nvidia-h200-sxm5-141gb"


def test_parts_stand_side_by_side_with_what_differs_marked(visitor: Client) -> None:
    text = page(visitor, f"gpus/compare/?{PAIR}")
    table = text[text.index("<table") : text.index("</table>")]
    lines = {re.sub(r"<[^>]+>", " ", line).split("▲")[0].strip(): line for line in table.split("<tr")}
    marked = {name for name, line in lines.items() if "differs__mark" in line}
    assert any("Visible memory" in name for name in marked), marked
    assert not any("Architecture" in name for name in marked)
    assert "BF16 dense" in table
    assert "BF16 with sparsity" in table
    only = page(visitor, f"gpus/compare/?{PAIR}&only=differences")
    assert "Visible memory" in only
    assert "Architecture" not in only[only.index("<table") : only.index("</table>")]


def test_a_comparison_is_a_file_too_and_refuses_what_is_not_there(visitor: Client) -> None:
    content = visitor.get(f"/catalog/gpus/comparison.csv?{PAIR}").content.decode("utf-8-sig")
    head, *lines = csv.reader(io.StringIO(content))
    assert head[2:4] == ["nvidia-h100-sxm5-80gb", "nvidia-h200-sxm5-141gb"]
    memory = next(line for line in lines if line[0] == "Visible memory")
    assert memory[-1] == "y"
    assert "“nvidia-h100-160gb” is not in the catalogue." in page(
        visitor, f"gpus/compare/?{PAIR}&sku=nvidia-h100-160gb", status=422
    )
    skus = "&".join(f"sku={sku}" for sku in Gpu.objects.values_list("sku", flat=True)[:5])
    assert "At most 4 parts" in page(visitor, f"gpus/compare/?{skus}", status=422)
    assert "Choose parts" in page(visitor, "gpus/compare/")


def test_five_thousand_parts_take_few_queries_in_table_range_file_and_comparison(visitor: Client) -> None:
    add_drives(5_000)
    paths = ("ssds/?from_capacity_bytes=1", "ssds/compare/?sku=" + Ssd.objects.all()[0].sku, "ssds/table.csv")
    for path in paths:
        with CaptureQueriesContext(connection) as queries:
            assert visitor.get(f"/catalog/{path}").status_code == 200
        assert len(queries) <= 12, path

"""The catalogue's lists in the API: names, units, filters, pages, and a number of queries that does not grow."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from catalog.models import Ssd
from catalog.revisions import PART_MODELS, current_revision

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog")]

CONTRACT_LISTS = [
    "gpus",
    "servers",
    "cpus",
    "memory-modules",
    "ssds",
    "nics",
    "switches",
    "storage-systems",
    "services",
    "tiers",
    "model-architectures",
]


@pytest.fixture
def api() -> Client:
    return Client(headers={"accept-language": "en"})


def add_drives(count: int) -> None:
    """Copies of one drive under other SKUs."""
    sample = Ssd.objects.values()[0]
    values: dict[str, Any] = {name: value for name, value in sample.items() if name not in ("id", "sku")}
    Ssd.objects.bulk_create((Ssd(sku=f"many-{n}", **values) for n in range(count)), batch_size=500)


def ask(api: Client, path: str, **query: Any) -> dict[str, Any]:
    answer = api.get(f"/api/v1/{path}", query)
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def refused(api: Client, path: str, **query: Any) -> list[tuple[str, str]]:
    answer = api.get(f"/api/v1/{path}", query)
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    return [(error["pointer"], error["code"]) for error in answer.json()["errors"]]


@pytest.mark.parametrize("path", CONTRACT_LISTS)
def test_each_list_is_paged_and_names_what_it_rests_on(api: Client, path: str) -> None:
    body = ask(api, path, page_size=2)
    assert set(body) == {"count", "next", "previous", "results", "engine_version", "catalog_revision"}
    assert 1 <= len(body["results"]) <= 2
    assert body["catalog_revision"] == current_revision()
    assert body["engine_version"] == settings.ENGINE_VERSION
    first = body["results"][0]
    for name in ("sku", "name", "source_title", "source_locator", "checked_on", "unverified_fields"):
        assert name in first


@pytest.mark.parametrize("model", PART_MODELS, ids=lambda model: model.kind_code)
def test_each_part_has_an_address(api: Client, model: type[Ssd]) -> None:
    row = model._default_manager.all()[0]
    body = ask(api, f"{model.kind_code}/{row.sku}")
    assert body["sku"] == row.sku
    assert body["catalog_revision"] == current_revision()


def test_a_gpu_carries_dense_and_sparse_rates_under_their_own_names(api: Client) -> None:
    """H100 SXM: 989.4 dense, 1 978.8 with sparsity; NVLink 4 is 450 GB/s in each direction."""
    h100 = ask(api, "gpus/nvidia-h100-sxm5-80gb")
    assert h100["bf16_dense_flops_per_second"] == 989.4e12
    assert h100["bf16_sparse_flops_per_second"] == 1978.9e12
    assert h100["memory_bytes"] == 81559 * 2**20
    assert h100["scale_up_bytes_per_second"] == 450e9
    assert h100["fp4_dense_flops_per_second"] is None  # no such hardware: null, never 0


def test_money_is_amount_and_currency(api: Client) -> None:
    assert ask(api, "cpus/intel-xeon-8592-plus")["list_price"] == {"amount": "11600.00", "currency": "USD"}
    assert ask(api, "cpus/intel-xeon-8468")["list_price"] is None


def test_a_server_names_the_gpus_that_it_takes(api: Client) -> None:
    assert ask(api, "servers/nvidia-dgx-h100")["supported_gpus"] == ["nvidia-h100-sxm5-80gb"]
    found = ask(api, "servers", gpu="nvidia-h20-141gb", page_size=200)["results"]
    assert found
    assert all("nvidia-h20-141gb" in server["supported_gpus"] for server in found)


def test_names_follow_the_language(api: Client) -> None:
    assert ask(api, "services/svc-ops-24x7")["name"] == "24x7 operations"
    chinese = api.get("/api/v1/services/svc-ops-24x7", headers={"accept-language": "zh-Hans"}).json()
    assert chinese["name"] == "7×24 运维"
    assert chinese["name_en"] == "24x7 operations"


@pytest.mark.parametrize(
    ("path", "query", "holds"),
    [
        ("gpus", {"vendor": "amd"}, lambda row: row["vendor"] == "AMD"),
        ("gpus", {"is_sizeable": "false"}, lambda row: not row["is_sizeable"]),
        ("gpus", {"min_memory_bytes": 140 * 10**9}, lambda row: row["memory_bytes"] >= 140 * 10**9),
        ("gpus", {"search": "h100 pcie"}, lambda row: row["sku"] == "nvidia-h100-pcie-80gb"),
        ("servers", {"is_orderable": "true", "kind": "server"}, lambda row: row["is_orderable"]),
        ("cpus", {"min_core_count": 96}, lambda row: row["core_count"] >= 96),
        ("switches", {"ib_generation": "NDR"}, lambda row: row["port_bytes_per_second"] == 50e9),
        ("model-architectures", {"is_moe": "true"}, lambda row: row["expert_count"] > 0),
        ("services", {"category": "operations"}, lambda row: row["category"] == "operations"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_filters_narrow(api: Client, path: str, query: dict[str, Any], holds: Any) -> None:
    rows = ask(api, path, **query, page_size=200)["results"]
    everything = ask(api, path, page_size=200)
    assert 0 < len(rows) < everything["count"]
    assert all(holds(row) for row in rows)


def test_sorting_puts_the_unpublished_last_both_ways(api: Client) -> None:
    for name, is_falling in (("bf16_dense_flops_per_second", False), ("-bf16_dense_flops_per_second", True)):
        rates = [
            row["bf16_dense_flops_per_second"] for row in ask(api, "gpus", ordering=name, page_size=200)["results"]
        ]
        known = [rate for rate in rates if rate is not None]
        assert rates[len(known) :] == [None] * (len(rates) - len(known))
        assert len(known) < len(rates)
        assert known == sorted(known, reverse=is_falling)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"colour": "red"}, ("/colour", "unknown_field")),
        ({"is_sizeable": "maybe"}, ("/is_sizeable", "invalid_choice")),
        ({"ordering": "price"}, ("/ordering", "invalid_choice")),
        ({"min_memory_bytes": "1e300"}, ("/min_memory_bytes", "max_value")),
        ({"min_memory_bytes": "-1"}, ("/min_memory_bytes", "min_value")),
        ({"min_memory_bytes": "many"}, ("/min_memory_bytes", "invalid")),
        ({"vendor": "\x00"}, ("/vendor", "null_characters_not_allowed")),
        ({"search": "x" * 121}, ("/search", "max_length")),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else None,
)
def test_a_wrong_parameter_is_named(api: Client, query: dict[str, str], error: tuple[str, str]) -> None:
    assert refused(api, "gpus", **query) == [error]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_the_lists_are_read_only(api: Client, method: str) -> None:
    for path in ("gpus", "gpus/nvidia-h100-sxm5-80gb"):
        assert getattr(api, method)(f"/api/v1/{path}", {}, content_type="application/json").status_code == 405


def test_an_unknown_part_and_a_page_too_far_are_404(api: Client) -> None:
    for path in ("gpus/nvidia-h100-160gb", "gpus?page=99", "gpus?page=-1", "gpus?page=x"):
        answer = api.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_retired_part_leaves_the_list_and_keeps_its_address(api: Client) -> None:
    Ssd.objects.filter(sku="samsung-pm1743-7680").update(is_active=False)
    assert ask(api, "ssds", sku="samsung-pm1743-7680")["count"] == 0
    assert ask(api, "ssds/samsung-pm1743-7680")["sku"] == "samsung-pm1743-7680"


@pytest.mark.parametrize("model", PART_MODELS, ids=lambda model: model.kind_code)
def test_a_list_takes_at_most_four_queries(api: Client, model: type[Ssd]) -> None:
    """Count, rows, relations of all rows at once, revision."""
    with CaptureQueriesContext(connection) as queries:
        ask(api, model.kind_code, page_size=200)
    assert len(queries) <= 4


def test_a_hundred_times_the_rows_take_the_same_queries(api: Client) -> None:
    with CaptureQueriesContext(connection) as few:
        ask(api, "ssds", page_size=200)
    add_drives(5000)
    with CaptureQueriesContext(connection) as many:
        assert ask(api, "ssds", page_size=200)["count"] > 5000
    assert len(many) == len(few)

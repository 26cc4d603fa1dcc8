"""Pages of the catalogue: every kind, in both languages, with its state in the address, and few queries."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from catalog.kinds import KINDS, Kind
from catalog.models import CatalogChange, Gpu, PriceBook, Ssd
from tests.catalog.test_api import add_drives

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog")]
QUERY_LIMIT = 12


@pytest.fixture
def visitor() -> Client:
    return Client(headers={"accept-language": "en"})


def page(visitor: Client, path: str, *, status: int = 200, **headers: str) -> str:
    answer = visitor.get(f"/catalog/{path}", headers=headers)
    assert answer.status_code == status
    return answer.content.decode()


def rows(text: str) -> list[str]:
    """Names in the first column of the table, in order."""
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    return re.findall(r'<th scope="row">(?:<input[^>]*>)?\s*<a href="[^"]*/([^/"]+)/">', body)


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_each_kind_has_a_table_and_each_part_a_page(kind: Kind, language: str) -> None:
    visitor = Client(headers={"accept-language": language})
    for path in ("", f"{kind.model._default_manager.all()[0].sku}/"):
        with CaptureQueriesContext(connection) as queries:
            text = page(visitor, f"{kind.code}/{path}")
        assert len(queries) <= QUERY_LIMIT
        assert text.count("<h1>") == 1
        assert not re.search(r"<[^>]*\s(style|onclick|hx-on\S*)=", text)
        assert "None<" not in text


def test_the_index_names_every_kind_with_its_count_and_the_books_in_force(visitor: Client) -> None:
    text = page(visitor, "")
    for kind in KINDS:
        assert f'href="/catalog/{kind.code}/"' in text
    assert f'value="{Gpu.objects.count()}"' in text
    for book in PriceBook.objects.published():
        assert f'href="/catalog/price-books/{book.code}/"' in text
    assert "indicative" in text


def test_dense_and_sparse_are_labelled_in_table_and_page(visitor: Client) -> None:
    table = page(visitor, "gpus/")
    assert "BF16 dense" in table
    assert "BF16 with sparsity" in table
    part = page(visitor, "gpus/nvidia-h100-sxm5-80gb/")
    assert "Dense" in part
    assert "With sparsity" in part
    assert '<data value="989400000000000"' in part
    assert "989.4" in part
    assert "1,978.9" in part


def test_the_address_holds_filter_and_order(visitor: Client) -> None:
    names = rows(page(visitor, "gpus/?vendor=AMD&ordering=-memory_bytes"))
    expected = Gpu.objects.filter(vendor="AMD").order_by("-memory_bytes", "sku").values_list("sku", flat=True)
    assert names == list(expected)


def test_a_column_head_turns_the_order_round_and_says_so(visitor: Client) -> None:
    text = page(visitor, "gpus/?ordering=memory_bytes&vendor=NVIDIA")
    assert 'aria-sort="ascending"' in text
    assert "ordering=-memory_bytes" in text
    assert "vendor=NVIDIA" in text


def test_search_takes_words_in_any_order(visitor: Client) -> None:
    assert rows(page(visitor, "gpus/?search=pcie+h100")) == ["nvidia-h100-pcie-80gb"]
    assert "Nothing matches" in page(visitor, "gpus/?search=h100+160gb")


def test_a_wrong_filter_is_422_with_a_word(visitor: Client) -> None:
    assert "error-summary" in page(visitor, "gpus/?ordering=nonsense", status=422)


@pytest.mark.parametrize("path", ["toasters/", "gpus/nvidia-h100-160gb/", "price-books/none/"])
def test_what_does_not_exist_is_404(visitor: Client, path: str) -> None:
    page(visitor, path, status=404)


def test_htmx_gets_the_rows_alone_and_an_announcement(visitor: Client) -> None:
    text = page(visitor, "gpus/?vendor=AMD", HX_Request="true")
    assert text.lstrip().startswith("<section")
    assert "<html" not in text
    assert 'id="live" hx-swap-oob' in text


def test_a_part_page_names_source_date_and_what_is_unverified(visitor: Client) -> None:
    text = page(visitor, "gpus/nvidia-h20-96gb/")
    gpu = Gpu.objects.get(sku="nvidia-h20-96gb")
    assert escape(gpu.source_title) in text
    assert "2026-11-30" in text
    assert "Launched, TDP" in text
    assert 'class="unverified"' in text


def test_prices_stand_with_mark_and_date_and_a_missing_one_says_so(visitor: Client) -> None:
    text = page(visitor, "gpus/nvidia-h100-sxm5-80gb/")
    for words in ("14.90", "2026-10-08", "class price", "2,750,000.00"):
        assert words in text
    PriceBook.objects.published().update(status="retired")
    assert "names it as missing" in page(visitor, "switches/nvidia-qm8700/")


@pytest.mark.parametrize("path", ["gpus/nvidia-h100-sxm5-80gb/", "model-architectures/llama-3-8b/"])
def test_a_part_leads_into_a_sizing_that_answers(visitor: Client, path: str) -> None:
    link = re.search(r'class="button[^"]*" href="([^"]+)"', page(visitor, path))
    assert link
    assert visitor.get(unescape(link[1])).status_code == 200


def test_a_book_lists_every_price(visitor: Client) -> None:
    book = PriceBook.objects.get(code="demo-cloud-usd", status="published")
    text = page(visitor, "price-books/demo-cloud-usd/")
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    assert body.count("<tr>") == min(book.prices.count(), 100)


def test_a_retired_part_leaves_the_table_and_keeps_its_page(visitor: Client) -> None:
    Ssd.objects.filter(sku="samsung-pm1743-7680").update(is_active=False)
    assert "samsung-pm1743-7680" not in page(visitor, "ssds/")
    assert "retired" in page(visitor, "ssds/samsung-pm1743-7680/")


def test_chinese_pages_use_chinese_words() -> None:
    visitor = Client(headers={"accept-language": "zh-Hans"})
    text = page(visitor, "gpus/nvidia-h100-sxm5-80gb/")
    for words in ("峰值算力", "稠密", "稀疏", "显存带宽", "受出口管制", "价格日期"):
        assert words in text
    assert "7×24 运维" in page(visitor, "services/")


def test_five_thousand_parts_take_the_same_queries(visitor: Client) -> None:
    with CaptureQueriesContext(connection) as few:
        page(visitor, "ssds/")
    add_drives(5000)
    with CaptureQueriesContext(connection) as many:
        page(visitor, "ssds/?page=50")
    assert len(many) == len(few) <= QUERY_LIMIT


@pytest.mark.parametrize(
    ("language", "told", "reason"),
    [
        (
            "en",
            ("on demand · CNY · newest prices only", "Lowest", "GPU-hour"),
            "loaded from the catalogue&#x27;s files",
        ),
        ("zh-Hans", ("按需 · CNY · 仅最新价格", "最低", "卡时"), "由目录文件载入"),
    ],
)
def test_a_revision_tells_cloud_prices_and_its_reason_in_words(
    language: str, told: tuple[str, ...], reason: str
) -> None:
    change = CatalogChange.objects.filter(kind="cloud-prices", key__endswith="/on_demand/CNY/True").earliest("pk")
    text = page(Client(headers={"accept-language": language}), f"revisions/{change.revision_id}/")
    assert [words for words in told if words not in text] == []
    assert reason in text
    assert not any(raw in text for raw in ("as_of_from", "on_demand", "load_catalog"))

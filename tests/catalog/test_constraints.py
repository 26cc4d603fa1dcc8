"""What the database itself refuses, whoever writes; and the life of a price book."""

from __future__ import annotations

import threading
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from catalog.models import CloudPrice, Gpu, ModelArchitecture, Price, PriceBook, Service, Tier
from catalog.services import (
    PriceBookError,
    price_book_close,
    price_book_draft,
    price_book_on,
    price_book_publish,
    price_book_retire,
)

pytestmark = pytest.mark.django_db


def gpu(**changes: Any) -> Gpu:
    values: dict[str, Any] = {
        "sku": "test-gpu",
        "name": "Test GPU",
        "architecture": "Test",
        "form_factor": "PCIe",
        "memory_label": "80 GB",
        "memory_bytes": 80 * 2**30,
        "memory_type": "HBM",
        "bf16_dense_flops_per_second": 1e14,
    }
    return Gpu(**(values | changes))


def book(**changes: Any) -> PriceBook:
    values: dict[str, Any] = {
        "code": "test-book",
        "name_zh": "价目",
        "name_en": "Book",
        "basis": "purchase",
        "currency": "EUR",
        "valid_from": date(2026, 1, 1),
    }
    return PriceBook.objects.create(**(values | changes))


def priced(**changes: Any) -> PriceBook:
    draft = book(**changes)
    Price.objects.create(book=draft, sku="part", unit="each", amount=Decimal("1.00"), origin_mark="source")
    return draft


def price(draft: PriceBook, **changes: Any) -> Price:
    values: dict[str, Any] = {"sku": "part", "unit": "each", "amount": Decimal("1.00"), "origin_mark": "source"}
    return Price.objects.create(book=draft, **(values | changes))


def refused(name: str, act: Any) -> None:
    """The statement fails by the constraint of that name (SQLite names columns instead for unique ones)."""
    with pytest.raises(IntegrityError) as raised, transaction.atomic():
        act()
    if connection.vendor == "postgresql" or "CHECK" in str(raised.value):
        assert name in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"memory_bytes": 0}, "catalog_gpu_memory_bytes_positive"),
        ({"bf16_dense_flops_per_second": -1.0}, "catalog_gpu_bf16_dense_flops_per_second_positive"),
        ({"tdp_watts": 0.0}, "catalog_gpu_tdp_watts_positive"),
        ({"bf16_sparse_flops_per_second": 5e13}, "catalog_gpu_sparse_not_below_dense"),
        ({"is_sizeable": False}, "catalog_gpu_not_sizeable_has_reason"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_gpu_cannot_have_such_figures(changes: dict[str, Any], name: str) -> None:
    refused(name, gpu(**changes).save)


def test_a_sku_is_unique() -> None:
    gpu().save()
    refused("catalog_gpu_sku_key", gpu().save)


def test_constraints_speak_as_form_errors_too() -> None:
    with pytest.raises(ValidationError):
        gpu(memory_bytes=-1).full_clean()


def test_a_sku_has_no_spaces_or_capitals() -> None:
    with pytest.raises(ValidationError):
        gpu(sku="Test GPU").full_clean()


def test_tiers_have_bounds_in_order() -> None:
    tier = Tier(sku="t", name="T", name_zh="T", lower_parameter_count=10, upper_parameter_count=10)
    refused("catalog_tier_bounds_in_order", tier.save)


def test_availability_is_a_fraction() -> None:
    service = Service(sku="svc-x", name="X", name_zh="X", unit="month", availability_fraction=Decimal("99.5"))
    with pytest.raises(ValidationError):
        service.full_clean()


def test_a_token_uses_no_more_experts_than_there_are(catalog: None) -> None:
    model = ModelArchitecture.objects.get(sku="deepseek-v3")
    model.experts_per_token = model.expert_count + 1
    refused("catalog_modelarchitecture_experts_per_token", model.save)


def test_cloud_prices_keep_their_order(catalog: None) -> None:
    row = CloudPrice.objects.all()[0]
    row.low_amount = row.high_amount + 1
    refused("catalog_cloudprice_low_median_high", row.save)


# --- prices --------------------------------------------------------------------------------------------------------
def test_a_price_is_not_negative_and_may_be_zero() -> None:
    draft = book()
    refused("catalog_price_amount_not_negative", lambda: price(draft, amount=Decimal("-0.01")))
    assert price(draft, amount=Decimal(0)).pk


@pytest.mark.parametrize("term", [None, 12], ids=["without a term", "with a term"])
def test_one_price_a_book_sku_unit_term_and_condition(term: int | None) -> None:
    draft = book()
    price(draft, term_months=term)
    refused("catalog_price_unique", lambda: price(draft, term_months=term))
    assert price(draft, term_months=term, condition="other").pk
    assert price(draft, term_months=term, unit="month").pk


def test_a_priced_book_cannot_be_deleted() -> None:
    draft = priced()
    with pytest.raises(IntegrityError):
        draft.delete()


# --- books ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"valid_until": date(2026, 1, 1)}, "catalog_pricebook_valid_from_before_until"),
        ({"exchange_rate": Decimal(0)}, "catalog_pricebook_exchange_rate_positive"),
        ({"status": "secret"}, "catalog_pricebook_status_known"),
        ({"basis": "barter"}, "catalog_pricebook_basis_known"),
        ({"status": "published"}, "catalog_pricebook_published_has_time"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_book_cannot_be_like_that(changes: dict[str, Any], name: str) -> None:
    refused(name, lambda: book(**changes))


def test_two_published_books_without_an_end_are_refused_by_the_database() -> None:
    published = {"status": "published", "published_at": timezone.now()}
    book(**published)
    refused("catalog_pricebook_one_open_ended", lambda: book(code="b", valid_from=date(2027, 1, 1), **published))


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        ((date(2026, 1, 1), None), (date(2026, 6, 1), None), True),
        ((date(2026, 1, 1), date(2026, 6, 1)), (date(2026, 5, 31), date(2026, 7, 1)), True),
        ((date(2026, 1, 1), date(2026, 6, 1)), (date(2026, 6, 1), None), False),
        ((date(2026, 6, 1), None), (date(2026, 1, 1), date(2026, 6, 1)), False),
        ((date(2026, 6, 1), date(2026, 7, 1)), (date(2026, 1, 1), date(2027, 1, 1)), True),
    ],
    ids=["both open", "one day shared", "meets", "comes before", "encloses"],
)
def test_published_books_share_no_day(
    first: tuple[date, date | None], second: tuple[date, date | None], is_refused: bool
) -> None:
    """`valid_until` is exclusive: a book may start on the day on which another ends."""
    price_book_publish(book=priced(code="one", valid_from=first[0], valid_until=first[1]))
    rival = priced(code="two", valid_from=second[0], valid_until=second[1])
    if is_refused:
        with pytest.raises(PriceBookError) as raised:
            price_book_publish(book=rival)
        assert raised.value.code == "overlaps"
    else:
        assert price_book_publish(book=rival).status == "published"


def test_another_currency_or_basis_is_another_market() -> None:
    price_book_publish(book=priced(code="one"))
    assert price_book_publish(book=priced(code="two", currency="GBP")).status == "published"
    assert price_book_publish(book=priced(code="three", basis="rental")).status == "published"


def test_an_empty_book_and_a_book_twice_cannot_be_published() -> None:
    with pytest.raises(PriceBookError) as raised:
        price_book_publish(book=book(code="empty"))
    assert raised.value.code == "no_prices"
    draft = priced()
    price_book_publish(book=draft)
    with pytest.raises(PriceBookError) as raised:
        price_book_publish(book=draft)
    assert raised.value.code == "not_a_draft"


def test_a_book_is_closed_where_its_successor_starts() -> None:
    old = price_book_publish(book=priced(code="old"))
    new = price_book_draft(book=old)
    new.valid_from = date(2026, 12, 1)
    new.save()
    price_book_close(book=old, valid_until=date(2026, 12, 1))
    price_book_publish(book=new)
    assert price_book_on(basis="purchase", currency="EUR", on=date(2026, 11, 30)) == old
    assert price_book_on(basis="purchase", currency="EUR", on=date(2026, 12, 1)) == new
    with pytest.raises(PriceBookError):
        price_book_close(book=old, valid_until=date(2027, 1, 1))  # a published book is never prolonged


def test_a_retired_book_holds_no_more() -> None:
    old = price_book_publish(book=priced())
    price_book_retire(book=old)
    assert price_book_on(basis="purchase", currency="EUR", on=date(2026, 11, 30)) is None


@pytest.mark.django_db(transaction=True)
def test_of_two_rivals_published_at_once_one_wins() -> None:
    rivals = [
        priced(code=f"rival-{n}", valid_from=date(2026, 1, 1 + n), valid_until=date(2026, 6, 1)) for n in range(4)
    ]
    outcomes: list[str] = []
    start = threading.Barrier(len(rivals))

    def publish(rival: PriceBook) -> None:
        start.wait()
        try:
            price_book_publish(book=rival)
            outcomes.append("published")
        except PriceBookError as error:
            outcomes.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=publish, args=(rival,)) for rival in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(outcomes) == ["overlaps", "overlaps", "overlaps", "published"]
    assert PriceBook.objects.published().for_market(basis="purchase", currency="EUR").count() == 1


class TestFrozenBooks:
    """Statements that go past every guard of the services: the database refuses them for what was published."""

    @pytest.fixture(params=["published", "retired"])
    def frozen(self, request: pytest.FixtureRequest) -> PriceBook:
        made = priced(valid_until=date(2027, 1, 1))
        price_book_publish(book=made)
        if request.param == "retired":
            price_book_retire(book=made)
        return PriceBook.objects.get(pk=made.pk)

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE catalog_price SET amount = 2",
            "UPDATE catalog_price SET floor_amount = 0.5",
            "UPDATE catalog_price SET cost_amount = 0.5",
            "UPDATE catalog_price SET sku = 'x'",
            "DELETE FROM catalog_price",
            "UPDATE catalog_pricebook SET currency = 'USD'",
            "UPDATE catalog_pricebook SET valid_from = '2025-01-01'",
            "UPDATE catalog_pricebook SET exchange_rate = 7",
            "UPDATE catalog_pricebook SET content_hash = 'x'",
            "UPDATE catalog_pricebook SET status = 'draft'",
            "UPDATE catalog_pricebook SET valid_until = NULL",
            "UPDATE catalog_pricebook SET valid_until = '2027-01-02'",
            "DELETE FROM catalog_pricebook",
        ],
    )
    def test_statements(self, frozen: PriceBook, statement: str) -> None:
        with pytest.raises(IntegrityError, match="do not change"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    def test_a_price_is_neither_added_nor_moved_in_nor_out(self, frozen: PriceBook) -> None:
        other = price(book(code="draft"), sku="other")
        into, out = Price.objects.filter(pk=other.pk), Price.objects.filter(book=frozen)
        for act in (
            lambda: price(frozen, sku="slipped-in"),
            lambda: Price.objects.bulk_create([Price(book=frozen, sku="y", unit="each", amount=1)]),
            lambda: into.update(book=frozen),
            lambda: out.update(book=other.book),
        ):
            with pytest.raises(IntegrityError, match="do not change"), transaction.atomic():
                act()

    @pytest.mark.skipif("connection.vendor != 'sqlite'", reason="REPLACE is SQLite's")
    def test_a_price_is_not_put_aside_by_another_row(self, frozen: PriceBook) -> None:
        other = price(book(code="draft"), sku="other")
        kept = frozen.prices.get()
        for statement in (
            "UPDATE OR REPLACE catalog_price SET id = %s WHERE id = %s",
            "REPLACE INTO catalog_price (id, book_id, sku, unit, condition, amount, origin_mark, origin_text,"
            " source_title, source_locator) SELECT %s, book_id, 'z', unit, condition, amount, origin_mark, origin_text,"
            " source_title, source_locator FROM catalog_price WHERE id = %s",
        ):
            with pytest.raises(IntegrityError, match="do not change"), transaction.atomic():
                connection.cursor().execute(statement, [kept.pk, other.pk])

    def test_a_retired_book_does_not_come_back(self) -> None:
        made = price_book_publish(book=priced())
        price_book_retire(book=made)
        with pytest.raises(IntegrityError, match="do not change"), transaction.atomic():
            PriceBook.objects.filter(pk=made.pk).update(status="published")

    def test_a_published_book_still_ends_earlier_and_retires(self) -> None:
        made = price_book_publish(book=priced())
        price_book_close(book=made, valid_until=date(2026, 12, 31))
        price_book_close(book=made, valid_until=date(2026, 11, 30))
        price_book_retire(book=made)
        assert PriceBook.objects.get(pk=made.pk).status == "retired"

    def test_a_draft_changes_freely(self) -> None:
        made = priced()
        with connection.cursor() as cursor:
            cursor.execute("UPDATE catalog_price SET amount = 2")
            cursor.execute("UPDATE catalog_pricebook SET currency = 'USD', valid_from = '2025-01-01'")
            cursor.execute("DELETE FROM catalog_price")
            cursor.execute("DELETE FROM catalog_pricebook")
        assert not PriceBook.objects.filter(pk=made.pk).exists()

"""Price books of the database as frozen records: one query for the books in force, one for their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType

from advisor.catalog_language import is_chinese
from advisor.price_books import Book, BookPrice
from catalog import models

Market = tuple[str, str]  # basis, currency


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudOffer:
    """Published GPU-hour of a class of providers, the virtualized side's money."""

    provider_class: str
    gpu_sku: str
    deployment: str
    commitment: str
    currency: str
    low: Decimal
    median: Decimal
    high: Decimal
    provider_count: int
    as_of: date | None
    method: str


def load_books(on: date) -> Mapping[Market, Book]:
    """Published books in force on a day, by basis and currency; their rows are read once per set of books."""
    rows = models.PriceBook.objects.published().effective_on(on).order_by("valid_from", "version")
    key = tuple((row.pk, row.content_hash, str(row.published_at)) for row in rows)
    prices = _rows_by_book(key)
    return {
        (row.basis, row.currency): Book(
            key=f"{row.pk}:{row.content_hash}:{row.published_at}",
            code=row.code,
            name=row.name_zh if is_chinese() else row.name_en,
            basis=row.basis,
            currency=row.currency,
            valid_from=row.valid_from,
            is_indicative=row.is_indicative,
            note=row.note_zh if is_chinese() else row.note_en,
            exchange_rate=row.exchange_rate,
            prices=prices.get(row.pk, MappingProxyType({})),
        )
        for row in rows
    }


@lru_cache(maxsize=8)
def _rows_by_book(key: tuple[tuple[int, str, str], ...]) -> Mapping[int, Mapping[str, tuple[BookPrice, ...]]]:
    by_book: dict[int, dict[str, list[BookPrice]]] = {}
    for row in models.Price.objects.filter(book_id__in=[pk for pk, _hash, _time in key]):
        by_book.setdefault(row.book_id, {}).setdefault(row.sku, []).append(
            BookPrice(
                sku=row.sku,
                unit=row.unit,
                term_months=row.term_months,
                condition=row.condition,
                amount=row.amount,
                origin_mark=row.origin_mark,
                origin_text=row.origin_text,
                as_of=row.as_of,
                lead_time_days=row.lead_time_days,
            )
        )
    return {
        book: MappingProxyType({sku: tuple(rows) for sku, rows in prices.items()}) for book, prices in by_book.items()
    }


@lru_cache(maxsize=2)
def cloud_offers(revision: str) -> tuple[CloudOffer, ...]:
    """Cloud prices of a catalogue revision; spot never enters them."""
    del revision  # the cache's key: rows change only with it
    return tuple(
        CloudOffer(
            provider_class=row.provider_class,
            gpu_sku=row.gpu.sku,
            deployment=row.deployment,
            commitment=row.commitment,
            currency=row.currency,
            low=row.low_amount,
            median=row.median_amount,
            high=row.high_amount,
            provider_count=row.provider_count,
            as_of=row.as_of_to,
            method=row.method,
        )
        for row in models.CloudPrice.objects.select_related("gpu").filter(is_newest_only=True)
    )

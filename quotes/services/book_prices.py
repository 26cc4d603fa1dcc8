"""What catalogue and price books know of a line: list, floor and cost price, export control, exchange rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from catalog.models import Gpu, Price, PriceBook
from catalog.money import round_money
from quotes.models import QuoteLine, QuoteRevision

CONVERTED = "converted"
EACH, GPU_HOUR, SERVER_MONTH = "each", "gpu_hour", "server_month"


def book_in_force(*, basis: str, currency: str, on: date) -> PriceBook | None:
    """The published book of a basis and currency that holds on a day."""
    books = PriceBook.objects.published().for_market(basis=basis, currency=currency).effective_on(on)
    return books.order_by("-valid_from", "-version").first()


def add_catalog_facts(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> None:
    """Fill in, before the lines are stored: export notes of GPUs, floor and cost, and a list price where none is known.

    A list price is never taken from the price that was typed in: what no book holds stays without one.
    """
    notes = dict(Gpu.objects.filter(sku__in={line.sku for line in lines}).values_list("sku", "export_note"))
    rows = _rows_in_force(revision, lines)
    gpu_sku = _gpu_sku(revision)
    for line in lines:
        line.export_note = notes.get(line.sku, "")
        row = matching_price(line, rows, gpu_sku=gpu_sku, term_months=revision.term_months)
        if row is None or line.is_included:
            continue
        if line.list_price is None and line.unit == row.unit:
            line.list_price = round_money(row.amount, revision.currency)
        if line.list_price is not None and row.amount:
            # a month of a server is a multiple of the row's hour: floor and cost keep their proportion to the list
            scale = line.list_price / row.amount
            line.floor_price = _scaled(row.floor_amount, scale)
            line.cost_price = _scaled(row.cost_amount, scale)


def _scaled(amount: Decimal | None, scale: Decimal) -> Decimal | None:
    return None if amount is None else (amount * scale).quantize(Decimal("0.0001"))


def _rows_in_force(revision: QuoteRevision, lines: Iterable[QuoteLine]) -> list[Price]:
    book = book_in_force(basis=revision.basis, currency=revision.currency, on=revision.pricing_date)
    if book is None:
        return []
    skus = {line.sku for line in lines} | {_gpu_sku(revision)}
    return list(book.prices.filter(sku__in=skus - {""}))


def _gpu_sku(revision: QuoteRevision) -> str:
    """The GPU of the sized configuration: condition of a server's price, and SKU of its hourly one."""
    basis: dict[str, Any] = revision.sizing.get("by_language", {}).get("en", {})
    configuration = basis.get("configuration") or {}
    gpu = configuration.get("gpu", "")
    return str(gpu.get("sku", "") if isinstance(gpu, dict) else gpu or "")


def matching_price(line: QuoteLine, rows: Sequence[Price], *, gpu_sku: str, term_months: int | None) -> Price | None:
    """The row of a book that prices this line: its own by unit, a server's with its GPU, or the hour behind a month."""
    if line.unit == SERVER_MONTH:
        hours = [row for row in rows if row.sku == gpu_sku and row.unit == GPU_HOUR]
        fitting = [row for row in hours if (row.term_months or 0) <= (term_months or 0)]
        return max(fitting, key=lambda row: row.term_months or 0, default=None)
    own = [row for row in rows if row.sku == line.sku and row.unit == line.unit and row.term_months is None]
    conditions = (gpu_sku, "") if gpu_sku else ("",)
    return next((row for condition in conditions for row in own if row.condition == condition), None)


def exchange_of(revision: QuoteRevision, lines: Iterable[QuoteLine]) -> dict[str, Any]:
    """Rate, source and date behind converted prices, from the book in force; empty where nothing was converted.

    What was recorded once stays: a later book has another rate, and these prices were not made with it.
    """
    if not any(line.price_origin == CONVERTED for line in lines):
        return {}
    if revision.exchange:
        return dict(revision.exchange)
    book = book_in_force(basis=revision.basis, currency=revision.currency, on=revision.pricing_date)
    if book is None or book.exchange_rate is None:
        return {}
    return {
        "base": "USD",
        "quote": "CNY",
        "rate": f"{book.exchange_rate.normalize():f}",
        "source": book.exchange_rate_source,
        "date": book.exchange_rate_date.isoformat() if book.exchange_rate_date else None,
    }

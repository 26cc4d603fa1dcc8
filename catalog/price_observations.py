"""Prices as they were seen in public, and how an amount gets into another currency. Pure; Decimal throughout."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import cast

from catalog.records import Record

# Indicative rates of the demonstration books; a seller enters a rate of the day before a real quote.
CNY_PER_USD = Decimal("6.74")
CNY_PER_USD_DATE = date(2026, 8, 22)
CNY_PER_USD_SOURCE = "CMIS daily snapshot 2026-08-22 (6.7394, rounded); indicative"
USD_PER_EUR = Decimal("1.1699")  # ECB reference rate, 2026-08-21
CNY_PER: dict[str, Decimal] = {"CNY": Decimal(1), "USD": CNY_PER_USD, "EUR": USD_PER_EUR * CNY_PER_USD}

CENT = Decimal("0.01")
HOUR_DIGITS = Decimal("0.0001")  # an hour is multiplied by thousands of hours: two digits would be too coarse


def convert(amount: Decimal, source: str, target: str) -> Decimal:
    """Unrounded: the caller rounds once, at the end. EUR reaches CNY through USD, as both rates are quoted so."""
    return amount if source == target else amount * CNY_PER[source] / CNY_PER[target]


def round_to(amount: Decimal, step: Decimal) -> Decimal:
    return amount.quantize(step, rounding=ROUND_HALF_UP)


def months_before(day: date, months: int) -> date:
    """The first day of the month that lies `months` before `day`'s month."""
    index = day.year * 12 + day.month - 1 - months
    return date(index // 12, index % 12 + 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RentalObservation:
    """A published price of a GPU-hour; `amount` is per GPU and hour whatever the source's unit was."""

    provider: str
    provider_class: str
    gpu_sku: str
    bare_metal: str
    commitment: str
    currency: str
    amount: Decimal
    as_of: date | None
    source_title: str
    source_locator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseObservation:
    """A published price of a part, a server or a rack."""

    sku: str
    gpu_sku: str
    gpu_count: int | None
    item: str
    currency: str
    amount: Decimal
    unit: str
    condition: str
    tax_included: str
    reliability: str
    as_of: date | None
    source_title: str
    source_locator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyPrice:
    """The price of a similar item, scaled, for a part that has none of its own."""

    sku: str
    proxy_item: str
    currency: str
    amount: Decimal
    as_of: date | None  # of the similar item's own price
    notes: str


def rental_observation(record: Record) -> RentalObservation:
    names = ("provider", "provider_class", "gpu_sku", "bare_metal", "commitment", "currency")
    values = {name: str(record.fields[name]) for name in (*names, "source_title", "source_locator")}
    return RentalObservation(
        **values,
        amount=cast("Decimal", record.fields["price_per_gpu_hour"]),
        as_of=cast("date | None", record.fields["as_of"]),
    )


def purchase_observation(record: Record) -> PurchaseObservation:
    names = ("sku", "gpu_sku", "item", "currency", "unit", "condition", "tax_included", "reliability")
    values = {name: str(record.fields[name]) for name in (*names, "source_title", "source_locator")}
    return PurchaseObservation(
        **values,
        gpu_count=cast("int | None", record.fields["gpu_count"]),
        amount=cast("Decimal", record.fields["price_typical"]),
        as_of=cast("date | None", record.fields["as_of"]),
    )


def proxy_price(record: Record, purchases: Iterable[PurchaseObservation]) -> ProxyPrice:
    """The similar item is named as in the purchase prices, which give its date."""
    item = str(record.fields["proxy_item"])
    dates = [row.as_of for row in purchases if row.as_of and row.item == item]
    return ProxyPrice(
        sku=str(record.fields["sku"]),
        proxy_item=item,
        currency=str(record.fields["currency"]),
        amount=cast("Decimal", record.fields["price"]),
        as_of=max(dates, default=None),
        notes=str(record.fields["notes"]),
    )

"""Frozen shapes of a price book before it is a row: what the pricing rules give and the loader takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRecord:
    """One price, net of tax, in its book's currency; the fields of `catalog.models.Price`."""

    sku: str
    unit: str
    amount: Decimal
    origin_mark: str
    origin_text: str
    term_months: int | None = None
    condition: str = ""
    as_of: date | None = None
    source_title: str = ""
    source_locator: str = ""
    lead_time_days: int | None = None
    floor_amount: Decimal | None = None
    cost_amount: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BookRecord:
    code: str
    name_zh: str
    name_en: str
    basis: str
    currency: str
    valid_from: date
    is_indicative: bool
    exchange_rate: Decimal | None
    exchange_rate_source: str
    exchange_rate_date: date | None
    note_zh: str
    note_en: str
    prices: tuple[PriceRecord, ...]

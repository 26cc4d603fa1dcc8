"""What the price book offers for a line by hand, and what such a line takes over from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.utils import timezone, translation

from catalog.models import Part, Price, PriceBook
from catalog.revisions import PART_MODELS
from catalog.services import price_book_on
from catalog.units import HOURS_PER_MONTH
from quotes.drafting import DraftLine
from quotes.models import QuoteRevision

# Units of a price that can stand on a line; a fraction of other lines cannot be priced by hand.
LINE_UNITS = ("each", "set", "one_time", "month", "server_month", "year", "gpu_hour", "engineer_day")
_KINDS = {"managementnode": "management_node", "storagesystem": "storage", "memorymodule": "memory"}
_STEP = Decimal("0.0001")  # digits of a line's unit price


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One price of the book with the names of its part."""

    price: Price
    kind: str
    name_zh: str
    name_en: str

    @property
    def is_hourly(self) -> bool:
        return self.price.unit == "gpu_hour"

    @property
    def unit(self) -> str:
        """An hour of a term is offered by the month."""
        return "month" if self.is_hourly and self.price.term_months else self.price.unit

    @property
    def unit_price(self) -> Decimal:
        amount = self.price.amount * HOURS_PER_MONTH if self.is_hourly and self.price.term_months else self.price.amount
        return amount.quantize(_STEP, rounding=ROUND_HALF_UP)

    def line(self, *, quantity: Decimal, period_count: int, unit_price: Decimal | None, tax_rate: Decimal) -> DraftLine:
        return DraftLine(
            kind=self.kind,
            sku=self.price.sku,
            name_zh=self.name_zh,
            name_en=self.name_en,
            unit=self.unit,
            quantity=quantity,
            period_count=period_count,
            unit_price=unit_price,
            tax_rate=tax_rate,
            price_origin=self.price.origin_mark,
            price_as_of=self.price.as_of,
            is_indicative=self.price.book.is_indicative,
            lead_time_days=self.price.lead_time_days,
        )


def book_of(revision: QuoteRevision) -> PriceBook | None:
    """The published book of the quote's basis and currency on its pricing day."""
    return price_book_on(basis=revision.basis, currency=revision.currency, on=revision.pricing_date)


def offers_of(revision: QuoteRevision) -> dict[int, Offer]:
    """What the book has for a line of this quote, by the price's key: names looked up once per kind of part."""
    book = book_of(revision)
    if book is None:
        return {}
    prices = [
        price
        for price in Price.objects.filter(book=book, unit__in=LINE_UNITS).select_related("book")
        if price.term_months in (None, revision.term_months)
    ]
    parts = _parts({price.sku for price in prices} | {price.condition for price in prices})
    offers = {}
    for price in prices:
        if price.sku in parts:
            kind, name_zh, name_en = parts[price.sku]
            inside = parts.get(price.condition)
            if inside is not None:  # a server is priced with its GPU
                name_zh, name_en = f"{name_zh} · {inside[1]}", f"{name_en} · {inside[2]}"
            offers[price.pk] = Offer(price=price, kind=kind, name_zh=name_zh, name_en=name_en)
    return dict(sorted(offers.items(), key=lambda item: (item[1].kind, item[1].name_en, item[0])))


def price_book_json(book: PriceBook) -> dict[str, dict[str, str]]:
    """The book as a quote names it, by language."""
    as_of = timezone.localdate(book.published_at).isoformat() if book.published_at else book.valid_from.isoformat()
    names: Mapping[str, str] = {"zh-Hans": book.name_zh, "en": book.name_en}
    return {language: {"code": book.code, "name": name, "as_of": as_of} for language, name in names.items()}


def _parts(skus: set[str]) -> dict[str, tuple[str, str, str]]:
    """SKU -> kind of line, Chinese and English name."""
    found: dict[str, tuple[str, str, str]] = {}
    for model in PART_MODELS:
        for part in model._default_manager.filter(sku__in=skus):
            found.setdefault(part.sku, (_kind(part), *_names(part)))
    return found


def _kind(part: Part) -> str:
    name = str(part._meta.model_name)
    return _KINDS.get(name, name)


def _names(part: Part) -> tuple[str, str]:
    names = []
    for language in ("zh-hans", "en"):
        with translation.override(language):
            names.append(str(part.display_name))
    return names[0], names[1]

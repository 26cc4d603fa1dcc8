"""Demonstration price books, by rule, from prices published by others. Pure: records in, book records out.

For demonstration only: a seller replaces them before the first real quote. Each price carries its mark and date; where
no price can be formed there is none, never 0. Two books of each kind, CNY and USD; a price in another currency is
converted once and rounded once. Used goods and spot prices never enter.

**Tax.** "yes": divided by 1.13 (China, goods). "no (HT)" enters as it is. "no/unknown" enters as net and says so.

**A part**, new, each, in this order: not older than 24 months before older (`old`); own currency before converted;
reseller before list before press; newest date, several of one date by their median. Then the part file's own list or
street price; then a proxy (`proxy`); else missing.

**A server**: 1. a row with its own SKU, not older than 6 months; 2. a class price in the book's currency, not older
than 6 months, which stands for any orderable 8-GPU server with that GPU (`class price`); 3. the sum of its parts x 1.15
(`sum of parts`; the 15 % for chassis, board, supplies and burn-in is assumed); 4. an older class price in the own
currency (`old`), then a converted one. The book holds 1, 2 and 4; 3 depends on the configuration, and is in the book
for the reference builds only: `server_sum_of_parts` gives it for any other.

**Rental** has its own module, `rental_rules`. **Services** are a fraction of the hardware subtotal (`assumed`).
**Cloud** books hold the published medians by provider class, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from statistics import median
from typing import cast

from catalog.price_observations import (
    CENT,
    CNY_PER_USD,
    CNY_PER_USD_DATE,
    CNY_PER_USD_SOURCE,
    HOUR_DIGITS,
    ProxyPrice,
    PurchaseObservation,
    convert,
    months_before,
    proxy_price,
    purchase_observation,
    rental_observation,
    round_to,
)
from catalog.price_records import BookRecord, PriceRecord
from catalog.records import CatalogRecords, Record
from catalog.rental_rules import COMMITMENT_TERMS, rental_prices

GOODS_TAX = Decimal("1.13")
OLD_PART_MONTHS, OLD_SERVER_MONTHS = 24, 6
RELIABILITY_ORDER = ("reseller", "list", "press")
INTEGRATION_FACTOR = Decimal("1.15")
CLASS_GPU_COUNT = 8
CURRENCIES = ("CNY", "USD")
PART_KINDS = ("Gpu", "Cpu", "MemoryModule", "Ssd", "Nic", "Switch", "Cable", "StorageSystem", "Rack")


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """One purchase book's view: currency, and the day that ages are counted from."""

    currency: str
    on: date
    purchases: tuple[PurchaseObservation, ...]
    proxies: Mapping[str, ProxyPrice]
    list_prices: Mapping[str, tuple[Decimal, str, str]]  # USD amount, source, locator from the part's own file

    def net(self, row: PurchaseObservation) -> Decimal:
        """In the book's currency without tax, unrounded."""
        amount = row.amount / GOODS_TAX if row.tax_included == "yes" else row.amount
        return convert(amount, row.currency, self.currency)

    def is_older(self, row: PurchaseObservation, months: int) -> bool:
        """Undated rows count as old: nothing shows that they are not."""
        return row.as_of is None or row.as_of < months_before(self.on, months)


# --- parts ---------------------------------------------------------------------------------------------------------
def part_price(market: Market, sku: str) -> PriceRecord | None:
    """The price of one part, or None when none can be formed."""
    rows = [row for row in market.purchases if (row.sku, row.condition, row.unit) == (sku, "new", "each")]
    if rows:
        return _observed_price(market, sku, rows)
    if sku in market.list_prices:
        amount, title, locator = market.list_prices[sku]
        return PriceRecord(
            sku=sku,
            unit="each",
            amount=round_to(convert(amount, "USD", market.currency), CENT),
            origin_mark="source" if market.currency == "USD" else "converted",
            origin_text="list or street price of the part file, USD; date of the price as in the source",
            source_title=title,
            source_locator=locator,
        )
    if sku in market.proxies:
        proxy = market.proxies[sku]
        return PriceRecord(
            sku=sku,
            unit="each",
            amount=round_to(convert(proxy.amount, proxy.currency, market.currency), CENT),
            origin_mark="proxy",
            origin_text=f"{proxy.proxy_item}: {proxy.notes}",
            as_of=proxy.as_of,
        )
    return None


def _part_rank(market: Market, row: PurchaseObservation) -> tuple[bool, bool, int, int]:
    return (
        market.is_older(row, OLD_PART_MONTHS),
        row.currency != market.currency,
        RELIABILITY_ORDER.index(row.reliability),
        -row.as_of.toordinal() if row.as_of else 0,
    )


def _observed_price(market: Market, sku: str, rows: list[PurchaseObservation]) -> PriceRecord:
    best = min(_part_rank(market, row) for row in rows)
    winners = [row for row in rows if _part_rank(market, row) == best]
    is_old, is_converted = best[0], best[1]
    mark = "old" if is_old else "converted" if is_converted else "median" if len(winners) > 1 else "source"
    return _record(market, sku, winners, mark=mark)


def _record(
    market: Market, sku: str, winners: list[PurchaseObservation], *, mark: str, condition: str = ""
) -> PriceRecord:
    first = winners[0]
    words = [f"{len(winners)} x {first.reliability}" if len(winners) > 1 else first.reliability, first.item]
    if first.currency != market.currency:
        words.append(f"converted from {first.currency}")
    words.append(
        {"yes": "tax of 13 % taken out", "no (HT)": "net", "no/unknown": "taken as net, the source does not say"}[
            first.tax_included
        ]
    )
    return PriceRecord(
        sku=sku,
        unit="each",
        condition=condition,
        amount=round_to(median(market.net(row) for row in winners), CENT),
        origin_mark=mark,
        origin_text="; ".join(words),
        as_of=first.as_of,
        source_title="; ".join(sorted({row.source_title for row in winners})),
        source_locator=first.source_locator,
    )


# --- servers -------------------------------------------------------------------------------------------------------
def own_server_price(market: Market, server_sku: str, gpu_sku: str) -> PriceRecord | None:
    """Rule 1: a recent row of the server itself."""
    rows = [
        row for row in market.purchases if row.sku == server_sku and row.unit == "server" and row.condition == "new"
    ]
    rows = [row for row in rows if row.gpu_sku in ("", gpu_sku) and not market.is_older(row, OLD_SERVER_MONTHS)]
    if not rows:
        return None
    return _newest(market, server_sku, gpu_sku, rows, mark="source")


def class_price(market: Market, gpu_sku: str, server_sku: str) -> PriceRecord | None:
    """Rules 2 and 4: what complete 8-GPU servers with this GPU cost, by age and currency."""
    rows = [
        row
        for row in market.purchases
        if row.gpu_sku == gpu_sku
        and not row.sku
        and row.gpu_count == CLASS_GPU_COUNT
        and row.unit == "server"
        and row.condition == "new"
    ]
    own = [row for row in rows if row.currency == market.currency]
    recent = [row for row in own if not market.is_older(row, OLD_SERVER_MONTHS)]
    for candidates, mark in ((recent, "class price"), (own, "old"), (rows, "converted")):
        if candidates:
            return _newest(market, server_sku, gpu_sku, candidates, mark=mark)
    return None


def _newest(market: Market, sku: str, gpu_sku: str, rows: list[PurchaseObservation], *, mark: str) -> PriceRecord:
    newest = max(row.as_of or date.min for row in rows)
    winners = [row for row in rows if (row.as_of or date.min) == newest]
    return _record(market, sku, winners, mark=mark, condition=gpu_sku)


def server_sum_of_parts(
    quantities: Mapping[str, int], price_of: Callable[[str], Decimal | None]
) -> tuple[Decimal | None, tuple[str, ...]]:
    """Rule 3: parts x 1.15, unrounded, and the SKUs that have no price; None as soon as one is missing."""
    prices = {sku: price_of(sku) for sku in quantities}
    missing = tuple(sku for sku, price in prices.items() if price is None)
    if missing:
        return None, missing
    total = sum((prices[sku] or Decimal(0)) * count for sku, count in quantities.items())
    return total * INTEGRATION_FACTOR, ()


def build_quantities(build: Record) -> dict[str, int]:
    """Parts inside one server of a reference build."""
    pairs = (
        ("gpu_sku", "gpus_per_server"),
        ("cpu_sku", "cpus_per_server"),
        ("memory_sku", "memory_modules_per_server"),
        ("ssd_sku", "ssds_per_server"),
        ("nic_sku", "nics_per_server"),
    )
    fields = build.fields
    return {str(fields[sku]): cast("int", fields[count]) for sku, count in pairs if fields[sku] and fields[count]}


def build_price(market: Market, build: Record) -> PriceRecord | None:
    """One server of a reference build by the sum of its parts."""
    prices = {sku: part_price(market, sku) for sku in build_quantities(build)}
    total, _missing = server_sum_of_parts(
        build_quantities(build), lambda sku: price.amount if (price := prices[sku]) else None
    )
    if total is None:
        return None
    dates = [price.as_of for price in prices.values() if price and price.as_of]
    return PriceRecord(
        sku=build.key,
        unit="each",
        amount=round_to(total, CENT),
        origin_mark="sum of parts",
        origin_text="one server: "
        + ", ".join(f"{n} x {sku}" for sku, n in build_quantities(build).items())
        + " x 1.15",
        as_of=min(dates, default=None),
    )


# --- books ---------------------------------------------------------------------------------------------------------
def purchase_market(records: CatalogRecords, currency: str) -> Market:
    purchases = tuple(purchase_observation(record) for record in records.of("PurchaseObservation"))
    proxies = {proxy.sku: proxy for proxy in (proxy_price(record, purchases) for record in records.of("ProxyPrice"))}
    list_prices: dict[str, tuple[Decimal, str, str]] = {}
    for kind, field in (("Cpu", "list_price_usd"), ("MemoryModule", "typical_price_usd"), ("Ssd", "typical_price_usd")):
        for record in records.of(kind):
            amount = record.fields[field]
            if isinstance(amount, Decimal):
                title = record.fields.get("price_source") or record.fields["source_title"]
                locator = record.fields.get("price_source_locator") or record.fields["source_locator"]
                list_prices[record.key] = (amount, str(title), str(locator))
    return Market(
        currency=currency,
        on=checked_on(records),
        purchases=purchases,
        proxies=proxies,
        list_prices=list_prices,
    )


def checked_on(records: CatalogRecords) -> date:
    """The day on which the prices were read: ages are counted from it, so that a book never depends on the clock."""
    days = [record.fields["checked_on"] for record in records.of("PurchaseObservation")]
    return max(cast("list[date]", days))


def purchase_prices(records: CatalogRecords, currency: str) -> Iterator[PriceRecord]:
    market = purchase_market(records, currency)
    for kind in PART_KINDS:
        for record in records.of(kind):
            if price := part_price(market, record.key):
                yield price
    for server in records.of("Server"):
        if server.fields["kind"] != "server" or not server.fields["is_orderable"]:
            continue
        for gpu_sku in cast("list[str]", server.fields["supported_gpu_skus"]):
            price = own_server_price(market, server.key, gpu_sku)
            if price is None and server.fields["gpu_slot_count"] == CLASS_GPU_COUNT:
                price = class_price(market, gpu_sku, server.key)
            if price is not None:
                yield price
    for build in records.of("ReferenceBuild"):
        if build.fields["kind"] == "corrected" and (price := build_price(market, build)):
            yield price


def service_prices(records: CatalogRecords, basis: str, currency: str) -> Iterator[PriceRecord]:
    """Services as fractions of a base; one with a list price of the seller in this currency as an amount."""
    for service in records.of("Service"):
        fields = service.fields
        if basis not in cast("list[str]", fields["applies_to"]):
            continue
        amount, fraction = fields["list_price"], fields["demo_fraction"]
        if isinstance(amount, Decimal) and fields["list_price_currency"] == currency:
            yield PriceRecord(
                sku=service.key, unit="each", amount=amount, origin_mark="source", origin_text="price of the seller"
            )
        elif isinstance(fraction, Decimal):
            yield PriceRecord(
                sku=service.key,
                unit="fraction",
                condition=str(fields["percent_of"]),
                amount=fraction,
                origin_mark="assumed",
                origin_text=str(fields["demo_price_origin"]),
                as_of=cast("date", fields["checked_on"]),
            )


def cloud_prices(records: CatalogRecords, currency: str) -> Iterator[PriceRecord]:
    """Medians by provider class and deployment (`condition`); rows marked as trend only stay out."""
    for record in records.of("CloudPrice"):
        fields = record.fields
        if fields["currency"] != currency or not fields["is_newest_only"]:
            continue
        count = cast("int", fields["provider_count"])
        yield PriceRecord(
            sku=str(fields["gpu_sku"]),
            unit="gpu_hour",
            term_months=COMMITMENT_TERMS[str(fields["commitment"])],
            condition=f"{fields['provider_class']}/{fields['deployment']}",
            amount=round_to(cast("Decimal", fields["median_amount"]), HOUR_DIGITS),
            origin_mark="median" if count > 1 else "source",
            origin_text=f"{fields['method']}; {'; '.join(cast('list[str]', fields['providers']))}",
            as_of=cast("date | None", fields["as_of_to"]),
        )


BOOK_NAMES: Mapping[str, tuple[str, str]] = {
    "rental": ("租赁演示价目", "Rental demonstration book"),
    "purchase": ("采购演示价目", "Purchase demonstration book"),
    "cloud": ("云厂商公开价格", "Published cloud prices"),
}
NOTE_ZH = "演示用指示性价格，按公开来源与既定规则得出，正式报价前由销售方替换；不含税。"
NOTE_EN = (
    "Indicative prices for demonstration, by rule from public sources; the seller replaces them before a real quote. "
    "Net of tax."
)


def demo_books(records: CatalogRecords) -> tuple[BookRecord, ...]:
    """Rental, purchase and cloud books in CNY and USD."""
    rentals = tuple(rental_observation(record) for record in records.of("RentalObservation"))
    gpu_skus = [record.key for record in records.of("Gpu")]
    books = []
    for currency in CURRENCIES:
        rental = [*rental_prices(rentals, gpu_skus, currency), *service_prices(records, "rental", currency)]
        purchase = [*purchase_prices(records, currency), *service_prices(records, "purchase", currency)]
        cloud = list(cloud_prices(records, currency))
        books += [
            _book(records, basis, currency, prices)
            for basis, prices in (("rental", rental), ("purchase", purchase), ("cloud", cloud))
            if prices
        ]
    return tuple(books)


def _book(records: CatalogRecords, basis: str, currency: str, prices: Iterable[PriceRecord]) -> BookRecord:
    name_zh, name_en = BOOK_NAMES[basis]
    listed = tuple(prices)
    dated = [price.as_of for price in listed if price.as_of and price.origin_mark not in ("proxy", "assumed")]
    return BookRecord(
        code=f"demo-{basis}-{currency.lower()}",
        name_zh=f"{name_zh}（{'人民币' if currency == 'CNY' else '美元'}）",
        name_en=f"{name_en} ({currency})",
        basis=basis,
        currency=currency,
        valid_from=max(dated, default=checked_on(records)),
        is_indicative=True,
        exchange_rate=None if basis == "cloud" else CNY_PER_USD,
        exchange_rate_source="" if basis == "cloud" else CNY_PER_USD_SOURCE,
        exchange_rate_date=None if basis == "cloud" else CNY_PER_USD_DATE,
        note_zh=NOTE_ZH,
        note_en=NOTE_EN,
        prices=listed,
    )

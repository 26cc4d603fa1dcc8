"""The demonstration prices against the worksheet that states the rule; no database."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from catalog.management.commands.load_catalog import DEFAULT_FOLDER
from catalog.price_observations import (
    PurchaseObservation,
    RentalObservation,
    convert,
    months_before,
    rental_observation,
)
from catalog.price_records import BookRecord
from catalog.price_rules import (
    Market,
    build_quantities,
    class_price,
    demo_books,
    part_price,
    purchase_market,
    server_sum_of_parts,
)
from catalog.records import CatalogRecords, Record, read_catalog
from catalog.rental_rules import HourlyPrice, hourly_price, median_of_medians

GOLDEN: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent.parent / "golden" / "demo_prices.toml").read_text(encoding="utf-8")
)
GPUS = GOLDEN["gpu"]
BUILDS = GOLDEN["build"]
MISSING = GOLDEN["missing"]


@pytest.fixture(scope="module")
def records() -> CatalogRecords:
    return read_catalog(DEFAULT_FOLDER)


@pytest.fixture(scope="module")
def rentals(records: CatalogRecords) -> tuple[RentalObservation, ...]:
    return tuple(rental_observation(record) for record in records.of("RentalObservation"))


@pytest.fixture(scope="module")
def usd(records: CatalogRecords) -> Market:
    return purchase_market(records, "USD")


@pytest.fixture(scope="module")
def cny(records: CatalogRecords) -> Market:
    return purchase_market(records, "CNY")


@pytest.fixture(scope="module")
def books(records: CatalogRecords) -> dict[str, BookRecord]:
    return {book.code: book for book in demo_books(records)}


def half_up(amount: Decimal, digits: str) -> Decimal:
    return amount.quantize(Decimal(digits), rounding=ROUND_HALF_UP)


@pytest.mark.parametrize("currency", ["USD", "CNY"])
@pytest.mark.parametrize("expected", GPUS, ids=lambda row: row["sku"])
def test_the_hour_of_a_gpu_is_what_the_worksheet_found(
    rentals: tuple[RentalObservation, ...], expected: dict[str, Any], currency: str
) -> None:
    price = hourly_price(rentals, expected["sku"], currency)
    name = f"{currency.lower()}_per_hour"
    if name not in expected:
        assert price is None
        return
    assert price is not None
    assert half_up(price.found, "0.01") == Decimal(expected[name])
    assert price.is_converted is expected.get(f"{name}_is_converted", False)


@pytest.mark.parametrize("expected", GPUS, ids=lambda row: row["sku"])
def test_the_purchase_price_of_a_gpu_is_what_the_worksheet_found(usd: Market, expected: dict[str, Any]) -> None:
    price = part_price(usd, expected["sku"])
    found = half_up(price.amount, "1") if price else None
    assert found == (Decimal(expected["gpu_usd"]) if "gpu_usd" in expected else None)


@pytest.mark.parametrize("expected", GPUS, ids=lambda row: row["sku"])
def test_the_class_price_of_an_8_gpu_server_is_what_the_worksheet_found(cny: Market, expected: dict[str, Any]) -> None:
    price = class_price(cny, expected["sku"], "any-server")
    if "server_cny" not in expected:
        assert price is None or price.origin_mark == "converted"
        return
    assert price is not None
    assert (half_up(price.amount, "1"), price.as_of) == (Decimal(expected["server_cny"]), expected["server_cny_as_of"])
    is_recent = expected["server_cny_as_of"] >= date(2026, 5, 1)  # 6 months before the day the prices were read
    assert price.origin_mark == ("class price" if is_recent else "old")


def build_of(records: CatalogRecords, sku: str) -> Record:
    return next(record for record in records.of("ReferenceBuild") if record.key == sku)


@pytest.mark.parametrize("expected", BUILDS, ids=lambda row: row["sku"])
def test_a_reference_build_costs_the_sum_of_its_parts(
    records: CatalogRecords, usd: Market, cny: Market, expected: dict[str, Any]
) -> None:
    build = build_of(records, expected["sku"])

    def price_of(sku: str) -> Decimal | None:
        price = part_price(usd, sku)
        return price.amount if price else None

    total, missing = server_sum_of_parts(build_quantities(build), price_of)
    assert set(missing) == set(expected["missing"])
    printed = Decimal(expected["usd_per_server"]) if "usd_per_server" in expected else None
    assert (half_up(total, "1E2") if total else None) == printed
    by_class = class_price(cny, str(build.fields["gpu_sku"]), "any-server")
    if "class_price_cny" in expected:
        assert by_class is not None
        assert half_up(by_class.amount, "1") == Decimal(expected["class_price_cny"])
        assert by_class.as_of == expected["class_price_as_of"]


def test_gpus_without_a_rental_price_are_the_ones_named(
    records: CatalogRecords, rentals: tuple[RentalObservation, ...]
) -> None:
    without = {
        gpu.key for gpu in records.of("Gpu") if not any(hourly_price(rentals, gpu.key, c) for c in ("CNY", "USD"))
    }
    assert without == set(MISSING["rental_gpus"])


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Gpu", "purchase_gpus"),
        ("Cpu", "cpus"),
        ("MemoryModule", "memory"),
        ("Ssd", "ssds"),
        ("Nic", "nics"),
        ("Switch", "switches"),
    ],
)
@pytest.mark.parametrize("currency", ["USD", "CNY"])
def test_parts_without_a_purchase_price_are_the_ones_named(
    records: CatalogRecords, kind: str, name: str, currency: str
) -> None:
    market = purchase_market(records, currency)
    without = {part.key for part in records.of(kind) if part_price(market, part.key) is None}
    # the worksheet speaks of CNY class servers and USD parts; the one GPU that has CNY rows has USD rows too
    assert without == set(MISSING[name])


def test_cables_storage_and_racks_without_a_price_are_the_ones_named(records: CatalogRecords, usd: Market) -> None:
    unpriced = {cable.key for cable in records.of("Cable") if part_price(usd, cable.key) is None}
    prefixes = tuple(MISSING["unpriced_cable_prefixes"])
    assert unpriced == {cable.key for cable in records.of("Cable") if cable.key.startswith(prefixes)}
    assert {rack.key for rack in records.of("Rack") if part_price(usd, rack.key) is None} == set(MISSING["racks"])
    priced = {system.key for system in records.of("StorageSystem") if part_price(usd, system.key)}
    assert priced == set(MISSING["storage_with_price"])


@pytest.mark.parametrize("expected", GOLDEN["proxy"], ids=lambda row: str(row["sku"]))
def test_proxies_follow_from_published_figures(usd: Market, expected: dict[str, str]) -> None:
    price = part_price(usd, expected["sku"])
    assert price is not None
    assert (price.origin_mark, price.amount) == ("proxy", Decimal(expected["usd"]))
    assert price.origin_text


def test_links_of_the_split_optics_cost_what_the_source_says(usd: Market) -> None:
    # one switch-to-switch link: two halves of a twin-port optic and a fibre; one server link: half, single, fibre
    twin, single, fibre = (part_price(usd, sku) for sku in ("mma4z00-ns", "mma4z00-ns400", "mfp7e10-n020"))
    assert twin is not None
    assert single is not None
    assert fibre is not None
    assert twin.amount + fibre.amount == Decimal(1240)
    assert twin.amount / 2 + single.amount + fibre.amount == Decimal(1320)
    # 1,024 GPUs in two tiers, as the source's row of 128 servers has it
    assert 1024 * (2 * fibre.amount + twin.amount * 3 / 2 + single.amount) == Decimal(2_621_440)


def test_services_without_a_price_are_the_ones_named(records: CatalogRecords, books: dict[str, BookRecord]) -> None:
    priced = {price.sku for book in books.values() for price in book.prices if price.sku.startswith("svc-")}
    assert {service.key for service in records.of("Service")} - priced == set(MISSING["services"])


# --- books --------------------------------------------------------------------------------------------------------
def test_there_are_two_books_of_each_kind_and_all_are_indicative(books: dict[str, BookRecord]) -> None:
    assert {(book.basis, book.currency) for book in books.values()} == {
        (basis, currency) for basis in ("rental", "purchase", "cloud") for currency in ("CNY", "USD")
    }
    assert all(book.is_indicative for book in books.values())
    for book in books.values():
        if book.basis != "cloud":
            assert (book.exchange_rate, book.exchange_rate_date) == (Decimal("6.74"), date(2026, 8, 22))


def test_no_price_is_zero_and_each_has_its_mark_and_origin(books: dict[str, BookRecord]) -> None:
    marks = {"source", "median", "converted", "proxy", "old", "class price", "sum of parts", "assumed"}
    for book in books.values():
        assert all(price.amount > 0 and price.origin_mark in marks and price.origin_text for price in book.prices)


@pytest.mark.parametrize(
    ("term", "amount", "mark"),
    # a 1y row is the 12-month price: 87,000 CNY a month / 8 / 730 = 14.8973; base 14.8973 / 0.85 = 17.526235;
    # 36 months x 0.70 = 12.268365; the on-demand hour / 0.95 = 18.448669
    [(12, "14.8973", "source"), (1, "17.5262", "assumed"), (36, "12.2684", "assumed"), (None, "18.4487", "assumed")],
)
def test_terms_follow_the_ladder_from_the_term_that_was_seen(
    books: dict[str, BookRecord], term: int | None, amount: str, mark: str
) -> None:
    prices = {p.term_months: p for p in books["demo-rental-cny"].prices if p.sku == "nvidia-h100-sxm5-80gb"}
    assert set(prices) == {None, 1, 3, 6, 12, 24, 36}
    assert (prices[term].amount, prices[term].origin_mark) == (Decimal(amount), mark)


def test_a_class_price_stands_for_every_orderable_8_gpu_server_of_that_gpu(
    records: CatalogRecords, books: dict[str, BookRecord]
) -> None:
    wanted = {
        server.key
        for server in records.of("Server")
        if server.fields["is_orderable"]
        and server.fields["kind"] == "server"
        and server.fields["gpu_slot_count"] == 8
        and "nvidia-h100-sxm5-80gb" in server.fields["supported_gpu_skus"]  # type: ignore[operator]
    }
    rows = [p for p in books["demo-purchase-cny"].prices if p.condition == "nvidia-h100-sxm5-80gb"]
    assert {row.sku for row in rows} == wanted
    assert {row.amount for row in rows} == {Decimal("2750000.00")}


def test_trend_only_cloud_rows_stay_out_of_the_books(books: dict[str, BookRecord]) -> None:
    for code in ("demo-cloud-cny", "demo-cloud-usd"):
        assert all(price.as_of is None or price.as_of >= date(2026, 1, 1) for price in books[code].prices)


# --- the rule's own corners, worked by hand --------------------------------------------------------------------------
def seen(**changes: Any) -> RentalObservation:
    base = RentalObservation(
        provider="A",
        provider_class="neocloud",
        gpu_sku="g",
        bare_metal="no",
        commitment="on_demand",
        currency="USD",
        amount=Decimal("2.00"),
        as_of=date(2026, 9, 1),
        source_title="t",
        source_locator="l",
    )
    return replace(base, **changes)


def found(*rows: RentalObservation, currency: str = "USD") -> HourlyPrice | None:
    return hourly_price(rows, "g", currency)


def test_spot_and_prices_before_2026_never_enter() -> None:
    assert found(seen(commitment="spot"), seen(as_of=date(2025, 12, 31))) is None


def test_each_provider_counts_once() -> None:
    # A: 1, 2, 9 -> 2; B: 4 -> (2 + 4) / 2 = 3, where the plain median of the four would be 3 too only by chance: 2, 4
    rows = [("A", Decimal(1)), ("A", Decimal(2)), ("A", Decimal(9)), ("B", Decimal(4))]
    assert median_of_medians(rows) == 3


def test_own_currency_comes_before_a_better_class_of_provider() -> None:
    price = found(seen(currency="CNY", provider_class="china", amount=Decimal(7)), seen(amount=Decimal(9)))
    assert price is not None
    assert price.found == 9
    assert not price.is_converted


def test_only_rows_within_31_days_of_the_newest_count() -> None:
    price = found(
        seen(amount=Decimal(9), as_of=date(2026, 7, 31)),
        seen(provider="B", amount=Decimal(3), as_of=date(2026, 8, 1)),
        seen(provider="C", amount=Decimal(5), as_of=date(2026, 9, 1)),
    )
    assert price is not None
    assert price.found == 4
    assert price.mark == "median"


def test_a_dated_price_comes_before_an_undated_one() -> None:
    price = found(seen(amount=Decimal(9), as_of=None), seen(amount=Decimal(3)))
    assert price is not None
    assert price.found == 3


def bought(**changes: Any) -> PurchaseObservation:
    base = PurchaseObservation(
        sku="p",
        gpu_sku="",
        gpu_count=None,
        item="part",
        currency="USD",
        amount=Decimal(100),
        unit="each",
        condition="new",
        tax_included="no (HT)",
        reliability="reseller",
        as_of=date(2026, 9, 1),
        source_title="t",
        source_locator="l",
    )
    return replace(base, **changes)


def market(*rows: PurchaseObservation, currency: str = "USD") -> Market:
    return Market(currency=currency, on=date(2026, 11, 30), purchases=rows, proxies={}, list_prices={})


@pytest.mark.parametrize(
    ("rows", "amount", "mark"),
    [
        ([bought(amount=Decimal(226), tax_included="yes")], "200.00", "source"),
        ([bought(condition="used")], None, None),
        ([bought(as_of=date(2024, 10, 31))], "100.00", "old"),
        ([bought(as_of=date(2024, 11, 1))], "100.00", "source"),
        ([bought(reliability="press", amount=Decimal(50)), bought(reliability="list")], "100.00", "source"),
        ([bought(), bought(amount=Decimal(300), currency="CNY")], "100.00", "source"),
        ([bought(amount=Decimal(674), currency="CNY")], "100.00", "converted"),
        ([bought(), bought(amount=Decimal(140)), bought(amount=Decimal(90))], "100.00", "median"),
        ([bought(as_of=date(2026, 9, 2), amount=Decimal(80)), bought()], "80.00", "source"),
    ],
    ids=[
        "tax out",
        "used",
        "24 months and a day",
        "24 months",
        "list before press",
        "own currency",
        "converted",
        "median of one date",
        "newest",
    ],
)
def test_the_winner_of_a_part(rows: list[PurchaseObservation], amount: str | None, mark: str | None) -> None:
    price = part_price(market(*rows), "p")
    assert (price.amount if price else None) == (Decimal(amount) if amount else None)
    assert (price.origin_mark if price else None) == mark


def test_euros_reach_yuan_through_dollars_in_one_step() -> None:
    # 100 EUR x 1.1699 x 6.74 = 788.5126
    price = part_price(market(bought(currency="EUR"), currency="CNY"), "p")
    assert price is not None
    assert price.amount == Decimal("788.51")
    assert convert(Decimal(100), "CNY", "CNY") == 100


def test_a_price_of_one_missing_part_is_no_sum() -> None:
    total, missing = server_sum_of_parts({"a": 8, "b": 2}, {"a": Decimal(10)}.get)
    assert (total, missing) == (None, ("b",))
    total, missing = server_sum_of_parts({"a": 8, "b": 2}, {"a": Decimal(10), "b": Decimal(5)}.get)
    assert (total, missing) == (Decimal("103.50"), ())  # (80 + 10) x 1.15


def test_months_are_counted_by_calendar() -> None:
    assert months_before(date(2026, 11, 30), 24) == date(2024, 11, 1)
    assert months_before(date(2026, 1, 31), 1) == date(2025, 12, 1)

"""A seller's price list: read with every fault, written and read back the same, in force from its first day."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import translation

from catalog.models import Price, PriceBook
from catalog.price_files import HEADERS, prices_csv, read_prices
from catalog.price_records import PriceRecord
from catalog.records import CatalogFileError
from catalog.services import price_book_on, price_for

KNOWN = {"nvidia-h100-sxm5-80gb", "nvidia-dgx-h100", "svc-build-cluster"}
HEAD = ",".join(HEADERS)
GOOD = f"""{HEAD}
nvidia-h100-sxm5-80gb,gpu_hour,12,,13.5,,,2026-11-01,,,
nvidia-h100-sxm5-80gb,each,,,215000.00,source,quotation,2026-11,,,45
nvidia-dgx-h100,each,,nvidia-h100-sxm5-80gb,2600000,,,,,,
svc-build-cluster,fraction,,hardware subtotal,0.04,,,,,,
"""


def file_of(folder: Path, content: str) -> Path:
    path = folder / "prices.csv"
    path.write_text(content, encoding="utf-8")
    return path


def faults_of(folder: Path, content: str) -> list[str]:
    with translation.override("en"), pytest.raises(CatalogFileError) as raised:
        read_prices(file_of(folder, content), known_skus=KNOWN)
    return [str(fault) for fault in raised.value.faults]


def test_a_list_is_read(tmp_path: Path) -> None:
    hour, card, server, build = read_prices(file_of(tmp_path, GOOD), known_skus=KNOWN)
    assert (hour.amount, hour.term_months, hour.origin_mark) == (Decimal("13.5"), 12, "source")
    assert (card.as_of, card.lead_time_days) == (date(2026, 11, 1), 45)
    assert (server.condition, build.unit) == ("nvidia-h100-sxm5-80gb", "fraction")


def test_only_sku_unit_and_amount_are_asked_for(tmp_path: Path) -> None:
    short = "sku,unit,term_months,condition,amount\nnvidia-dgx-h100,each,,,1\n"
    (price,) = read_prices(file_of(tmp_path, short), known_skus=KNOWN)
    assert price == PriceRecord(
        sku="nvidia-dgx-h100", unit="each", amount=Decimal(1), origin_mark="source", origin_text=""
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("nvidia-h100-160gb,each,,,1,,,,,,", "prices.csv:2: sku: “nvidia-h100-160gb” is not in the catalogue."),
        ("nvidia-dgx-h100,each,,nvidia-h9,1,,,,,,", "prices.csv:2: condition: “nvidia-h9” is not in the catalogue."),
        ("nvidia-dgx-h100,kilo,,,1,,,,,,", "prices.csv:2: unit: “kilo” is not one of"),
        ("nvidia-dgx-h100,each,12,,1,,,,,,", "prices.csv:2: term_months: Only rental units have a term."),
        ("nvidia-dgx-h100,each,,,-1,,,,,,", "prices.csv:2: amount: A price cannot be negative"),
        ("nvidia-dgx-h100,each,,,,,,,,,", "prices.csv:2: amount: The cell may not be empty."),
        ("nvidia-dgx-h100,each,,,1,guess,,,,,", "prices.csv:2: origin_mark: “guess” is not one of"),
        ("nvidia-dgx-h100,each,,,1", "prices.csv:2: The row has 5 cells"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, row: str, words: str) -> None:
    assert any(fault.startswith(words) for fault in faults_of(tmp_path, f"{HEAD}\n{row}\n"))


def test_the_same_price_twice_is_named(tmp_path: Path) -> None:
    row = "nvidia-dgx-h100,each,,,1,,,,,,\n"
    assert faults_of(tmp_path, f"{HEAD}\n{row}{row}") == ["prices.csv:3: The same price is already in line 2."]


def test_no_cell_of_an_export_starts_a_formula() -> None:
    price = PriceRecord(sku="a", unit="each", amount=Decimal(1), origin_mark="source", origin_text="=1+1")
    assert b",'=1+1," in prices_csv([price])


# --- into the database ----------------------------------------------------------------------------------------------
def load(path: Path, *options: str) -> str:
    out = io.StringIO()
    market = ["--code", "own-purchase-usd", "--basis", "purchase", "--currency", "USD"]
    call_command("load_price_book", str(path), *market, "--valid-from", "2026-11-15", *options, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_an_export_comes_back_the_same(catalog: None, tmp_path: Path) -> None:
    book = PriceBook.objects.get(code="demo-purchase-usd", status="published")
    answer = Client().get("/catalog/price-books/demo-purchase-usd/prices.csv")
    assert answer["Content-Type"].startswith("text/csv")
    path = tmp_path / "prices.csv"
    path.write_bytes(answer.content)
    load(path)
    copy = PriceBook.objects.get(code="own-purchase-usd")

    def content(of: PriceBook) -> set[tuple[Any, ...]]:
        return set(of.prices.values_list("sku", "unit", "condition", "amount", "origin_mark", "origin_text", "as_of"))

    assert copy.status == "draft"
    assert content(copy) == content(book)


@pytest.mark.django_db
def test_a_published_list_closes_the_book_in_force_and_holds_from_its_day(catalog: None, tmp_path: Path) -> None:
    load(file_of(tmp_path, GOOD), "--publish")
    before = price_book_on(basis="purchase", currency="USD", on=date(2026, 11, 14))
    after = price_book_on(basis="purchase", currency="USD", on=date(2026, 11, 15))
    assert before is not None
    assert after is not None
    assert (before.code, before.valid_until) == ("demo-purchase-usd", date(2026, 11, 15))
    assert (after.code, after.version) == ("own-purchase-usd", 1)
    card = price_for(sku="nvidia-h100-sxm5-80gb", basis="purchase", currency="USD", unit="each", on=date(2026, 11, 30))
    assert card is not None
    assert card.amount == Decimal("215000.00")
    call_command("load_catalog", stdout=io.StringIO())  # the demonstration does not come back over it
    assert price_book_on(basis="purchase", currency="USD", on=date(2026, 11, 30)) == after


@pytest.mark.django_db
def test_a_second_list_is_the_next_version(catalog: None, tmp_path: Path) -> None:
    path = file_of(tmp_path, GOOD)
    load(path)
    load(path)
    versions = PriceBook.objects.filter(code="own-purchase-usd").order_by("version").values_list("version", flat=True)
    assert list(versions) == [1, 2]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "options"),
    [
        (GOOD + "nvidia-h100-160gb,each,,,1,,,,,,\n", []),
        (GOOD, ["--dry-run"]),
        (GOOD.replace("13.5", "1234567890123.5"), []),  # more digits than the column holds
    ],
    ids=["one wrong row", "dry run", "too many digits"],
)
def test_nothing_is_written(catalog: None, tmp_path: Path, content: str, options: list[str]) -> None:
    counts = PriceBook.objects.count(), Price.objects.count()
    if options:
        load(file_of(tmp_path, content), *options)
    else:
        with pytest.raises(CommandError):
            load(file_of(tmp_path, content), *options)
    assert (PriceBook.objects.count(), Price.objects.count()) == counts


@pytest.mark.django_db
def test_a_list_that_starts_before_the_book_in_force_is_refused_whole(catalog: None, tmp_path: Path) -> None:
    path = file_of(tmp_path, GOOD)
    market = ["--code", "early", "--basis", "purchase", "--currency", "USD", "--valid-from", "2026-01-01", "--publish"]
    with pytest.raises(CommandError):
        call_command("load_price_book", str(path), *market, stdout=io.StringIO())
    assert not PriceBook.objects.filter(code="early").exists()

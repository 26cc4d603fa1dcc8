"""Loading: all or nothing, even when killed; the same files twice change nothing; prices are built at the end."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.models import Model

from catalog import models
from catalog.management.commands.load_catalog import DEFAULT_FOLDER
from catalog.models import CatalogRevision, CloudPrice, Gpu, Price, PriceBook, ReferenceBuild, Server
from catalog.records import read_catalog
from catalog.revisions import NO_REVISION, PART_MODELS, current_revision
from catalog.services import catalog_load, price_book_on, price_for, prices_for
from tests.catalog.test_records import edit

DAY = date(2026, 11, 30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(DEFAULT_FOLDER, copy)
    return copy


def load(folder: Path = DEFAULT_FOLDER, *options: str) -> str:
    out = io.StringIO()
    call_command("load_catalog", str(folder), *options, stdout=out)
    return out.getvalue()


def everything() -> dict[str, list[tuple[object, ...]]]:
    """All rows of the catalogue, ids too: an unchanged row keeps its id."""
    tables: list[type[Model]] = [
        *PART_MODELS,
        CloudPrice,
        PriceBook,
        Price,
        CatalogRevision,
        Server.supported_gpus.through,
    ]
    return {table.__name__: list(table._default_manager.order_by("pk").values_list()) for table in tables}


@pytest.mark.django_db
def test_the_whole_catalogue_is_there(catalog: None) -> None:
    for model in PART_MODELS:
        assert model._default_manager.exists(), model.__name__
    build = ReferenceBuild.objects.with_specs().get(sku="ref-t2-h100")
    assert build.tier.sku == "tens_of_billions"
    server = Server.objects.get(sku="nvidia-dgx-h100")
    assert [gpu.sku for gpu in server.supported_gpus.all()] == ["nvidia-h100-sxm5-80gb"]
    assert len(current_revision()) == 16


@pytest.mark.django_db
def test_loading_twice_changes_nothing(catalog: None) -> None:
    before = everything()
    load()
    assert everything() == before


@pytest.mark.django_db
def test_a_dry_run_writes_nothing(catalog: None, folder: Path) -> None:
    edit(folder / "gpus.csv", lambda rows: rows[0].update(notes="changed"))
    before = everything()
    report = load(folder, "--dry-run")
    assert everything() == before
    assert " 1 " in next(line for line in report.splitlines() if line.startswith("Gpu"))


@pytest.mark.django_db
def test_a_fault_anywhere_writes_nothing_and_lists_file_and_line(catalog: None, folder: Path) -> None:
    edit(folder / "gpus.csv", lambda rows: rows[0].update(notes="changed"))
    edit(folder / "switches.csv", lambda rows: rows[3].update(power_w="-1"))
    before = everything()
    errors = io.StringIO()
    with pytest.raises(CommandError):
        call_command("load_catalog", str(folder), stdout=io.StringIO(), stderr=errors)
    assert "switches.csv:5: power_w" in errors.getvalue()
    assert everything() == before


@pytest.mark.django_db
def test_what_the_table_refuses_is_told_with_file_and_line_too(catalog: None, folder: Path) -> None:
    edit(folder / "gpus.csv", lambda rows: rows[0].update(model_name="x" * 201))
    errors = io.StringIO()
    with pytest.raises(CommandError):
        call_command("load_catalog", str(folder), stdout=io.StringIO(), stderr=errors)
    assert "gpus.csv:2: name" in errors.getvalue()


@pytest.mark.django_db
def test_an_edited_row_is_updated_in_place_under_a_new_revision(catalog: None, folder: Path) -> None:
    old, revision = Gpu.objects.get(sku="nvidia-h100-sxm5-80gb"), current_revision()

    def raise_power(rows: list[dict[str, str]]) -> None:
        next(row for row in rows if row["sku"] == old.sku)["tdp_w"] = "750"

    edit(folder / "gpus.csv", raise_power)
    load(folder)
    new = Gpu.objects.get(sku=old.sku)
    assert (new.pk, new.tdp_watts) == (old.pk, 750.0)
    assert current_revision() != revision
    load()  # and back: the same content has the same name again
    assert current_revision() == revision


@pytest.mark.django_db
def test_what_an_editor_changed_stays_until_the_file_says_something_new(catalog: None, folder: Path) -> None:
    gpus = Gpu.objects.filter(sku="nvidia-h100-sxm5-80gb")
    gpus.update(tdp_watts=650.0, is_active=False)
    server = Server.objects.get(sku="nvidia-dgx-h100")
    server.supported_gpus.clear()
    load()
    assert gpus.get().tdp_watts == 650.0
    assert not gpus.get().is_active
    assert not server.supported_gpus.exists()

    def new_note(rows: list[dict[str, str]]) -> None:
        next(row for row in rows if row["sku"] == "nvidia-h100-sxm5-80gb")["notes"] = "new"

    edit(folder / "gpus.csv", new_note)
    load(folder)
    assert (gpus.get().tdp_watts, gpus.get().notes, gpus.get().is_active) == (700.0, "new", True)
    assert not server.supported_gpus.exists()


@pytest.mark.django_db
def test_a_reset_brings_edited_rows_back_to_the_files(catalog: None) -> None:
    revision = current_revision()
    Gpu.objects.filter(sku="nvidia-h100-sxm5-80gb").update(tdp_watts=650.0)
    Server.objects.get(sku="nvidia-dgx-h100").supported_gpus.clear()
    load(DEFAULT_FOLDER, "--reset")
    assert Gpu.objects.get(sku="nvidia-h100-sxm5-80gb").tdp_watts == 700.0
    assert Server.objects.get(sku="nvidia-dgx-h100").supported_gpus.count() == 1
    assert current_revision() == revision


@pytest.mark.django_db
def test_a_part_that_only_an_editor_made_is_left_alone(catalog: None) -> None:
    values = models.Nic.objects.values().get(sku="nvidia-cx7-1p-400-vpi") | {"id": None, "sku": "own", "file_hash": ""}
    models.Nic.objects.create(**values)
    load()
    assert models.Nic.objects.get(sku="own").is_active


@pytest.mark.django_db
def test_a_row_that_has_gone_retires_and_comes_back(catalog: None, folder: Path) -> None:
    edit(folder / "nics.csv", lambda rows: rows.pop())
    gone = models.Nic.objects.order_by("pk").last()
    assert gone is not None
    load(folder)
    gone.refresh_from_db()
    assert not gone.is_active
    load()
    gone.refresh_from_db()
    assert gone.is_active


@pytest.mark.django_db
def test_changed_prices_make_a_new_version_and_the_old_one_stays(catalog: None, folder: Path) -> None:
    def dearer(rows: list[dict[str, str]]) -> None:
        row = next(r for r in rows if r["sku"] == "nvidia-h200-sxm5-141gb" and r["as_of"] == "2026-09-27")
        row.update(price_typical="36000", price_low="36000", price_high="36000")

    edit(folder / "prices_purchase.csv", dearer)
    load(folder)
    books = list(PriceBook.objects.filter(code="demo-purchase-usd").order_by("version"))
    assert [(book.version, book.status) for book in books] == [(1, "retired"), (2, "published")]
    prices = [book.prices.get(sku="nvidia-h200-sxm5-141gb", condition="").amount for book in books]
    assert prices == [Decimal("35000.00"), Decimal("36000.00")]
    rental = PriceBook.objects.filter(code="demo-rental-usd")
    assert [(book.version, book.status) for book in rental] == [(1, "published")]


@pytest.mark.django_db
def test_a_sellers_own_book_keeps_the_demonstration_out(catalog: None, folder: Path) -> None:
    PriceBook.objects.filter(code="demo-purchase-usd").update(status="retired")
    demo = PriceBook.objects.get(code="demo-purchase-usd")
    own = PriceBook.objects.create(
        code="own", name_zh="自有", name_en="Own", basis="purchase", currency="USD", valid_from=date(2026, 1, 1)
    )
    Price.objects.create(book=own, sku="x", unit="each", amount=Decimal(1), origin_mark="source")
    PriceBook.objects.filter(pk=own.pk).update(status="published", published_at=demo.published_at)
    load()
    assert price_book_on(basis="purchase", currency="USD", on=DAY) == own


@pytest.mark.django_db
def test_prices_of_the_books_are_found_on_a_day(catalog: None) -> None:
    hour = {"sku": "nvidia-h100-sxm5-80gb", "basis": "rental", "unit": "gpu_hour"}
    price = price_for(**hour, currency="CNY", on=DAY, term_months=12)
    assert price is not None
    assert (price.amount, price.origin_mark, price.book.is_indicative) == (Decimal("14.8973"), "source", True)
    assert price_for(**hour, currency="CNY", on=date(2025, 1, 1), term_months=12) is None
    assert price_for(**hour, currency="EUR", on=DAY, term_months=12) is None


@pytest.mark.django_db
def test_many_skus_cost_one_query(catalog: None, django_assert_num_queries: object) -> None:
    book = PriceBook.objects.get(code="demo-purchase-usd", status="published")
    skus = list(Price.objects.filter(book=book).values_list("sku", flat=True))
    with django_assert_num_queries(1):  # type: ignore[operator]
        found = prices_for(book, [*skus, "no-such-part"])
    assert set(found) == set(skus)


@pytest.mark.django_db
def test_without_a_load_the_revision_says_so() -> None:
    CatalogRevision.objects.all().delete()
    assert current_revision() == NO_REVISION == "empty"


@pytest.mark.slow
def test_a_killed_load_leaves_all_or_nothing(tmp_path: Path) -> None:
    """Kills the command at six moments of its life; the database then has the whole catalogue or none of it."""
    manage = [sys.executable, str(Path(__file__).resolve().parents[2] / "manage.py")]
    empty = tmp_path / "empty.sqlite3"

    def surroundings(database: Path) -> dict[str, str]:
        ours = {"DATABASE_URL": f"sqlite:///{database}", "DJANGO_SETTINGS_MODULE": "tests.settings", "SECRET_KEY": "x"}
        return os.environ | ours

    def counts(database: Path) -> list[int]:
        tables = ("catalog_catalogrevision", "catalog_gpu", "catalog_modelarchitecture", "catalog_pricebook")
        with closing(sqlite3.connect(database)) as connection:
            return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]  # noqa: S608

    subprocess.run([*manage, "migrate", "-v0"], env=surroundings(empty), check=True, timeout=120)
    whole = Path(shutil.copy(empty, tmp_path / "whole.sqlite3"))
    start = time.monotonic()
    subprocess.run([*manage, "load_catalog"], env=surroundings(whole), check=True, capture_output=True, timeout=120)
    duration = time.monotonic() - start
    outcomes = []
    for step in range(6):
        database = Path(shutil.copy(empty, tmp_path / f"killed-{step}.sqlite3"))
        process = subprocess.Popen([*manage, "load_catalog"], env=surroundings(database), stdout=subprocess.DEVNULL)
        time.sleep(duration * (0.5 + 0.08 * step))
        process.send_signal(signal.SIGKILL)
        outcomes.append(process.wait(timeout=60))
        assert counts(database) in ([0, 0, 0, 0], counts(whole))
    assert -signal.SIGKILL in outcomes


@pytest.mark.django_db(transaction=True)
def test_two_loads_at_once_take_turns() -> None:
    """Two servers of a site start together on an empty database: one loads, the other finds nothing to do."""
    first: list[type[Model]] = [Price, PriceBook, CloudPrice, ReferenceBuild]  # what points at others
    first += [*PART_MODELS, CatalogRevision]
    for model in first:
        model._default_manager.all().delete()
    records, reports, start = read_catalog(DEFAULT_FOLDER), [], threading.Barrier(2)

    def run() -> None:
        start.wait()
        try:
            reports.append(catalog_load(records=records))
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert sorted(report.is_new_revision for report in reports) == [False, True]
    assert CatalogRevision.objects.count() == 1

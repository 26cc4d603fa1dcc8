"""Price books at the desk: what a publication changes, in numbers; one book a day; the way back; who sees cost."""

from __future__ import annotations

import io
import time
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from openpyxl import load_workbook

from catalog.models import CatalogRevision, Price, PriceBook
from catalog.price_books import (
    PriceBookError,
    price_book_draft,
    price_book_publish,
    price_book_roll_back,
    publication_effects,
)
from catalog.price_diffs import book_diff
from catalog.price_files import prices_table
from catalog.services import price_for
from catalog.sheet_writing import csv_bytes, xlsx_bytes
from tests import factories

pytestmark = pytest.mark.django_db
FIRST, SECOND = date(2026, 1, 1), date(2026, 7, 1)
GPU, SERVER = "nvidia-h100-sxm5-80gb", "nvidia-dgx-h100"


def book(code: str = "own", start: date = FIRST, **changes: Any) -> PriceBook:
    """A draft in a market of its own, with two prices."""
    values = {
        "code": code,
        "name_zh": "价目",
        "name_en": "Own",
        "basis": "purchase",
        "currency": "EUR",
        "valid_from": start,
    }
    made = PriceBook.objects.create(**(values | changes))
    for sku, amount in ((GPU, "200000"), (SERVER, "2000000")):
        Price.objects.create(book=made, sku=sku, unit="each", amount=Decimal(amount), origin_mark="source")
    return made


def published(**changes: Any) -> PriceBook:
    return price_book_publish(book=book(**changes), is_replacing=True, reason="first", author="carol")


# --- one published book of a market on any day: the database itself ---------------------------------------------------
@pytest.mark.parametrize(
    ("start", "end", "passes"),
    [
        (date(2026, 6, 30), None, False),
        (date(2026, 3, 1), date(2026, 4, 1), False),
        (date(2025, 1, 1), date(2026, 1, 2), False),
        (date(2026, 7, 1), None, True),
        (date(2025, 1, 1), date(2026, 1, 1), True),
    ],
    ids=["last day", "inside", "first day", "after", "before"],
)
@pytest.mark.parametrize("is_update", [False, True], ids=["insert", "update"])
def test_the_database_keeps_one_published_book_a_day(start: date, end: date, passes: bool, is_update: bool) -> None:
    now = timezone.now()
    shared = {"name_zh": "a", "name_en": "a", "basis": "purchase", "currency": "EUR"}
    published_values = {"status": "published", "published_at": now}
    PriceBook.objects.create(code="a", valid_from=FIRST, valid_until=SECOND, **shared, **published_values)

    def second() -> None:
        if is_update:
            draft = PriceBook.objects.create(code="b", valid_from=start, valid_until=end, **shared)
            PriceBook.objects.filter(pk=draft.pk).update(**published_values)
        else:
            PriceBook.objects.create(code="b", valid_from=start, valid_until=end, **shared, **published_values)

    if passes:
        second()
    else:
        with pytest.raises(IntegrityError), transaction.atomic():
            second()
    # another market, and a draft, may share the days
    PriceBook.objects.create(code="c", valid_from=FIRST, **(shared | {"currency": "USD", "basis": "rental"}))
    PriceBook.objects.create(code="d", valid_from=FIRST, **(shared | {"currency": "EUX"}), **published_values)


@pytest.mark.parametrize("changes", [{"floor_amount": "11"}, {"floor_amount": "-1"}, {"cost_amount": "-1"}])
def test_a_floor_above_the_price_or_a_negative_cost_is_refused(changes: dict[str, str]) -> None:
    made = book()
    with pytest.raises(IntegrityError), transaction.atomic():
        Price.objects.create(book=made, sku="x", unit="each", amount=Decimal(10), origin_mark="source", **changes)


# --- publish, differ, roll back ------------------------------------------------------------------------------------
def test_a_successor_ends_the_book_in_force_where_it_starts() -> None:
    old, new = published(), book(start=SECOND, version=2)
    (effect,) = publication_effects(new)
    assert (effect.book, effect.closed_on) == (old, SECOND)
    price_book_publish(book=new, is_replacing=True, reason="July", author="carol")
    old.refresh_from_db()
    assert (old.status, old.valid_until) == ("published", SECOND)
    assert CatalogRevision.objects.latest().reason == "July"
    with pytest.raises(PriceBookError):  # an earlier draft would run over both
        price_book_publish(book=book(version=3, start=date(2025, 1, 1)), is_replacing=True)


def test_the_difference_counts_new_gone_raised_and_lowered() -> None:
    old = published()
    new = price_book_draft(book=old)
    new.prices.filter(sku=GPU).update(amount=Decimal("210000"))
    new.prices.filter(sku=SERVER).delete()
    Price.objects.create(book=new, sku="b", unit="each", amount=Decimal("1"), origin_mark="source")
    diff = book_diff(old, new)
    assert ([c.sku for c in diff.added], [c.sku for c in diff.removed], diff.unchanged_count) == (["b"], [SERVER], 0)
    assert diff.largest_rise is not None
    assert diff.largest_rise.fraction == Decimal("0.05")  # 210 000 / 200 000 - 1
    assert diff.largest_fall is None


def test_rolling_back_brings_the_earlier_prices_back_and_keeps_both_books(settings: Any) -> None:
    old = published()
    new = price_book_draft(book=old)
    new.prices.filter(sku=GPU).update(amount=Decimal("250000"))
    new.valid_from = SECOND
    new.save()
    wrong = price_book_publish(book=new, is_replacing=True, reason="typing error", author="carol")
    again = price_book_roll_back(book=wrong, on=date(2026, 8, 1), reason="typing error", author="carol")

    def amount(on: date) -> Decimal:
        found = price_for(sku=GPU, basis="purchase", currency="EUR", unit="each", on=on)
        assert found is not None
        return found.amount

    days = (date(2026, 6, 30), date(2026, 7, 31), date(2026, 8, 1))
    assert [amount(day) for day in days] == [Decimal(200000), Decimal(250000), Decimal(200000)]
    wrong.refresh_from_db()
    assert (again.version, again.based_on, wrong.valid_until) == (3, old, date(2026, 8, 1))
    assert wrong.prices.get(sku=GPU).amount == Decimal(250000)


def test_a_book_that_has_ended_is_not_rolled_back(editor: Client) -> None:
    """Its successor holds: bringing the prices before it back would leave no day for them."""
    price_book_publish(book=book(version=1), is_replacing=True, reason="first")
    ended = price_book_publish(book=book(version=2, start=SECOND), is_replacing=True, reason="second")
    price_book_publish(book=book(version=3, start=date(2026, 8, 1)), is_replacing=True, reason="third")
    editor.force_login(factories.root())
    answer = editor.post(f"/catalog/price-books/own/v{ended.version}/roll-back/", {"reason": "back"})
    assert answer.status_code == 422
    assert "ended on 2026-08-01. Roll back the book that is in force." in answer.content.decode()
    assert PriceBook.objects.filter(code="own").count() == 3


def test_a_rate_needs_source_and_date_before_it_is_published() -> None:
    with pytest.raises(PriceBookError) as raised:
        price_book_publish(book=book(exchange_rate=Decimal("7.1")))
    assert raised.value.code == "rate_without_source"


def test_a_broken_publication_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = published(), book(start=SECOND, version=2)

    def breaks(**_: Any) -> str:
        raise RuntimeError

    monkeypatch.setattr("catalog.price_books.revision_record", breaks)
    with pytest.raises(RuntimeError):
        price_book_publish(book=new, is_replacing=True, reason="r")
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.valid_until, new.status) == (None, "draft")


# --- files and pages --------------------------------------------------------------------------------------------------
@pytest.fixture
def editor(catalog: None) -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(factories.staff("erin", "catalog_editor"))
    return client


def upload(client: Client, to: PriceBook, content: bytes, name: str = "p.csv", **fields: str) -> Any:
    data = {"file": SimpleUploadedFile(name, content), "scope": "whole", **fields}
    return client.post(f"/catalog/price-books/{to.code}/v{to.version}/upload/", data)


def test_exported_prices_edited_and_uploaded_become_the_next_version(editor: Client) -> None:
    old = published()
    workbook = load_workbook(io.BytesIO(editor.get("/catalog/price-books/own/v1/prices.xlsx").content))
    sheet = workbook.active
    heads = [cell.value for cell in sheet[1]]
    row = next(row for row in sheet.iter_rows(min_row=2) if row[0].value == GPU)
    row[heads.index("amount")].value = 180000.5
    row[heads.index("floor_amount")].value = 150000
    saved = io.BytesIO()
    workbook.save(saved)
    assert upload(editor, old, saved.getvalue(), "p.xlsx").status_code == 302
    new = PriceBook.objects.get(code="own", version=2)
    diff = book_diff(old, new)
    (change,) = diff.changed
    assert (change.sku, change.after.amount, change.after.floor_amount) == (GPU, Decimal("180000.5"), Decimal(150000))
    assert (diff.added, diff.removed, diff.unchanged_count) == ((), (), 1)
    page = editor.get("/catalog/price-books/own/v2/").content.decode()
    for words in ("200,000.00", "180,000.50", "-10.0 %", "150,000.00"):
        assert words in page
    assert editor.post("/catalog/price-books/own/v2/publish/", {"reason": "r"}).status_code == 403
    manager = Client()
    manager.force_login(factories.carol())
    assert manager.post("/catalog/price-books/own/v2/publish/", {"reason": ""}).status_code == 422
    assert manager.post("/catalog/price-books/own/v2/publish/", {"reason": "spring"}).status_code == 302
    new.refresh_from_db()
    assert (new.status, new.published_by, new.reason) == ("published", "carol", "spring")
    assert PriceBook.objects.get(pk=old.pk).status == "retired"  # both start on the same day


def test_the_same_file_makes_no_version_and_a_partial_one_keeps_the_rest(editor: Client) -> None:
    old = published()
    assert "no difference" in upload(editor, old, csv_bytes(prices_table(old.prices.all()))).content.decode()
    assert PriceBook.objects.filter(code="own").count() == 1
    upload(editor, old, f"sku;unit;amount\n{GPU};each;199.999,5\n".encode(), scope="part")
    new = PriceBook.objects.get(code="own", version=2)
    assert dict(new.prices.values_list("sku", "amount")) == {GPU: Decimal("199999.5"), SERVER: Decimal(2000000)}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"sku,unit,amount\n{GPU},each,-1\n", "A price cannot be negative"),
        (f"sku,unit,amount\n{GPU},each,1\n{GPU},each,2\n", "already in line 2"),
        ("sku,unit,amount\nno-such,each,1\n", "is not in the catalogue"),
        (f"sku,unit,amount\n{GPU},kilo,1\n", "is not one of"),
        (f"sku,unit,amount,floor_amount\n{GPU},each,1,2\n", "The floor price 2 is above the price 1"),
        (f"sku;unit;amount\n{GPU};each;1.234\n", "may be 1.234 or 1234"),
        (f"sku,unit,term_months,amount\n{GPU},gpu_hour,99999999999,1\n", "99999999999 is above 120"),
        (f"sku,unit,amount,lead_time_days\n{GPU},each,1,1e18\n", "is above 3,650"),
        (f"sku,unit,amount,condition\n{GPU},fraction,1,{'x' * 81}\n", "longer than 80 characters"),
        ("gpu,price\na,1\n", "The column is missing"),
    ],
)
def test_a_faulty_price_list_is_422_and_changes_nothing(editor: Client, content: str, words: str) -> None:
    old = published()
    answer = upload(editor, old, content.encode())
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert PriceBook.objects.filter(code="own").count() == 1


def test_floor_and_cost_are_seen_by_those_who_may_alone(editor: Client) -> None:
    made = book(currency="CNY", basis="rental", valid_from=timezone.localdate() - timedelta(days=4000))
    made.prices.filter(sku=GPU).update(floor_amount=Decimal("123456.78"), cost_amount=Decimal("111222.33"))
    made.valid_until = timezone.localdate() + timedelta(days=1)
    PriceBook.objects.published().filter(basis="rental", currency="CNY").update(status="retired")
    made.save()
    price_book_publish(book=made)
    rep = Client()
    rep.force_login(factories.alice())
    secret = (b"123,456.78", b"111,222.33", b"123456.78", b"111222.33", b"floor_amount", b"cost_amount")
    for client in (Client(), rep):
        for path in ("price-books/own/", "price-books/own/prices.csv", f"gpus/{GPU}/"):
            answer = client.get(f"/catalog/{path}")
            assert answer.status_code == 200
            assert not any(word in answer.content for word in secret), path
        assert client.get(f"/api/v1/gpus/{GPU}").status_code == 200
        assert not any(word in client.get(f"/api/v1/gpus/{GPU}").content for word in secret)
    assert rep.get("/catalog/price-books/own/v1/").status_code == 404
    assert rep.get("/catalog/price-books/own/v1/prices.csv").status_code == 404
    assert b"123,456.78" in editor.get("/catalog/price-books/own/v1/").content
    assert b"111222.33" in editor.get("/catalog/price-books/own/v1/prices.csv").content


def test_twenty_thousand_rows_are_read_and_compared_in_time(editor: Client) -> None:
    """The mark is 20 s on a quiet machine; here a tenth of the rows in a tenth of it, twice over."""
    rows = [
        Price(sku=GPU, unit="gpu_hour", condition=f"c{n}", amount=Decimal(n), origin_mark="source") for n in range(2000)
    ]
    old, content = published(), xlsx_bytes([prices_table(rows)])
    start = time.process_time()
    answer = upload(editor, old, content, "p.xlsx", check_only="on")
    assert answer.status_code == 200
    assert time.process_time() - start < 4

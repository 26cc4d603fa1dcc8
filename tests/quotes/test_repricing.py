"""Copies and drafts at today's prices: what is copied, what is not, and which price comes from where."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from catalog.models import Price, PriceBook
from quotes.models import AuditEntry
from quotes.services import (
    AddedLine,
    approvals_needed,
    issue_faults,
    quote_duplicate,
    quote_edit,
    quote_issue,
    quote_reprice,
    quote_revise,
    reprice_preview,
)
from tests.factories import NOON
from tests.quotes.drafts import line, make_draft

D = Decimal


@pytest.fixture
def book(db):
    """A purchase book of today: the sample server costs 1200.00, floor 900, cost 800."""
    made = PriceBook.objects.create(
        code="book-2", name_zh="新价目", name_en="New book", basis="purchase", currency="CNY",
        valid_from=date(2020, 1, 1),
    )  # fmt: skip
    Price.objects.create(
        book=made, sku="sample-server", unit="each", amount=D("1200.005"), origin_mark="source",
        as_of=date(2026, 11, 1), floor_amount=D(900), cost_amount=D(800),
    )  # fmt: skip
    made.status, made.published_at = "published", NOON
    made.save()
    return made


class TestDuplicate:
    def test_todays_price_is_the_default(self, as_alice, book):
        copy = quote_duplicate(actor=as_alice, revision=make_draft(as_alice))
        row = copy.lines.get()
        # 1200.005 rounded half up to the fen
        assert (row.unit_price, row.list_price, row.price_origin) == (D("1200.0100"), D("1200.0100"), "source")
        assert copy.total_net == D("2400.02")
        assert copy.price_book["en"]["code"] == "book-2"
        entry = AuditEntry.objects.get(action="duplicate")
        assert entry.after["prices"] == [{"position": 1, "unit_price": ["1000.0000", "1200.01"]}]

    def test_the_old_price_on_request(self, as_alice, book):
        copy = quote_duplicate(actor=as_alice, revision=make_draft(as_alice), reprice=False)
        assert (copy.lines.get().unit_price, copy.total_net) == (D("1000.0000"), D("2000.00"))

    def test_a_price_set_by_hand_stays_unless_it_is_named(self, as_alice, book):
        draft = make_draft(as_alice, lines=[line("1", D(950), "0.13", list_price=D(1000))])
        kept = quote_duplicate(actor=as_alice, revision=draft).lines.get()
        assert (kept.unit_price, kept.list_price) == (D("950.0000"), D("1200.0100"))
        taken = quote_duplicate(actor=as_alice, revision=draft, manual_positions={1}).lines.get()
        assert taken.unit_price == D("1200.0100")

    def test_what_no_book_has_any_more_keeps_its_price_and_needs_approval(self, as_alice, book):
        draft = make_draft(as_alice, lines=[line("1", D(5), "0.13", sku="gone")])
        copy = quote_duplicate(actor=as_alice, revision=draft)
        assert (copy.lines.get().unit_price, copy.lines.get().list_price) == (D("5.0000"), None)
        assert [need.rule_code for need in approvals_needed(copy)] == ["no-list-price"]

    def test_discounts_and_options_are_copied_and_no_fate(self, as_alice, book):
        rows = [
            line("1", D(1000), "0.13", discount_fraction=D("0.02"), discount_reason="volume"),
            line("1", D(500), "0.13", sku="option", is_optional=True),
        ]
        draft = make_draft(as_alice, lines=rows)
        issued = quote_issue(actor=as_alice, revision=draft, render=lambda content: b"%PDF")
        copy = quote_duplicate(actor=as_alice, revision=issued, reprice=False)
        assert [(row.discount_fraction, row.is_optional) for row in copy.lines.all()] == [(D("0.02"), False), (0, True)]
        assert (copy.state, copy.number, copy.snapshot, copy.approved_sha256, copy.revises) == (
            "draft",
            None,
            "",
            "",
            None,
        )
        revised = quote_revise(actor=as_alice, revision=issued)
        assert [(row.discount_fraction, row.is_optional) for row in revised.lines.all()] == [
            (D("0.02"), False),
            (0, True),
        ]


class TestPreviewAndReprice:
    def test_old_and_new_per_line_and_nothing_is_changed(self, as_alice, book):
        draft = make_draft(as_alice)
        (change,) = reprice_preview(draft)
        assert (change.old, change.new, change.book_code, change.is_manual) == (
            D("1000"),
            D("1200.01"),
            "book-2",
            False,
        )
        assert draft.lines.get().unit_price == D("1000.0000")

    def test_a_retired_book_blocks_issue_until_the_draft_is_repriced(self, as_alice, book):
        PriceBook.objects.create(
            code="book-1", name_zh="旧", name_en="Old", basis="purchase", currency="CNY", status="retired",
            valid_from=date(2019, 1, 1), valid_until=date(2020, 1, 1),
        )  # fmt: skip
        draft = make_draft(as_alice)
        assert [fault.code for fault in issue_faults(draft, list(draft.lines.all()), NOON)] == ["price_book_retired"]
        repriced = quote_reprice(actor=as_alice, revision=draft, expected_version=1)
        assert repriced.total_net == D("2400.02")
        assert issue_faults(repriced, list(repriced.lines.all()), NOON) == ()


def test_a_line_added_by_hand_gets_list_floor_and_cost_of_the_book(as_alice, book):
    draft = make_draft(as_alice)
    added = AddedLine(line=line("1", D(1100), "0.13", list_price=None))
    edited = quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={}, added=[added])
    row = edited.lines.get(position=2)
    assert (row.list_price, row.unit_price) == (D("1200.0100"), D("1100.0000"))
    assert row.floor_price == pytest.approx(D(900), abs=D("0.01"))
    assert row.cost_price == pytest.approx(D(800), abs=D("0.01"))
    # 1 - 1100 / 1200.01 = 8.3 %: more than alice's own
    assert {need.rule_code for need in approvals_needed(edited)} == {"discount-above-limit"}

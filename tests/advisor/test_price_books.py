"""Rules between a row of a price book and a line."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from advisor.price_books import (
    Book,
    BookPrice,
    deposit_months,
    hourly_price,
    server_month_price,
    sum_of_parts,
    term_covering,
    unpriced,
)

DAY = date(2026, 11, 30)


def _row(sku, unit, amount, **changes):
    values = {
        "sku": sku,
        "unit": unit,
        "term_months": None,
        "condition": "",
        "amount": Decimal(amount),
        "origin_mark": "source",
        "origin_text": "",
        "as_of": DAY,
        "lead_time_days": None,
    }
    return BookPrice(**(values | changes))


def _book(*rows, currency="CNY", basis="rental"):
    prices = {}
    for row in rows:
        prices[row.sku] = (*prices.get(row.sku, ()), row)
    return Book(
        key="test",
        code="test",
        name="Test",
        basis=basis,
        currency=currency,
        valid_from=DAY,
        is_indicative=False,
        note="",
        exchange_rate=None,
        prices=prices,
    )


class TestTerms:
    @pytest.mark.parametrize(("months", "term"), [(0.2, 1), (1, 1), (1.1, 3), (11, 12), (30, 36), (99, 36)])
    def test_the_shortest_term_that_covers_the_run(self, months, term):
        assert term_covering(months) == term

    @pytest.mark.parametrize(("term", "months"), [(1, 1), (6, 1), (12, 2), (36, 2)])
    def test_deposit_is_one_month_and_two_from_a_year_on(self, term, months):
        # market convention: one month under 12 months, two from 12 (economics, section 9)
        assert deposit_months(term) == months

    def test_the_longest_term_of_the_book_that_is_not_longer(self):
        book = _book(
            _row("gpu", "gpu_hour", "10.53"),
            _row("gpu", "gpu_hour", "10", term_months=1),
            _row("gpu", "gpu_hour", "9.3", term_months=6),
            _row("gpu", "gpu_hour", "8.5", term_months=12),
        )
        prices = {term: hourly_price(book, "gpu", term) for term in (None, 1, 8, 12, 24)}
        amounts = {term: price.amount for term, price in prices.items() if price}
        assert amounts == {
            None: Decimal("10.53"),
            1: Decimal(10),
            8: Decimal("9.3"),
            12: Decimal("8.5"),
            24: Decimal("8.5"),
        }

    def test_a_month_has_730_hours(self):
        price = server_month_price(_book(_row("gpu", "gpu_hour", "14.90", term_months=1)), "gpu", 8, 1)
        assert price is not None
        assert price.amount == Decimal("87016.00")  # 14.90 x 8 x 730


class TestSumOfParts:
    def test_adds_fifteen_percent_for_integration(self):
        book = _book(_row("a", "each", "100"), _row("b", "each", "50"), basis="purchase")
        price = sum_of_parts(book, {"a": 8, "b": 2})
        assert price is not None
        assert price.amount == Decimal("1035.00")  # (800 + 100) x 1.15
        assert price.origin_mark == "sum of parts"

    def test_one_part_without_a_price_leaves_no_sum(self):
        book = _book(_row("a", "each", "100"), basis="purchase")
        assert sum_of_parts(book, {"a": 8, "b": 2}) is None
        assert unpriced(book, {"a": 8, "b": 2}) == ("b",)

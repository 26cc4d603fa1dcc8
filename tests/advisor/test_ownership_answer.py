"""Rent or buy from both price blocks."""

from __future__ import annotations

from decimal import Decimal

import pytest

from advisor.ownership_answer import OwnershipRequest, ownership_answer


def _money(amount):
    return {"amount": f"{Decimal(amount):.2f}", "currency": "CNY"}


def _line(kind, unit, amount):
    return {
        "sku": f"a-{kind}",
        "kind": kind,
        "name": kind,
        "quantity": 1,
        "unit": unit,
        "unit_price": _money(amount),
        "amount": _money(amount),
        "tax_rate": "0.13",
        "origin_mark": "source",
        "as_of": None,
        "is_indicative": False,
        "reason": "",
        "source_rule": "",
        "lead_time_days": None,
    }


def _block(basis, lines, **changes):
    block = {
        "basis": basis,
        "currency": "CNY",
        "term_months": 12,
        "lines": lines,
        "is_complete": True,
        "missing": [],
        "subtotal": _money(0),
        "tax_groups": [],
        "tax": _money(0),
        "total": _money(0),
        "monthly": None,
        "deposit": None,
        "price_book": {"code": "b", "name": "b", "valid_from": "", "as_of": "", "is_indicative": False, "note": ""},
    }
    return block | changes


def _answer(**changes):
    values = {
        "rental": _block("rental", [_line("service", "one_time", 500)], monthly=_money(1000), deposit=_money(2000)),
        "purchase": _block("purchase", [_line("server", "each", 24000), _line("service", "one_time", 600)]),
        "power": None,
        "gpu_count": 8,
        "goodput": 1.0,
        "currency": "CNY",
    }
    return ownership_answer(OwnershipRequest(**(values | changes)))


def test_cumulative_costs_are_those_of_the_blocks():
    # by hand: rent 500 at signing, then 1 000 a month; purchase 24 000 + 600, then 8 % a year of 24 000 = 160 a month
    answer = _answer()
    assert answer is not None
    assert answer["rental_cumulative"][:3] == pytest.approx([500, 1500, 2500])
    assert answer["purchase_cumulative"][:3] == pytest.approx([24600, 24760, 24920])


def test_break_even_is_the_first_month_in_which_purchase_is_not_dearer():
    # 24 600 + 160 m <= 500 + 1 000 m from m = 28.7 on
    answer = _answer()
    assert answer is not None
    assert answer["break_even_month"] == 29
    assert answer["advice"]


def test_one_side_alone_gives_no_comparison_and_says_which_is_missing():
    answer = _answer(purchase=None)
    assert answer is not None
    assert answer["break_even_month"] is None
    assert answer["break_even_utilisation_fraction"] is None
    assert answer["problems"][0]["params"] == {"missing": "purchase"}


def test_without_any_price_there_is_nothing_to_say():
    assert _answer(rental=None, purchase=None) is None


def test_unpriced_lines_are_told_where_the_sides_are_compared():
    missing = [{"sku": "a-switch", "book": "b", "date": "2026-11-30", "message": ""}]
    purchase = _block("purchase", [_line("server", "each", 24000)], is_complete=False, missing=missing)
    answer = _answer(purchase=purchase)
    assert answer is not None
    assert "a-switch" in answer["problems"][0]["message"]


def test_assumptions_have_origin_and_source():
    answer = _answer()
    assert answer is not None
    assert {"utilisation_fraction", "depreciation_months", "electricity_amount_per_kilowatt_hour"} <= {
        item["name"] for item in answer["assumptions"]
    }


def test_the_users_own_use_is_marked_as_such():
    answer = _answer(utilisation_fraction=0.5)
    assert answer is not None
    used = next(item for item in answer["assumptions"] if item["name"] == "utilisation_fraction")
    assert (used["value"], used["origin"]) == (0.5, "user")

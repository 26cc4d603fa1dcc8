"""Rent or buy from both price blocks."""

from __future__ import annotations

from decimal import Decimal

import pytest

from advisor.engine.power import Load, RackType, power_plan
from advisor.ownership_answer import ownership_answer
from advisor.ownership_fields import OwnershipChoice
from advisor.ownership_terms import OwnershipRequest


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


CHOICES = (
    "horizon_months",
    "utilisation_fraction",
    "electricity_amount_per_kilowatt_hour",
    "pue",
    "cost_of_capital_fraction",
)


def _answer(**changes):
    values = {
        "rental": _block("rental", [_line("service", "one_time", 500)], monthly=_money(1000), deposit=_money(2000)),
        "purchase": _block("purchase", [_line("server", "each", 24000), _line("service", "one_time", 600)]),
        "power": None,
        "gpu_count": 8,
        "goodput": 1.0,
        "currency": "CNY",
    }
    choice = {name: changes.pop(name) for name in CHOICES if name in changes}
    return ownership_answer(
        OwnershipRequest(**(values | changes), choice=OwnershipChoice(**({"horizon_months": 60} | choice)))
    )


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


def _power(pue=1.4):
    """10 kW at most, 7.6 kW in training, in one rack."""
    load = Load(kind="server", count=1, max_watts=10_000, rack_units=8, average_fraction=0.76)
    return power_plan((load,), RackType(sku="r", usable_watts=12_000, rack_units=42, cooling="air"), pue)


def _worked(**changes):
    """Hardware 2 400 000, installation 60 000, rent 70 000 a month and 20 000 once, 10 kW, CNY."""
    changes.setdefault("power", _power(changes.get("pue", 1.4)))
    return _answer(
        rental=_block(
            "rental", [_line("service", "one_time", 20_000)], monthly=_money(70_000), deposit=_money(140_000)
        ),
        purchase=_block("purchase", [_line("server", "each", 2_400_000), _line("service", "one_time", 60_000)]),
        **changes,
    )


def _hand_month(share=0.7, electricity=0.63, pue=1.4):
    """Colocation 583 a kW, maintenance 8 % a year, electricity of 3.5 kW idle and 7.6 kW busy over 730 h."""
    return 583 * 10 + 2_400_000 * 0.08 / 12 + (3.5 + (7.6 - 3.5) * share) * pue * 730 * electricity


class TestWorkedCase:
    @pytest.mark.parametrize("months", [1, 12, 37, 60])
    def test_ownership_over_the_months_by_hand(self, months):
        answer = _worked(horizon_months=months)
        assert answer is not None
        assert answer["purchase_cumulative"][-1] == pytest.approx(2_460_000 + months * _hand_month())
        assert answer["rental_cumulative"][-1] == pytest.approx(20_000 + 70_000 * months)
        assert len(answer["months"]) == months + 1

    def test_break_even_month_by_hand(self):
        # 2 460 000 + m x 26 008.4 <= 20 000 + 70 000 m: m = 2 440 000 / 43 991.6 = 55.5
        answer = _worked()
        assert answer is not None
        assert answer["break_even_month"] == 56

    def test_break_even_use_by_hand(self):
        # over 60 months nothing is left of the hardware; owning idle against rent by the hour at 70 000 a full month
        idle, full = _hand_month(share=0.0), _hand_month(share=1.0)
        fixed = 2_460_000 + 60 * idle - 20_000
        answer = _worked()
        assert answer is not None
        assert answer["break_even_utilisation_fraction"] == pytest.approx(fixed / (60 * (70_000 - (full - idle))))

    def test_present_values_by_hand(self):
        # payments at the ends of months, 8 % a year; the deposit of 140 000 comes back in month 60
        monthly = 1.08 ** (1 / 12)
        annuity = (1 - monthly**-60) / (monthly - 1)
        answer = _worked()
        assert answer is not None
        assert answer["rental_present_value"] == pytest.approx(
            20_000 + 140_000 + 70_000 * annuity - 140_000 / monthly**60
        )
        assert answer["purchase_present_value"] == pytest.approx(2_460_000 + _hand_month() * annuity)

    def test_cost_of_a_useful_hour_by_hand(self):
        hours = 8 * 60 * 730 * 0.7
        answer = _worked()
        assert answer is not None
        assert answer["purchase_cost_per_useful_gpu_hour"] == pytest.approx((2_460_000 + 60 * _hand_month()) / hours)
        assert answer["rental_cost_per_useful_gpu_hour"] == pytest.approx((20_000 + 60 * 70_000) / hours)

    @pytest.mark.parametrize(
        ("cheap", "dear"),
        [
            ({"electricity_amount_per_kilowatt_hour": 0.4}, {"electricity_amount_per_kilowatt_hour": 3.0}),
            ({"pue": 1.1}, {"pue": 3.0, "electricity_amount_per_kilowatt_hour": 2.0}),
            ({"utilisation_fraction": 0.1}, {"utilisation_fraction": 1.0, "electricity_amount_per_kilowatt_hour": 2.0}),
        ],
    )
    def test_dearer_running_moves_break_even_back(self, cheap, dear):
        early, late = _worked(**cheap), _worked(**dear, horizon_months=60)
        assert early is not None
        assert late is not None
        assert late["break_even_month"] is None or early["break_even_month"] < late["break_even_month"]
        assert early["purchase_present_value"] < late["purchase_present_value"]
        if "utilisation_fraction" not in cheap:  # a break-even share does not depend on the share asked for
            assert early["break_even_utilisation_fraction"] < late["break_even_utilisation_fraction"]

    def test_dearer_capital_speaks_against_paying_at_once(self):
        cheap, dear = _worked(cost_of_capital_fraction=0.02), _worked(cost_of_capital_fraction=0.2)
        assert cheap is not None
        assert dear is not None
        assert dear["purchase_advantage_present_value"] < cheap["purchase_advantage_present_value"]

    def test_costs_by_use_cross_at_the_break_even_share(self):
        answer = _worked()
        assert answer is not None
        share = answer["break_even_utilisation_fraction"]
        for row in answer["costs_by_utilisation"]:
            assert (row["purchase"] <= row["rental"]) == (row["utilisation_fraction"] >= share)

    def test_what_the_user_states_is_marked_as_the_users(self):
        answer = _worked(electricity_amount_per_kilowatt_hour=0.5, pue=1.2, cost_of_capital_fraction=0.1)
        assert answer is not None
        used = {item["name"]: (item["value"], item["origin"]) for item in answer["assumptions"]}
        assert used["electricity_amount_per_kilowatt_hour"] == (0.5, "user")
        assert used["pue"] == (1.2, "user")
        assert used["cost_of_capital_fraction_per_year"] == (0.1, "user")

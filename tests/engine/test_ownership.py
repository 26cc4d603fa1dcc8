from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.ownership import (
    OwnershipTerms,
    RentalTerms,
    book_value,
    break_even_utilisation,
    costs_by_utilisation,
    energy_amount_per_month,
    present_value,
    rent_or_buy,
    running_amount_per_month,
    useful_gpu_hours,
)


def _owned(**changes) -> OwnershipTerms:
    return OwnershipTerms(**({"purchase_amount": 1200.0, "maintenance_fraction_per_year": 0.0} | changes))


def _compare(rental=None, ownership=None, **changes):
    values = {"month_count": 24, "utilisation_fraction": 0.7, "gpu_count": 8}
    return rent_or_buy(rental or RentalTerms(monthly_amount=100.0), ownership or _owned(), **(values | changes))


class TestBreakEvenUtilisation:
    def test_worked_case(self):
        # owned 2 648 681 whatever the use, rented 3 139 584 at 70 % use, so 4 485 120 at full use: 59 %
        assert break_even_utilisation(2_648_681, 0.0, 3_139_584 / 0.7) == pytest.approx(0.59, abs=0.005)

    def test_energy_above_idle_counts_against_owning(self):
        # 600 + 100 u = 1100 u at u = 0.6
        assert break_even_utilisation(600.0, 100.0, 1100.0) == pytest.approx(0.6)

    def test_above_one_means_never_at_full_use(self):
        assert break_even_utilisation(1500.0, 0.0, 1000.0) == pytest.approx(1.5)

    def test_none_when_running_costs_more_than_rent(self):
        assert break_even_utilisation(100.0, 1000.0, 900.0) is None

    def test_of_a_horizon(self):
        # 1200 over 60 months, worth 720 after 24: 480 against 24 x 100 by the hour = 20 %
        assert _compare().break_even_utilisation_fraction == pytest.approx(0.2)

    def test_costs_are_equal_there(self):
        owned = _owned(
            electricity_amount_per_kilowatt_hour=0.1, busy_it_watts=1000.0, idle_it_watts=350.0, purchase_amount=3000.0
        )
        rental = RentalTerms(monthly_amount=200.0, scales_with_use=True)
        used = _compare(rental, owned).break_even_utilisation_fraction
        there = _compare(rental, owned, utilisation_fraction=used)
        assert there.purchase_net_cumulative[-1] == pytest.approx(there.rental_cumulative[-1])

    def test_both_lines_cross_there(self):
        owned = _owned(
            purchase_amount=5000.0,
            electricity_amount_per_kilowatt_hour=0.1,
            busy_it_watts=800.0,
            idle_it_watts=300.0,
            staff_amount_per_month=10.0,
        )
        rental = RentalTerms(monthly_amount=200.0, setup_amount=30.0)
        crossing = _compare(rental, owned).break_even_utilisation_fraction
        rented, bought = costs_by_utilisation(rental, owned, 24, [0.0, crossing, 1.0])
        assert rented[1] == pytest.approx(bought[1])
        assert rented[0] < bought[0]
        assert rented[2] > bought[2]
        with pytest.raises(ValueError, match="horizon"):
            costs_by_utilisation(rental, owned, 24, [1.1])


class TestMonths:
    def test_break_even_month_by_hand(self):
        # 1200 + 20 m <= 100 m from month 15 on
        result = _compare(ownership=_owned(staff_amount_per_month=20.0))
        assert result.break_even_month == 15
        assert (result.purchase_cumulative[15], result.rental_cumulative[15]) == (1500.0, 1500.0)

    def test_net_of_what_the_hardware_is_worth(self):
        # 1200 - (1200 - 20 m) = 20 m against 100 m: from the first month
        assert _compare().net_break_even_month == 1

    def test_no_break_even_within_the_horizon(self):
        assert _compare(month_count=11).break_even_month is None

    def test_arrays_run_from_signing_to_the_end(self):
        result = _compare(RentalTerms(monthly_amount=100.0, setup_amount=50.0), month_count=3)
        assert result.months == (0, 1, 2, 3)
        assert result.rental_cumulative == (50.0, 150.0, 250.0, 350.0)
        assert result.purchase_cumulative == (1200.0,) * 4

    def test_on_demand_rent_follows_use(self):
        result = _compare(RentalTerms(monthly_amount=100.0, scales_with_use=True), month_count=10)
        assert result.rental_cumulative[-1] == pytest.approx(700.0)

    def test_nothing_runs_before_delivery(self):
        result = _compare(ownership=_owned(staff_amount_per_month=20.0, delivery_months=3), month_count=6)
        assert result.purchase_cumulative == (1200.0,) * 4 + (1220.0, 1240.0, 1260.0)


class TestRunningCost:
    def test_energy_by_hand(self):
        # 10 kW busy, 3.5 kW idle, half of the time: 6.75 kW x 730 h x 1.4 x 0.10
        owned = _owned(electricity_amount_per_kilowatt_hour=0.10, busy_it_watts=10e3, idle_it_watts=3.5e3, pue=1.4)
        assert energy_amount_per_month(owned, 0.5) == pytest.approx(6.75 * 730 * 1.4 * 0.10)

    def test_parts_by_hand(self):
        # 10 kW x 194.95 (US primary markets, end of 2025) + 12 000 x 8 % / 12 + 500
        owned = _owned(
            purchase_amount=12_000.0,
            contracted_it_watts=10e3,
            colocation_amount_per_kilowatt_month=194.95,
            maintenance_fraction_per_year=0.08,
            staff_amount_per_month=500.0,
        )
        assert running_amount_per_month(owned, 1.0) == pytest.approx(1949.5 + 80 + 500)

    def test_depreciation(self):
        owned = _owned(residual_fraction=0.1)
        assert book_value(owned, [0, 30, 60, 90]).tolist() == pytest.approx([1200, 660, 120, 120])

    @pytest.mark.parametrize("changes", [{"depreciation_months": 0}, {"residual_fraction": 1.5}])
    def test_depreciation_nonsense_is_refused(self, changes):
        with pytest.raises(ValueError, match="Depreciation"):
            book_value(_owned(**changes), 1)

    def test_useful_hours(self):
        assert useful_gpu_hours(8, 12, 0.7, 0.95) == pytest.approx(8 * 8760 * 0.7 * 0.95)


class TestPresentValue:
    def test_annuity_formula(self):
        # 12 payments of 100 at monthly rate i: 100 (1 - (1 + i)^-12) / i, i = 1.08^(1/12) - 1
        rate = 1.08 ** (1 / 12) - 1
        assert present_value([0.0] + [100.0] * 12, 0.08) == pytest.approx(100 * (1 - 1 / 1.08) / rate)

    def test_no_cost_of_capital_is_the_sum(self):
        assert present_value([10.0, 20.0, -5.0], 0.0) == pytest.approx(25.0)

    def test_a_rate_of_minus_one_is_refused(self):
        with pytest.raises(ValueError, match="above -1"):
            present_value([1.0], -1.0)

    def test_deposit_costs_its_interest_only(self):
        plain = _compare(month_count=12)
        deposit = _compare(RentalTerms(monthly_amount=100.0, deposit_amount=1000.0), month_count=12)
        cost = deposit.rental_present_value - plain.rental_present_value
        assert cost == pytest.approx(1000 * (1 - 1 / 1.08))

    def test_advice_follows_present_value(self):
        assert _compare().advice == "buy"
        assert _compare(RentalTerms(monthly_amount=10.0)).advice == "rent"
        # 24 months: 1200 - 720 = 480 undiscounted = 20 a month
        same = _compare(RentalTerms(monthly_amount=20.0), cost_of_capital_fraction_per_year=0.0)
        assert same.advice == "equal"


class TestCostPerHour:
    def test_by_hand(self):
        # rent 24 x 100 / (8 x 24 x 730 x 0.7 x 0.5); purchase 480 over the same hours
        result = _compare(goodput=0.5)
        hours = 8 * 24 * 730 * 0.7 * 0.5
        assert result.rental_cost_per_useful_gpu_hour == pytest.approx(2400 / hours)
        assert result.purchase_cost_per_useful_gpu_hour == pytest.approx(480 / hours)

    def test_unknown_without_use(self):
        result = _compare(utilisation_fraction=0.0)
        assert result.rental_cost_per_useful_gpu_hour is None
        assert result.purchase_cost_per_useful_gpu_hour is None


@pytest.mark.parametrize(
    "changes", [{"month_count": 0}, {"utilisation_fraction": 1.1}, {"utilisation_fraction": -0.1}, {"goodput": 2.0}]
)
def test_nonsense_is_refused(changes):
    with pytest.raises(ValueError, match="horizon"):
        _compare(**changes)


@given(
    st.floats(0, 1e7),
    st.floats(0, 1e6),
    st.floats(0, 1),
    st.integers(1, 84),
    st.floats(0, 0.3),
    st.floats(0, 1e5),
)
def test_cumulative_cost_never_falls_and_break_even_is_a_crossing(price, rent, used, month_count, residual, staff):
    result = rent_or_buy(
        RentalTerms(monthly_amount=rent),
        _owned(purchase_amount=price, residual_fraction=residual, staff_amount_per_month=staff),
        month_count=month_count,
        utilisation_fraction=used,
        gpu_count=8,
    )
    for series in (result.rental_cumulative, result.purchase_cumulative):
        assert all(later >= earlier - 1e-6 for earlier, later in pairwise(series))
    month = result.break_even_month
    if month is not None:
        assert all(
            buy <= rented
            for buy, rented in zip(result.purchase_cumulative[month:], result.rental_cumulative[month:], strict=True)
        )

"""Rent or buy: cumulative cost by month, break-even, present value, cost per useful GPU-hour.

Amounts are float64 in one currency and only compare; what is invoiced is computed elsewhere in exact decimals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from advisor.engine.specs import Assumption, Origin
from advisor.engine.units import HOURS_PER_MONTH, KILO

FloatArray = NDArray[np.float64]
MONTHS_PER_YEAR = 12

DEFAULT_LIFE_MONTHS = Assumption(
    name="depreciation_months",
    value=60,
    unit="month",
    origin=Origin.DERIVED,
    source="5 years straight line, residual 0; the large operators book 5 to 6 years (10-K 2022 to 2024), others 4",
)
DEFAULT_COST_OF_CAPITAL = Assumption(
    name="cost_of_capital_fraction_per_year",
    value=0.08,
    unit="1/year",
    origin=Origin.DERIVED,
    source="public build-or-rent model gpu-price-index, docs/methodology.md: 8 % a year",
)
DEFAULT_MAINTENANCE = Assumption(
    name="maintenance_fraction_per_year",
    value=0.08,
    unit="1/year",
    origin=Origin.DERIVED,
    source=(
        "gpu-price-index, docs/methodology.md: 8 % of the price a year for support, spares, network and staff; "
        "next-business-day contracts 8 to 12 %"
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RentalTerms:
    """Rent of the whole cluster. `scales_with_use`: paid by the hour used, as on demand; else the term is paid in full.

    Amounts in one currency; the deposit comes back at the end of the horizon.
    """

    monthly_amount: float
    setup_amount: float = 0.0
    deposit_amount: float = 0.0
    scales_with_use: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipTerms:
    """Price and running cost of an owned cluster. Watts, fractions, amounts in one currency."""

    purchase_amount: float  # hardware, network, storage, tax that is not recovered
    installation_amount: float = 0.0
    depreciation_months: int = 60
    residual_fraction: float = 0.0  # of the purchase amount, at the end of the depreciation
    colocation_amount_per_kilowatt_month: float = 0.0  # on contracted IT power, electricity not included
    electricity_amount_per_kilowatt_hour: float = 0.0
    contracted_it_watts: float = 0.0
    busy_it_watts: float = 0.0
    idle_it_watts: float = 0.0
    pue: float = 1.4
    maintenance_fraction_per_year: float = 0.08
    staff_amount_per_month: float = 0.0
    delivery_months: int = 0  # until the cluster works; nothing but the price is paid before


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Rent against purchase over a horizon; arrays by month 0..horizon, month 0 is signing.

    `purchase_cumulative` is money spent; `purchase_net_cumulative` is it less what the hardware is still worth.
    Break-even month: the first month with purchase spending not above rent; None within the horizon.
    """

    months: tuple[int, ...]
    rental_cumulative: tuple[float, ...]
    purchase_cumulative: tuple[float, ...]
    purchase_net_cumulative: tuple[float, ...]
    book_values: tuple[float, ...]
    break_even_month: int | None
    net_break_even_month: int | None
    utilisation_fraction: float
    break_even_utilisation_fraction: float | None
    rental_present_value: float
    purchase_present_value: float
    purchase_advantage_present_value: float
    rental_cost_per_useful_gpu_hour: float | None
    purchase_cost_per_useful_gpu_hour: float | None
    advice: str  # rent | buy | equal


def book_value(terms: OwnershipTerms, month: ArrayLike) -> FloatArray:
    """What the hardware is worth by straight-line depreciation, never under the residual. [amount]

    Raises
    ------
    ValueError
        If the depreciation is shorter than a month or the residual is outside 0 to 1.
    """
    if terms.depreciation_months < 1 or not 0 <= terms.residual_fraction <= 1:
        raise ValueError("Depreciation takes at least one month; the residual fraction lies between 0 and 1.")
    age = np.clip(np.asarray(month, dtype=np.float64) / terms.depreciation_months, 0.0, 1.0)
    return np.asarray(terms.purchase_amount * (1 - age * (1 - terms.residual_fraction)), dtype=np.float64)


def energy_amount_per_month(terms: OwnershipTerms, utilisation_fraction: ArrayLike) -> FloatArray:
    """Electricity of a month at a share of use, through PUE. [amount]"""
    used = np.asarray(utilisation_fraction, dtype=np.float64)
    watts = terms.idle_it_watts + (terms.busy_it_watts - terms.idle_it_watts) * used
    rate = terms.pue * HOURS_PER_MONTH * terms.electricity_amount_per_kilowatt_hour / KILO
    return np.asarray(watts * rate, dtype=np.float64)


def running_amount_per_month(terms: OwnershipTerms, utilisation_fraction: ArrayLike) -> FloatArray:
    """Colocation, energy, maintenance and staff of one month. [amount]"""
    fixed = (
        terms.contracted_it_watts / KILO * terms.colocation_amount_per_kilowatt_month
        + terms.purchase_amount * terms.maintenance_fraction_per_year / MONTHS_PER_YEAR
        + terms.staff_amount_per_month
    )
    return np.asarray(fixed + energy_amount_per_month(terms, utilisation_fraction), dtype=np.float64)


def break_even_utilisation(
    owned_fixed_amount: float, owned_amount_at_full_use: float, rented_amount_at_full_use: float
) -> float | None:
    """Share of the time from which owning costs no more than renting by the hour.

    Owning costs fixed + variable x u, renting rented x u; equal at u = fixed / (rented - variable).

    Parameters
    ----------
    owned_fixed_amount : float
        Cost over the horizon that does not depend on use. [amount]
    owned_amount_at_full_use : float
        Cost at u = 1 beyond the fixed one, energy above idle. [amount]
    rented_amount_at_full_use : float
        Rent over the horizon if every hour is used. [amount]

    Returns
    -------
    float or None
        Above 1: owning costs more even at full use. None: it costs more at any use. [1]
    """
    difference = rented_amount_at_full_use - owned_amount_at_full_use
    if difference <= 0:
        return None
    return owned_fixed_amount / difference


def present_value(flows: ArrayLike, cost_of_capital_fraction_per_year: float) -> float:
    """Value today of payments at the ends of months 0, 1, 2, ...; the yearly rate compounds monthly. [amount]

    Raises
    ------
    ValueError
        If the rate is -1 or less.
    """
    if not cost_of_capital_fraction_per_year > -1:
        raise ValueError("The cost of capital must be above -1.")
    amounts = np.asarray(flows, dtype=np.float64)
    monthly = (1 + cost_of_capital_fraction_per_year) ** (1 / MONTHS_PER_YEAR)
    return float(np.sum(amounts / monthly ** np.arange(amounts.size)))


def useful_gpu_hours(gpu_count: int, month_count: float, utilisation_fraction: float, goodput: float) -> float:
    """GPU-hours that advance training: hours owned or rented x share of use x goodput. [h]"""
    return gpu_count * month_count * HOURS_PER_MONTH * utilisation_fraction * goodput


def _flows(
    rental: RentalTerms, ownership: OwnershipTerms, month_count: int, utilisation_fraction: float
) -> tuple[FloatArray, FloatArray]:
    """Payments of months 0..month_count for rent and for purchase; deposit and resale are left to the caller."""
    rent, buy = np.zeros(month_count + 1), np.zeros(month_count + 1)
    rent[0] = rental.setup_amount
    rent[1:] = rental.monthly_amount * (utilisation_fraction if rental.scales_with_use else 1.0)
    buy[0] = ownership.purchase_amount + ownership.installation_amount
    # a cluster that is not there yet costs nothing to run
    buy[1 + ownership.delivery_months :] = float(running_amount_per_month(ownership, utilisation_fraction))
    return rent, buy


def _first_month(below: NDArray[np.bool_]) -> int | None:
    """First month from which the condition holds to the end, from month 1; None if it does not hold at the end."""
    if not below[-1]:
        return None
    misses = np.flatnonzero(~below)
    return int(max(misses[-1] + 1 if misses.size else 0, 1))


def rent_or_buy(
    rental: RentalTerms,
    ownership: OwnershipTerms,
    *,
    month_count: int,
    utilisation_fraction: float,
    gpu_count: int,
    goodput: float = 1.0,
    cost_of_capital_fraction_per_year: float = 0.08,
) -> Comparison:
    """Both ways of getting the same cluster over a horizon.

    Cumulative sums are not discounted; present values are, with the deposit returned and the hardware sold at its book
    value at the end. The cost per useful GPU-hour divides undiscounted cost, net of that book value.

    Parameters
    ----------
    rental, ownership : RentalTerms, OwnershipTerms
        Amounts in the same currency.
    month_count : int
        Horizon. [month]
    utilisation_fraction : float
        Share of the time in which the cluster is used, 0 to 1. [1]
    gpu_count : int
        GPUs of the cluster. [1]
    goodput : float, default 1.0
        Share of the used time that advances training. [1]
    cost_of_capital_fraction_per_year : float, default 0.08
        For the present values only. [1/year]

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If the horizon is under a month, or a fraction outside 0 to 1.

    References
    ----------
    .. [1] R. Brealey, S. Myers, F. Allen, "Principles of Corporate Finance", chapter on leasing: compare the
       present values of both flows.
    """
    if month_count < 1 or not 0 <= utilisation_fraction <= 1 or not 0 <= goodput <= 1 or ownership.delivery_months < 0:
        raise ValueError("A horizon has at least one month; use and goodput lie between 0 and 1.")
    rent, buy = _flows(rental, ownership, month_count, utilisation_fraction)
    months = np.arange(month_count + 1)
    values = book_value(ownership, months)
    rent_sum, buy_sum = np.cumsum(rent), np.cumsum(buy)
    net = buy_sum - values
    discounted_rent = rent.copy()
    discounted_rent[0] += rental.deposit_amount
    discounted_rent[-1] -= rental.deposit_amount
    discounted_buy = buy.copy()
    discounted_buy[-1] -= values[-1]
    rent_value = present_value(discounted_rent, cost_of_capital_fraction_per_year)
    buy_value = present_value(discounted_buy, cost_of_capital_fraction_per_year)
    hours = useful_gpu_hours(gpu_count, month_count, utilisation_fraction, goodput)
    owned_months = max(month_count - ownership.delivery_months, 0)
    owned_hours = useful_gpu_hours(gpu_count, owned_months, utilisation_fraction, goodput)
    return Comparison(
        months=tuple(int(month) for month in months),
        rental_cumulative=tuple(rent_sum.tolist()),
        purchase_cumulative=tuple(buy_sum.tolist()),
        purchase_net_cumulative=tuple(net.tolist()),
        book_values=tuple(values.tolist()),
        break_even_month=_first_month(buy_sum <= rent_sum),
        net_break_even_month=_first_month(net <= rent_sum),
        utilisation_fraction=utilisation_fraction,
        break_even_utilisation_fraction=_horizon_break_even(rental, ownership, month_count),
        rental_present_value=rent_value,
        purchase_present_value=buy_value,
        purchase_advantage_present_value=rent_value - buy_value,
        rental_cost_per_useful_gpu_hour=float(rent_sum[-1]) / hours if hours > 0 else None,
        purchase_cost_per_useful_gpu_hour=float(net[-1]) / owned_hours if owned_hours > 0 else None,
        advice=_advice(rent_value, buy_value),
    )


def costs_by_utilisation(
    rental: RentalTerms, ownership: OwnershipTerms, month_count: int, utilisation_fractions: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Cost over the horizon against the share of use: rent by the hour at the monthly price, and owning.

    Both lines cross at `Comparison.break_even_utilisation_fraction`. Owning is net of the book value at the end.

    Parameters
    ----------
    rental, ownership : RentalTerms, OwnershipTerms
    month_count : int
        Horizon. [month]
    utilisation_fractions : array_like
        Shares of use, 0 to 1. [1]

    Returns
    -------
    tuple of two ndarray of float64
        Rent and ownership, in the shape of the shares. [amount]
    """
    used = np.asarray(utilisation_fractions, dtype=np.float64)
    if month_count < 1 or np.any(~((used >= 0) & (used <= 1))):
        raise ValueError("A horizon has at least one month; use lies between 0 and 1.")
    months = max(month_count - ownership.delivery_months, 0)
    bought = ownership.purchase_amount + ownership.installation_amount - float(book_value(ownership, month_count))
    owned = bought + months * running_amount_per_month(ownership, used)
    rented = rental.setup_amount + rental.monthly_amount * month_count * used
    return np.asarray(rented, dtype=np.float64), np.asarray(owned, dtype=np.float64)


def _horizon_break_even(rental: RentalTerms, ownership: OwnershipTerms, month_count: int) -> float | None:
    """Break-even share of use over the horizon, with rent by the hour and the hardware at its book value at the end."""
    idle = _flows(rental, ownership, month_count, 0.0)[1]
    full = _flows(rental, ownership, month_count, 1.0)[1]
    fixed = float(np.sum(idle) - book_value(ownership, month_count)) - rental.setup_amount
    variable = float(np.sum(full) - np.sum(idle))
    return break_even_utilisation(max(fixed, 0.0), variable, rental.monthly_amount * month_count)


def _advice(rent_value: float, buy_value: float) -> str:
    """`equal` within 2 % of the dearer: closer than the prices are known."""
    if math.isclose(rent_value, buy_value, rel_tol=0.02):
        return "equal"
    return "rent" if rent_value < buy_value else "buy"

"""What owning costs, from the purchase block and published running costs; what the user stated comes first."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from advisor.answers import PricesAnswer
from advisor.engine.ownership import (
    DEFAULT_COST_OF_CAPITAL,
    DEFAULT_LIFE_MONTHS,
    DEFAULT_MAINTENANCE,
    OwnershipTerms,
    RentalTerms,
)
from advisor.engine.power import DEFAULT_IDLE_POWER, DEFAULT_PUE, PowerPlan
from advisor.engine.reliability import assumed_number
from advisor.engine.specs import Assumption, Origin
from advisor.ownership_fields import OwnershipChoice

MONTHLY_UNITS = frozenset({"server_month", "month", "per_spare_server_month"})
DEFAULT_UTILISATION = Assumption(
    name="utilisation_fraction",
    value=0.7,
    unit="1",
    origin=Origin.DERIVED,
    source="planning value: seven days in ten; the break-even use beside it says what it decides",
)
# Colocation per kW-month without electricity, and electricity per kWh, by currency.
SITE_COSTS: dict[str, tuple[Assumption, Assumption]] = {
    "CNY": (
        Assumption(
            name="colocation_amount_per_kilowatt_month",
            value=583.0,
            unit="CNY",
            origin=Origin.DERIVED,
            source="VNET Q3 2025 wholesale revenue over mean utilised power; holds the power it bills: an upper bound",
        ),
        Assumption(
            name="electricity_amount_per_kilowatt_hour",
            value=0.63,
            unit="CNY",
            origin=Origin.DERIVED,
            source="China industrial average 2024, 0.088 USD (china-briefing.com)",
        ),
    ),
    "USD": (
        Assumption(
            name="colocation_amount_per_kilowatt_month",
            value=194.95,
            unit="USD",
            origin=Origin.DERIVED,
            source="CBRE H2 2025, US primary markets, 250 to 500 kW, asking rent without electricity",
        ),
        Assumption(
            name="electricity_amount_per_kilowatt_hour",
            value=0.0929,
            unit="USD",
            origin=Origin.DERIVED,
            source="US industrial average, EIA, 2026-01",
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipRequest:
    rental: PricesAnswer | None
    purchase: PricesAnswer | None
    power: PowerPlan | None
    gpu_count: int
    goodput: float
    currency: str
    choice: OwnershipChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCosts:
    """The inputs of owning, each as an assumption with its origin: the user's, or a published one."""

    utilisation: Assumption
    cost_of_capital: Assumption
    pue: Assumption
    colocation: Assumption | None
    electricity: Assumption | None

    @property
    def listed(self) -> tuple[Assumption, ...]:
        site = tuple(item for item in (self.colocation, self.electricity) if item is not None)
        return (
            self.utilisation,
            DEFAULT_LIFE_MONTHS,
            self.cost_of_capital,
            DEFAULT_MAINTENANCE,
            *site,
            self.pue,
        )


def running_costs(currency: str, choice: OwnershipChoice) -> RunningCosts:
    colocation, electricity = SITE_COSTS.get(currency, (None, None))
    if choice.electricity_amount_per_kilowatt_hour is not None:
        electricity = Assumption(
            name="electricity_amount_per_kilowatt_hour",
            value=choice.electricity_amount_per_kilowatt_hour,
            unit=currency,
            origin=Origin.USER,
            source="",
        )
    return RunningCosts(
        utilisation=_given(DEFAULT_UTILISATION, choice.utilisation_fraction),
        cost_of_capital=_given(DEFAULT_COST_OF_CAPITAL, choice.cost_of_capital_fraction),
        pue=_given(DEFAULT_PUE, choice.pue),
        colocation=colocation,
        electricity=electricity,
    )


def _given(default: Assumption, value: float | None) -> Assumption:
    if value is None:
        return default
    return Assumption(name=default.name, value=value, unit=default.unit, origin=Origin.USER, source="")


def rental_terms(rental: PricesAnswer) -> RentalTerms:
    if rental["monthly"] is None:
        raise ValueError("Rental terms need a monthly amount.")
    return RentalTerms(
        monthly_amount=float(Decimal(rental["monthly"]["amount"])),
        setup_amount=_one_time(rental),
        deposit_amount=float(Decimal(rental["deposit"]["amount"])) if rental["deposit"] else 0.0,
    )


def _one_time(prices: PricesAnswer) -> float:
    """What the rental block asks for once: its priced lines that are no months."""
    amounts = (
        Decimal(line["amount"]["amount"])
        for line in prices["lines"]
        if line["amount"] is not None and line["unit"] not in MONTHLY_UNITS
    )
    return float(sum(amounts, Decimal(0)))


def ownership_terms(purchase: PricesAnswer, power: PowerPlan | None, costs: RunningCosts) -> OwnershipTerms:
    """Hardware depreciates, installation does not; running services are the maintenance fraction's part."""
    hardware = installation = Decimal(0)
    for line in purchase["lines"]:
        if line["amount"] is None:
            continue
        if line["kind"] != "service":
            hardware += Decimal(line["amount"]["amount"])
        elif line["unit"] == "one_time":
            installation += Decimal(line["amount"]["amount"])
    return OwnershipTerms(
        purchase_amount=float(hardware),
        installation_amount=float(installation),
        depreciation_months=int(assumed_number(DEFAULT_LIFE_MONTHS)),
        colocation_amount_per_kilowatt_month=_rate(costs.colocation, power),
        electricity_amount_per_kilowatt_hour=_rate(costs.electricity, power),
        contracted_it_watts=power.it_max_watts if power else 0.0,
        busy_it_watts=power.it_average_watts if power else 0.0,
        idle_it_watts=power.it_max_watts * assumed_number(DEFAULT_IDLE_POWER) if power else 0.0,
        pue=power.pue if power else assumed_number(costs.pue),
        maintenance_fraction_per_year=assumed_number(DEFAULT_MAINTENANCE),
    )


def _rate(assumption: Assumption | None, power: PowerPlan | None) -> float:
    return assumed_number(assumption) if assumption is not None and power is not None else 0.0

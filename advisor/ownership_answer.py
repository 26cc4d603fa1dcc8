"""Rent or buy: the engine's comparison with the money of both price blocks and the published running costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from advisor.answers import AssumptionAnswer, PricesAnswer, ProblemAnswer, RentOrBuyAnswer
from advisor.catalog_language import joined
from advisor.engine.ownership import (
    DEFAULT_COST_OF_CAPITAL,
    DEFAULT_LIFE_MONTHS,
    DEFAULT_MAINTENANCE,
    Comparison,
    OwnershipTerms,
    RentalTerms,
    rent_or_buy,
)
from advisor.engine.power import DEFAULT_IDLE_POWER, DEFAULT_PUE, PowerPlan
from advisor.engine.reliability import assumed_number
from advisor.engine.specs import Assumption, Origin
from advisor.figures import format_percent
from advisor.problem_words import assumption_answers
from catalog.money import format_money

HORIZON_MONTHS = 60
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
    utilisation_fraction: float | None = None
    horizon_months: int = HORIZON_MONTHS


def ownership_answer(request: OwnershipRequest) -> RentOrBuyAnswer | None:
    """Both ways over the horizon; None where no side has a price. One side alone gives its curve and a problem."""
    if request.rental is None and request.purchase is None:
        return None
    used = request.utilisation_fraction
    utilisation = assumed_number(DEFAULT_UTILISATION) if used is None else used
    if request.rental is None or request.purchase is None or request.rental["monthly"] is None:
        return _one_sided(request, utilisation)
    terms = _ownership_terms(request)
    rental = RentalTerms(
        monthly_amount=float(Decimal(request.rental["monthly"]["amount"])),
        setup_amount=_one_time(request.rental),
        deposit_amount=float(Decimal(request.rental["deposit"]["amount"])) if request.rental["deposit"] else 0.0,
    )
    compared = rent_or_buy(
        rental,
        terms,
        month_count=request.horizon_months,
        utilisation_fraction=utilisation,
        gpu_count=request.gpu_count,
        goodput=request.goodput,
        cost_of_capital_fraction_per_year=assumed_number(DEFAULT_COST_OF_CAPITAL),
    )
    return RentOrBuyAnswer(
        months=list(compared.months),
        rental_cumulative=list(compared.rental_cumulative),
        purchase_cumulative=list(compared.purchase_cumulative),
        currency=request.currency,
        break_even_month=compared.break_even_month,
        utilisation_fraction=utilisation,
        break_even_utilisation_fraction=compared.break_even_utilisation_fraction,
        advice=_advice(compared, request),
        problems=_incomplete(request),
        assumptions=_assumptions(request, utilisation),
    )


def _one_time(prices: PricesAnswer) -> float:
    """What the rental block asks for once: its priced lines that are no months."""
    monthly_units = ("server_month", "month", "per_spare_server_month")
    return float(
        sum(
            (
                Decimal(line["amount"]["amount"])
                for line in prices["lines"]
                if line["amount"] is not None and line["unit"] not in monthly_units
            ),
            Decimal(0),
        )
    )


def _ownership_terms(request: OwnershipRequest) -> OwnershipTerms:
    """Hardware depreciates, installation does not; running services are the maintenance fraction's part."""
    purchase = request.purchase
    if purchase is None:
        raise ValueError("Ownership terms need a purchase block.")
    hardware = installation = Decimal(0)
    for line in purchase["lines"]:
        if line["amount"] is None:
            continue
        if line["kind"] != "service":
            hardware += Decimal(line["amount"]["amount"])
        elif line["unit"] == "one_time":
            installation += Decimal(line["amount"]["amount"])
    colocation, electricity = SITE_COSTS.get(request.currency, (None, None))
    power = request.power
    idle = assumed_number(DEFAULT_IDLE_POWER)
    return OwnershipTerms(
        purchase_amount=float(hardware),
        installation_amount=float(installation),
        depreciation_months=int(assumed_number(DEFAULT_LIFE_MONTHS)),
        colocation_amount_per_kilowatt_month=assumed_number(colocation) if colocation and power else 0.0,
        electricity_amount_per_kilowatt_hour=assumed_number(electricity) if electricity and power else 0.0,
        contracted_it_watts=power.it_max_watts if power else 0.0,
        busy_it_watts=power.it_average_watts if power else 0.0,
        idle_it_watts=power.it_max_watts * idle if power else 0.0,
        pue=power.pue if power else assumed_number(DEFAULT_PUE),
        maintenance_fraction_per_year=assumed_number(DEFAULT_MAINTENANCE),
    )


def _advice(compared: Comparison, request: OwnershipRequest) -> str:
    words = {
        "rent": _("Rent: its present value over %(months)d months is %(gap)s lower than buying."),
        "buy": _("Buy: its present value over %(months)d months is %(gap)s lower than renting."),
        "equal": _("Renting and buying cost the same over %(months)d months, within 2 %% (%(gap)s)."),
    }
    gap = round(abs(compared.purchase_advantage_present_value))
    sentences = [
        words[compared.advice] % {"months": request.horizon_months, "gap": format_money(Decimal(gap), request.currency)}
    ]
    if compared.break_even_month is not None:
        sentences.append(
            _("Spending on purchase falls below rent from month %(month)d.") % {"month": compared.break_even_month}
        )
    else:
        sentences.append(
            _("Spending on purchase stays above rent for all %(months)d months.") % {"months": request.horizon_months}
        )
    share = compared.break_even_utilisation_fraction
    if share is None or share > 1:
        sentences.append(_("By the hour, renting is cheaper at any use."))
    else:
        sentences.append(
            _("Against rent by the hour, owning pays from a use of %(share)s of the time.")
            % {"share": format_percent(share)}
        )
    return joined(*sentences)


def _incomplete(request: OwnershipRequest) -> list[ProblemAnswer]:
    """Unpriced lines make a side look cheaper than it is: said where the comparison is shown."""
    problems = []
    for block in (request.rental, request.purchase):
        if block is None or block["is_complete"]:
            continue
        skus = ", ".join(sorted({item["sku"] for item in block["missing"]}))
        text = {
            "rental": _("The rental side lacks the price of: %(skus)s."),
            "purchase": _("The purchase side lacks the price of: %(skus)s."),
        }[block["basis"]] % {"skus": skus}
        problems.append(
            ProblemAnswer(
                field="/commercial",
                code="comparison_incomplete",
                message=text,
                severity="note",
                params={"basis": block["basis"], "skus": skus},
            )
        )
    return problems


def _one_sided(request: OwnershipRequest, utilisation: float) -> RentOrBuyAnswer:
    """No comparison without both prices: the figures are null and the reason is told."""
    is_rental_missing = request.rental is None
    text = (
        _("No comparison: the rental price of this configuration is not known.")
        if is_rental_missing
        else _("No comparison: the purchase price of this configuration is not known.")
    )
    problem = ProblemAnswer(
        field="/commercial",
        code="comparison_needs_both_prices",
        message=text,
        severity="note",
        params={"missing": "rental" if is_rental_missing else "purchase"},
    )
    return RentOrBuyAnswer(
        months=[],
        rental_cumulative=[],
        purchase_cumulative=[],
        currency=request.currency,
        break_even_month=None,
        utilisation_fraction=utilisation,
        break_even_utilisation_fraction=None,
        advice=text,
        problems=[problem],
        assumptions=_assumptions(request, utilisation),
    )


def _assumptions(request: OwnershipRequest, utilisation: float) -> list[AssumptionAnswer]:
    given = request.utilisation_fraction is not None
    used = (
        Assumption(name="utilisation_fraction", value=utilisation, unit="1", origin=Origin.USER, source="")
        if given
        else DEFAULT_UTILISATION
    )
    site = SITE_COSTS.get(request.currency, ())
    return assumption_answers(
        (used, DEFAULT_LIFE_MONTHS, DEFAULT_COST_OF_CAPITAL, DEFAULT_MAINTENANCE, *site, DEFAULT_PUE)
    )

"""Rent or buy: the engine's comparison with the money of both price blocks and the published running costs."""

from __future__ import annotations

from decimal import Decimal

from django.utils.translation import gettext as _

from advisor.answers import PricesAnswer, ProblemAnswer, RentOrBuyAnswer, UtilisationCostAnswer
from advisor.catalog_language import joined
from advisor.engine.ownership import Comparison, OwnershipTerms, RentalTerms, costs_by_utilisation, rent_or_buy
from advisor.engine.reliability import assumed_number
from advisor.figures import format_percent
from advisor.ownership_terms import OwnershipRequest, RunningCosts, ownership_terms, rental_terms, running_costs
from advisor.problem_words import assumption_answers
from catalog.money import format_money

SHARES_OF_USE = tuple(tenth / 10 for tenth in range(1, 11))


def ownership_answer(request: OwnershipRequest) -> RentOrBuyAnswer | None:
    """Both ways over the horizon; None where no side has a price. One side alone gives its curve and a problem."""
    if request.rental is None and request.purchase is None:
        return None
    costs = running_costs(request.currency, request.choice)
    if request.rental is None or request.purchase is None or request.rental["monthly"] is None:
        return _one_sided(request, costs)
    return _compared(request, request.rental, request.purchase, costs)


def _compared(
    request: OwnershipRequest, rental: PricesAnswer, purchase: PricesAnswer, costs: RunningCosts
) -> RentOrBuyAnswer:
    rented, owned = rental_terms(rental), ownership_terms(purchase, request.power, costs)
    utilisation = assumed_number(costs.utilisation)
    compared = rent_or_buy(
        rented,
        owned,
        month_count=request.choice.horizon_months,
        utilisation_fraction=utilisation,
        gpu_count=request.gpu_count,
        goodput=request.goodput,
        cost_of_capital_fraction_per_year=assumed_number(costs.cost_of_capital),
    )
    return RentOrBuyAnswer(
        months=list(compared.months),
        rental_cumulative=list(compared.rental_cumulative),
        purchase_cumulative=list(compared.purchase_cumulative),
        currency=request.currency,
        break_even_month=compared.break_even_month,
        utilisation_fraction=utilisation,
        break_even_utilisation_fraction=compared.break_even_utilisation_fraction,
        horizon_months=request.choice.horizon_months,
        net_break_even_month=compared.net_break_even_month,
        rental_present_value=compared.rental_present_value,
        purchase_present_value=compared.purchase_present_value,
        purchase_advantage_present_value=compared.purchase_advantage_present_value,
        rental_cost_per_useful_gpu_hour=compared.rental_cost_per_useful_gpu_hour,
        purchase_cost_per_useful_gpu_hour=compared.purchase_cost_per_useful_gpu_hour,
        costs_by_utilisation=_by_use(rented, owned, request.choice.horizon_months),
        advice=_advice(compared, request),
        problems=_incomplete(request),
        assumptions=assumption_answers(costs.listed),
    )


def _by_use(rented: RentalTerms, owned: OwnershipTerms, month_count: int) -> list[UtilisationCostAnswer]:
    rent, own = costs_by_utilisation(rented, owned, month_count, SHARES_OF_USE)
    return [
        UtilisationCostAnswer(utilisation_fraction=share, rental=float(rent[index]), purchase=float(own[index]))
        for index, share in enumerate(SHARES_OF_USE)
    ]


def _advice(compared: Comparison, request: OwnershipRequest) -> str:
    words = {
        "rent": _("Rent: its present value over %(months)d months is %(gap)s lower than buying."),
        "buy": _("Buy: its present value over %(months)d months is %(gap)s lower than renting."),
        "equal": _("Renting and buying cost the same over %(months)d months, within 2 %% (%(gap)s)."),
    }
    gap = round(abs(compared.purchase_advantage_present_value))
    sentences = [
        words[compared.advice]
        % {"months": request.choice.horizon_months, "gap": format_money(Decimal(gap), request.currency)}
    ]
    if compared.break_even_month is not None:
        sentences.append(
            _("Spending on purchase falls below rent from month %(month)d.") % {"month": compared.break_even_month}
        )
    else:
        sentences.append(
            _("Spending on purchase stays above rent for all %(months)d months.")
            % {"months": request.choice.horizon_months}
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


def _one_sided(request: OwnershipRequest, costs: RunningCosts) -> RentOrBuyAnswer:
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
        utilisation_fraction=assumed_number(costs.utilisation),
        break_even_utilisation_fraction=None,
        horizon_months=request.choice.horizon_months,
        net_break_even_month=None,
        rental_present_value=None,
        purchase_present_value=None,
        purchase_advantage_present_value=None,
        rental_cost_per_useful_gpu_hour=None,
        purchase_cost_per_useful_gpu_hour=None,
        costs_by_utilisation=[],
        advice=text,
        problems=[problem],
        assumptions=assumption_answers(costs.listed),
    )

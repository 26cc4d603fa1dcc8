"""A budget against runs and hardware: what it pays, what could not be checked, and the most that it trains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from advisor.answers import MoneyAnswer, ProblemAnswer, WithinBudgetAnswer
from advisor.candidate_search import candidate_cost, cost_currency
from advisor.configuration import Setting, configured
from advisor.engine.specs import Candidate, Problem
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.figures import format_days, format_si_count
from advisor.price_books import hourly_price
from advisor.prices import money
from advisor.problem_words import problem_answer
from advisor.training_plan import COMPUTE_OPTIMAL_TOKENS_PER_PARAMETER
from catalog.money import format_money

POINTER = "/target/budget"
MOST_PRICED = 8  # candidates whose whole bill of materials is priced for a purchase
FLOPS_PER_PARAMETER_AND_TOKEN = 6.0  # forward and backward, arXiv:2001.08361


@dataclass(frozen=True, slots=True, kw_only=True)
class Affordable:
    """Candidates that the budget pays, in their order; the money of each that has a price; what is to be said."""

    candidates: list[Candidate]
    costs: list[tuple[Decimal, Candidate]]
    problems: list[ProblemAnswer]


def affordable(setting: Setting, candidates: Sequence[Candidate]) -> Affordable:
    """What the budget pays: the run when rented, the hardware when bought; everything without a budget.

    A candidate without a price is left out, and the answer says that its budget was not checked.
    """
    checked = setting.checked
    if checked.budget is None:
        return Affordable(candidates=list(candidates), costs=[], problems=[])
    is_purchase = checked.basis == "purchase"
    if not is_purchase and setting.job.plan.tokens is None:
        told = problem_answer(Problem(field=POINTER, code="budget_needs_tokens", severity="check"))
        return Affordable(candidates=list(candidates), costs=[], problems=[told])
    kept, costs, unpriced = [], [], []
    for candidate in candidates[: MOST_PRICED if is_purchase else None]:
        cost = _hardware_cost(setting, candidate) if is_purchase else candidate_cost(setting, candidate)
        if cost is None:
            unpriced.append(candidate.option.gpu.name)
            continue
        costs.append((cost, candidate))
        if cost <= checked.budget[0]:
            kept.append(candidate)
    problems = [] if kept or not costs else [_over_budget(setting, costs)]
    if unpriced:
        severity = "check" if costs else "blocks"
        params: dict[str, float | int | str | None] = {"gpus": ", ".join(unpriced)}
        problems.append(
            problem_answer(Problem(field=POINTER, code="budget_not_checked", params=params, severity=severity))
        )
    return Affordable(candidates=kept, costs=costs, problems=problems)


def _hardware_cost(setting: Setting, candidate: Candidate) -> Decimal | None:
    """Total of the purchase, None where a line of it has no price."""
    prices = configured(setting, candidate).answer["prices"]["purchase"]
    return Decimal(prices["total"]["amount"]) if prices is not None and prices["is_complete"] else None


def _over_budget(setting: Setting, costs: Sequence[tuple[Decimal, Candidate]]) -> ProblemAnswer:
    """The cheapest there is, and how much of the training the budget pays on it (P4)."""
    assert setting.checked.budget is not None  # noqa: S101  (asked before)
    amount, currency = setting.checked.budget
    cost, candidate = min(costs, key=lambda pair: pair[0])
    tokens = setting.job.plan.tokens
    params: dict[str, float | int | str | None] = {
        "cost": format_money(cost, currency),
        "amount": str(cost),
        "currency": currency,
        "budget": format_money(amount, currency),
        "gpu": candidate.option.gpu.name,
        "gpu_count": candidate.estimate.scenario.cluster.gpu_count,
        "tokens": None if tokens is None else tokens * float(amount / cost if cost else 1),
    }
    code = "over_budget_purchase" if setting.checked.basis == "purchase" else "over_budget_tokens"
    return problem_answer(Problem(field=POINTER, code=code, params=params))


def within_budget_answer(setting: Setting, candidate: Candidate) -> WithinBudgetAnswer | None:
    """The most that the budget trains on a configuration: tokens of this model, or the model itself at 20 tokens a
    parameter with the same utilisation. None without a budget, a price or a time.
    """
    budget, book = setting.checked.budget, setting.books.get(("rental", cost_currency(setting.checked)))
    sku = candidate.option.gpu.sku
    price = None if book is None else hourly_price(book, sku, setting.term_months)
    if budget is None or price is None or not price.amount or setting.checked.basis == "purchase":
        return None
    time, count = candidate.estimate.time, candidate.estimate.scenario.cluster.gpu_count
    hours = float(budget[0] / price.amount)
    seconds = hours * SECONDS_PER_HOUR / count
    trained = seconds * time.goodput
    tokens = trained * time.tokens_per_second
    flops = trained * time.model_flops_per_second_per_gpu * count
    parameters = math.sqrt(flops / (FLOPS_PER_PARAMETER_AND_TOKEN * COMPUTE_OPTIMAL_TOKENS_PER_PARAMETER))
    text = _(
        "%(budget)s pay for %(tokens)s tokens of this model on %(count)d × %(gpu)s (%(days)s), or, at the same "
        "utilisation, for a dense model of about %(parameters)s parameters with 20 tokens a parameter."
    ) % {
        "budget": format_money(budget[0], budget[1]),
        "tokens": format_si_count(tokens),
        "count": count,
        "gpu": candidate.option.gpu.name,
        "days": format_days(seconds),
        "parameters": format_si_count(parameters),
    }
    whole: MoneyAnswer = money(budget[0], budget[1])
    return WithinBudgetAnswer(
        budget=whole,
        gpu=sku,
        gpu_count=count,
        gpu_hours=hours,
        tokens=tokens,
        training_days=seconds / SECONDS_PER_DAY,
        compute_optimal_parameter_count=parameters,
        text=text,
    )

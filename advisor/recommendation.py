"""The recommendation: search over the catalogue's hardware, configurations with parts and prices, and the reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from advisor.answers import (
    ConfigurationAnswer,
    ProblemAnswer,
    RecommendationAnswer,
    RejectionAnswer,
    RentOrBuyAnswer,
)
from advisor.budget import Affordable, affordable, within_budget_answer
from advisor.candidate_search import (
    VALUE_RULE,
    Hardware,
    all_candidates,
    cost_currency,
    is_faster,
    search_target,
    searched,
    searched_hardware,
    shares_no_batch,
    with_moved_batch,
)
from advisor.configuration import Configured, Market, Setting, configured
from advisor.engine import ENGINE_VERSION
from advisor.engine.search_types import SearchResult
from advisor.engine.specs import Assumption, Candidate, Problem
from advisor.engine.units import SECONDS_PER_DAY
from advisor.estimate_answer import model_answer, training_answer
from advisor.explain import (
    configuration_reasons,
    rejection_answers,
    requirement_answer,
    upgrade_path,
)
from advisor.headline import headline
from advisor.input_types import CheckedRecommendation
from advisor.ownership_answer import ownership_answer
from advisor.ownership_terms import OwnershipRequest
from advisor.parts import Parts
from advisor.pilot_answer import pilot_assumption
from advisor.preference import led_by, preferred
from advisor.price_books import Book
from advisor.problem_words import assumption_answers, problem_answer
from advisor.sensitivity_answer import recommended_sensitivity
from advisor.side_estimates import compared_sides, estimate_on_build, tuning_gain
from advisor.tiers import tier_answer
from advisor.training_plan import job_from
from catalog.money import format_money

MAX_REASONS = 3
SLOWER_THAN_FASTEST = 1.25


def recommendation(
    parts: Parts, books: Mapping[Market, Book], checked: CheckedRecommendation, *, on: date
) -> RecommendationAnswer:
    job = job_from(checked, workload=checked.workload, proposes_tokens=True, revision=parts.revision)
    setting = Setting(parts=parts, books=books, checked=checked, job=job, on=on, term_months=checked.term_months)
    hardware = searched_hardware(setting)
    target = search_target(checked, job)
    result, outside = searched(setting, hardware.options, target)
    if target.gpu_count is not None and shares_no_batch(result, job.plan):
        moved = with_moved_batch(setting, target.gpu_count)
        other, other_outside = searched(moved, hardware.options, target)
        if is_faster(other, result):
            setting, result, outside = moved, other, other_outside
            job, checked = setting.job, setting.checked
    if result.recommended is None and checked.deadline_seconds is None and target.deadline_seconds is not None:
        fastest = _fastest_seconds(result)
        if fastest is not None:  # nothing is that fast: what comes within a quarter of the fastest
            target = replace(target, deadline_seconds=SLOWER_THAN_FASTEST * fastest)
            result, outside = searched(setting, hardware.options, target)
    result = preferred(result)
    paid = affordable(setting, all_candidates(result))
    if not paid.candidates and not paid.costs and target.max_cost is not None:
        # nothing, or only what has no price: what the budget pays of the cheapest there is
        candidates, _outside = searched(setting, hardware.options, replace(target, max_cost=None))
        paid = affordable(setting, all_candidates(candidates))
    if paid.candidates:  # the first that the budget pays leads
        result = led_by(result, paid.candidates[0])
    ranked = [item for item in all_candidates(result) if item.option.gpu.sku in _skus(paid.candidates)]
    shown = [configured(setting, candidate) for candidate in ranked[: checked.limit]]
    recommended = shown[0] if shown else None
    answers = _explained(setting, result, shown)
    tier = tier_answer(
        parts,
        parameter_count=job.parameter_count,
        active_parameter_count=job.active_parameter_count,
        model_state_bytes=result.requirement.model_state_bytes,
        deadline_seconds=checked.deadline_seconds,
        evaluate=lambda sku, count, per_server: estimate_on_build(setting, sku, count, per_server),
    )
    comparison = (
        compared_sides(setting, recommended, result, tier["code"] if tier else None)
        if recommended is not None
        else None
    )
    head = answers[0] if answers else None
    rejected = [*hardware.rejected, *outside, *rejection_answers(parts, result.rejected, cost_currency(checked))]
    problems = _problems(setting, hardware, result, paid, head, rejected)
    pays_for = ranked[0] if ranked else min(paid.costs, key=lambda pair: pair[0], default=(None, None))[1]
    most = None if pays_for is None else within_budget_answer(setting, pays_for)
    return RecommendationAnswer(
        headline=headline(checked, head, within_budget=most, problems=problems),
        within_budget=most,
        tier=tier,
        model=model_answer(job.model, job.parameter_count, job.active_parameter_count),
        training=training_answer(job.plan, checked.tokens_origin),
        requirement=requirement_answer(
            result.requirement,
            deadline_seconds=checked.deadline_seconds,
            horizon_seconds=target.deadline_seconds,
            recommended=head,
        ),
        recommended=head,
        alternatives=answers[1:],
        rejected=rejected,
        deployment_comparison=comparison,
        rent_or_buy=_rent_or_buy(setting, recommended),
        scaling=_scaling(result),
        pareto=_pareto(result),
        sensitivity=recommended_sensitivity(setting, recommended, result.scaling) if recommended else None,
        explanation=_explanation(tier["reason"] if tier else "", head),
        evaluated_layout_count=result.evaluated_layout_count,
        problems=problems,
        assumptions=assumption_answers(_assumptions(setting, recommended)),
        engine_version=ENGINE_VERSION,
        catalog_revision=parts.revision,
    )


def _explained(setting: Setting, result: SearchResult, shown: Sequence[Configured]) -> list[ConfigurationAnswer]:
    """Configurations with their reasons, tuning gain and growth; reasons compare with the next priced one."""
    answers = []
    for index, item in enumerate(shown):
        answer = item.answer
        others = [other.answer for other in shown if other is not item and other.answer["run_cost"] is not None]
        gaps = answer["reasons"]
        answer["reasons"] = [
            *configuration_reasons(
                answer,
                deadline_seconds=setting.checked.deadline_seconds,
                cheapest_other=min(others, key=_cost_of, default=None),
            ),
            *gaps,
        ]
        if index == 0:
            answer["tuning"] = tuning_gain(setting, item)
            gpu = setting.parts.gpus[answer["gpu"]]
            answer["upgrade"] = upgrade_path(result.scaling, result.requirement, answer, is_board=gpu.is_module)
        answers.append(answer)
    return answers


def _cost_of(answer: ConfigurationAnswer) -> Decimal:
    cost = answer["run_cost"]
    return Decimal(cost["amount"]) if cost is not None else Decimal("Infinity")


def _rent_or_buy(setting: Setting, item: Configured | None) -> RentOrBuyAnswer | None:
    if item is None:
        return None
    return ownership_answer(
        OwnershipRequest(
            rental=item.answer["prices"]["rental"],
            purchase=item.answer["prices"]["purchase"],
            power=item.power,
            gpu_count=item.estimate.scenario.cluster.gpu_count,
            goodput=item.estimate.time.goodput,
            currency=setting.checked.currency,
            choice=setting.checked.ownership,
        )
    )


def _scaling(result: SearchResult) -> list[dict[str, Any]]:
    return [
        {
            "gpu_count": point.gpu_count,
            "training_seconds": point.training_seconds,
            "mfu": point.mfu,
            "tokens_per_second": point.tokens_per_second,
            "is_knee": point.is_knee,
        }
        for point in result.scaling
    ]


def _pareto(result: SearchResult) -> list[dict[str, Any]]:
    return [
        {
            "gpu": item.option.gpu.sku,
            "gpu_name": item.option.gpu.name,
            "gpu_count": item.gpu_count,
            "training_days": item.training_seconds / SECONDS_PER_DAY,
            "relative_cost": item.cost,
        }
        for item in result.pareto
    ]


def _explanation(tier_reason: str, head: ConfigurationAnswer | None) -> list[str]:
    sentences = [tier_reason] if tier_reason else []
    if head is not None:
        sentences += head["reasons"]
    return sentences


def _problems(
    setting: Setting,
    hardware: Hardware,
    result: SearchResult,
    paid: Affordable,
    head: ConfigurationAnswer | None,
    rejected: Sequence[RejectionAnswer],
) -> list[ProblemAnswer]:
    found = [problem_answer(problem) for problem in setting.checked.problems]
    found += hardware.notes
    found += [problem_answer(problem) for problem in _policy_problems(setting.checked)]
    if setting.checked.deadline_seconds is not None and setting.job.plan.tokens is None:
        found.append(
            problem_answer(Problem(field="/target/deadline_days", code="deadline_needs_tokens", severity="check"))
        )
    if head is None:
        currency, lead = cost_currency(setting.checked), setting.checked.lead_seconds
        says_more = any(problem["code"] == "over_budget_tokens" for problem in paid.problems)
        found += [
            _relaxation(problem, currency, lead)
            for problem in result.relaxations
            if not (says_more and problem.code == "relax_budget")
        ]
        found += paid.problems
        if not found:
            found += _from_rejections(rejected)
        return found
    found += paid.problems
    found += head["price_problems"]
    seconds = head["estimate"]["time"]["training_seconds"]
    if seconds is not None and setting.checked.basis != "purchase":
        months = seconds / SECONDS_PER_DAY / 30
        if months > setting.term_months:
            found.append(
                problem_answer(
                    Problem(
                        field="/commercial/term_months",
                        code="term_shorter_than_run",
                        params={"run_days": seconds / SECONDS_PER_DAY, "term_months": setting.term_months},
                        severity="check",
                    )
                )
            )
    return found


def _fastest_seconds(result: SearchResult) -> float | None:
    """The shortest training time of any size, as the search's own relaxation of the deadline names it."""
    for problem in result.relaxations:
        seconds = problem.params.get("training_seconds")
        if problem.code == "relax_deadline" and isinstance(seconds, (int, float)):
            return float(seconds)
    return None


def _from_rejections(rejected: Sequence[RejectionAnswer]) -> list[ProblemAnswer]:
    """Without a relaxation of the engine's, what stands against the GPUs that were asked for."""
    if not rejected:
        return [problem_answer(Problem(field="/target", code="no_configuration"))]
    return [
        ProblemAnswer(
            field="/hardware/gpus",
            code=item["code"],
            message=item["message"],
            severity="blocks",
            params=item["params"],
        )
        for item in rejected[:MAX_REASONS]
    ]


def _policy_problems(checked: CheckedRecommendation) -> list[Problem]:
    """What the seller's policy and the job say against the profile that was asked for."""
    profile = checked.deployment.code
    problems = []
    if checked.data_sensitivity == "regulated" and profile == "virtualized_shared":
        problems.append(Problem(field="/hardware/deployment/profile", code="regulated_on_shared", severity="blocks"))
    if checked.real_time and profile != "bare_metal":
        problems.append(Problem(field="/hardware/deployment/profile", code="real_time_virtualized", severity="check"))
    return problems


def _relaxation(problem: Problem, currency: str, lead_seconds: float) -> ProblemAnswer:
    """Money of the engine is a float without a currency: named here, rounded up to whole units; a deadline that can be
    met has the time before training in it.
    """
    cost, seconds = problem.params.get("cost"), problem.params.get("training_seconds")
    if isinstance(cost, (int, float)):
        whole = Decimal(math.ceil(cost))  # a budget of the sum that is named must be enough
        changed = {"cost": format_money(whole, currency), "amount": str(whole), "currency": currency}
        return problem_answer(replace(problem, params={**problem.params, **changed}))
    if isinstance(seconds, (int, float)):
        return problem_answer(replace(problem, params={**problem.params, "deadline_seconds": seconds + lead_seconds}))
    return problem_answer(problem)


def _skus(candidates: Sequence[Candidate]) -> set[str]:
    return {item.option.gpu.sku for item in candidates}


def _assumptions(setting: Setting, item: Configured | None) -> list[Assumption]:
    assumed = list(setting.job.assumptions)
    if setting.checked.deadline_seconds is None and setting.checked.gpu_count is None:
        assumed.append(VALUE_RULE)
    if item is not None:
        pilot = pilot_assumption(item.estimate.scenario.cluster)
        assumed += ([] if pilot is None else [pilot]) + list(item.estimate.assumptions)
    return assumed

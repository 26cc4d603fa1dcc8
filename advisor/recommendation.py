"""The recommendation: search over the catalogue's hardware, configurations with parts and prices, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from advisor.answers import (
    ConfigurationAnswer,
    DeploymentComparisonAnswer,
    ProblemAnswer,
    RecommendationAnswer,
    RejectionAnswer,
    RentOrBuyAnswer,
)
from advisor.book_rows import cloud_offers
from advisor.calibration_data import current_calibration
from advisor.comparison import (
    Sides,
    bare_price,
    bare_profile,
    cloud_price,
    compared_profile,
    deployment_comparison,
    must_be_bare_metal,
)
from advisor.configuration import Configured, Market, Setting, configured
from advisor.engine import ENGINE_VERSION
from advisor.engine.estimate import ScenarioError, estimate
from advisor.engine.search import search
from advisor.engine.specs import (
    Assumption,
    Candidate,
    ClusterSpec,
    DeploymentProfile,
    Estimate,
    HardwareOption,
    Layout,
    LayoutRequest,
    Origin,
    Problem,
    Recomputation,
    Scenario,
    SearchResult,
    Target,
)
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.estimate_answer import finite, model_answer, training_answer
from advisor.explain import (
    configuration_reasons,
    faq,
    rejection_answer,
    rejection_answers,
    requirement_answer,
    upgrade_path,
)
from advisor.figures import format_percent, format_si_count
from advisor.hardware import fabric_spec, hardware_options, selectable_gpus, spec_in_server
from advisor.input_types import CheckedRecommendation
from advisor.ownership_answer import OwnershipRequest, ownership_answer
from advisor.parts import GpuPart, Parts
from advisor.preference import preferred
from advisor.price_books import Book
from advisor.prices import money, run_cost
from advisor.problem_words import assumption_answers, problem_answer
from advisor.requested_gpu import requested_gpu
from advisor.server_build import servers_for
from advisor.site_search import grouped_by_limit, merged, site_gpu_limits
from advisor.tiers import tier_answer
from advisor.training_plan import Job, job_from
from catalog.money import format_money

# Without a deadline: the least cost among clusters that finish within this time. Cost hardly changes with size while
# scaling is near linear, so that without any horizon the answer would be the smallest cluster or the largest.
VALUE_HORIZON_DAYS = 90
VALUE_RULE = Assumption(
    name="value_rule",
    value=VALUE_HORIZON_DAYS,
    unit="d",
    origin=Origin.DERIVED,
    source=(
        "no deadline was given: least cost among clusters that finish within 90 days; published runs took 21 "
        "(LLaMA), 54 "
        "(Llama 3) and 118 days (BLOOM)"
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What may be searched, and what fell out before."""

    options: tuple[HardwareOption, ...]
    rejected: tuple[RejectionAnswer, ...]
    notes: tuple[ProblemAnswer, ...]


def recommendation(
    parts: Parts, books: Mapping[Market, Book], checked: CheckedRecommendation, *, on: date
) -> RecommendationAnswer:
    job = job_from(checked, workload=checked.workload, proposes_tokens=True)
    setting = Setting(parts=parts, books=books, checked=checked, job=job, on=on, term_months=checked.term_months)
    hardware = _hardware(setting)
    target = _target(checked, job)
    result, outside = _search(setting, hardware.options, target)
    if result.recommended is None and checked.deadline_seconds is None and target.deadline_seconds is not None:
        target = replace(target, deadline_seconds=None)  # nothing is that fast: the fastest value there is
        result, outside = _search(setting, hardware.options, target)
    result = preferred(result, lambda option: _one_search(setting, (option,), target))
    ranked = _within_budget(setting, _candidates(result))
    shown = [configured(setting, candidate) for candidate in ranked[: checked.limit]]
    recommended = shown[0] if shown else None
    answers = _explained(setting, result, shown)
    tier = tier_answer(
        parts,
        parameter_count=job.parameter_count,
        active_parameter_count=job.active_parameter_count,
        model_state_bytes=result.requirement.model_state_bytes,
        deadline_seconds=checked.deadline_seconds,
        evaluate=lambda sku, count, per_server: _on_build(setting, sku, count, per_server),
    )
    comparison = (
        _comparison(setting, recommended, result, tier["code"] if tier else None) if recommended is not None else None
    )
    head = answers[0] if answers else None
    return RecommendationAnswer(
        tier=tier,
        model=model_answer(job.model, job.parameter_count, job.active_parameter_count),
        training=training_answer(job.plan, checked.tokens_origin),
        requirement=requirement_answer(result.requirement, deadline_seconds=checked.deadline_seconds, recommended=head),
        recommended=head,
        alternatives=answers[1:],
        rejected=[*hardware.rejected, *outside, *rejection_answers(parts, result.rejected, _cost_currency(checked))],
        deployment_comparison=comparison,
        rent_or_buy=_rent_or_buy(setting, recommended),
        scaling=_scaling(result),
        pareto=_pareto(result),
        explanation=_explanation(tier["reason"] if tier else "", head),
        evaluated_layout_count=result.evaluated_layout_count,
        problems=_problems(setting, hardware, result, ranked, head),
        assumptions=assumption_answers(_assumptions(setting, recommended)),
        engine_version=ENGINE_VERSION,
        catalog_revision=parts.revision,
    )


def _hardware(setting: Setting) -> Hardware:
    """The GPUs asked for, or every sizeable GPU that an orderable server takes."""
    parts, checked = setting.parts, setting.checked
    notes: list[ProblemAnswer] = []
    rejected: list[RejectionAnswer] = []
    gpus: list[GpuPart] = []
    if checked.gpus:
        for index, text in enumerate(checked.gpus):
            gpu, problems = requested_gpu(parts, text, f"/hardware/gpus/{index}")
            notes += problems
            if not servers_for(parts, gpu, cooling=checked.cooling):
                rejected.append(rejection_answer(parts, gpu.sku, "gpu_not_orderable", {}))
            elif gpu not in gpus:
                gpus.append(gpu)
    else:
        gpus = list(selectable_gpus(parts))
    rental = setting.books.get(("rental", _cost_currency(checked))) if checked.basis != "purchase" else None
    purchase = setting.book("purchase") if checked.basis != "rental" else None
    options = hardware_options(
        parts,
        gpus,
        gpu_count=checked.gpu_count,
        cooling=checked.cooling,
        rental=rental,
        purchase=purchase,
        term_months=setting.term_months,
    )
    return Hardware(options=options, rejected=tuple(rejected), notes=tuple(notes))


def _cost_currency(checked: CheckedRecommendation) -> str:
    """A budget is tested in its own currency, by that currency's book."""
    return checked.budget[1] if checked.budget is not None else checked.currency


def _search(
    setting: Setting, options: tuple[HardwareOption, ...], target: Target
) -> tuple[SearchResult, list[RejectionAnswer]]:
    """One search; with a site's limits one for each size that power and racks allow, merged."""
    checked = setting.checked
    if checked.max_it_watts is None and checked.max_racks is None:
        return _one_search(setting, options, target), []
    limits = site_gpu_limits(
        setting.parts,
        options,
        max_it_watts=checked.max_it_watts,
        max_racks=checked.max_racks,
        cooling=checked.cooling,
    )
    groups = grouped_by_limit(options, limits, target)
    kept = {option.gpu.sku for group in groups.values() for option in group}
    outside = [
        rejection_answer(setting.parts, option.gpu.sku, "exceeds_site", {"limit": limits[option.gpu.sku]})
        for option in options
        if option.gpu.sku not in kept
    ]
    results = [
        _one_search(setting, tuple(group), replace(target, max_gpu_count=limit)) for limit, group in groups.items()
    ]
    return merged(results) if results else _one_search(setting, (), target), outside


def _target(checked: CheckedRecommendation, job: Job) -> Target:
    deadline = checked.deadline_seconds
    if deadline is None and checked.gpu_count is None and job.plan.tokens is not None:
        deadline = VALUE_HORIZON_DAYS * SECONDS_PER_DAY
    return Target(
        deadline_seconds=deadline,
        max_gpu_count=checked.max_gpu_count,
        gpu_count=checked.gpu_count,
        max_cost=None if checked.budget is None or checked.basis == "purchase" else float(checked.budget[0]),
    )


def _one_search(setting: Setting, options: tuple[HardwareOption, ...], target: Target) -> SearchResult:
    return search(
        model=setting.job.model,
        plan=setting.job.plan,
        target=target,
        options=options,
        deployment=setting.checked.deployment,
        calibration=current_calibration(),
    )


def _candidates(result: SearchResult) -> list[Candidate]:
    return [*([result.recommended] if result.recommended else []), *result.alternatives]


def candidate_cost(setting: Setting, candidate: Candidate) -> Decimal | None:
    """Money of the run by the rental book, exact; what the budget is tested against."""
    seconds = finite(candidate.estimate.time.training_seconds)
    if seconds is None:
        return None
    hours = candidate.estimate.scenario.cluster.gpu_count * seconds / SECONDS_PER_HOUR
    book = setting.books.get(("rental", _cost_currency(setting.checked)))
    return run_cost(book, candidate.option.gpu.sku, hours, setting.term_months)


def _within_budget(setting: Setting, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates whose run the budget pays, in their order; all of them without a budget."""
    budget = setting.checked.budget
    if budget is None:
        return list(candidates)
    amount = budget[0]
    kept = []
    for candidate in candidates:
        cost = candidate_cost(setting, candidate)
        if cost is not None and cost <= amount:
            kept.append(candidate)
    return kept


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
            answer["tuning"] = _tuning(setting, item)
            gpu = setting.parts.gpus[answer["gpu"]]
            answer["upgrade"] = upgrade_path(result.scaling, result.requirement, answer, is_board=gpu.is_module)
        answers.append(answer)
    return answers


def _cost_of(answer: ConfigurationAnswer) -> Decimal:
    cost = answer["run_cost"]
    return Decimal(cost["amount"]) if cost is not None else Decimal("Infinity")


def _stated(layout: Layout) -> LayoutRequest:
    """A found layout as a request, so that the same layout is estimated again under another profile."""
    return LayoutRequest(
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=layout.pipeline_parallel,
        context_parallel=layout.context_parallel,
        expert_parallel=layout.expert_parallel,
        virtual_stage_count=layout.virtual_stage_count,
        micro_batch_size=layout.micro_batch_size,
        zero_stage=layout.zero_stage,
        recomputation=layout.recomputation,
        uses_sequence_parallel=layout.uses_sequence_parallel,
        shard_group_size=layout.shard_group_size,
    )


def _estimate(
    scenario: Scenario, *, layout: LayoutRequest, deployment: DeploymentProfile | None = None
) -> Estimate | None:
    """The scenario with another layout or profile; None where it contradicts itself."""
    cluster = scenario.cluster if deployment is None else replace(scenario.cluster, deployment=deployment)
    try:
        return estimate(replace(scenario, cluster=cluster, layout=layout), calibration=current_calibration())
    except ScenarioError:
        return None


def _on_build(setting: Setting, sku: str, gpu_count: int, gpus_per_server: int) -> Estimate | None:
    """The job on a reference build, best layout, bare metal."""
    gpu = setting.parts.gpus.get(sku)
    if gpu is None or not gpu.is_sizeable:
        return None
    servers = servers_for(setting.parts, gpu)
    if not servers:
        return None
    cluster = ClusterSpec(
        gpu=spec_in_server(gpu, gpus_per_server),
        gpu_count=gpu_count,
        gpus_per_server=gpus_per_server,
        fabric=fabric_spec(setting.parts, gpu, servers[0]),
    )
    scenario = Scenario(model=setting.job.model, plan=setting.job.plan, cluster=cluster)
    return _estimate(scenario, layout=LayoutRequest())


def _tuning(setting: Setting, item: Configured) -> dict[str, Any] | None:
    """What the layout is worth (C7): recommended against a first guess on the same GPUs, in days and money.

    First guess: tensor parallel over the whole server, micro-batch 1, full recomputation, no interleaving.
    """
    scenario = item.estimate.scenario
    width = min(scenario.cluster.gpus_per_server, scenario.cluster.gpu_count)
    guess = LayoutRequest(
        tensor_parallel=width, micro_batch_size=1, virtual_stage_count=1, recomputation=Recomputation.FULL
    )
    default = _estimate(scenario, layout=guess)
    mine, other = item.estimate.time.training_seconds, default.time.training_seconds if default else None
    if default is None or mine is None or other is None or not default.memory.fits:
        return None
    gained = other - mine
    hours = scenario.cluster.gpu_count * gained / SECONDS_PER_HOUR
    saved = run_cost(setting.book("rental"), scenario.cluster.gpu.sku, max(hours, 0.0), setting.term_months)
    text = _(
        "Against a first guess (tensor parallel %(width)d, micro-batch 1, full recomputation) the layout saves "
        "%(share).0f %% of the time."
    )
    return {
        "default_training_days": other / SECONDS_PER_DAY,
        "training_days": mine / SECONDS_PER_DAY,
        "gain_fraction": gained / other,
        "saved_days": gained / SECONDS_PER_DAY,
        "saved_gpu_hours": hours,
        "saved": None if saved is None else money(saved, setting.checked.currency),
        "service": "svc-tuning" if "svc-tuning" in setting.parts.services else None,
        "text": text % {"width": width, "share": 100 * gained / other},
    }


def _comparison(
    setting: Setting, item: Configured, result: SearchResult, tier_code: str | None
) -> DeploymentComparisonAnswer | None:
    scenario, layout = item.estimate.scenario, _stated(item.estimate.layout)
    profile = compared_profile(setting.checked.deployment)
    bare = _estimate(scenario, layout=layout, deployment=bare_profile())
    virtual = _estimate(scenario, layout=layout, deployment=profile)
    if bare is None or virtual is None:
        return None
    checked, sku = setting.checked, scenario.cluster.gpu.sku
    book = setting.book("rental")
    bare_seconds, virtual_seconds = bare.time.training_seconds, virtual.time.training_seconds
    count = scenario.cluster.gpu_count
    bare_hours = None if bare_seconds is None else count * bare_seconds / SECONDS_PER_HOUR
    virtual_hours = None if virtual_seconds is None else count * virtual_seconds / SECONDS_PER_HOUR
    reasons = must_be_bare_metal(
        tier_code=tier_code,
        real_time=checked.real_time,
        data_sensitivity=checked.data_sensitivity,
        profile_code=checked.deployment.code,
    )
    sides = Sides(
        bare=bare,
        virtual=virtual,
        bare_price=bare_price(
            run_cost(book, sku, bare_hours, setting.term_months),
            checked.currency,
            setting.term_months,
            book.as_of.isoformat() if book else None,
        ),
        virtual_price=cloud_price(
            cloud_offers(setting.parts.revision),
            gpu_sku=sku,
            currency=checked.currency,
            gpu_hours=virtual_hours,
            term_months=setting.term_months,
            exchange_rate=cloud.exchange_rate if (cloud := setting.book("cloud")) else None,
        ),
        facility_watts=item.power.facility_average_watts if item.power else None,
    )
    answer = deployment_comparison(sides, workload_reasons=reasons, loss=profile.throughput_loss_fraction, faq=[])
    answer["faq"] = faq(
        item.answer, scaling=result.scaling, advice=answer["advice"], budget_text=_budget_text(setting, item.answer)
    )
    return answer


def _budget_text(setting: Setting, answer: ConfigurationAnswer) -> str:
    """What a given sum trains on this configuration: tokens in proportion to GPU-hours."""
    cost, tokens = answer["run_cost"], setting.job.plan.tokens
    if cost is None or tokens is None:
        return _("A small cluster is enough to start where the model's states fit; see the smallest cluster above.")
    whole = Decimal(cost["amount"])
    budget = setting.checked.budget[0] if setting.checked.budget else whole / 10
    share = float(min(budget / whole, Decimal(1))) if whole else 1.0
    return _("%(budget)s pay %(share)s of this run: %(tokens)s tokens.") % {
        "budget": format_money(budget, cost["currency"]),
        "share": format_percent(share),
        "tokens": format_si_count(tokens * share),
    }


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
            "gpu_count": item.estimate.scenario.cluster.gpu_count,
            "training_days": (
                None
                if item.estimate.time.training_seconds is None
                else item.estimate.time.training_seconds / SECONDS_PER_DAY
            ),
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
    ranked: Sequence[Candidate],
    head: ConfigurationAnswer | None,
) -> list[ProblemAnswer]:
    found = [problem_answer(problem) for problem in setting.checked.problems]
    found += hardware.notes
    if head is None:
        found += [_relaxation(problem, _cost_currency(setting.checked)) for problem in result.relaxations]
        found += _over_budget(setting, result)
        if not found:
            found.append(problem_answer(Problem(field="/target", code="no_configuration")))
        return found
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


def _relaxation(problem: Problem, currency: str) -> ProblemAnswer:
    """Money of the engine is a float without a currency: named here, rounded to whole units."""
    cost = problem.params.get("cost")
    if isinstance(cost, (int, float)):
        shown = format_money(Decimal(round(cost)), currency)
        return problem_answer(replace(problem, params={**problem.params, "cost": shown}))
    return problem_answer(problem)


def _over_budget(setting: Setting, result: SearchResult) -> list[ProblemAnswer]:
    """The cheapest run there is, and how much of the training the budget pays on it (P4)."""
    budget = setting.checked.budget
    costs = [
        (cost, candidate)
        for candidate in _candidates(result)
        if (cost := candidate_cost(setting, candidate)) is not None
    ]
    if budget is None or not costs:
        return []
    cost, candidate = min(costs, key=lambda pair: pair[0])
    tokens = setting.job.plan.tokens
    paid = float(budget[0] / cost) if cost else 1.0
    params: dict[str, float | int | str | None] = {
        "cost": format_money(cost, budget[1]),
        "budget": format_money(budget[0], budget[1]),
        "gpu": candidate.option.gpu.name,
        "gpu_count": candidate.estimate.scenario.cluster.gpu_count,
        "tokens": None if tokens is None else tokens * paid,
    }
    code = "over_budget" if tokens is None else "over_budget_tokens"
    return [problem_answer(Problem(field="/target/budget", code=code, params=params))]


def _assumptions(setting: Setting, item: Configured | None) -> list[Assumption]:
    assumed = list(setting.job.assumptions)
    if setting.checked.deadline_seconds is None and setting.checked.gpu_count is None:
        assumed.append(VALUE_RULE)
    if item is not None:
        assumed += item.estimate.assumptions
    return assumed

"""What is searched, with which target, and which candidates the budget pays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from advisor.answers import (
    ProblemAnswer,
    RejectionAnswer,
)
from advisor.calibration_data import current_calibration
from advisor.configuration import Setting
from advisor.engine.layouts import batch_for_gpus
from advisor.engine.problems import batch_moved
from advisor.engine.search import search
from advisor.engine.search_types import SearchResult
from advisor.engine.specs import Assumption, Candidate, HardwareOption, Origin, Target, TrainingPlan
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.estimate_answer import finite
from advisor.explain import (
    rejection_answer,
)
from advisor.hardware import hardware_options, selectable_gpus
from advisor.input_types import CheckedRecommendation
from advisor.parts import GpuPart
from advisor.pilot_answer import with_pilot
from advisor.prices import run_cost
from advisor.requested_gpu import requested_gpu
from advisor.server_build import servers_for
from advisor.site_search import grouped_by_limit, merged, site_gpu_limits
from advisor.training_plan import Job

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


def searched_hardware(setting: Setting) -> Hardware:
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
        offered = selectable_gpus(parts)
        gpus = [gpu for gpu in offered if not gpu.is_consumer_card]
        rejected += [rejection_answer(parts, gpu.sku, "consumer_card", {}) for gpu in offered if gpu.is_consumer_card]
    rental = setting.books.get(("rental", cost_currency(checked))) if checked.basis != "purchase" else None
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
    options, told = with_pilot(parts, checked, setting.job, checked.deployment, options)
    return Hardware(options=options, rejected=tuple(rejected), notes=(*notes, *told))


def cost_currency(checked: CheckedRecommendation) -> str:
    """A budget is tested in its own currency, by that currency's book."""
    return checked.budget[1] if checked.budget is not None else checked.currency


def searched(
    setting: Setting, options: tuple[HardwareOption, ...], target: Target
) -> tuple[SearchResult, list[RejectionAnswer]]:
    """One search; with a site's limits one for each size that power and racks allow, merged."""
    checked = setting.checked
    if checked.max_it_watts is None and checked.max_racks is None:
        return one_search(setting, options, target), []
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
        one_search(setting, tuple(group), replace(target, max_gpu_count=limit)) for limit, group in groups.items()
    ]
    return merged(results) if results else one_search(setting, (), target), outside


def with_moved_batch(setting: Setting, gpu_count: int) -> Setting:
    """The same with the batch that `gpu_count` GPUs can share, and a note that says so where it is another one."""
    plan = setting.job.plan
    moved = batch_for_gpus(plan.global_batch_size, gpu_count)
    if moved == plan.global_batch_size:
        return setting
    note = batch_moved(asked=plan.global_batch_size, used=moved)
    job = replace(setting.job, plan=replace(plan, global_batch_size=moved))
    return replace(setting, job=job, checked=replace(setting.checked, problems=(*setting.checked.problems, note)))


def shares_no_batch(result: SearchResult, plan: TrainingPlan) -> bool:
    """Whether no layout of the stated GPUs took the batch as it is."""
    if result.recommended is None:
        return result.evaluated_layout_count == 0
    return result.recommended.estimate.global_batch_size != plan.global_batch_size


def is_faster(result: SearchResult, other: SearchResult) -> bool:
    """Whether it recommends something where the other does not, or more tokens a second."""
    if result.recommended is None or other.recommended is None:
        return other.recommended is None
    ours, theirs = (best.estimate.time.tokens_per_second for best in (result.recommended, other.recommended))
    return ours > theirs


def search_target(checked: CheckedRecommendation, job: Job) -> Target:
    deadline = checked.deadline_seconds
    if deadline is None and checked.gpu_count is None and job.plan.tokens is not None:
        deadline = VALUE_HORIZON_DAYS * SECONDS_PER_DAY
    return Target(
        deadline_seconds=deadline,
        max_gpu_count=checked.max_gpu_count,
        gpu_count=checked.gpu_count,
        max_cost=_max_cost(checked, job),
    )


def _max_cost(checked: CheckedRecommendation, job: Job) -> float | None:
    """A budget of the run; hardware is priced later, and without tokens there is no run to price."""
    if checked.budget is None or checked.basis == "purchase" or job.plan.tokens is None:
        return None
    return float(checked.budget[0])


def one_search(setting: Setting, options: tuple[HardwareOption, ...], target: Target) -> SearchResult:
    return search(
        model=setting.job.model,
        plan=setting.job.plan,
        target=target,
        options=options,
        deployment=setting.checked.deployment,
        calibration=current_calibration(),
    )


def all_candidates(result: SearchResult) -> list[Candidate]:
    return [*([result.recommended] if result.recommended else []), *result.alternatives]


def candidate_cost(setting: Setting, candidate: Candidate) -> Decimal | None:
    """Money of the run by the rental book, exact; what the budget is tested against."""
    seconds = finite(candidate.estimate.time.training_seconds)
    if seconds is None:
        return None
    hours = candidate.estimate.scenario.cluster.gpu_count * seconds / SECONDS_PER_HOUR
    book = setting.books.get(("rental", cost_currency(setting.checked)))
    return run_cost(book, candidate.option.gpu.sku, hours, setting.term_months)

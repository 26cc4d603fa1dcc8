"""Why a search ended as it did: what the job requires, why each option lost, and what would make it feasible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray
from advisor.engine.evaluate import Evaluated
from advisor.engine.fitting import model_state_bytes, smallest_gpu_count_that_fits, whole_servers
from advisor.engine.machine import Machine, compute_precision, dense_peak
from advisor.engine.search_types import Rejection, Requirement
from advisor.engine.specs import (
    DeploymentProfile,
    HardwareOption,
    LayoutRequest,
    ModelSpec,
    Problem,
    Target,
    TrainingPlan,
)
from advisor.engine.workload import Workload

Params = dict[str, float | int | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTable:
    """Best layout of each cluster size of one option; arrays of shape (sizes,), ordered by size."""

    option: HardwareOption
    rates: Machine
    candidates: Candidates
    evaluated: Evaluated
    gpu_counts: FloatArray
    best: NDArray[np.int64]  # index into candidates
    step_seconds: FloatArray
    goodput: FloatArray
    training_seconds: FloatArray  # NaN-free; equals step time where no tokens are given
    cost: FloatArray | None
    evaluated_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything that is the same for all options."""

    model: ModelSpec
    plan: TrainingPlan
    target: Target
    layout: LayoutRequest
    deployment: DeploymentProfile
    calibration: Calibration
    work: Workload


def requirement(question: Question, winner: tuple[SizeTable, int] | None) -> Requirement:
    """What the job asks of any cluster, and which limit decides the size of the recommended one."""
    plan, target, work = question.plan, question.target, question.work
    total = None if plan.tokens is None else work.model_flops_per_token * plan.tokens
    deadline = target.deadline_seconds
    sustained = peak = None
    smallest: int | None = None
    binding = "none"
    if winner is not None:
        table, index = winner
        option = table.option
        seconds = deadline or float(table.training_seconds[index])
        sustained = None if total is None else total / seconds
        share = None
        if total is not None:
            achieved = total / float(table.training_seconds[index])
            share = achieved / (float(table.gpu_counts[index]) * table.rates.dense_peak_flops_per_second)
        peak = None if sustained is None or not share else sustained / share
        smallest = smallest_gpu_count_that_fits(
            question.model, plan, work, question.layout, option.gpu, option.gpus_per_server, question.calibration
        )
        whole = whole_servers(smallest or 1, option.gpus_per_server)
        if target.gpu_count is not None:
            binding = "cluster"
        elif table.gpu_counts[index] <= whole:
            binding = "memory"
        elif deadline is not None:
            binding = "time"
        else:
            binding = "value"
    elif total is not None and deadline is not None:
        sustained = total / deadline
    return Requirement(
        model_state_bytes=model_state_bytes(work, plan),
        total_model_flops=total,
        sustained_flops_per_second=sustained,
        dense_peak_flops_per_second=peak,
        minimum_gpu_count_for_memory=smallest,
        binding_constraint=binding,
    )


def rejections(
    question: Question,
    options: Sequence[HardwareOption],
    tables: Mapping[str, SizeTable | None],
    met: list[tuple[SizeTable, int]],
) -> list[Rejection]:
    """One decisive figure for every option that was not taken."""
    winner_cost = None if not met or met[0][0].cost is None else float(met[0][0].cost[met[0][1]])
    taken = {id(table): index for table, index in met}
    lost: list[Rejection] = []
    for option in options:
        gpu = option.gpu
        params: Params = {"gpu": gpu.name}
        if dense_peak(gpu, compute_precision(question.plan)) is None:
            lost.append(
                Rejection(
                    gpu_sku=gpu.sku,
                    code="unsupported_precision",
                    params=params | {"precision": question.plan.precision.value},
                )
            )
            continue
        table = tables[gpu.sku]
        if table is None:
            lost.append(_unfit(question, option, params))
        elif id(table) not in taken:
            lost.append(_misses(question, table, params))
        elif met and table is not met[0][0]:
            index = taken[id(table)]
            own = None if table.cost is None else float(table.cost[index])
            if own is None or winner_cost is None:
                lost.append(Rejection(gpu_sku=gpu.sku, code="no_price", params=params))
            else:
                lost.append(
                    Rejection(gpu_sku=gpu.sku, code="dearer", params=params | {"cost_ratio": own / winner_cost})
                )
    return lost


def _smallest_cluster(question: Question, option: HardwareOption) -> int | None:
    """GPUs of the fewest whole servers that hold the job: searching takes no part of a server."""
    smallest = smallest_gpu_count_that_fits(
        question.model,
        question.plan,
        question.work,
        question.layout,
        option.gpu,
        option.gpus_per_server,
        question.calibration,
    )
    return None if smallest is None else whole_servers(smallest, option.gpus_per_server)


def _unfit(question: Question, option: HardwareOption, params: Params) -> Rejection:
    smallest = _smallest_cluster(question, option)
    limit = question.target.gpu_count or question.target.max_gpu_count
    return Rejection(
        gpu_sku=option.gpu.sku, code="does_not_fit", params=params | {"smallest_gpu_count": smallest, "limit": limit}
    )


def _misses(question: Question, table: SizeTable, params: Params) -> Rejection:
    fastest = int(np.argmin(table.training_seconds))
    target = question.target
    if target.deadline_seconds is not None and table.training_seconds[fastest] > target.deadline_seconds:
        return Rejection(
            gpu_sku=table.option.gpu.sku,
            code="does_not_meet_deadline",
            params=params
            | {
                "training_seconds": float(table.training_seconds[fastest]),
                "deadline_seconds": target.deadline_seconds,
                "gpu_count": int(table.gpu_counts[fastest]),
            },
        )
    cheapest = float(np.min(table.cost)) if table.cost is not None else None
    return Rejection(
        gpu_sku=table.option.gpu.sku,
        code="over_budget",
        params=params | {"cost": cheapest, "max_cost": target.max_cost},
    )


def relaxations(
    question: Question, options: Sequence[HardwareOption], tables: Mapping[str, SizeTable | None]
) -> list[Problem]:
    """Smallest changes that would make some option feasible."""
    problems: list[Problem] = []
    found = [table for table in tables.values() if table is not None]
    target = question.target
    if found and target.deadline_seconds is not None:
        # what the budget pays first: a later deadline must help; where it pays nothing, the fastest there is
        times = [_seconds_within(table, target.max_cost) for table in found]
        if not any(np.isfinite(time).any() for time in times):
            times = [table.training_seconds for table in found]
        table, own = min(zip(found, times, strict=True), key=lambda pair: float(np.min(pair[1])))
        index = int(np.argmin(own))
        if own[index] > target.deadline_seconds:
            problems.append(
                Problem(
                    field="/target/deadline_days",
                    code="relax_deadline",
                    params={
                        "training_seconds": float(own[index]),
                        "gpu": table.option.gpu.name,
                        "gpu_count": int(table.gpu_counts[index]),
                    },
                )
            )
    if target.max_cost is not None:
        cheapest = min(
            ((_cheapest_in_time(table, target), table.option.gpu.name) for table in found), default=(np.inf, "")
        )
        if np.isfinite(cheapest[0]):
            params: Params = {"cost": cheapest[0], "gpu": cheapest[1]}
            problems.append(Problem(field="/target/budget", code="relax_budget", params=params))
    if not found:
        needed = []
        for option in options:
            smallest = _smallest_cluster(question, option)
            if smallest is not None:
                needed.append((smallest, option.gpu.name))
        if needed:
            smallest, name = min(needed)
            problems.append(
                Problem(
                    field="/hardware/max_gpu_count",
                    code="relax_max_gpu_count",
                    params={"gpu_count": smallest, "gpu": name},
                )
            )
    return problems


def _seconds_within(table: SizeTable, max_cost: float | None) -> FloatArray:
    """Training time of each size, infinite where it costs more than the budget or has no price."""
    if max_cost is None:
        return table.training_seconds
    if table.cost is None:
        return np.full(table.training_seconds.shape, np.inf)
    return np.where(table.cost <= max_cost, table.training_seconds, np.inf)


def _cheapest_in_time(table: SizeTable, target: Target) -> float:
    """Least cost of the sizes that meet the deadline; infinite where none does or no price is known."""
    if table.cost is None:
        return float("inf")
    is_late = target.deadline_seconds is not None and table.training_seconds > target.deadline_seconds
    return float(np.min(np.where(is_late, np.inf, table.cost)))

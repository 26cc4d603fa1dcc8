"""Evaluate every admissible layout of every GPU option and cluster size at once, rank, and say why the others lost.

Rules, stated once. Of one GPU kind: with a deadline, the cheapest size that meets it; without one, the size with
the least product of time and cost, which weighs a day saved like the same share of money; of sizes within 5 % of the
best the smallest. Between kinds: least cost, kinds without a price after
those with one, then fewer watts. Deadlines are tested against expected training time, goodput included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from advisor.engine import training_time
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray, concatenate
from advisor.engine.estimate import (
    assemble,
    open_recomputation,
)
from advisor.engine.evaluate import Evaluated, LayoutPool, evaluate_pool, join_evaluated
from advisor.engine.fitting import available_bytes, model_state_bytes
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import Machine, compute_precision, dense_peak, domain_size, machine
from advisor.engine.memory import memory_per_gpu
from advisor.engine.search_reasons import Question, SizeTable, rejections, relaxations, requirement
from advisor.engine.specs import (
    Candidate,
    ClusterSpec,
    DeploymentProfile,
    HardwareOption,
    LayoutRequest,
    ModelSpec,
    ScalingPoint,
    Scenario,
    SearchResult,
    Target,
    TrainingPlan,
)
from advisor.engine.units import SECONDS_PER_HOUR
from advisor.engine.workload import workload

MAX_SIZES_PER_OPTION = 64
LARGEST_GPU_COUNT = 16_384
# the knee: the largest size at which a GPU still does this share of what it does at the best size
KNEE_THROUGHPUT_FRACTION = 0.8
VALUE_TOLERANCE = 1.05  # sizes within 5 % of the best value count as equal
COARSE_STEP = 3
# costs of sizes that differ by less are equal: rounding of the batch and of the layers moves them that much
EQUAL_COST_FRACTION = 0.05


def cluster_sizes(gpus_per_server: int, target: Target) -> list[int]:
    """Whole-server sizes to evaluate: every one up to 16 servers, then steps of an eighth of an octave and, past 64
    servers, the six most divisible of them; at most 64 sizes in all. Round sizes split into groups where others do not.
    """
    if target.gpu_count is not None:
        return [target.gpu_count]
    most = min(target.max_gpu_count, LARGEST_GPU_COUNT) // gpus_per_server
    servers = list(range(1, min(most, 16) + 1))
    octave = 16
    while octave <= most:
        eighths = range(1, 9) if octave < 64 else (1, 2, 3, 4, 6, 8)
        servers += [size for size in (octave + octave * eighth // 8 for eighth in eighths) if size <= most]
        octave *= 2
    if most > 16 and servers[-1] != most and len(servers) < MAX_SIZES_PER_OPTION:
        servers.append(most)
    return [count * gpus_per_server for count in servers[:MAX_SIZES_PER_OPTION]]


@dataclass(frozen=True, slots=True)
class _Best:
    """Fastest fitting layout of each size of one evaluation, and how many layouts were looked at."""

    candidates: Candidates
    evaluated: Evaluated
    layout_count: int


def _evaluate_sizes(question: Question, option: HardwareOption, rates: Machine, sizes: list[int]) -> _Best | None:
    plan, gpu = question.plan, option.gpu
    domain = domain_size(gpu, option.gpus_per_server)
    pool = _pool(question, domain, tuple(sizes))
    budget = available_bytes(gpu, plan)
    found = evaluate_pool(pool, rates, budget)
    if found is None:
        return None
    candidates, evaluated = found
    per_sequence = evaluated.time.step_seconds / candidates.global_batch_size
    order = np.lexsort((per_sequence, candidates.gpu_count))
    _, first = np.unique(candidates.gpu_count[order], return_index=True)
    best = order[first]
    candidates, time = candidates.take(best), evaluated.take(best).time
    memory = memory_per_gpu(question.work, plan, candidates, question.calibration, budget)
    return _Best(candidates, Evaluated(memory, time), len(pool.candidates) * len(pool.shares))


def _pool(question: Question, domain: int, sizes: tuple[int, ...]) -> LayoutPool:
    """Layouts of these sizes; kinds of GPU with the same scale-up domain share one."""
    key = (domain, sizes)
    if key not in question.pools:
        request, has_open_share = open_recomputation(question.layout)
        candidates = enumerate_layouts(question.model, question.plan, request, list(sizes), domain)
        question.pools[key] = LayoutPool(
            question.work, question.plan, candidates, question.calibration, tries_shares=has_open_share
        )
    return question.pools[key]


def _join(parts: list[_Best]) -> _Best:
    candidates = concatenate([part.candidates for part in parts])
    evaluated = join_evaluated([part.evaluated for part in parts])
    order = np.argsort(candidates.gpu_count, kind="stable")
    return _Best(candidates.take(order), evaluated.take(order), sum(part.layout_count for part in parts))


def size_table(question: Question, option: HardwareOption) -> SizeTable | None:
    """Best layout of each size of one option; None when nothing fits on any size.

    Every third admissible size is evaluated first, then all sizes around the one that the rule of the module takes.
    """
    sizes = cluster_sizes(option.gpus_per_server, question.target)
    floor, budget = 0.0, available_bytes(option.gpu, question.plan)
    if budget <= 0:
        return None
    if not question.work.is_frozen and question.plan.offload == "none":
        floor = model_state_bytes(question.work, question.plan) / budget
    sizes = [size for size in sizes if size >= floor]
    if not sizes:
        return None
    rates = machine(
        option.gpu, option.gpus_per_server, option.fabric, question.plan, question.deployment, question.calibration
    )
    coarse = sorted({*sizes[::COARSE_STEP], sizes[-1]})
    best = _evaluate_sizes(question, option, rates, coarse)
    if best is None:
        return None
    table = _table(question, option, rates, best)
    chosen = chosen_size(question, table)
    if chosen is None:  # a size that meets the target, if there is one, stands beside the fastest
        chosen = int(np.argmin(table.training_seconds))
    fine = _around(sizes, coarse, int(table.gpu_counts[chosen]))
    more = _evaluate_sizes(question, option, rates, fine) if fine else None
    return table if more is None else _table(question, option, rates, _join([best, more]))


def _around(sizes: list[int], coarse: list[int], chosen: int) -> list[int]:
    """Admissible sizes between the coarse neighbours of the chosen one."""
    at = coarse.index(chosen)
    low = coarse[at - 1] if at > 0 else 0
    high = coarse[at + 1] if at + 1 < len(coarse) else coarse[-1]
    return [size for size in sizes if low < size < high and size not in coarse]


def _table(question: Question, option: HardwareOption, rates: Machine, best: _Best) -> SizeTable:
    counts = best.candidates.gpu_count
    step = best.evaluated.time.step_seconds * training_time.slowdown(question.deployment)
    goodput = goodputs(question, option, counts)
    training = training_seconds(question, goodput, step, best.candidates.global_batch_size)
    price = option.cost_per_gpu_hour
    return SizeTable(
        option=option,
        rates=rates,
        candidates=best.candidates,
        evaluated=best.evaluated,
        gpu_counts=counts,
        best=np.arange(counts.size),
        step_seconds=step,
        goodput=goodput,
        training_seconds=training,
        cost=None if price is None else counts * training / SECONDS_PER_HOUR * price,
        evaluated_count=best.layout_count,
    )


def goodputs(question: Question, option: HardwareOption, gpu_counts: FloatArray) -> FloatArray:
    """Share of the wall time that trains, of each size. [1]"""
    rate = training_time.interruptions_per_gpu_second(option.gpu, question.deployment)
    return training_time.availability(question.plan, question.work, gpu_counts, rate).goodput


def training_seconds(question: Question, goodput: FloatArray, step: FloatArray, batch: FloatArray) -> FloatArray:
    """Steps x step time / goodput of each size; the step time alone where no tokens are given. [s]"""
    plan = question.plan
    if plan.tokens is None:
        return step
    steps = training_time.step_counts(plan.tokens, batch * plan.sequence_length)
    return training_time.training_seconds(steps, step, goodput)


def chosen_size(question: Question, table: SizeTable) -> int | None:
    """Index of the size taken for one option, by the rule of the module; None when no size meets the target."""
    target = question.target
    allowed = np.ones(table.gpu_counts.size, dtype=bool)
    if target.deadline_seconds is not None and question.plan.tokens is not None:
        allowed &= table.training_seconds <= target.deadline_seconds
    if target.max_cost is not None and table.cost is not None:
        allowed &= table.cost <= target.max_cost
    if not np.any(allowed):
        return None
    money = table.cost if table.cost is not None else table.gpu_counts * table.training_seconds
    if question.plan.tokens is None:
        value = table.gpu_counts
    elif target.deadline_seconds is not None:
        # sizes that cost the same within what divisibility moves: the smallest of them
        within = money <= (1 + EQUAL_COST_FRACTION) * np.min(money[allowed])
        value = np.where(within, table.gpu_counts, np.inf)
    else:
        value = money * table.training_seconds
    value = np.where(allowed, value, np.inf)
    # sizes differ by what happens to divide; the smallest that is about as good is the one to take
    return int(np.flatnonzero(value <= VALUE_TOLERANCE * np.min(value))[0])


def candidate(question: Question, table: SizeTable, index: int, labels: tuple[str, ...] = ()) -> Candidate:
    option = table.option
    scenario = Scenario(
        model=question.model,
        plan=question.plan,
        cluster=ClusterSpec(
            gpu=option.gpu,
            gpu_count=int(table.gpu_counts[index]),
            gpus_per_server=option.gpus_per_server,
            fabric=option.fabric,
            deployment=question.deployment,
        ),
        layout=question.layout,
    )
    estimate = assemble(
        scenario,
        question.work,
        table.candidates,
        table.evaluated,
        int(table.best[index]),
        table.rates,
        question.calibration,
    )
    estimate = replace(estimate, evaluated_layout_count=table.evaluated_count)
    cost = None if table.cost is None else float(table.cost[index])
    return Candidate(option=option, estimate=estimate, cost=cost, labels=labels)


def _rank_key(entry: tuple[SizeTable, int]) -> tuple[bool, float, float]:
    table, index = entry
    watts = float(table.gpu_counts[index]) * table.option.gpu.tdp_watts
    return table.cost is None, watts if table.cost is None else float(table.cost[index]), watts


def search(
    *,
    model: ModelSpec,
    plan: TrainingPlan,
    target: Target,
    options: Sequence[HardwareOption],
    calibration: Calibration,
    layout: LayoutRequest | None = None,
    deployment: DeploymentProfile | None = None,
) -> SearchResult:
    """Which cluster to take.

    Parameters
    ----------
    model, plan, target : ModelSpec, TrainingPlan, Target
        The job and what must be met.
    options : sequence of HardwareOption
        Kinds of server to consider, each with its GPU, fabric and (for ranking only) price per GPU-hour.
    calibration : Calibration
    layout : LayoutRequest, optional
        Parts of the layout that are fixed.
    deployment : DeploymentProfile, optional
        Bare metal by default.

    Returns
    -------
    SearchResult
        `recommended` is None when nothing meets the target; `relaxations` then name the smallest changes.
    """
    question = Question(
        model=model,
        plan=plan,
        target=target,
        layout=layout or LayoutRequest(),
        deployment=deployment or DeploymentProfile(),
        calibration=calibration,
        work=workload(model, plan),
        pools={},
    )
    usable = [option for option in options if dense_peak(option.gpu, compute_precision(plan)) is not None]
    tables = {option.gpu.sku: size_table(question, option) for option in usable}
    met: list[tuple[SizeTable, int]] = []
    for table in tables.values():
        index = None if table is None else chosen_size(question, table)
        if table is not None and index is not None:
            met.append((table, index))
    met.sort(key=_rank_key)
    found = [table for table in tables.values() if table is not None]
    winner = met[0] if met else None
    alternatives = _alternatives(question, met)
    return SearchResult(
        requirement=requirement(question, winner),
        recommended=candidate(question, *winner, labels=_labels(met, 0)) if winner else None,
        alternatives=alternatives,
        rejected=tuple(rejections(question, options, tables, met)),
        scaling=scaling_curve(question, winner[0]) if winner else (),
        pareto=pareto_front(question, found),
        relaxations=() if winner else tuple(relaxations(question, usable, tables)),
        evaluated_layout_count=sum(table.evaluated_count for table in found),
    )


def _labels(met: list[tuple[SizeTable, int]], position: int) -> tuple[str, ...]:
    times = [float(table.training_seconds[index]) for table, index in met]
    servers = [float(table.gpu_counts[index]) / table.option.gpus_per_server for table, index in met]
    labels = ["recommended"] if position == 0 else []
    if met[position][0].cost is not None and position == 0:
        labels.append("cheapest")
    if times[position] == min(times):
        labels.append("fastest")
    if servers[position] == min(servers):
        labels.append("fewest_servers")
    return tuple(labels)


def _alternatives(question: Question, met: list[tuple[SizeTable, int]]) -> tuple[Candidate, ...]:
    return tuple(candidate(question, *met[position], labels=_labels(met, position)) for position in range(1, len(met)))


def scaling_curve(question: Question, table: SizeTable) -> tuple[ScalingPoint, ...]:
    """Training time and MFU against size for one option; the knee is marked."""
    tokens_per_step = table.candidates.global_batch_size[table.best] * question.plan.sequence_length
    rate = tokens_per_step / table.step_seconds
    per_gpu = rate / table.gpu_counts
    mfu = per_gpu * question.work.model_flops_per_token / table.rates.dense_peak_flops_per_second
    holding = np.flatnonzero(per_gpu >= KNEE_THROUGHPUT_FRACTION * np.max(per_gpu))
    knee = int(holding[-1])
    return tuple(
        ScalingPoint(
            gpu_count=int(table.gpu_counts[i]),
            training_seconds=float(table.training_seconds[i]),
            mfu=float(mfu[i]),
            tokens_per_second=float(rate[i]),
            step_seconds=float(table.step_seconds[i]),
            global_batch_size=int(table.candidates.global_batch_size[i]),
            goodput=float(table.goodput[i]),
            is_knee=i == knee,
        )
        for i in range(table.gpu_counts.size)
    )


def pareto_front(question: Question, tables: Sequence[SizeTable]) -> tuple[Candidate, ...]:
    """Sizes of priced options that no other beats in both time and cost, fastest first."""
    priced = [table for table in tables if table.cost is not None]
    if not priced or question.plan.tokens is None:
        return ()
    owner = np.concatenate([np.full(table.gpu_counts.size, i) for i, table in enumerate(priced)])
    index = np.concatenate([np.arange(table.gpu_counts.size) for table in priced])
    seconds = np.concatenate([table.training_seconds for table in priced])
    cost = np.concatenate([table.cost for table in priced if table.cost is not None])
    order = np.lexsort((cost, seconds))
    cheapest_so_far = np.minimum.accumulate(cost[order])
    is_front = cost[order] < np.concatenate([[np.inf], cheapest_so_far[:-1]])
    front = order[is_front]
    return tuple(candidate(question, priced[int(owner[i])], int(index[i])) for i in front)

"""Evaluate every admissible layout of every GPU option and cluster size at once, rank, and say why the others lost.

Rules, stated once. Of one GPU kind: with a deadline, the cheapest size that meets it (cost grows with size where
scaling is less than linear, so this is the smallest such size); without one, the size with the least product of time
and cost, which weighs a day saved like the same share of money. Between kinds: least cost, kinds without a price after
those with one, then fewer watts. Deadlines are tested against expected training time, goodput included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import FloatArray
from advisor.engine.estimate import assemble, checkpoint_stall_seconds, domain_size
from advisor.engine.evaluate import evaluate
from advisor.engine.fitting import available_bytes, model_state_bytes
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import compute_precision, dense_peak, machine
from advisor.engine.reliability import DEFAULT_RESTART, assumed_number, goodput_fraction, interruption_rate
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


def cluster_sizes(gpus_per_server: int, target: Target) -> list[int]:
    """Whole-server sizes to evaluate: every one up to 16 servers, then evenly in the logarithm, at most 64 in all."""
    if target.gpu_count is not None:
        return [target.gpu_count]
    most = min(target.max_gpu_count, LARGEST_GPU_COUNT) // gpus_per_server
    if most < 1:
        return []
    small = list(range(1, min(most, 16) + 1))
    if most <= 16:
        return [n * gpus_per_server for n in small]
    steps = np.geomspace(16, most, MAX_SIZES_PER_OPTION - len(small) + 1)[1:]
    # multiples of 4 servers divide into tensor, pipeline and data groups where odd counts do not
    servers = small + [int(min(max(round(step / 4), 1) * 4, most)) for step in steps]
    return [n * gpus_per_server for n in sorted(set(servers))]


def size_table(question: Question, option: HardwareOption) -> SizeTable | None:
    """Evaluate all layouts of one option; None when nothing fits on any size."""
    plan, gpu = question.plan, option.gpu
    domain = domain_size(gpu, option.gpus_per_server)
    sizes = cluster_sizes(option.gpus_per_server, question.target)
    floor = 0.0
    if not question.work.is_frozen and plan.offload == "none":
        floor = model_state_bytes(question.work, plan) / available_bytes(gpu, plan)
    sizes = [size for size in sizes if size >= floor]
    if not sizes:
        return None
    candidates = enumerate_layouts(question.model, plan, question.layout, sizes, domain)
    if len(candidates) == 0:
        return None
    rates = machine(gpu, option.gpus_per_server, option.fabric, plan, question.deployment, question.calibration)
    evaluated = evaluate(question.work, plan, candidates, rates, question.calibration)
    count = len(candidates)
    fits = np.flatnonzero(evaluated.memory.total_bytes <= available_bytes(gpu, plan))
    if fits.size == 0:
        return None
    gpu_counts = candidates.gpu_count[fits]
    per_sequence = (evaluated.time.step_seconds / candidates.global_batch_size)[fits]
    order = np.lexsort((per_sequence, gpu_counts))
    unique, first = np.unique(gpu_counts[order], return_index=True)
    best = fits[order[first]]
    step = evaluated.time.step_seconds[best] / (1 - question.deployment.throughput_loss_fraction)
    training = training_seconds(question, option, unique, step, candidates.global_batch_size[best])
    price = option.cost_per_gpu_hour
    return SizeTable(
        option=option,
        rates=rates,
        candidates=candidates,
        evaluated=evaluated,
        gpu_counts=unique,
        best=best,
        step_seconds=step,
        training_seconds=training,
        cost=None if price is None else unique * training / SECONDS_PER_HOUR * price,
        evaluated_count=count,
    )


def training_seconds(
    question: Question, option: HardwareOption, gpu_counts: FloatArray, step: FloatArray, batch: FloatArray
) -> FloatArray:
    """Steps x step time / goodput of each size; the step time alone where no tokens are given. [s]"""
    plan = question.plan
    if plan.tokens is None:
        return step
    rate = assumed_number(interruption_rate(option.gpu.architecture, option.gpu.name))
    rate *= question.deployment.interruption_rate_factor
    stall = np.array([checkpoint_stall_seconds(plan, question.work, count) for count in gpu_counts])
    goodput = goodput_fraction(gpu_counts, stall, assumed_number(DEFAULT_RESTART), rate)
    return np.ceil(plan.tokens / (batch * plan.sequence_length)) * step / goodput


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
        value = money
    else:
        value = money * table.training_seconds
    return int(np.argmin(np.where(allowed, value, np.inf)))


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

"""Evaluate every admissible layout of every GPU option and cluster size at once, rank, and say why the others lost.

Rules, stated once. Of one GPU kind: with a deadline, the cheapest size that meets it; without one, the size with
the least product of time and cost, which weighs a day saved like the same share of money; of sizes within 5 % of the
best the smallest. Between kinds: least cost, kinds without a price after
those with one, then fewer watts. Deadlines are tested against expected training time, goodput included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from advisor.engine import training_time
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import FloatArray
from advisor.engine.estimate import (
    assemble,
    open_recomputation,
)
from advisor.engine.fitting import available_bytes, model_state_bytes
from advisor.engine.layout_pool import BestLayouts, Kind, LayoutPool, best_layouts, joined
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import compute_precision, dense_peak, domain_size, machine
from advisor.engine.search_reasons import Question, SizeTable, rejections, relaxations, requirement
from advisor.engine.search_types import ParetoPoint, Requirement, ScalingPoint, SearchResult
from advisor.engine.specs import (
    Candidate,
    ClusterSpec,
    DeploymentProfile,
    HardwareOption,
    LayoutRequest,
    ModelSpec,
    Scenario,
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


def is_round(server_count: int) -> bool:
    """A power of two, or three times one: what splits into groups best; a part of a server (0) is not."""
    if server_count < 1:
        return False
    odd = server_count // (server_count & -server_count)
    return odd in (1, 3)


@dataclass(slots=True)
class _Asking:
    """One option on its way through the search: the sizes it may have, its rates, and what was found for it."""

    option: HardwareOption
    kind: Kind  # with every admissible size
    coarse: list[int]
    table: SizeTable | None = None
    best: BestLayouts | None = None


def size_tables(question: Question, options: Sequence[HardwareOption]) -> dict[str, SizeTable | None]:
    """Best layout of each size of each option, by GPU; None where nothing fits on any size.

    Round sizes are evaluated first, then all sizes around the one that the rule of the module takes.
    """
    asking = [item for option in options if (item := _asking(question, option)) is not None]
    for item, best in _evaluated(question, asking, [item.coarse for item in asking]):
        item.best = best
    asking = [item for item in asking if item.best is not None]
    _tabulate(question, asking)
    fine = []
    for item in asking:
        assert item.table is not None  # noqa: S101  (tabulated just now)
        chosen = chosen_size(question, item.table)
        if chosen is None:  # a size that meets the target, if there is one, stands beside the fastest
            chosen = int(np.argmin(item.table.training_seconds))
        fine.append(_around(list(item.kind.sizes), item.coarse, int(item.table.gpu_counts[chosen])))
    finer = []
    for item, best in _evaluated(question, asking, fine):
        if best is not None and item.best is not None:
            item.best = joined(item.best, best)
            finer.append(item)
    _tabulate(question, finer)
    tables: dict[str, SizeTable | None] = {option.gpu.sku: None for option in options}
    return tables | {item.option.gpu.sku: item.table for item in asking}


def _asking(question: Question, option: HardwareOption) -> _Asking | None:
    """The option with its admissible sizes; None where no size can hold the model's states."""
    grid = cluster_sizes(option.gpus_per_server, question.target)
    floor, budget = 0.0, available_bytes(option.gpu, question.plan)
    if budget <= 0:
        return None
    if not question.work.is_frozen and question.plan.offload == "none":
        floor = model_state_bytes(question.work, question.plan) / budget
    sizes = [size for size in grid if size >= floor]
    if not sizes:
        return None
    rates = machine(
        option.gpu, option.gpus_per_server, option.fabric, question.plan, question.deployment, question.calibration
    )
    kind = Kind(rates=rates, budget_bytes=budget, sizes=tuple(sizes))
    # round sizes split into groups where others do not, and kinds that ask the same sizes share their memory
    coarse = sorted({*(size for size in sizes if is_round(size // option.gpus_per_server)), sizes[0], sizes[-1]})
    return _Asking(option=option, kind=kind, coarse=coarse)


def _evaluated(
    question: Question, asking: Sequence[_Asking], sizes: Sequence[list[int]]
) -> Iterator[tuple[_Asking, BestLayouts | None]]:
    """Best layouts of the sizes that each option asks for; options with the same scale-up domain share a pool."""
    request, has_open_share = open_recomputation(question.layout)
    groups: dict[int, list[tuple[_Asking, Kind]]] = {}
    for item, own in zip(asking, sizes, strict=True):
        if own:
            domain = domain_size(item.option.gpu, item.option.gpus_per_server)
            groups.setdefault(domain, []).append((item, replace(item.kind, sizes=tuple(own))))
    for domain, members in groups.items():
        wanted = sorted({size for _item, kind in members for size in kind.sizes})
        candidates = enumerate_layouts(question.model, question.plan, request, wanted, domain)
        pool = LayoutPool(question.work, question.plan, candidates, question.calibration, tries_shares=has_open_share)
        found = best_layouts(pool, [kind for _item, kind in members])
        yield from zip((item for item, _kind in members), found, strict=True)


def _around(sizes: list[int], coarse: list[int], chosen: int) -> list[int]:
    """Admissible sizes between the coarse neighbours of the chosen one."""
    at = coarse.index(chosen)
    low = coarse[at - 1] if at > 0 else 0
    high = coarse[at + 1] if at + 1 < len(coarse) else coarse[-1]
    return [size for size in sizes if low < size < high and size not in coarse]


def _tabulate(question: Question, asking: Sequence[_Asking]) -> None:
    """Training time and cost of the best layouts of each option; what depends on the size is computed at once."""
    found = [(item, item.best) for item in asking if item.best is not None]
    if not found:
        return
    lengths = [len(best.candidates) for _item, best in found]
    counts = np.concatenate([best.candidates.gpu_count for _item, best in found])
    rates = [training_time.interruptions_per_gpu_second(item.option.gpu, question.deployment) for item, _best in found]
    goodput = training_time.availability(question.plan, question.work, counts, np.repeat(rates, lengths)).goodput
    step = np.concatenate([best.evaluated.time.step_seconds for _item, best in found])
    loss = question.deployment.throughput_loss_fraction
    slower = [float(training_time.slowdown(loss, item.option.pilot)) for item, _best in found]
    step = step * np.repeat(slower, lengths)
    batch = np.concatenate([best.candidates.global_batch_size for _item, best in found])
    training = training_seconds(question, goodput, step, batch)
    ends = np.cumsum(lengths)
    for (item, best), end, length in zip(found, ends, lengths, strict=True):
        own = slice(end - length, end)
        price = item.option.cost_per_gpu_hour
        item.table = SizeTable(
            option=item.option,
            rates=item.kind.rates,
            candidates=best.candidates,
            evaluated=best.evaluated,
            gpu_counts=counts[own],
            best=np.arange(length),
            step_seconds=step[own],
            goodput=goodput[own],
            training_seconds=training[own],
            cost=None if price is None else counts[own] * training[own] / SECONDS_PER_HOUR * price,
            evaluated_count=best.layout_count,
        )


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
            pilot=option.pilot,
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
    tables = size_tables(question, usable)
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
        view_of={entry[0].option.gpu.sku: partial(_view, question, entry) for entry in met},
    )


def _view(question: Question, entry: tuple[SizeTable, int]) -> tuple[Requirement, tuple[ScalingPoint, ...]]:
    """Requirement and scaling curve with this option leading."""
    return requirement(question, entry), scaling_curve(question, entry[0])


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


def pareto_front(question: Question, tables: Sequence[SizeTable]) -> tuple[ParetoPoint, ...]:
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
    return tuple(
        ParetoPoint(
            option=priced[int(owner[i])].option,
            gpu_count=int(priced[int(owner[i])].gpu_counts[int(index[i])]),
            training_seconds=float(seconds[i]),
            cost=float(cost[i]),
        )
        for i in front
    )

"""Many scenarios of one job and one kind of GPU, evaluated in a single pass of the engine's arrays.

The formulas of memory and step time are element-wise, so that a field of the job or of the rates may be an array with
one value for each row as well as a number. A stack puts scenarios side by side that differ in such fields (layers,
sequence length, achieved rates) and tries in each the layouts near a given one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from advisor.engine import training_time
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray
from advisor.engine.fitting import available_bytes
from advisor.engine.layouts import BATCH_TOLERANCE_FRACTION, MAX_TENSOR_PARALLEL, PARTIAL_FRACTIONS, micro_batch_count
from advisor.engine.machine import Machine, domain_size
from advisor.engine.memory import least_total_bytes, memory_per_gpu
from advisor.engine.specs import RECOMPUTATION_CODES, Estimate, Layout, ModelSpec, Pilot, Recomputation, TrainingPlan
from advisor.engine.timing import step_time
from advisor.engine.workload import Workload

Record = TypeVar("Record")
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One scenario of a stack. All cases of a stack share the GPU, the method, the recipe and the kind of model."""

    model: ModelSpec
    plan: TrainingPlan
    work: Workload
    rates: Machine
    gpu_count: int
    interruptions_per_gpu_second: float
    throughput_loss_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTimes:
    """Of each case, shape (cases,): NaN where no layout near the given one is admissible and fits."""

    step_seconds: FloatArray
    global_batch_size: FloatArray
    goodput: FloatArray
    training_seconds: FloatArray


def stacked(records: Sequence[Record], owner: IntArray) -> Record:
    """One record whose differing fields are arrays: row i holds the value of `records[owner[i]]`.

    What is the same in all stays a number, so that branches on the kind of job keep working.

    Raises
    ------
    ValueError
        If a flag or a text differs: such jobs take different branches and cannot share a pass.
    """
    first = records[0]
    values: dict[str, Any] = {}
    for item in fields(first):  # type: ignore[arg-type]  # every record here is a dataclass
        own = [getattr(record, item.name) for record in records]
        head = own[0]
        if is_dataclass(head):
            values[item.name] = stacked(own, owner)
        elif all(value == head for value in own):
            values[item.name] = head
        elif isinstance(head, (int, float)) and not isinstance(head, bool):
            values[item.name] = np.array(own, dtype=np.float64)[owner]
        else:
            raise ValueError(f"{item.name} differs between the scenarios of a stack.")
    return type(first)(**values)


def rows_of(record: Record, owner: IntArray) -> Record:
    """The record with row `owner[i]` of each of its arrays as row i; numbers stay."""
    values: dict[str, Any] = {}
    for item in fields(record):  # type: ignore[arg-type]
        own = getattr(record, item.name)
        if is_dataclass(own):
            own = rows_of(own, owner)
        values[item.name] = own[owner] if isinstance(own, np.ndarray) else own
    return type(record)(**values)


def evaluate_cases(estimate: Estimate, cases: Sequence[Case], calibration: Calibration) -> CaseTimes:
    """Step and training time of each case: the fastest that fits of the layouts near the estimate's own.

    The first case is the estimate itself and keeps its layout; the others may also recompute more layers, halve or
    double the micro-batch, and split tensors, stages or sequences once more, as far as the estimate's request left
    that open.
    """
    near = layouts_near(estimate)
    owner = np.repeat(np.arange(len(cases)), len(near))
    cand, is_admissible = _placed(estimate, near.take(np.tile(np.arange(len(near)), len(cases))), cases, owner)
    is_admissible &= owner > 0
    is_admissible[0] = True
    rows = np.flatnonzero(is_admissible)
    cand, owner = cand.take(rows), owner[rows]
    work = stacked([case.work for case in cases], owner)
    rates = stacked([case.rates for case in cases], owner)
    plan = estimate.scenario.plan
    budget = available_bytes(estimate.scenario.cluster.gpu, plan)
    memory = memory_per_gpu(work, plan, cand, calibration)
    fits = least_total_bytes(memory) <= budget
    fits[0] = True  # the estimate's own answer stands, whether it fits or not
    step = step_time(work, plan, cand, rates, memory, calibration).step_seconds
    batch = cand.global_batch_size
    order = np.lexsort((np.where(fits, step / batch, np.inf), owner))
    found, first = np.unique(owner[order], return_index=True)
    best = order[first]
    best, found = best[fits[best]], found[fits[best]]
    return _times(cases, found, step[best], batch[best], estimate.scenario.cluster.pilot)


def _times(
    cases: Sequence[Case], found: IntArray, step: FloatArray, batch: FloatArray, pilot: Pilot | None
) -> CaseTimes:
    chosen = [cases[index] for index in found]
    loss = np.array([case.throughput_loss_fraction for case in chosen])
    counts = np.array([float(case.gpu_count) for case in chosen])
    rate = np.array([case.interruptions_per_gpu_second for case in chosen])
    length = np.array([float(case.plan.sequence_length) for case in chosen])
    tokens = np.array([np.nan if case.plan.tokens is None else case.plan.tokens for case in chosen])
    work = stacked([case.work for case in chosen], np.arange(len(chosen)))
    goodput = training_time.availability(chosen[0].plan, work, counts, rate).goodput
    step = step * training_time.slowdown(loss, pilot)
    seconds = training_time.training_seconds(training_time.step_counts(tokens, batch * length), step, goodput)

    def spread(values: FloatArray) -> FloatArray:
        whole = np.full(len(cases), np.nan)
        whole[found] = np.broadcast_to(values, found.shape)
        return whole

    return CaseTimes(
        step_seconds=spread(step),
        global_batch_size=spread(batch),
        goodput=spread(goodput),
        training_seconds=spread(seconds),
    )


def layouts_near(estimate: Estimate) -> Candidates:
    """The estimate's layout first, then its neighbours; group sizes that the request states stay as they are."""
    own, request = estimate.layout, estimate.scenario.layout
    groups = [own]
    if request.virtual_stage_count is None and own.virtual_stage_count > 1:
        groups.append(replace(own, virtual_stage_count=1))
    plain = groups[-1]
    if request.tensor_parallel is None and _splits_tensors(estimate, 2 * own.tensor_parallel):
        splits_sequence = request.uses_sequence_parallel is not False
        groups.append(replace(own, tensor_parallel=2 * own.tensor_parallel, uses_sequence_parallel=splits_sequence))
    if request.pipeline_parallel is None and request.virtual_stage_count is None and own.zero_stage < 3:
        groups.append(replace(plain, pipeline_parallel=2 * own.pipeline_parallel))
    if request.context_parallel is None:
        groups.append(replace(own, context_parallel=2 * own.context_parallel))
    sizes = [own.micro_batch_size]
    if request.micro_batch_size is None:
        sizes += [2 * own.micro_batch_size, *([own.micro_batch_size // 2] if own.micro_batch_size > 1 else [])]
    shares = [(own.recomputation, own.recomputed_layer_fraction)]
    if request.recomputation is None:
        other = [(Recomputation.NONE, 1.0), *((Recomputation.FULL, share) for share in (*PARTIAL_FRACTIONS, 1.0))]
        shares += [choice for choice in other if choice != shares[0]]
    layouts = [
        replace(group, micro_batch_size=size, recomputation=kind, recomputed_layer_fraction=share)
        for group in groups
        for size in sizes
        for kind, share in shares
    ]
    return _as_arrays(layouts)


def _splits_tensors(estimate: Estimate, tensor_parallel: int) -> bool:
    model, cluster = estimate.scenario.model, estimate.scenario.cluster
    domain = domain_size(cluster.gpu, cluster.gpus_per_server)
    return (
        tensor_parallel <= min(domain, MAX_TENSOR_PARALLEL)
        and model.head_count % tensor_parallel == 0
        and model.ffn_size % tensor_parallel == 0
    )


def _as_arrays(layouts: Sequence[Layout]) -> Candidates:
    def column(name: str) -> FloatArray:
        return np.array([getattr(layout, name) for layout in layouts], dtype=np.float64)

    tensor = column("tensor_parallel")
    expert = column("expert_parallel")
    is_full = np.array([layout.recomputation is Recomputation.FULL for layout in layouts])
    return Candidates(
        tensor_parallel=tensor,
        pipeline_parallel=column("pipeline_parallel"),
        context_parallel=column("context_parallel"),
        expert_parallel=expert,
        expert_tensor_parallel=np.where(expert > 1, column("expert_tensor_parallel"), tensor),
        data_parallel=column("data_parallel"),
        virtual_stage_count=column("virtual_stage_count"),
        micro_batch_size=column("micro_batch_size"),
        micro_batch_count=np.ones_like(tensor),
        zero_stage=column("zero_stage"),
        recomputation=np.array([RECOMPUTATION_CODES[layout.recomputation] for layout in layouts], dtype=np.float64),
        recomputed_fraction=np.where(is_full, column("recomputed_layer_fraction"), 0.0),
        uses_sequence_parallel=np.where(tensor > 1, column("uses_sequence_parallel"), 0.0),
        shard_group_size=np.ones_like(tensor),
    )


def _placed(
    estimate: Estimate, cand: Candidates, cases: Sequence[Case], owner: IntArray
) -> tuple[Candidates, NDArray[np.bool_]]:
    """The layouts on each case's GPUs with its batch, and which of them are admissible there."""
    request, stated_shard = estimate.scenario.layout, estimate.layout.shard_group_size
    counts = np.array([float(case.gpu_count) for case in cases])[owner]
    batch = np.array([float(case.plan.global_batch_size) for case in cases])[owner]
    layers = np.array([float(case.model.layer_count) for case in cases])[owner]
    t, p, c, v = cand.tensor_parallel, cand.pipeline_parallel, cand.context_parallel, cand.virtual_stage_count
    n = counts / (t * p * c)
    fits = (n >= 1) & (n == np.floor(n))
    n = np.maximum(np.floor(n), 1.0)
    b = cand.micro_batch_size
    m = micro_batch_count(batch, n, b)
    if request.micro_batch_size is None:
        fits &= np.abs(n * b * m - batch) <= BATCH_TOLERANCE_FRACTION * batch
    fits &= p * (1 if request.virtual_stage_count else v) <= layers
    fits &= (v == 1) | (p == 1) | (np.mod(m, p) == 0)
    ranks = t * c * n
    fits &= np.mod(ranks, cand.expert_parallel * cand.expert_tensor_parallel) == 0
    shard = n * c
    if stated_shard is not None:
        shard = np.minimum(shard, stated_shard)
        fits &= np.mod(n * c, shard) == 0
    placed = replace(cand, data_parallel=n, micro_batch_count=m, shard_group_size=shard)
    return placed, fits

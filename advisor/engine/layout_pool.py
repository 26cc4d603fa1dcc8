"""The fastest layout that fits of each cluster size, for several kinds of GPU at once, without evaluating every layout.

What a layout needs does not depend on the GPU, only whether it fits does: kinds with the same scale-up domain share a
pool, whose memory is computed once, for the layouts that come into question. Which do is told by two floors that many
layouts have in common. Of the step time: compute and communication of all layers spread evenly over the stages, and the
bubble, without what waits for data-parallel groups, uneven stages, transfers and the optimizer. Of the memory: the same
groups with micro-batches of one sequence, a single one in flight and no interleaving. A layout whose floors are above
the best time found, or above the GPU's memory, is never evaluated. Tests hold the result equal to the exhaustive one,
and each floor below what it stands for.

Step time grows with the share of recomputed layers, so of each layout only the smallest share that fits can be the
fastest; trying the shares in order gives the same best layout as crossing them with everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray, concatenate
from advisor.engine.evaluate import BLOCK_SIZE, Evaluated, join_times, take_fields
from advisor.engine.layouts import PARTIAL_FRACTIONS
from advisor.engine.machine import Machine
from advisor.engine.memory import MemoryArrays, least_total_bytes, memory_per_gpu
from advisor.engine.scenario_stack import stacked
from advisor.engine.specs import RECOMPUTATION_CODES, Recomputation, TrainingPlan
from advisor.engine.timing import TimeArrays, step_time
from advisor.engine.workload import Workload

IntArray = NDArray[np.int64]
# layouts of each size and kind that are evaluated before the floors of the others are compared with their best time
FIRST_COUNT = 16
SECOND_COUNT = 128
# rounding of the floor's own sum; and start-up times of context groups, which the floor counts and full sharding hides
ROUNDING = 1 - 1e-9
CONTEXT_SLACK = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of GPU that asks a pool: its rates, what a job may use of its memory, and the sizes that it asks for."""

    rates: Machine
    budget_bytes: float
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLayouts:
    """Of one kind: the fastest fitting layout of each size that has one, by size, and how many were in question."""

    candidates: Candidates
    evaluated: Evaluated
    layout_count: int


@dataclass(frozen=True, slots=True)
class _Tried:
    """Layouts that fit and were timed: for which kind and size, which row of the pool, at which recomputed share."""

    place: IntArray  # kinds and the sizes that each asks for, counted through
    row: IntArray
    share: IntArray
    per_sequence: FloatArray
    time: TimeArrays


class LayoutPool:
    """Layouts of one job on some cluster sizes, with what is known of their memory so far."""

    def __init__(
        self, work: Workload, plan: TrainingPlan, cand: Candidates, calibration: Calibration, *, tries_shares: bool
    ) -> None:
        counts = cand.gpu_count
        if np.any(np.diff(counts) < 0):
            cand = cand.take(np.argsort(counts, kind="stable"))
        self.work, self.plan, self.candidates, self.calibration = work, plan, cand, calibration
        self.gpu_counts = cand.gpu_count
        self.shares = (0.0, *PARTIAL_FRACTIONS, 1.0) if tries_shares else (0.0,)
        unknown = np.full(len(cand), np.nan)
        self._least = [unknown.copy() for _share in self.shares]
        self._held, self._held_experts = unknown.copy(), unknown.copy()

    def rows_of(self, size: int) -> slice:
        return slice(
            int(np.searchsorted(self.gpu_counts, size, side="left")),
            int(np.searchsorted(self.gpu_counts, size, side="right")),
        )

    def with_shares(self, rows: IntArray, shares: IntArray) -> Candidates:
        """The layouts of these rows, each recomputing its share of the layers."""
        return _recomputing(self.candidates.take(rows), np.array(self.shares)[shares])

    def smallest_shares(
        self, rows: IntArray, budgets: FloatArray, least: FloatArray, more: FloatArray, best: FloatArray
    ) -> IntArray:
        """Place of the smallest share with which each row fits its budget; -1 where none does, or none in time.

        `least` and `more` are the row's floor of time and what all recomputation adds, `best` is the time to beat.
        """
        found = np.full(rows.size, -1)
        last = len(self.shares) - 1
        found[self._least_bytes(rows, 0) <= budgets] = 0
        waiting = np.flatnonzero(found < 0)
        for share in range(1, last + 1):
            waiting = waiting[least[waiting] + self.shares[share] * more[waiting] <= best[waiting]]
            if share == 1:  # what does not fit with everything recomputed never fits
                waiting = waiting[self._least_bytes(rows[waiting], last) <= budgets[waiting]]
            fits = self._least_bytes(rows[waiting], share) <= budgets[waiting]
            found[waiting[fits]] = share
            waiting = waiting[~fits]
        return found

    def _least_bytes(self, rows: IntArray, share: int) -> FloatArray:
        known = self._least[share]
        if rows.size and np.any(np.isnan(known[rows])):
            # small pools are evaluated whole: a call costs as much as a block of rows
            missing = np.isnan(known)
            if len(self.candidates) > BLOCK_SIZE:
                asked = np.zeros_like(missing)
                asked[rows] = True
                missing &= asked
            self._evaluate_memory(np.flatnonzero(missing), share)
        return known[rows]

    def _evaluate_memory(self, rows: IntArray, share: int) -> None:
        for start in range(0, rows.size, BLOCK_SIZE):
            part = rows[start : start + BLOCK_SIZE]
            cand = self.with_shares(part, np.full(part.size, share))
            memory = memory_per_gpu(self.work, self.plan, cand, self.calibration)
            self._least[share][part] = least_total_bytes(memory)
            self._held[part] = memory.stage_parameters
            self._held_experts[part] = memory.stage_expert_parameters

    def memory_floors(self) -> tuple[FloatArray, FloatArray]:
        """Least device memory that each row can need with nothing recomputed, and at any share recomputed. [B]"""
        cand = self.candidates
        place, first = _alike(
            (cand.tensor_parallel, cand.pipeline_parallel, cand.context_parallel, self.gpu_counts),
            (cand.expert_parallel, cand.expert_tensor_parallel, cand.zero_stage, cand.uses_sequence_parallel),
        )
        one = np.ones(first.size)
        alike = replace(cand.take(first), micro_batch_size=one, micro_batch_count=one, virtual_stage_count=one)
        least = []
        for share in (self.shares[0], self.shares[-1]):
            some = _recomputing(alike, np.full(first.size, share))
            least.append(least_total_bytes(memory_per_gpu(self.work, self.plan, some, self.calibration)))
        return least[0][place], np.min(least, axis=0)[place]

    def time_floors(self, kinds: Sequence[Kind]) -> list[tuple[FloatArray, FloatArray]]:
        """For each kind a lower bound of every row's step time per sequence, and what all recomputation adds. [s]"""
        cand = self.candidates
        place, first = _alike(
            (cand.tensor_parallel, cand.context_parallel, cand.micro_batch_size),
            (cand.expert_parallel, cand.expert_tensor_parallel, cand.uses_sequence_parallel, cand.recomputation),
        )
        one = np.ones(first.size)
        alike = cand.take(first)
        alike = replace(
            alike,
            pipeline_parallel=one,
            data_parallel=one,
            virtual_stage_count=one,
            micro_batch_count=one,
            zero_stage=one,
            shard_group_size=alike.context_parallel,
        )
        fixed = self.calibration.step_overhead_seconds + self.calibration.micro_batch_overhead_seconds
        owner = np.repeat(np.arange(len(kinds)), first.size)
        nothing = np.zeros(owner.size)
        wholes = []
        for share in (0.0, self.shares[-1]):
            many = _recomputing(alike, np.full(first.size, share)).take(np.tile(np.arange(first.size), len(kinds)))
            step = self.step_seconds(many, kinds, owner, nothing, nothing).step_seconds
            slack = np.where(many.context_parallel > 1, CONTEXT_SLACK, ROUNDING)
            wholes.append((np.maximum(step - fixed, 0.0) * slack).reshape(len(kinds), first.size))
        p, v, m = cand.pipeline_parallel, cand.virtual_stage_count, cand.micro_batch_count
        passes = (m + self.calibration.bubble_factor * (p - 1) / v) / (p * cand.global_batch_size)
        doublings = np.log2(np.maximum(self.gpu_counts / kinds[0].rates.domain_size, 1.0))  # one domain in a pool
        passes = passes * (1 + self.calibration.straggler_fraction_per_doubling * doublings)
        return [(passes * least[place], passes * (most - least)[place]) for least, most in zip(*wholes, strict=True)]

    def step_seconds(
        self, cand: Candidates, kinds: Sequence[Kind], owner: IntArray, held: FloatArray, held_experts: FloatArray
    ) -> TimeArrays:
        """Step time of rows of several kinds side by side."""
        parts = []
        for start in range(0, max(owner.size, 1), BLOCK_SIZE):
            part = slice(start, start + BLOCK_SIZE)
            rates = stacked([kind.rates for kind in kinds], owner[part])
            memory = _held_memory(held[part], held_experts[part])
            parts.append(step_time(self.work, self.plan, cand.take(part), rates, memory, self.calibration))
        return join_times(parts)

    def timed(self, kinds: Sequence[Kind], owner: IntArray, rows: IntArray, shares: IntArray) -> TimeArrays:
        """Step time of rows of several kinds at their shares, whose memory is known."""
        return self.step_seconds(
            self.with_shares(rows, shares), kinds, owner, self._held[rows], self._held_experts[rows]
        )


def _recomputing(cand: Candidates, share: FloatArray) -> Candidates:
    """The layouts with that share of their layers recomputed; 0: as they are."""
    code = float(RECOMPUTATION_CODES[Recomputation.FULL])
    return replace(
        cand,
        recomputation=np.where(share > 0, code, cand.recomputation),
        recomputed_fraction=np.where(share > 0, share, cand.recomputed_fraction),
    )


def _alike(*groups: tuple[FloatArray, ...]) -> tuple[IntArray, IntArray]:
    """Rows that agree in all columns: the number of each row's group, and the first row of each group."""
    codes = np.zeros(groups[0][0].size, dtype=np.int64)
    for columns in groups:
        for column in columns:
            codes = codes * (int(np.max(column, initial=0.0)) + 1) + column.astype(np.int64)
        # numbered anew, so that the next columns have room below 2**63
        _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return codes, first


def _held_memory(held: FloatArray, held_experts: FloatArray) -> MemoryArrays:
    """What step time takes of the memory: parameters of the fullest stage. The rest is unknown."""
    unknown = np.full_like(held, np.nan)
    return MemoryArrays(
        weight_bytes=unknown,
        gradient_bytes=unknown,
        optimizer_bytes=unknown,
        activation_bytes=unknown,
        logits_bytes=unknown,
        buffer_bytes=unknown,
        allocated_bytes=unknown,
        reserved_bytes=unknown,
        overhead_bytes=unknown,
        total_bytes=unknown,
        pipeline_stage=unknown,
        stage_parameters=held,
        stage_expert_parameters=held_experts,
    )


def best_layouts(pool: LayoutPool, kinds: Sequence[Kind]) -> list[BestLayouts | None]:
    """The fastest fitting layout of each size, for each kind; None for a kind of which nothing fits on any size."""
    if len(pool.candidates) == 0:
        return [None for _kind in kinds]
    asked = [(at, size) for at, kind in enumerate(kinds) for size in kind.sizes]
    owner_of = np.array([at for at, _size in asked], dtype=np.int64)
    budgets = np.array([kind.budget_bytes for kind in kinds])
    whole_memory, least_memory = pool.memory_floors()
    if np.min(least_memory) > np.max(budgets, initial=0.0):
        return [None for _kind in kinds]
    times = pool.time_floors(kinds)
    # where nothing recomputed does not fit, the smallest share is
    floors = [
        np.where(
            least_memory > budget,
            np.inf,
            least + np.where(whole_memory > budget, pool.shares[min(1, len(pool.shares) - 1)], 0.0) * more,
        )
        for budget, (least, more) in zip(budgets, times, strict=True)
    ]
    waiting = [np.arange(rows.start, rows.stop) for rows in (pool.rows_of(size) for _at, size in asked)]
    best = np.full(len(asked), np.inf)
    tried: list[_Tried] = []
    for count in (FIRST_COUNT, SECOND_COUNT, None):
        chosen: list[IntArray] = []
        for turn, kind in enumerate(owner_of):
            floor = floors[kind][waiting[turn]]
            hopeful = (floor <= best[turn]) & (floor < np.inf)
            rows, floor = waiting[turn][hopeful], floor[hopeful]
            taken = rows.size if count is None else min(count, rows.size)
            order = np.argpartition(floor, taken - 1) if taken < rows.size else np.arange(rows.size)
            chosen.append(rows[order[:taken]])
            waiting[turn] = rows[order[taken:]]
        place = np.repeat(np.arange(len(asked)), [rows.size for rows in chosen])
        if place.size == 0:
            break
        rows, owner = np.concatenate(chosen), owner_of[place]
        least, more = (np.stack([floor[part] for floor in times])[owner, rows] for part in (0, 1))
        shares = pool.smallest_shares(rows, budgets[owner], least, more, best[place])
        kept = shares >= 0
        place, rows, shares, owner = place[kept], rows[kept], shares[kept], owner[kept]
        time = pool.timed(kinds, owner, rows, shares)
        per_sequence = time.step_seconds / pool.candidates.global_batch_size[rows]
        np.minimum.at(best, place, per_sequence)
        tried.append(_Tried(place, rows, shares, per_sequence, time))
    return _winners(pool, kinds, owner_of, tried)


def _winners(
    pool: LayoutPool, kinds: Sequence[Kind], owner_of: IntArray, tried: list[_Tried]
) -> list[BestLayouts | None]:
    """The fastest of each kind and size, its memory with the allocator under that kind's budget."""
    if not any(found.row.size for found in tried):
        return [None for _kind in kinds]
    place, row, share = (
        np.concatenate([getattr(found, name) for found in tried]) for name in ("place", "row", "share")
    )
    per_sequence = np.concatenate([found.per_sequence for found in tried])
    order = np.lexsort((row, per_sequence, place))
    _, first = np.unique(place[order], return_index=True)
    won = order[first]  # by kind, then by size
    kind, cand = owner_of[place[won]], pool.with_shares(row[won], share[won])
    time = take_fields(join_times([found.time for found in tried]), won)
    budgets = np.array([item.budget_bytes for item in kinds])[kind]
    memory = memory_per_gpu(pool.work, pool.plan, cand, pool.calibration, budgets)
    results: list[BestLayouts | None] = []
    for at, item in enumerate(kinds):
        own = np.flatnonzero(kind == at)
        in_question = sum(_length(pool.rows_of(size)) for size in item.sizes) * len(pool.shares)
        evaluated = Evaluated(take_fields(memory, own), take_fields(time, own))
        best = BestLayouts(candidates=cand.take(own), evaluated=evaluated, layout_count=in_question)
        results.append(best if own.size else None)
    return results


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)


def joined(first: BestLayouts, second: BestLayouts) -> BestLayouts:
    """Both sets of sizes as one, by size."""
    candidates = concatenate([first.candidates, second.candidates])
    order = np.argsort(candidates.gpu_count, kind="stable")
    evaluated = first.evaluated.joined_with(second.evaluated)
    return BestLayouts(
        candidates=candidates.take(order),
        evaluated=evaluated.take(order),
        layout_count=first.layout_count + second.layout_count,
    )

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
from advisor.engine.memory import NeededMemory, memory_per_gpu, needed_memory
from advisor.engine.operations import LayerCosts, layer_costs
from advisor.engine.scenario_stack import rows_of, stacked
from advisor.engine.specs import RECOMPUTATION_CODES, Recomputation, TrainingPlan
from advisor.engine.timing import TimeArrays, step_time
from advisor.engine.workload import Workload

IntArray = NDArray[np.int64]
# layouts of each size and kind that are evaluated before the floors of the others are compared with their best time
ROUNDS: tuple[int | None, ...] = (16, 128, None)
# rounding of the floor's own sum; and start-up times of context groups, which the floor counts and full sharding hides
ROUNDING = 1 - 1e-9
CONTEXT_SLACK = 0.99


LARGEST_TABLE = 2**22  # values above are numbered by sorting
SMALL_TABLE = 2**12  # values below are cheap to number, and need not be before they are combined
SMALL_POOL = 2_048  # layouts times kinds that are all evaluated


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
class Rates:
    """Rates of several kinds side by side, and what a layer costs on each."""

    machine: Machine
    costs: LayerCosts


@dataclass(frozen=True, slots=True)
class _Tried:
    """Layouts that fit and were timed: for which kind and size, which row of the pool, at which recomputed share."""

    place: IntArray  # kinds and the sizes that each asks for, counted through
    row: IntArray
    share: IntArray
    per_sequence: FloatArray


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
        # by place of the share and row; NaN where not evaluated yet
        self._least = np.full((len(self.shares), len(cand)), np.nan)
        self._held, self._held_experts = np.zeros(len(cand)), np.zeros(len(cand))

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
        found[self._least_bytes(rows, slice(0, 1))[0] <= budgets] = 0
        if len(self.shares) == 1:
            return found
        waiting = np.flatnonzero((found < 0) & (least + self.shares[1] * more <= best))
        fits = self._least_bytes(rows[waiting], slice(1, None)) <= budgets[waiting]
        share = np.argmax(fits, axis=0) + 1
        in_time = least[waiting] + np.array(self.shares)[share] * more[waiting] <= best[waiting]
        found[waiting] = np.where(np.any(fits, axis=0) & in_time, share, -1)
        return found

    def _least_bytes(self, rows: IntArray, shares: slice) -> FloatArray:
        """Least device memory at some places of `shares`, evaluated where it is not known; shape (places, rows)."""
        known = self._least[shares]
        missing = np.isnan(known[0])
        if rows.size and np.any(missing[rows]):
            # small pools are evaluated whole: a call costs as much as a block of rows
            if len(self.candidates) > BLOCK_SIZE // known.shape[0]:
                asked = np.zeros_like(missing)
                asked[rows] = True
                missing &= asked
            self._evaluate_memory(np.flatnonzero(missing), shares)
        return known[:, rows]

    def _evaluate_memory(self, rows: IntArray, shares: slice) -> None:
        values = np.array(self.shares)[shares]
        size = BLOCK_SIZE // values.size
        for start in range(0, rows.size, size):
            part = rows[start : start + size]
            cand = self.candidates.take(part)
            if shares.start > 0:
                # of what is recomputed only the share differs: an axis of its own, so that the rest is computed once
                code = np.array([[float(RECOMPUTATION_CODES[Recomputation.FULL])]])
                cand = replace(cand, recomputation=code, recomputed_fraction=values[:, np.newaxis])
            memory = needed_memory(self.work, self.plan, cand, self.calibration)
            self._least[shares, part] = memory.total_bytes
            self._held[part] = memory.stage_parameters
            self._held_experts[part] = memory.stage_expert_parameters

    def memory_floors(self) -> tuple[FloatArray, FloatArray]:
        """Least device memory that each row can need with nothing recomputed, and at any share recomputed. [B]"""
        cand = self.candidates
        place, first = _alike(
            self.gpu_counts,
            cand.tensor_parallel,
            cand.pipeline_parallel,
            cand.context_parallel,
            cand.expert_parallel,
            cand.expert_tensor_parallel,
            cand.zero_stage,
            cand.uses_sequence_parallel,
            cand.recomputation,
        )
        one = np.ones(first.size)
        alike = replace(cand.take(first), micro_batch_size=one, micro_batch_count=one, virtual_stage_count=one)
        least = []
        for share in (self.shares[0], self.shares[-1]):
            some = _recomputing(alike, np.full(first.size, share))
            least.append(needed_memory(self.work, self.plan, some, self.calibration).total_bytes)
        return least[0][place], np.min(least, axis=0)[place]

    def time_floors(self, kinds: Sequence[Kind]) -> list[tuple[FloatArray, FloatArray]]:
        """For each kind a lower bound of every row's step time per sequence, and what all recomputation adds. [s]"""
        passes, place, least, more = self.pass_floors(kinds, np.arange(len(self.candidates)))
        return [(passes * least[at][place], passes * more[at][place]) for at in range(len(kinds))]

    def pass_floors(self, kinds: Sequence[Kind], rows: IntArray) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
        """Factor and group of each row; for each kind and group the floor of one pass, and what recomputation adds."""
        cand = self.candidates.take(rows)
        place, first = _alike(
            cand.tensor_parallel,
            cand.context_parallel,
            cand.micro_batch_size,
            cand.expert_parallel,
            cand.expert_tensor_parallel,
            cand.uses_sequence_parallel,
            cand.recomputation,
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
        machines = stacked([kind.rates for kind in kinds], np.arange(len(kinds))[:, np.newaxis])
        size = max(BLOCK_SIZE // len(kinds), 1)
        parts = []
        for start in range(0, first.size, size):
            block = alike.take(slice(start, start + size))
            nothing = np.zeros(len(block))
            held = NeededMemory(nothing, nothing, nothing)
            wholes = []
            for share in (0.0, self.shares[-1]):
                some = _recomputing(block, np.full(nothing.size, share))
                step = step_time(self.work, self.plan, some, machines, held, self.calibration).step_seconds
                slack = np.where(some.context_parallel > 1, CONTEXT_SLACK, ROUNDING)
                wholes.append(np.broadcast_to(np.maximum(step - fixed, 0.0) * slack, (len(kinds), nothing.size)))
            parts.append((wholes[0], wholes[1] - wholes[0]))
        least, more = (np.concatenate(wholes, axis=1) for wholes in zip(*parts, strict=True))
        p, v, m = cand.pipeline_parallel, cand.virtual_stage_count, cand.micro_batch_count
        passes = (m + self.calibration.bubble_factor * (p - 1) / v) / (p * cand.global_batch_size)
        doublings = np.log2(np.maximum(self.gpu_counts[rows] / kinds[0].rates.domain_size, 1.0))  # one domain in a pool
        passes = passes * (1 + self.calibration.straggler_fraction_per_doubling * doublings)
        return passes, place, least, more

    def rates(self, kinds: Sequence[Kind]) -> Rates:
        machines = stacked([kind.rates for kind in kinds], np.arange(len(kinds)))
        return Rates(machines, layer_costs(self.work, machines, self.calibration))

    def timed(self, rates: Rates, owner: IntArray, rows: IntArray, shares: IntArray) -> TimeArrays:
        """Step time of rows of several kinds side by side, at their shares; their memory is known."""
        parts = []
        for start in range(0, max(owner.size, 1), BLOCK_SIZE):
            part = slice(start, start + BLOCK_SIZE)
            cand, own = self.with_shares(rows[part], shares[part]), rows_of(rates, owner[part])
            held, experts = self._held[rows[part]], self._held_experts[rows[part]]
            memory = NeededMemory(np.zeros_like(held), held, experts)
            parts.append(step_time(self.work, self.plan, cand, own.machine, memory, self.calibration, own.costs))
        return join_times(parts)


def _recomputing(cand: Candidates, share: FloatArray) -> Candidates:
    """The layouts with that share of their layers recomputed; 0: as they are."""
    code = float(RECOMPUTATION_CODES[Recomputation.FULL])
    return replace(
        cand,
        recomputation=np.where(share > 0, code, cand.recomputation),
        recomputed_fraction=np.where(share > 0, share, cand.recomputed_fraction),
    )


def _alike(*columns: FloatArray) -> tuple[IntArray, IntArray]:
    """Rows that agree in all columns, which are small counts: the number of each row's group, and one row of each."""
    codes, count = _numbered(columns[0].astype(np.int64))
    for column in columns[1:]:
        own = column.astype(np.int64)
        own_count = int(np.max(own, initial=0)) + 1
        if own_count > SMALL_TABLE:
            own, own_count = _numbered(own)
        if count * own_count > SMALL_TABLE:
            codes, count = _numbered(codes)
        codes, count = codes * own_count + own, count * own_count
    codes, count = _numbered(codes)
    first = np.empty(count, dtype=np.int64)
    first[codes] = np.arange(codes.size)
    return codes, first


def _numbered(codes: IntArray) -> tuple[IntArray, int]:
    """Values counted through in their order, and how many there are."""
    if np.max(codes, initial=0) > LARGEST_TABLE:
        values, numbers = np.unique(codes, return_inverse=True)
        return numbers, values.size
    is_there = np.zeros(int(np.max(codes, initial=0)) + 1, dtype=np.bool_)
    is_there[codes] = True
    number = np.cumsum(is_there) - 1
    return number[codes], int(number[-1]) + 1


def best_layouts(pool: LayoutPool, kinds: Sequence[Kind]) -> list[BestLayouts | None]:
    """The fastest fitting layout of each size, for each kind; None for a kind of which nothing fits on any size."""
    if len(pool.candidates) == 0:
        return [None for _kind in kinds]
    asked = [(at, size) for at, kind in enumerate(kinds) for size in kind.sizes]
    owner_of = np.array([at for at, _size in asked], dtype=np.int64)
    budgets = np.array([kind.budget_bytes for kind in kinds])
    if len(pool.candidates) * len(kinds) <= SMALL_POOL:  # floors would cost more than they spare
        hopes = _Hopes.unknown(len(pool.candidates), len(kinds))
    else:
        hopes = _Hopes.of(pool, kinds, budgets)
    sizes = np.array([size for _at, size in asked])
    counts = pool.gpu_counts[hopes.rows]
    starts, stops = (np.searchsorted(counts, sizes, side=side).tolist() for side in ("left", "right"))
    rates = pool.rates(kinds)
    best = np.full(len(asked), np.inf)
    tried: list[_Tried] = []
    for count in hopes.counts:
        chosen = _most_hopeful(hopes.floors, owner_of, starts, stops, best, count)
        place = np.repeat(np.arange(len(asked)), [rows.size for rows in chosen])
        if place.size == 0:
            break
        hopeful, owner = np.concatenate(chosen), owner_of[place]
        rows = hopes.rows[hopeful]
        shares = pool.smallest_shares(rows, budgets[owner], *hopes.times(owner, hopeful), best[place])
        kept = np.flatnonzero(shares >= 0)
        place, rows, shares, owner = place[kept], rows[kept], shares[kept], owner[kept]
        step = pool.timed(rates, owner, rows, shares).step_seconds
        per_sequence = step / pool.candidates.global_batch_size[rows]
        np.minimum.at(best, place, per_sequence)
        tried.append(_Tried(place, rows, shares, per_sequence))
    return _winners(pool, kinds, rates, owner_of, best, tried)


@dataclass(frozen=True, slots=True)
class _Hopes:
    """Rows in question, the floor of each for each kind, and what the floors are made of."""

    counts: tuple[int | None, ...]  # most rows of each size and kind that a round evaluates
    rows: IntArray
    floors: FloatArray  # (kinds, rows); infinite where the memory floor does not fit
    passes: FloatArray
    group: IntArray
    least: FloatArray  # (kinds, groups)
    more: FloatArray

    @classmethod
    def unknown(cls, row_count: int, kind_count: int) -> _Hopes:
        """Every row is tried."""
        none = np.zeros((kind_count, 1))
        rows = np.arange(row_count)
        return cls(
            (None,), rows, np.zeros((kind_count, row_count)), np.zeros(row_count), np.zeros_like(rows), none, none
        )

    @classmethod
    def of(cls, pool: LayoutPool, kinds: Sequence[Kind], budgets: FloatArray) -> _Hopes:
        whole, least_memory = pool.memory_floors()
        # what fits no kind at any share is out of the question for all
        rows = np.flatnonzero(least_memory <= np.max(budgets))
        if rows.size == 0:
            return cls.unknown(0, len(kinds))
        whole, least_memory = whole[rows], least_memory[rows]
        passes, group, least, more = pool.pass_floors(kinds, rows)
        group_count = least.shape[1]
        # where nothing recomputed does not fit, the smallest share is
        smallest = least + pool.shares[min(1, len(pool.shares) - 1)] * more
        either = np.concatenate([least, smallest], axis=1)
        floors = np.empty((len(kinds), rows.size))
        for at, budget in enumerate(budgets):
            np.multiply(either[at][group + group_count * (whole > budget)], passes, out=floors[at])
            floors[at][least_memory > budget] = np.inf
        return cls(ROUNDS, rows, floors, passes, group, least, more)

    def times(self, owner: IntArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Floor of time of rows for a kind each, and what recomputing everything adds."""
        passes, group = self.passes[rows], self.group[rows]
        return passes * self.least[owner, group], passes * self.more[owner, group]


def _most_hopeful(
    floors: FloatArray, owner_of: IntArray, starts: list[int], stops: list[int], best: FloatArray, count: int | None
) -> list[IntArray]:
    """Of each place up to `count` rows of least floor that may beat its best; they are taken out of `floors`."""
    chosen = []
    limits = np.minimum(best, np.finfo(np.float64).max).tolist()
    for kind, start, stop, limit in zip(owner_of.tolist(), starts, stops, limits, strict=True):
        floor = floors[kind, start:stop]
        rows = np.flatnonzero(floor <= limit)
        if count is not None and count < rows.size:
            rows = rows[np.argpartition(floor[rows], count - 1)[:count]]
        floor[rows] = np.inf
        chosen.append(rows + start)
    return chosen


def _winners(
    pool: LayoutPool, kinds: Sequence[Kind], rates: Rates, owner_of: IntArray, best: FloatArray, tried: list[_Tried]
) -> list[BestLayouts | None]:
    """The fastest of each kind and size, its memory with the allocator under that kind's budget."""
    if not any(found.row.size for found in tried):
        return [None for _kind in kinds]
    fastest = [np.flatnonzero(found.per_sequence == best[found.place]) for found in tried]
    place, row, share = (
        np.concatenate([getattr(found, name)[own] for found, own in zip(tried, fastest, strict=True)])
        for name in ("place", "row", "share")
    )
    order = np.lexsort((row, place))  # of equal ones the first of the pool
    place, first = np.unique(place[order], return_index=True)
    row, share = row[order[first]], share[order[first]]  # by kind, then by size
    kind, cand = owner_of[place], pool.with_shares(row, share)
    time = pool.timed(rates, kind, row, share)
    budgets = np.array([item.budget_bytes for item in kinds])[kind]
    memory = memory_per_gpu(pool.work, pool.plan, cand, pool.calibration, budgets)
    results: list[BestLayouts | None] = []
    for at, item in enumerate(kinds):
        own = np.flatnonzero(kind == at)
        in_question = sum(_length(pool.rows_of(size)) for size in item.sizes) * len(pool.shares)
        evaluated = Evaluated(take_fields(memory, own), take_fields(time, own))
        found = BestLayouts(candidates=cand.take(own), evaluated=evaluated, layout_count=in_question)
        results.append(found if own.size else None)
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

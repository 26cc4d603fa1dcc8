"""Memory and step time of candidate arrays, in blocks that stay in the processor's cache."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, concatenate
from advisor.engine.layouts import PARTIAL_FRACTIONS
from advisor.engine.machine import Machine
from advisor.engine.memory import MemoryArrays, least_total_bytes, memory_per_gpu
from advisor.engine.specs import RECOMPUTATION_CODES, Recomputation, TrainingPlan
from advisor.engine.timing import TimeArrays, step_time
from advisor.engine.workload import Workload

# about 6k float64 values an array keep a block's hundred temporaries in the second-level cache; measured between
# 4k and 16k, whole arrays are 3x slower
BLOCK_SIZE = 6_144

IntArray = NDArray[np.int64]
Arrays = TypeVar("Arrays", MemoryArrays, TimeArrays)


@dataclass(frozen=True, slots=True)
class Evaluated:
    memory: MemoryArrays
    time: TimeArrays

    def take(self, index: IntArray) -> Evaluated:
        return Evaluated(_take(self.memory, index), _take(self.time, index))


def join_evaluated(parts: list[Evaluated]) -> Evaluated:
    return Evaluated(_join([part.memory for part in parts]), _join([part.time for part in parts]))


def _take(arrays: Arrays, index: IntArray | slice) -> Arrays:
    kind = type(arrays)
    return kind(**{f.name: getattr(arrays, f.name)[index] for f in fields(kind)})


def _join(parts: list[Arrays]) -> Arrays:
    if len(parts) == 1:
        return parts[0]
    kind = type(parts[0])
    return kind(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(kind)})


def evaluate(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    machine: Machine,
    calibration: Calibration,
    available_bytes: float = math.inf,
) -> Evaluated:
    """Evaluate all candidates; the scalar estimate calls this with one.

    Parameters
    ----------
    cand : Candidates, shape (N,)
    work, plan, machine, calibration
        The job, the achieved rates and the constants, the same for all candidates.

    Returns
    -------
    Evaluated
        Arrays of shape (N,).
    """
    memories: list[MemoryArrays] = []
    times: list[TimeArrays] = []
    for start in range(0, max(len(cand), 1), BLOCK_SIZE):
        block = cand.take(slice(start, start + BLOCK_SIZE))
        memory = memory_per_gpu(work, plan, block, calibration, available_bytes)
        memories.append(memory)
        times.append(step_time(work, plan, block, machine, memory, calibration))
    return Evaluated(_join(memories), _join(times))


def _recomputing(cand: Candidates, share: float) -> Candidates:
    if share == 0:
        return cand
    code = float(RECOMPUTATION_CODES[Recomputation.FULL])
    return replace(
        cand,
        recomputation=np.full_like(cand.recomputation, code),
        recomputed_fraction=np.full_like(cand.recomputed_fraction, share),
    )


def _memory(work: Workload, plan: TrainingPlan, cand: Candidates, calibration: Calibration) -> MemoryArrays:
    blocks = [cand.take(slice(start, start + BLOCK_SIZE)) for start in range(0, max(len(cand), 1), BLOCK_SIZE)]
    return _join([memory_per_gpu(work, plan, block, calibration) for block in blocks])


class LayoutPool:
    """Layouts of one job with their memory for each share of recomputed layers, computed once for all kinds of GPU.

    What a layout needs does not depend on the GPU, only whether it fits does. Step time grows with the share, so of
    each layout only the smallest share that fits can be the fastest; trying the shares in order gives the same best
    layout as crossing them with everything else.
    """

    def __init__(
        self, work: Workload, plan: TrainingPlan, cand: Candidates, calibration: Calibration, *, tries_shares: bool
    ) -> None:
        self.work, self.plan, self.candidates, self.calibration = work, plan, cand, calibration
        self.shares = (0.0, *PARTIAL_FRACTIONS, 1.0) if tries_shares else (0.0,)
        self._memory: dict[float, MemoryArrays] = {}

    def memory(self, share: float) -> MemoryArrays:
        if share not in self._memory:
            cand = _recomputing(self.candidates, share)
            self._memory[share] = _memory(self.work, self.plan, cand, self.calibration)
        return self._memory[share]

    def fitting(self, budget_bytes: float) -> list[tuple[Candidates, MemoryArrays]]:
        """Layouts that fit a budget, each at its smallest share, with their memory."""
        found: list[tuple[Candidates, MemoryArrays]] = []
        rest = np.arange(len(self.candidates))
        if len(self.shares) > 1:  # what does not fit with everything recomputed never fits
            rest = np.flatnonzero(least_total_bytes(self.memory(1.0)) <= budget_bytes)
            rest = np.union1d(rest, np.flatnonzero(least_total_bytes(self.memory(0.0)) <= budget_bytes))
        for share in self.shares:
            if rest.size == 0:
                break
            memory = self.memory(share)
            fits = least_total_bytes(memory)[rest] <= budget_bytes
            index = rest[fits]
            if index.size:
                found.append((_recomputing(self.candidates.take(index), share), _take(memory, index)))
            rest = rest[~fits]
        return found


def evaluate_pool(pool: LayoutPool, machine: Machine, budget_bytes: float) -> tuple[Candidates, Evaluated] | None:
    """Step time of the layouts of a pool that fit; None when nothing does."""
    kept: list[Candidates] = []
    memories: list[MemoryArrays] = []
    times: list[TimeArrays] = []
    for some, memory in pool.fitting(budget_bytes):
        kept.append(some)
        memories.append(memory)
        for start in range(0, len(some), BLOCK_SIZE):
            part = slice(start, start + BLOCK_SIZE)
            times.append(
                step_time(pool.work, pool.plan, some.take(part), machine, _take(memory, part), pool.calibration)
            )
    if not kept:
        return None
    return concatenate(kept), Evaluated(_join(memories), _join(times))


def evaluate_fitting(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    machine: Machine,
    calibration: Calibration,
    budget_bytes: float,
    *,
    tries_shares: bool = True,
) -> tuple[Candidates, Evaluated] | None:
    """Memory of all candidates and step time of those that fit, or (`tries_shares`) can be made to by recomputation."""
    return evaluate_pool(LayoutPool(work, plan, cand, calibration, tries_shares=tries_shares), machine, budget_bytes)

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
from advisor.engine.memory import MemoryArrays, memory_per_gpu
from advisor.engine.specs import RECOMPUTATION_CODES, Recomputation, TrainingPlan
from advisor.engine.timing import TimeArrays, step_time
from advisor.engine.workload import Workload

# about 16k float64 values an array keep a block's temporaries in the second-level cache: 3x faster than whole arrays
BLOCK_SIZE = 16_384

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


def _take(arrays: Arrays, index: IntArray) -> Arrays:
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
    code = float(RECOMPUTATION_CODES[Recomputation.FULL])
    return replace(
        cand,
        recomputation=np.full_like(cand.recomputation, code),
        recomputed_fraction=np.full_like(cand.recomputed_fraction, share),
    )


def _fitting_block(
    work: Workload,
    plan: TrainingPlan,
    cand: Candidates,
    calibration: Calibration,
    budget_bytes: float,
    tries_shares: bool,
) -> list[tuple[Candidates, MemoryArrays]]:
    """The candidates that fit, each with the smallest share of recomputed layers that makes it fit."""
    found: list[tuple[Candidates, MemoryArrays]] = []

    def keep(some: Candidates) -> IntArray:
        memory = memory_per_gpu(work, plan, some, calibration, budget_bytes)
        fits = memory.total_bytes <= budget_bytes
        if np.any(fits):
            index = np.flatnonzero(fits)
            found.append((some.take(index), _take(memory, index)))
        return np.flatnonzero(~fits)

    rest = cand.take(keep(cand))
    if len(rest) == 0 or not tries_shares:
        return found
    full = memory_per_gpu(work, plan, _recomputing(rest, 1.0), calibration, budget_bytes)
    rest = rest.take(np.flatnonzero(full.total_bytes <= budget_bytes))
    for share in (*PARTIAL_FRACTIONS, 1.0):
        if len(rest) == 0:
            break
        tried = _recomputing(rest, share)
        rest = rest.take(keep(tried))
    return found


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
    """Memory of all candidates and step time of those that fit, or (`tries_shares`) can be made to by recomputation.

    Step time grows with the share of recomputed layers, so of each layout only the smallest share that fits can be the
    fastest; trying the shares this way gives the same best layout as crossing them with everything else.

    Returns
    -------
    tuple of Candidates and Evaluated, or None when nothing fits
    """
    kept: list[Candidates] = []
    memories: list[MemoryArrays] = []
    times: list[TimeArrays] = []
    for start in range(0, len(cand), BLOCK_SIZE):
        block = cand.take(slice(start, start + BLOCK_SIZE))
        for some, memory in _fitting_block(work, plan, block, calibration, budget_bytes, tries_shares):
            kept.append(some)
            memories.append(memory)
            times.append(step_time(work, plan, some, machine, memory, calibration))
    if not kept:
        return None
    return concatenate(kept), Evaluated(_join(memories), _join(times))

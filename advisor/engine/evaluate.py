"""Memory and step time of candidate arrays, in blocks that stay in the processor's cache."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates
from advisor.engine.machine import Machine
from advisor.engine.memory import MemoryArrays, memory_per_gpu
from advisor.engine.specs import TrainingPlan
from advisor.engine.timing import TimeArrays, step_time
from advisor.engine.workload import Workload

# about 10k float64 values an array keep what a block is working on in the second-level cache and share the cost of a
# call; measured between 3k and 14k, whole arrays are 3x slower
BLOCK_SIZE = 10_240

IntArray = NDArray[np.int64]
Arrays = TypeVar("Arrays", MemoryArrays, TimeArrays)


@dataclass(frozen=True, slots=True)
class Evaluated:
    memory: MemoryArrays
    time: TimeArrays

    def take(self, index: IntArray) -> Evaluated:
        return Evaluated(take_fields(self.memory, index), take_fields(self.time, index))

    def joined_with(self, other: Evaluated) -> Evaluated:
        return Evaluated(_join([self.memory, other.memory]), join_times([self.time, other.time]))


def join_times(parts: list[TimeArrays]) -> TimeArrays:
    return _join(parts)


def take_fields(arrays: Arrays, index: IntArray | slice) -> Arrays:
    kind = type(arrays)
    return kind(**{name: getattr(arrays, name)[index] for name in kind.__slots__})


def _join(parts: list[Arrays]) -> Arrays:
    if len(parts) == 1:
        return parts[0]
    kind = type(parts[0])
    return kind(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in kind.__slots__})


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

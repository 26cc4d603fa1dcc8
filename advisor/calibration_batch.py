"""Many published runs under one set of constants at once: the fit and its cross-validation evaluate nothing else.

The engine's step-time formulas are element-wise in the job, the machine and the layout alike, so rows of one kind
(same branches of the formulas) are stacked into arrays and evaluated in one call. Memory does not depend on the fitted
constants and is evaluated once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, concatenate
from advisor.engine.machine import Machine, machine
from advisor.engine.memory import MemoryArrays, memory_per_gpu
from advisor.engine.specs import Scenario, TrainingPlan
from advisor.engine.timing import step_time
from advisor.engine.workload import Workload, state_bytes

FloatArray = NDArray[np.float64]
# flags that choose between formulas; within a stack they are equal
BRANCHES = ("is_frozen", "is_eager", "is_quantized")
NOT_STACKED = (*BRANCHES, "saved")


class SettledRow(Protocol):
    """A job with its layout."""

    @property
    def scenario(self) -> Scenario: ...
    @property
    def work(self) -> Workload: ...
    @property
    def candidate(self) -> Candidates: ...


@dataclass(frozen=True, slots=True)
class _Stack:
    index: NDArray[np.int64]
    rows: tuple[SettledRow, ...]
    work: Workload  # its fields are arrays of shape (N,)
    plan: TrainingPlan
    candidates: Candidates
    memory: MemoryArrays
    tokens_per_step_and_gpu: FloatArray


def _branch(row: SettledRow) -> tuple[object, ...]:
    work, plan = row.work, row.scenario.plan
    flags = tuple(bool(getattr(work, name)) for name in BRANCHES)
    plan_flags = (plan.recipe, plan.offload, plan.double_quantization, plan.gathers_fp8_weights)
    return (*flags, work.expert_count > 0, state_bytes(plan), *plan_flags)


def _stacked(values: Sequence[Any], names: Sequence[str]) -> dict[str, FloatArray]:
    return {name: np.array([float(getattr(value, name)) for value in values]) for name in names}


class RowBatch:
    """Rows with settled layouts, stacked by kind."""

    def __init__(self, rows: Sequence[SettledRow], calibration: Calibration) -> None:
        self.count = len(rows)
        kinds: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for position, row in enumerate(rows):
            kinds[_branch(row)].append(position)
        self._stacks = [
            _stack(np.array(positions), [rows[i] for i in positions], calibration) for positions in kinds.values()
        ]

    def tokens_per_second_per_gpu(self, calibration: Calibration) -> FloatArray:
        """Predicted rate of every row, shape (rows,). [token/s]"""
        rates = np.empty(self.count)
        for stack in self._stacks:
            time = step_time(
                stack.work, stack.plan, stack.candidates, _machines(stack.rows, calibration), stack.memory, calibration
            )
            rates[stack.index] = stack.tokens_per_step_and_gpu / time.step_seconds
        return rates


def _machines(rows: Sequence[SettledRow], calibration: Calibration) -> Machine:
    """The rows' machines as one whose fields are arrays."""
    machines = []
    for row in rows:
        cluster = row.scenario.cluster
        machines.append(
            machine(
                cluster.gpu, cluster.gpus_per_server, cluster.fabric, row.scenario.plan, cluster.deployment, calibration
            )
        )
    return cast(Machine, SimpleNamespace(**_stacked(machines, [field.name for field in fields(Machine)])))


def _stack(index: NDArray[np.int64], rows: Sequence[SettledRow], calibration: Calibration) -> _Stack:
    memories = [memory_per_gpu(row.work, row.scenario.plan, row.candidate, calibration) for row in rows]
    memory = MemoryArrays(
        **{
            field.name: np.concatenate([getattr(part, field.name) for part in memories])
            for field in fields(MemoryArrays)
        }
    )
    names = [field.name for field in fields(Workload) if field.name not in NOT_STACKED]
    first = rows[0].work
    shared = {name: getattr(first, name) for name in NOT_STACKED}
    candidates = concatenate([row.candidate for row in rows])
    lengths = np.array([float(row.scenario.plan.sequence_length) for row in rows])
    gpu_counts = np.array([float(row.scenario.cluster.gpu_count) for row in rows])
    return _Stack(
        index=index,
        rows=tuple(rows),
        work=cast(Workload, SimpleNamespace(**_stacked([row.work for row in rows], names), **shared)),
        plan=rows[0].scenario.plan,
        candidates=candidates,
        memory=memory,
        tokens_per_step_and_gpu=candidates.global_batch_size * lengths / gpu_counts,
    )

"""The published run that comes nearest to an answer, with its figures; None where nobody has published one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from advisor.engine.parameters import parameter_count
from advisor.engine.specs import Estimate, Scenario
from advisor.evidence import RunRow, read_runs

# Farther than this in size, cluster or sequence together a run says nothing about the answer.
MAX_DISTANCE = 8.0
OTHER_PRECISION_DISTANCE, OTHER_RECIPE_DISTANCE = 1.0, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A comparable row with its logarithms."""

    row: RunRow
    scenario: Scenario
    parameter_count: float
    log_parameters: float
    log_gpus: float
    log_length: float


@lru_cache(maxsize=1)
def _runs() -> Mapping[tuple[str, bool], tuple[_Run, ...]]:
    """Comparable rows by GPU and kind, read once."""
    found: dict[tuple[str, bool], list[_Run]] = {}
    for row in read_runs():
        scenario = row.scenario
        if scenario is None or row.skipped is not None or not row.published_tokens_per_second_per_gpu:
            continue
        count = float(parameter_count(scenario.model))
        found.setdefault((scenario.cluster.gpu.sku, scenario.model.is_moe), []).append(
            _Run(
                row=row,
                scenario=scenario,
                parameter_count=count,
                log_parameters=math.log2(count),
                log_gpus=math.log2(scenario.cluster.gpu_count),
                log_length=math.log2(scenario.plan.sequence_length),
            )
        )
    return {key: tuple(runs) for key, runs in found.items()}


@dataclass(frozen=True, slots=True)
class _Columns:
    """The same rows as arrays: logarithms of parameters, GPUs and sequence length, and what is compared by name."""

    logs: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # shape (3, rows)
    precisions: np.ndarray[tuple[int], np.dtype[np.str_]]
    recipes: np.ndarray[tuple[int], np.dtype[np.str_]]


@lru_cache(maxsize=1)
def _columns() -> Mapping[tuple[str, bool], _Columns]:
    return {
        key: _Columns(
            logs=np.array([[run.log_parameters, run.log_gpus, run.log_length] for run in runs]).T,
            precisions=np.array([run.scenario.plan.precision.value for run in runs]),
            recipes=np.array([run.scenario.plan.recipe.value for run in runs]),
        )
        for key, runs in _runs().items()
    }


def nearest_run(estimate: Estimate) -> dict[str, Any] | None:
    """Same GPU and same kind (dense or mixture of experts), then nearest in model, cluster and sequence length."""
    scenario = estimate.scenario
    plan = scenario.plan
    parameters, gpus = math.log2(estimate.parameter_count), math.log2(scenario.cluster.gpu_count)
    length = math.log2(plan.sequence_length)

    runs = _runs().get((scenario.cluster.gpu.sku, scenario.model.is_moe), ())
    if not runs:
        return None
    columns = _columns()[scenario.cluster.gpu.sku, scenario.model.is_moe]
    other_precision = columns.precisions != plan.precision.value
    other_recipe = columns.recipes != plan.recipe.value
    distances = (
        np.abs(columns.logs - np.array([[parameters], [gpus], [length]])).T @ np.array([2.0, 0.5, 0.5])
        + OTHER_PRECISION_DISTANCE * other_precision
        + OTHER_RECIPE_DISTANCE * other_recipe
    )  # rates scale with model size: a like-sized run says most, so size counts double
    index = int(np.argmin(distances))
    best = (float(distances[index]), index)
    if best[0] > MAX_DISTANCE:
        return None
    nearest = runs[best[1]]
    row, run = nearest.row, nearest.scenario
    return {
        "id": row.id,
        "model": run.model.name,
        "parameter_count": int(nearest.parameter_count),
        "gpu": run.cluster.gpu.sku,
        "gpu_name": run.cluster.gpu.name,
        "gpu_count": run.cluster.gpu_count,
        "precision": row.precision_label,
        "sequence_length": run.plan.sequence_length,
        "published_tokens_per_second_per_gpu": row.published_tokens_per_second_per_gpu,
        "published_mfu": row.published_mfu_fraction,
        "flops_convention": row.flops_convention,
        "source": row.source_title,
        "year": row.year,
        "distance": round(best[0], 2),
    }

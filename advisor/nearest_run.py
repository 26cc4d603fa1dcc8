"""The published run that comes nearest to an answer, with its figures; None where nobody has published one."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from advisor.engine.parameters import parameter_count
from advisor.engine.specs import Estimate
from advisor.evidence import RunRow, read_runs

# Farther than this in size, cluster or sequence together a run says nothing about the answer.
MAX_DISTANCE = 8.0
OTHER_PRECISION_DISTANCE, OTHER_RECIPE_DISTANCE = 1.0, 0.25


@lru_cache(maxsize=1)
def _runs() -> tuple[tuple[RunRow, float], ...]:
    """Comparable rows with their parameter counts, read once."""
    return tuple(
        (row, float(parameter_count(row.scenario.model)))
        for row in read_runs()
        if row.scenario is not None and row.skipped is None and row.published_tokens_per_second_per_gpu
    )


def nearest_run(estimate: Estimate) -> dict[str, Any] | None:
    """Same GPU and same kind (dense or mixture of experts), then nearest in model, cluster and sequence length."""
    scenario = estimate.scenario
    best: tuple[float, RunRow, float] | None = None
    for row, count in _runs():
        run = row.scenario
        if run is None or run.cluster.gpu.sku != scenario.cluster.gpu.sku or run.model.is_moe != scenario.model.is_moe:
            continue
        distance = (
            abs(math.log2(count / estimate.parameter_count))
            + 0.5 * abs(math.log2(run.cluster.gpu_count / scenario.cluster.gpu_count))
            + 0.5 * abs(math.log2(run.plan.sequence_length / scenario.plan.sequence_length))
            + (OTHER_PRECISION_DISTANCE if run.plan.precision is not scenario.plan.precision else 0.0)
            + (OTHER_RECIPE_DISTANCE if run.plan.recipe is not scenario.plan.recipe else 0.0)
        )
        if best is None or distance < best[0]:
            best = (distance, row, count)
    if best is None or best[0] > MAX_DISTANCE:
        return None
    distance, row, count = best
    run = row.scenario
    if run is None:
        return None
    return {
        "id": row.id,
        "model": run.model.name,
        "parameter_count": int(count),
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
        "distance": round(distance, 2),
    }

"""Where the answer turns over: the model size from which more tensor parallelism or another cluster is needed, the data
and the losses that a deadline bears, the cluster size past which the batch, or the efficiency, gives out.

Model sizes are found by section on the array path: all depths of a grid at once, then all between two neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray
from advisor.engine.fitting import available_bytes
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import domain_size
from advisor.engine.memory import least_total_bytes, memory_per_gpu
from advisor.engine.parameters import parameter_count
from advisor.engine.scenario_stack import Case
from advisor.engine.search_types import ScalingPoint
from advisor.engine.sensitivity import with_layer_count
from advisor.engine.specs import Estimate, LayoutRequest, Problem, Recomputation
from advisor.engine.workload import Workload

Params = dict[str, float | int | str | None]
IntArray = NDArray[np.int64]

GRID_POINTS = 8
LARGEST_GROWTH = 8.0  # models up to this many times as deep are looked at
LEAST_MEMORY_LAYOUTS = 8  # of each tensor group size, at the given and at the largest depth


def break_points(
    estimate: Estimate,
    base: Case,
    *,
    calibration: Calibration,
    deadline_seconds: float | None = None,
    scaling: Sequence[ScalingPoint] = (),
) -> list[Problem]:
    """Notes with figures; what cannot be reached within the looked-at range is left out."""
    points = memory_break_points(estimate, base, calibration)
    points += batch_limit(estimate)
    if deadline_seconds is not None:
        points += deadline_break_points(estimate, deadline_seconds)
    knee = next((point for point in scaling if point.is_knee), None)
    if knee is not None and knee is not scaling[-1]:
        points.append(
            _note("/hardware/gpu_count", "break_knee", {"gpu_count": knee.gpu_count, "gpu": _gpu_name(estimate)})
        )
    return points


def memory_break_points(estimate: Estimate, base: Case, calibration: Calibration) -> list[Problem]:
    """Parameters from which this cluster needs wider tensor groups, and from which it holds the model no more."""
    cand = _least_memory_layouts(estimate, base, calibration)
    if len(cand) == 0:
        return []
    own = base.model.layer_count
    widths = np.unique(cand.tensor_parallel)
    deepest = deepest_fits(estimate, base, calibration, cand, widths)
    whole = deepest[-1]
    points = []
    for width, wider, depth, deeper in zip(widths, widths[1:], deepest, deepest[1:], strict=False):
        if own <= depth < deeper:
            params: Params = {"tensor_parallel": int(wider), "narrower": int(width)}
            points.append(_model_note(estimate, base, depth + 1, "break_tensor_parallel", params))
            break
    if own <= whole < _most_layers(base):
        points.append(_model_note(estimate, base, whole + 1, "break_memory", {}))
    return points


def _most_layers(base: Case) -> int:
    return math.floor(base.model.layer_count * LARGEST_GROWTH)


def _model_note(estimate: Estimate, base: Case, layer_count: int, code: str, params: Params) -> Problem:
    count = float(parameter_count(with_layer_count(base, layer_count).model))
    cluster = estimate.scenario.cluster
    common: Params = {"parameter_count": count, "gpu": _gpu_name(estimate), "gpu_count": cluster.gpu_count}
    return _note("/model/parameters", code, common | params)


def _gpu_name(estimate: Estimate) -> str:
    return estimate.scenario.cluster.gpu.name


def _note(field: str, code: str, params: Params) -> Problem:
    return Problem(field=field, code=code, params=params, severity="note")


def _least_memory_layouts(estimate: Estimate, base: Case, calibration: Calibration) -> Candidates:
    """Of each tensor group size the layouts that need least, at the model's own depth and at the largest one."""
    scenario = estimate.scenario
    cluster, own = scenario.cluster, estimate.layout
    request = LayoutRequest(
        tensor_parallel=scenario.layout.tensor_parallel,
        pipeline_parallel=scenario.layout.pipeline_parallel,
        context_parallel=own.context_parallel,
        expert_parallel=scenario.layout.expert_parallel,
        expert_tensor_parallel=scenario.layout.expert_tensor_parallel,
        virtual_stage_count=1,
        micro_batch_size=1,
        zero_stage=scenario.layout.zero_stage,
        recomputation=Recomputation.FULL,
    )
    domain = domain_size(cluster.gpu, cluster.gpus_per_server)
    cand = enumerate_layouts(base.model, base.plan, request, [cluster.gpu_count], domain)
    kept: set[int] = set()
    for factor in (1.0, LARGEST_GROWTH):
        layers = np.full(len(cand), np.floor(base.model.layer_count * factor))
        need = memory_per_gpu(_deeper(base, layers), base.plan, cand, calibration).allocated_bytes
        for width in np.unique(cand.tensor_parallel):
            rows = np.flatnonzero(cand.tensor_parallel == width)
            kept.update(rows[np.argsort(need[rows], kind="stable")[:LEAST_MEMORY_LAYOUTS]].tolist())
    return cand.take(np.array(sorted(kept), dtype=np.int64))


def deepest_fits(
    estimate: Estimate, base: Case, calibration: Calibration, cand: Candidates, widths: FloatArray
) -> list[int]:
    """Most layers that fit with tensor groups up to each of `widths`, 0 when none does; memory grows with depth."""
    smallest = max(1, base.model.dense_layer_count)
    low = np.full(widths.size, smallest - 1)
    high = np.full(widths.size, _most_layers(base) + 1)
    while np.any(high - low > 1):
        points = np.linspace(low, high, GRID_POINTS + 2).round().astype(np.int64)
        depths = np.unique(points[(points > low) & (points < high)])
        fits = _fits(estimate, base, calibration, cand, depths)
        for at, width in enumerate(widths):
            own = np.any(fits[:, cand.tensor_parallel <= width], axis=1)
            low[at] = max(low[at], np.max(depths[own], initial=0))
            high[at] = min(high[at], np.min(depths[~own], initial=high[at]))
    return [int(depth) if depth >= smallest else 0 for depth in low]


def _fits(
    estimate: Estimate, base: Case, calibration: Calibration, cand: Candidates, depths: IntArray
) -> NDArray[np.bool_]:
    """Which layouts hold each depth, shape (depths, layouts); one pass for all."""
    rows = cand.take(np.tile(np.arange(len(cand)), depths.size))
    layers = np.repeat(depths, len(cand)).astype(np.float64)
    need = least_total_bytes(memory_per_gpu(_deeper(base, layers), base.plan, rows, calibration))
    budget = available_bytes(estimate.scenario.cluster.gpu, base.plan)
    fits: NDArray[np.bool_] = need <= budget
    return fits.reshape(depths.size, len(cand))


def _deeper(base: Case, layers: FloatArray) -> Workload:
    """The job with other depths, one for each row: of what memory depends on, only these fields change."""
    model, work = base.model, base.work
    rest = layers - work.dense_layer_count
    moe_layers = np.floor(rest / model.moe_layer_interval) if model.is_moe else np.zeros_like(layers)
    changed: dict[str, Any] = {
        "layer_count": layers,
        "moe_share": np.where(rest > 0, moe_layers / np.maximum(rest, 1.0), 0.0),
        # adapters grow with the layers that carry them
        "adapter_parameters": work.adapter_parameters * layers / work.layer_count,
    }
    return replace(work, **changed)


def batch_limit(estimate: Estimate) -> list[Problem]:
    """GPUs past which the global batch has no sequence left for another data-parallel group of this layout."""
    layout = estimate.layout
    group = layout.tensor_parallel * layout.pipeline_parallel * layout.context_parallel
    params: Params = {"gpu_count": estimate.global_batch_size * group, "global_batch_size": estimate.global_batch_size}
    return [_note("/training/global_batch_size", "break_batch", params)]


def deadline_break_points(estimate: Estimate, deadline_seconds: float) -> list[Problem]:
    """Most tokens and the largest loss of throughput with which this cluster still meets the deadline."""
    time, plan = estimate.time, estimate.scenario.plan
    if time.training_seconds is None or time.training_seconds > deadline_seconds:
        return []
    steps = math.floor(deadline_seconds * time.goodput / time.step_seconds)
    tokens = float(steps) * estimate.global_batch_size * plan.sequence_length
    loss = estimate.scenario.cluster.deployment.throughput_loss_fraction
    bearable = 1 - (1 - loss) * time.training_seconds / deadline_seconds
    common: Params = {"deadline_seconds": deadline_seconds}
    return [
        _note("/training/tokens", "break_deadline_tokens", common | {"tokens": tokens}),
        _note("/hardware/deployment/throughput_loss", "break_deadline_loss", common | {"loss_fraction": bearable}),
    ]

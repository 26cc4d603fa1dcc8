"""How much a pilot helps, on published runs: the large runs of a source predicted with and without its small ones.

A pair is a small and a large published run of one source that share every deciding column but those that grow with the
cluster: GPU count, global batch, pipeline, network. The large run is predicted plainly, and rescaled by the small one's
measurement; errors are in log units, and each source and model weighs the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from advisor.engine.pilot import pilot_rescaling
from advisor.evidence_runs import COLUMN_SEPARATOR, DECIDING_COLUMNS
from advisor.evidence_scoring import RunPrediction

FloatArray = NDArray[np.float64]
PILOT_GPU_COUNT = 16  # a pilot is at most this large
SMALLEST_GROWTH = 4.0  # and the run at least this many times as large
GROWING_COLUMNS = ("n_gpus", "gpus_per_node", "global_batch_seqs", "pp", "vpp", "ep", "interconnect")
RANGE_QUANTILE = 0.80  # "in four of five published runs", as in the answers' range


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotPair:
    """A large run's error in log units, plain and rescaled, and the error that the rescaling leaves in its own view."""

    group: str
    pilot_id: str
    run_id: str
    pilot_gpu_count: int
    gpu_count: int
    plain_log_error: float
    rescaled_log_error: float
    stated_log_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotSummary:
    """Over pairs, each group weighing the same; fractions."""

    pair_count: int
    group_count: int
    plain_median: float
    plain_range: float  # within which RANGE_QUANTILE lie
    rescaled_median: float
    rescaled_range: float
    covered_fraction: float  # of the rescaled errors, within what the rescaling states


def pilot_pairs(
    predictions: Iterable[RunPrediction],
    *,
    largest_pilot: int = PILOT_GPU_COUNT,
    smallest_run: int = 0,
) -> list[PilotPair]:
    """All pairs of a pilot of at most `largest_pilot` GPUs and a run of at least `smallest_run`."""
    series: dict[tuple[object, ...], list[RunPrediction]] = defaultdict(list)
    for prediction in predictions:
        if prediction.scored.error is not None and not prediction.scored.unmodelled:
            series[(prediction.row.source, prediction.row.source_title, *_settings(prediction))].append(prediction)
    return [
        _pair(pilot, run)
        for runs in series.values()
        for pilot in runs
        for run in runs
        if _gpus(pilot) <= largest_pilot and _gpus(run) >= max(smallest_run, SMALLEST_GROWTH * _gpus(pilot))
    ]


def _settings(prediction: RunPrediction) -> list[str]:
    values = prediction.row.twin_key.split(COLUMN_SEPARATOR)
    return [value for name, value in zip(DECIDING_COLUMNS, values, strict=True) if name not in GROWING_COLUMNS]


def _gpus(prediction: RunPrediction) -> int:
    scenario = prediction.row.scenario
    return scenario.cluster.gpu_count if scenario else 0


def _pair(pilot: RunPrediction, run: RunPrediction) -> PilotPair:
    plain = log(_rate(run.scored.predicted) / _rate(run.scored.published))
    rescaling = pilot_rescaling(
        _rate(pilot.scored.predicted),
        _rate(pilot.scored.published),
        measured_gpu_count=_gpus(pilot),
        gpu_count=_gpus(run),
        log_error_without_pilot=float("inf"),
    )
    return PilotPair(
        group=run.scored.group,
        pilot_id=pilot.row.id,
        run_id=run.row.id,
        pilot_gpu_count=_gpus(pilot),
        gpu_count=_gpus(run),
        plain_log_error=plain,
        rescaled_log_error=plain + log(rescaling.factor),
        stated_log_error=rescaling.remaining_log_error,
    )


def _rate(value: float | None) -> float:
    if value is None:
        raise ValueError("A pair needs predicted and published rates.")
    return value


def weighted_quantile(values: FloatArray, weights: FloatArray, fraction: float) -> float:
    """Smallest value below which at least `fraction` of the weight lies."""
    order = np.argsort(values)
    heights = np.cumsum(weights[order])
    return float(values[order][int(np.searchsorted(heights, fraction * heights[-1]))])


def pilot_summary(pairs: Sequence[PilotPair]) -> PilotSummary | None:
    """Both errors over the pairs; None without any."""
    if not pairs:
        return None
    sizes = Counter(pair.group for pair in pairs)
    weights = np.array([1 / sizes[pair.group] for pair in pairs])
    plain = np.abs([pair.plain_log_error for pair in pairs])
    rescaled = np.abs([pair.rescaled_log_error for pair in pairs])
    stated = np.array([pair.stated_log_error for pair in pairs])
    return PilotSummary(
        pair_count=len(pairs),
        group_count=len(sizes),
        plain_median=weighted_quantile(plain, weights, 0.5),
        plain_range=weighted_quantile(plain, weights, RANGE_QUANTILE),
        rescaled_median=weighted_quantile(rescaled, weights, 0.5),
        rescaled_range=weighted_quantile(rescaled, weights, RANGE_QUANTILE),
        covered_fraction=float(np.sum(weights[rescaled <= stated]) / np.sum(weights)),
    )

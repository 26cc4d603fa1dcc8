"""From the time of one step to the days of a run: interruptions, checkpoints, goodput, and the range of the days.

Element-wise over arrays, so that an estimate, a search over sizes and a stack of scenarios share each expression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.engine import reliability, storage
from advisor.engine.specs import DeploymentProfile, GpuSpec, Pilot, TrainingPlan
from advisor.engine.workload import Workload

FloatArray = NDArray[np.float64]
Number = float | FloatArray

# a planning floor, ours: most published runs save every 10 minutes to 3 hours
SHORTEST_CHECKPOINT_INTERVAL_SECONDS = 600.0
# Gaussian half-width that holds 80 % (the 90th percentile), as the band of the validation residuals does
EIGHTY_PERCENT_HALF_WIDTH = 1.2815515655446004


def checkpoint_stall_seconds(plan: TrainingPlan, work: Workload, gpu_count: Number) -> FloatArray:
    """Time that training stands still for one asynchronous checkpoint: the copy to host memory. [s]"""
    trained = work.adapter_parameters if work.is_frozen else work.parameter_count
    size = storage.checkpoint_bytes(plan, work.parameter_count, trained)
    return reliability.checkpoint_stall_seconds(size, gpu_count, 1e9, is_asynchronous=True)


def checkpoint_interval_seconds(stall_seconds: Number, mean_seconds_between_interruptions: Number) -> FloatArray:
    """Young/Daly interval, but never below what storage and operators bear: an asynchronous stall is so short that the
    optimum alone would save every few seconds. [s]
    """
    optimum = reliability.young_daly_interval_seconds(stall_seconds, mean_seconds_between_interruptions)
    return np.maximum(optimum, SHORTEST_CHECKPOINT_INTERVAL_SECONDS)


def interruptions_per_gpu_second(gpu: GpuSpec, deployment: DeploymentProfile) -> float:
    """Published rate of the GPU's generation, times the profile's factor. [1/s]"""
    rate = reliability.assumed_number(reliability.interruption_rate(gpu.architecture, gpu.name))
    return rate * deployment.interruption_rate_factor


def slowdown(loss_fraction: Number, pilot: Pilot | None = None) -> Number:
    """What a step takes longer by the stated loss of throughput, exactly 1 / (1 - loss), and by what a pilot showed."""
    return 1 / (1 - loss_fraction) / (1.0 if pilot is None else pilot.rate_factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Share of the wall time that trains, and what it rests on. Scalars or arrays of one shape; seconds."""

    goodput: FloatArray
    checkpoint_interval_seconds: FloatArray
    checkpoint_stall_seconds: FloatArray
    restart_seconds: float
    mean_seconds_between_interruptions: FloatArray


def availability(plan: TrainingPlan, work: Workload, gpu_count: Number, rate: Number) -> Availability:
    """Interruptions at `rate` per GPU and second on `gpu_count` GPUs, and the checkpoints that fit them."""
    stall = checkpoint_stall_seconds(plan, work, gpu_count)
    restart = reliability.assumed_number(reliability.DEFAULT_RESTART)
    mean_between = np.asarray(1 / (np.asarray(rate) * gpu_count))
    interval = checkpoint_interval_seconds(stall, mean_between)
    return Availability(
        goodput=reliability.goodput_fraction(gpu_count, stall, restart, rate, interval),
        checkpoint_interval_seconds=interval,
        checkpoint_stall_seconds=stall,
        restart_seconds=restart,
        mean_seconds_between_interruptions=mean_between,
    )


def step_counts(tokens: Number, batch_tokens: Number) -> FloatArray:
    """Optimizer steps of a run; the last one may be partly filled. [1]"""
    counts: FloatArray = np.ceil(np.asarray(tokens / batch_tokens))
    return counts


def training_seconds(steps: Number, step_seconds: Number, goodput: Number) -> FloatArray:
    """Wall time of the run. [s]"""
    seconds: FloatArray = np.asarray(steps * step_seconds / goodput)
    return seconds


def interruption_spread_fraction(wall_seconds: float, run: Availability) -> float:
    """Half-width of the 80 % range of the wall time that chance of the interruptions alone makes, over the wall time.

    Interruptions are a Poisson process, and each costs the restart and what was trained since the last checkpoint,
    uniform over the interval tau: a compound Poisson sum, whose variance is the expected number times the mean square
    of one loss, R^2 + R tau + tau^2 / 3.
    """
    if not np.isfinite(wall_seconds) or wall_seconds <= 0:
        return 0.0
    lost = float(run.checkpoint_interval_seconds + run.checkpoint_stall_seconds)
    restart = run.restart_seconds
    mean_square = restart * restart + restart * lost + lost * lost / 3
    expected = wall_seconds / float(run.mean_seconds_between_interruptions)
    return float(EIGHTY_PERCENT_HALF_WIDTH * np.sqrt(expected * mean_square)) / wall_seconds


def range_seconds(wall_seconds: float, model_band: float, run: Availability) -> tuple[float, float]:
    """80 % range of the wall time: what the model misses (`model_band`) and luck with interruptions, independent. [s]

    A band of the whole and more (a cluster that hardly gets to train) has no lower end by difference: by ratio then.
    """
    band = float(np.hypot(model_band, interruption_spread_fraction(wall_seconds, run)))
    low = wall_seconds * (1 - band) if band < 1 else wall_seconds / (1 + band)
    return low, wall_seconds * (1 + band)

"""Interruptions, checkpoint interval, goodput and spare servers of a long run. Rates are per GPU; times in seconds.

Published rates differ by a factor of three between sites with the same GPU, so each rate is an assumption with its
source and the caller may replace it. Functions take and return arrays where a search asks for many clusters at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from advisor.engine.interruption_rates import GB200_RATE, LLAMA3_RATE, RSC1_RATE, assumed_number, interruption_rate
from advisor.engine.specs import Assumption, Origin
from advisor.engine.units import SECONDS_PER_HOUR

__all__ = [
    "DEFAULT_COPY_RATE",
    "DEFAULT_FIXED_STALL",
    "DEFAULT_REPAIR",
    "DEFAULT_RESTART",
    "GB200_RATE",
    "HARDWARE_FRACTION",
    "LLAMA3_RATE",
    "RSC1_RATE",
    "ReliabilityInputs",
    "ReliabilityPlan",
    "assumed_number",
    "checkpoint_stall_seconds",
    "goodput_fraction",
    "interruption_rate",
    "is_young_daly_valid",
    "poisson_quantile",
    "reliability_plan",
    "young_daly_interval_seconds",
]

FloatArray = NDArray[np.float64]

DEFAULT_RESTART = Assumption(
    name="restart_seconds",
    value=600.0,
    unit="s",
    origin=Origin.PUBLISHED_RUN,
    source=(
        "MegaScale, arXiv:2402.15627 section 6.3: detection and diagnosis under 10 minutes on average "
        "(transcribed); agrees with over 90 % effective time of Llama 3 and 97 % of ByteRobust (arXiv:2509.16293)"
    ),
)
DEFAULT_COPY_RATE = Assumption(
    name="checkpoint_copy_bytes_per_second_per_gpu",
    value=25e9,
    unit="B/s",
    origin=Origin.DERIVED,
    source=(
        "about half of the 55.1 GB/s measured device to host on PCIe 5.0 x16 (8 x H200, ml-engineering network notes), "
        "80 % of the 31 GB/s of PCIe 4.0 x16"
    ),
)
DEFAULT_FIXED_STALL = Assumption(
    name="checkpoint_fixed_stall_seconds",
    value=2.0,
    unit="s",
    origin=Origin.DERIVED,
    source=(
        "all ranks meet, collect their states and start the writers, whatever the size: between under 1 s with pinned "
        "memory and tens of seconds of plain asynchronous saving (torchtitan, documentation of async_mode); with 2 s "
        "the goodput of Llama 3 (over 90 %) and ByteRobust (97 %) is met within 2 points"
    ),
)
HARDWARE_FRACTION = Assumption(
    name="hardware_interruption_fraction",
    value=0.78,
    unit="1",
    origin=Origin.PUBLISHED_RUN,
    source="arXiv:2407.21783 section 3.3.4: hardware, confirmed or suspected: about 78 % of unexpected interruptions",
)
DEFAULT_REPAIR = Assumption(
    name="repair_seconds",
    value=48 * SECONDS_PER_HOUR,
    unit="s",
    origin=Origin.DERIVED,
    source=(
        "next-business-day part and a day of tests before return; no published figure. OPT-175B (about 2 machines down "
        "a day, 12 buffer hosts, metaseq chronicles) is met by it"
    ),
)


def young_daly_interval_seconds(
    checkpoint_seconds: ArrayLike, mean_seconds_between_interruptions: ArrayLike
) -> FloatArray:
    """Training time between two checkpoints that loses least: sqrt(2 delta M) [1]_, at most M.

    First order: near the optimum while delta is well under M [2]_. From delta = M/2 on, where the root passes M, it
    returns M, which [2]_ takes from 2 M on; `is_young_daly_valid` says on which side a case is.

    Parameters
    ----------
    checkpoint_seconds : array_like
        delta, the time that training stands still for one checkpoint. [s]
    mean_seconds_between_interruptions : array_like
        M of the whole cluster; infinity where nothing fails. [s]

    Returns
    -------
    ndarray of float64
        Interval in the broadcast shape of the arguments. [s]

    Raises
    ------
    ValueError
        If a checkpoint time is negative or a mean time is not positive.

    References
    ----------
    .. [1] J. W. Young, "A first order approximation to the optimum checkpoint interval," Commun. ACM, vol. 17, no. 9,
       pp. 530-531, 1974. doi:10.1145/361147.361115
    .. [2] J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps," Future Gener.
       Comput. Syst., vol. 22, no. 3, pp. 303-312, 2006. doi:10.1016/j.future.2004.11.016
    """
    delta = np.asarray(checkpoint_seconds, dtype=np.float64)
    mean = np.asarray(mean_seconds_between_interruptions, dtype=np.float64)
    if np.any(delta < 0) or np.any(~(mean > 0)):
        raise ValueError(
            "checkpoint_seconds must not be negative, the mean time between interruptions must be positive."
        )
    # the factors apart: delta = 0 with M = infinity has the interval 0, not NaN
    root = np.where(delta > 0, np.sqrt(2.0 * np.where(delta > 0, delta, 1.0)) * np.sqrt(mean), 0.0)
    return np.asarray(np.minimum(root, mean), dtype=np.float64)


def is_young_daly_valid(checkpoint_seconds: float, mean_seconds_between_interruptions: float) -> bool:
    """Whether sqrt(2 delta M) holds: delta below M/2, where the root is still below M."""
    return 2.0 * checkpoint_seconds < mean_seconds_between_interruptions


def goodput_fraction(
    gpu_count: ArrayLike,
    checkpoint_seconds: ArrayLike,
    restart_seconds: ArrayLike,
    interruptions_per_gpu_second: ArrayLike,
    interval_seconds: ArrayLike | None = None,
) -> FloatArray:
    """Share of wall time that advances training, with failures at a constant rate in work, writing and restarting.

    Complete form of [1]_: a segment of tau useful seconds and a checkpoint of delta takes
    M exp(R/M) (exp((tau + delta)/M) - 1) of wall time on average, with M = 1 / (gpu_count x rate).

    Parameters
    ----------
    gpu_count : array_like of int
        GPUs of the job. [1]
    checkpoint_seconds : array_like
        delta: training stands still for one checkpoint; of an asynchronous write only the copy to host memory. [s]
    restart_seconds : array_like
        R: from the failure until training runs again, without the repeated work; with asynchronous writes add the time
        one write takes, since a failure in it falls back one checkpoint more. [s]
    interruptions_per_gpu_second : array_like
        Rate of unplanned interruptions; 0 gives the pure checkpoint loss of the interval. [1/s]
    interval_seconds : array_like, optional
        tau between checkpoints; None takes `young_daly_interval_seconds`. [s]

    Returns
    -------
    ndarray of float64
        Goodput, 0 to 1, in the broadcast shape of the arguments. [1]

    Raises
    ------
    ValueError
        If an argument is negative, or a GPU count is below 1.

    References
    ----------
    .. [1] J. T. Daly, Future Gener. Comput. Syst., vol. 22, no. 3, pp. 303-312, 2006: complete solution.
       doi:10.1016/j.future.2004.11.016
    """
    count = np.asarray(gpu_count, dtype=np.float64)
    delta = np.asarray(checkpoint_seconds, dtype=np.float64)
    restart = np.asarray(restart_seconds, dtype=np.float64)
    rate = np.asarray(interruptions_per_gpu_second, dtype=np.float64)
    if np.any(count < 1) or np.any(restart < 0) or np.any(rate < 0) or np.any(delta < 0):
        raise ValueError("gpu_count must be at least 1; times and the interruption rate must not be negative.")
    cluster_rate = count * rate
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # u = tau / M; Young's interval at most M (see young_daly_interval_seconds) in the same unit
        if interval_seconds is None:
            useful = np.minimum(np.sqrt(2.0 * delta * cluster_rate), 1.0)
            limit: ArrayLike = 1.0
        else:
            tau = np.asarray(interval_seconds, dtype=np.float64)
            if np.any(~(tau >= 0)):
                raise ValueError("interval_seconds must not be negative.")
            useful = cluster_rate * tau
            limit = np.where(np.isinf(tau) | (tau + delta == 0), 1.0, tau / (tau + delta))
        # u / (exp(u + delta/M) - 1); where nothing fails, or writing costs nothing, its limit
        kept = np.where(useful > 0, useful / np.expm1(useful + cluster_rate * delta), limit)
        kept = kept * np.exp(-cluster_rate * restart)
        # an infinite interval with failures never ends
        return np.asarray(np.where(np.isfinite(kept), kept, 0.0), dtype=np.float64)


def checkpoint_stall_seconds(
    checkpoint_bytes: ArrayLike,
    gpu_count: ArrayLike,
    write_bytes_per_second: ArrayLike,
    is_asynchronous: bool = True,
    copy_bytes_per_second_per_gpu: float | None = None,
) -> FloatArray:
    """Time that training stands still for one checkpoint: a fixed part (DEFAULT_FIXED_STALL) and the copy. [s]

    Parameters
    ----------
    checkpoint_bytes : array_like
        Bytes of the whole checkpoint, spread evenly over the GPUs (sharded optimizer). [B]
    gpu_count : array_like of int
        GPUs that copy at once. [1]
    write_bytes_per_second : array_like
        Write rate of the storage for the whole job. [B/s]
    is_asynchronous : bool, default True
        Asynchronous: the write itself does not stall. Synchronous: it does.
    copy_bytes_per_second_per_gpu : float, optional
        GPU to host memory; None takes DEFAULT_COPY_RATE. [B/s]

    Returns
    -------
    ndarray of float64
        Seconds in the broadcast shape of the arguments. [s]

    Raises
    ------
    ValueError
        If a rate or a GPU count is not positive.
    """
    copy_rate = (
        assumed_number(DEFAULT_COPY_RATE) if copy_bytes_per_second_per_gpu is None else copy_bytes_per_second_per_gpu
    )
    size = np.asarray(checkpoint_bytes, dtype=np.float64)
    count, write = np.asarray(gpu_count, dtype=np.float64), np.asarray(write_bytes_per_second, dtype=np.float64)
    if np.any(count < 1) or np.any(write <= 0) or copy_rate <= 0:
        raise ValueError("gpu_count must be at least 1 and the copy and write rates positive.")
    copy_seconds = assumed_number(DEFAULT_FIXED_STALL) + size / count / copy_rate
    return np.asarray(copy_seconds if is_asynchronous else copy_seconds + size / write, dtype=np.float64)


def poisson_quantile(mean: float, probability: float) -> int:
    """Smallest integer k with P(X <= k) >= probability for X ~ Poisson(mean).

    Sums the probability mass from 40 standard deviations below the mean (what lies lower is under 1e-300), so that no
    term underflows at the start of a large mean.

    Raises
    ------
    ValueError
        If the mean is negative or not finite, or the probability is outside 0 <= p < 1.
    """
    if not (math.isfinite(mean) and mean >= 0) or not 0 <= probability < 1:
        raise ValueError("mean must be finite and not negative, probability in [0, 1).")
    if mean == 0:
        return 0
    count = max(0, math.floor(mean - 40 * math.sqrt(mean)))
    log_mean = math.log(mean)
    cumulative = 0.0
    while True:
        cumulative += math.exp(count * log_mean - mean - math.lgamma(count + 1))
        # rounding of the sum can leave it a little under 1 for ever: stop far out in the upper tail as well
        if cumulative >= probability or count > mean + 40 * math.sqrt(mean) + 40:
            return count
        count += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityInputs:
    """What the plan of one run rests on, in seconds, bytes and bytes per second; training time as at goodput 1."""

    gpu_count: int
    gpus_per_server: int
    training_seconds_without_loss: float
    checkpoint_bytes: float
    write_bytes_per_second: float
    interruptions_per_gpu_second: float
    restart_seconds: float = 600.0
    is_asynchronous: bool = True
    interval_seconds: float | None = None
    repair_seconds: float = 48 * SECONDS_PER_HOUR
    hardware_fraction: float = 0.78
    spare_confidence_fraction: float = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityPlan:
    """Expected interruptions (with the 5 % and 95 % Poisson quantiles), checkpoint interval, loss and spares.

    `training_seconds_low` and `_high` are the wall times with the 5 % and the 95 % quantile of interruptions.
    """

    interruptions_expected: float
    interruptions_low: int
    interruptions_high: int
    mean_seconds_between_interruptions: float
    checkpoint_seconds: float
    checkpoint_write_seconds: float
    checkpoint_interval_seconds: float
    is_interval_valid: bool
    goodput: float
    training_seconds: float
    training_seconds_low: float
    training_seconds_high: float
    lost_seconds: float
    spare_server_count: int


def reliability_plan(inputs: ReliabilityInputs) -> ReliabilityPlan:
    """Checkpoint interval, goodput, interruptions and spare servers of one run.

    The interval is Young's, but not shorter than one write takes. Interruptions are counted over the whole wall time.
    Spares: the quantile of the number of servers in repair at once, Poisson with mean rate x hardware share x repair
    time (each failed server counted for its whole repair).

    Raises
    ------
    ValueError
        If a count is below 1, or a rate or time is out of range.
    """
    if inputs.gpus_per_server < 1 or inputs.training_seconds_without_loss < 0:
        raise ValueError("gpus_per_server must be at least 1 and the training time not negative.")
    cluster_rate = inputs.gpu_count * inputs.interruptions_per_gpu_second
    mean_seconds = math.inf if cluster_rate == 0 else 1.0 / cluster_rate
    stall = float(
        checkpoint_stall_seconds(
            inputs.checkpoint_bytes, inputs.gpu_count, inputs.write_bytes_per_second, inputs.is_asynchronous
        )
    )
    write = inputs.checkpoint_bytes / inputs.write_bytes_per_second
    interval = inputs.interval_seconds
    if interval is None:
        interval = max(float(young_daly_interval_seconds(stall, mean_seconds)), write)
    restart = inputs.restart_seconds + (write if inputs.is_asynchronous else 0.0)
    goodput = float(goodput_fraction(inputs.gpu_count, stall, restart, inputs.interruptions_per_gpu_second, interval))
    wall = inputs.training_seconds_without_loss / goodput if goodput > 0 else math.inf
    expected = cluster_rate * wall
    is_countable = math.isfinite(expected)
    low = poisson_quantile(expected, 0.05) if is_countable else 0
    high = poisson_quantile(expected, 0.95) if is_countable else 0
    # what writing alone costs; the rest of the loss is shared by the expected interruptions
    written = inputs.training_seconds_without_loss * (1 + (stall / interval if interval > 0 else 0.0))
    each = (wall - written) / expected if is_countable and expected > 0 else 0.0
    in_repair = cluster_rate * inputs.hardware_fraction * inputs.repair_seconds
    return ReliabilityPlan(
        interruptions_expected=expected,
        interruptions_low=low,
        interruptions_high=high,
        mean_seconds_between_interruptions=mean_seconds,
        checkpoint_seconds=stall,
        checkpoint_write_seconds=write,
        checkpoint_interval_seconds=interval,
        is_interval_valid=is_young_daly_valid(stall, mean_seconds),
        goodput=goodput,
        training_seconds=wall,
        training_seconds_low=written + low * each if is_countable else wall,
        training_seconds_high=written + high * each if is_countable else wall,
        lost_seconds=wall - inputs.training_seconds_without_loss,
        spare_server_count=poisson_quantile(in_repair, inputs.spare_confidence_fraction),
    )

"""A measured pilot rescales the prediction: what the engine misses on a small run, it misses alike on the large one.

Published runs of one source, model, GPU and precision at several sizes show how much of the error carries over: nearly
all of it (slope of the large run's log error on the small one's close to 1), so the measured ratio is applied whole.
What then remains is the spread between repeated runs, and what grows with the size. `validate_runs --pilot` prints it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# 80 % of published rows that share every deciding column differ by less than this. [log units]
REPEATED_RUN_LOG_ERROR = 0.049
# Growth of the 80 % quantile of the rescaled log errors, per doubling of the GPU count between pilot and run, over
# public pairs with a pilot of at most 16 GPUs and a run of at least four times as many that share every setting but the
# size (each source and model weighing the same): 0.13 at 5 to 6.5 doublings; 84 % of all pairs lie within what these
# two constants state. [log units]
LOG_ERROR_PER_DOUBLING = 0.02


class PilotRescaling(NamedTuple):
    """`factor` multiplies predicted tokens per second; a run lies within exp(+-remaining_log_error) in 4 of 5 cases."""

    factor: float
    remaining_log_error: float


def pilot_rescaling(
    predicted_tokens_per_second: float,
    measured_tokens_per_second: float,
    *,
    measured_gpu_count: int,
    gpu_count: int,
    log_error_without_pilot: float,
) -> PilotRescaling:
    """Factor that a pilot puts on the predicted rate of a run of the same model, GPU kind, precision and framework.

    Parameters
    ----------
    predicted_tokens_per_second, measured_tokens_per_second : float
        Of the pilot itself, per GPU or in all, both alike. [token/s]
    measured_gpu_count, gpu_count : int
        GPUs of the pilot, and of the run that is predicted. [1]
    log_error_without_pilot : float
        Band of the prediction without a pilot, ln(1 + band); a pilot never widens it. [log units]

    Raises
    ------
    ValueError
        If a rate is not positive and finite or a count is below 1.
    """
    for rate in (predicted_tokens_per_second, measured_tokens_per_second):
        if not 0 < rate < math.inf:
            raise ValueError("A rate of a pilot must be positive and finite.")
    if min(measured_gpu_count, gpu_count) < 1:
        raise ValueError("A pilot and its run need at least one GPU.")
    doublings = abs(math.log2(gpu_count / measured_gpu_count))
    remaining = math.hypot(REPEATED_RUN_LOG_ERROR, LOG_ERROR_PER_DOUBLING * doublings)
    return PilotRescaling(
        factor=measured_tokens_per_second / predicted_tokens_per_second,
        remaining_log_error=min(remaining, max(log_error_without_pilot, 0.0)),
    )

"""Published rates of unplanned interruptions by GPU generation, and presets of what vendors claim.

Rates are per GPU and second. Sites with the same GPU differ by a factor of three, so each is an assumption with source.
"""

from __future__ import annotations

import math

from advisor.engine.specs import Assumption, Origin
from advisor.engine.units import SECONDS_PER_DAY

_LLAMA3_SOURCE = (
    "The Llama 3 Herd of Models, arXiv:2407.21783 section 3.3.4, Table 5: "
    "419 unexpected interruptions in 54 days on 16 384 H100"
)
_RSC1_SOURCE = (
    "Revisiting Reliability in Large-Scale Machine Learning Research Clusters, arXiv:2410.21680: "
    "6.5 failures per 1000 node-days of 8 A100 (RSC-1, 11 months; quoted, not read in the paper)"
)
_GB200_SOURCE = (
    "SemiAnalysis 2025, GB200 NVL72 field range 1 000 to 3 000 GPU-days between interruptions, midpoint "
    "(not peer reviewed)"
)


def _rate(interruption_count: float, gpu_seconds: float, origin: Origin, source: str) -> Assumption:
    return Assumption(
        name="interruptions_per_gpu_second",
        value=interruption_count / gpu_seconds,
        unit="1/s",
        origin=origin,
        source=source,
    )


LLAMA3_RATE = _rate(419, 54 * SECONDS_PER_DAY * 16384, Origin.PUBLISHED_RUN, _LLAMA3_SOURCE)
RSC1_RATE = _rate(6.5, 1000 * SECONDS_PER_DAY * 8, Origin.PUBLISHED_RUN, _RSC1_SOURCE)
GB200_RATE = _rate(1, 2000 * SECONDS_PER_DAY, Origin.PUBLISHED_RUN, _GB200_SOURCE)

# Generations without published counts take the Hopper rate: the one whose source was read in full.
_RATE_BY_ARCHITECTURE: dict[str, Assumption] = {"ampere": RSC1_RATE, "hopper": LLAMA3_RATE}

# What sellers say, as presets to compare with and never as defaults: the share of runs that are interrupted at all.
CLAIMED_CLOUD_INTERRUPTED = Assumption(
    name="interrupted_run_fraction",
    value=0.20,
    unit="1",
    origin=Origin.VENDOR_CLAIM,
    source="vendor article: training is interrupted in 15 to 20 % of cloud runs (no base given)",
)
CLAIMED_BARE_METAL_INTERRUPTED = Assumption(
    name="interrupted_run_fraction",
    value=0.01,
    unit="1",
    origin=Origin.VENDOR_CLAIM,
    source="vendor article: under 1 % of runs on bare metal (no base given)",
)


def assumed_number(assumption: Assumption) -> float:
    """Numeric value of an assumption; raises ValueError for one that holds no number."""
    if isinstance(assumption.value, bool) or not isinstance(assumption.value, int | float):
        raise ValueError(f"Assumption {assumption.name} holds no number.")
    return float(assumption.value)


def interruption_rate(architecture: str, gpu_name: str = "") -> Assumption:
    """Published interruption rate of a GPU generation. [1/s per GPU]

    Parameters
    ----------
    architecture : str
        Generation as in the catalogue, any case ("Hopper", "Ampere", ...).
    gpu_name : str, default ""
        Tells rack-scale GB200 and GB300 from other Blackwell parts.

    Returns
    -------
    Assumption
        Rate per GPU and second, all causes but planned stops. Ampere: RSC-1; Hopper and all without counts: Llama 3.

    References
    ----------
    .. [1] Llama Team, "The Llama 3 Herd of Models," 2024. arXiv:2407.21783, Table 5.
    .. [2] A. Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters," 2024.
       arXiv:2410.21680.
    """
    if gpu_name.upper().replace("NVIDIA", "").strip().startswith(("GB200", "GB300")):
        return GB200_RATE
    words = architecture.lower().split()
    return _RATE_BY_ARCHITECTURE.get(words[0] if words else "", LLAMA3_RATE)


def rate_from_interrupted_share(interrupted_fraction: float, gpu_count: int, training_seconds: float) -> float:
    """Rate per GPU at which this share of runs of that size and length meets at least one interruption. [1/s]

    Exponential times between interruptions: 1 - exp(-rate x GPUs x time) = share. A claim about "a run" says nothing
    about longer or larger ones, so it must name the run that it is about.

    Parameters
    ----------
    interrupted_fraction : float
        Share of runs with an interruption, 0 to under 1. [1]
    gpu_count : int
        GPUs of that run. [1]
    training_seconds : float
        Its length. [s]

    Raises
    ------
    ValueError
        If the share is outside 0 to 1, or the run has no GPU or no length.
    """
    if not 0 <= interrupted_fraction < 1 or gpu_count < 1 or not training_seconds > 0:
        raise ValueError("The share lies between 0 and 1, and the run has GPUs and a length.")
    return -math.log1p(-interrupted_fraction) / (gpu_count * training_seconds)

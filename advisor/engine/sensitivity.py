"""How the days of an answer move with its inputs: each input to both ends of its range, all in one pass of the arrays.

Ranges are data with their origin. The cluster stays as it is; of the layout only what the request left open may adapt
(see `scenario_stack`). The base is the answer itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from advisor.engine import training_time
from advisor.engine.calibration import Calibration
from advisor.engine.estimate import error_band_fraction
from advisor.engine.machine import machine
from advisor.engine.parameters import parameter_count
from advisor.engine.scenario_stack import Case, CaseTimes, evaluate_cases
from advisor.engine.specs import Estimate, Origin, TrainingPlan
from advisor.engine.units import BITS_PER_BYTE, GIGA, SECONDS_PER_DAY
from advisor.engine.workload import workload

STRONGEST_COUNT = 6
TOKEN_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
GPU_COUNT_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
# highest share of a datasheet rate that a varied rate may reach
LARGEST_ACHIEVED_FRACTION = 1.0
LARGEST_BAND = 0.9  # of a rate: a wider band would leave nothing of it


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRange:
    """By which factors an input is varied, and why by these. None: by the band of the validation residuals."""

    low_factor: float | None
    high_factor: float | None
    origin: Origin
    source: str


_BAND_SOURCE = "four of five published runs of this kind lie within this of their prediction"
RANGES: dict[str, InputRange] = {
    "parameters": InputRange(
        low_factor=0.8,
        high_factor=1.2,
        origin=Origin.DERIVED,
        source="planning range: a fifth fewer or more layers of the same width",
    ),
    "training_tokens": InputRange(
        low_factor=0.8, high_factor=1.2, origin=Origin.DERIVED, source="planning range: a fifth less or more data"
    ),
    "sequence_length": InputRange(
        low_factor=0.5,
        high_factor=2.0,
        origin=Origin.DERIVED,
        source="half and double the length; the tokens of a step stay the same",
    ),
    "global_batch_tokens": InputRange(
        low_factor=0.5, high_factor=2.0, origin=Origin.DERIVED, source="half and double the batch"
    ),
    "gemm_efficiency": InputRange(low_factor=None, high_factor=None, origin=Origin.PUBLISHED_RUN, source=_BAND_SOURCE),
    "memory_efficiency": InputRange(
        low_factor=None, high_factor=None, origin=Origin.PUBLISHED_RUN, source=_BAND_SOURCE
    ),
    "scale_out_gbit_per_second_per_gpu": InputRange(
        low_factor=0.5,
        high_factor=2.0,
        origin=Origin.DATASHEET,
        source="the port rates before and after: 100, 200, 400 and 800 Gbit/s (Ethernet; InfiniBand EDR to XDR)",
    ),
    "interruptions_per_1000_gpu_days": InputRange(
        low_factor=1 / 3,
        high_factor=3.0,
        origin=Origin.PUBLISHED_RUN,
        source="published sites with the same GPU differ by a factor of three",
    ),
    "throughput_loss": InputRange(
        low_factor=0.0,
        high_factor=1.5,
        origin=Origin.VENDOR_CLAIM,
        source="from none to half as much again: 20 % become 30 %, the most that vendor articles claim",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedInput:
    """One input at base, low and high; values of the input in `unit`, seconds of training (None: nothing fits)."""

    name: str
    unit: str
    origin: Origin
    source: str
    values: tuple[float, float, float]
    training_seconds: tuple[float | None, float | None, float | None]

    @property
    def spread_seconds(self) -> float:
        """Between the shortest and the longest time; an end at which nothing fits moves everything."""
        known = [seconds for seconds in self.training_seconds if seconds is not None]
        return float("inf") if len(known) < len(self.training_seconds) else max(known) - min(known)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensTable:
    """Training seconds by tokens (rows) and GPU count (columns); None where nothing fits."""

    tokens: tuple[float, ...]
    gpu_counts: tuple[int, ...]
    training_seconds: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    inputs: tuple[VariedInput, ...]  # strongest first
    tokens_by_gpu_count: TokensTable
    base: Case


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTimes:
    """What decides the days of one cluster size, whatever the tokens."""

    gpu_count: int
    step_seconds: float
    global_batch_size: float
    goodput: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """A varied case and the value of its input there."""

    value: float
    case: Case


def base_case(estimate: Estimate, calibration: Calibration) -> Case:
    """The estimate's own scenario as a case of a stack."""
    scenario = estimate.scenario
    cluster, plan = scenario.cluster, scenario.plan
    return Case(
        model=scenario.model,
        plan=plan,
        work=workload(scenario.model, plan),
        rates=machine(cluster.gpu, cluster.gpus_per_server, cluster.fabric, plan, cluster.deployment, calibration),
        gpu_count=cluster.gpu_count,
        interruptions_per_gpu_second=training_time.interruptions_per_gpu_second(cluster.gpu, cluster.deployment),
        throughput_loss_fraction=cluster.deployment.throughput_loss_fraction,
    )


def with_layer_count(case: Case, layer_count: int) -> Case:
    """The same model, deeper or shallower."""
    model = replace(case.model, layer_count=layer_count)
    return replace(case, model=model, work=workload(model, case.plan))


def _parameters(estimate: Estimate, case: Case, factor: float) -> _End | None:
    layers = max(1, case.model.dense_layer_count, round(case.model.layer_count * factor))
    changed = with_layer_count(case, layers)
    return _End(value=float(parameter_count(changed.model)), case=changed)


def _tokens(estimate: Estimate, case: Case, factor: float) -> _End | None:
    if case.plan.tokens is None:
        return None
    tokens = case.plan.tokens * factor
    return _End(value=tokens, case=replace(case, plan=replace(case.plan, tokens=tokens)))


def _sequence_length(estimate: Estimate, case: Case, factor: float) -> _End | None:
    plan = case.plan
    length = max(1, round(plan.sequence_length * factor))
    sequences = max(1, round(plan.global_batch_size * plan.sequence_length / length))
    changed = replace(plan, sequence_length=length, global_batch_size=sequences)
    return _End(value=float(length), case=replace(case, plan=changed, work=workload(case.model, changed)))


def _batch(estimate: Estimate, case: Case, factor: float) -> _End | None:
    plan = case.plan
    sequences = max(1, round(plan.global_batch_size * factor))
    changed = replace(case, plan=replace(plan, global_batch_size=sequences))
    return _End(value=float(sequences * plan.sequence_length), case=changed)


def _matrix_rate(estimate: Estimate, case: Case, factor: float) -> _End | None:
    rates = case.rates
    share = rates.gemm_flops_per_second / rates.dense_peak_flops_per_second
    factor = min(factor, LARGEST_ACHIEVED_FRACTION / share)
    changed = replace(
        rates,
        gemm_flops_per_second=rates.gemm_flops_per_second * factor,
        head_flops_per_second=rates.head_flops_per_second * factor,
        attention_flops_per_second=rates.attention_flops_per_second * factor,
        attention_backward_flops_per_second=rates.attention_backward_flops_per_second * factor,
    )
    return _End(value=share * factor, case=replace(case, rates=changed))


def _memory_rate(estimate: Estimate, case: Case, factor: float) -> _End | None:
    rate = case.rates.memory_bytes_per_second
    share = rate / estimate.scenario.cluster.gpu.memory_bytes_per_second
    factor = min(factor, LARGEST_ACHIEVED_FRACTION / share)
    changed = replace(case.rates, memory_bytes_per_second=rate * factor)
    return _End(value=share * factor, case=replace(case, rates=changed))


def _network(estimate: Estimate, case: Case, factor: float) -> _End | None:
    gbit = estimate.scenario.cluster.fabric.scale_out_bytes_per_second_per_gpu * BITS_PER_BYTE / GIGA
    rate = case.rates.scale_out_bytes_per_second * factor
    return _End(value=gbit * factor, case=replace(case, rates=replace(case.rates, scale_out_bytes_per_second=rate)))


def _interruptions(estimate: Estimate, case: Case, factor: float) -> _End | None:
    rate = case.interruptions_per_gpu_second * factor
    changed = replace(case, interruptions_per_gpu_second=rate)
    return _End(value=rate * SECONDS_PER_DAY * 1000, case=changed)


def _throughput_loss(estimate: Estimate, case: Case, factor: float) -> _End | None:
    loss = case.throughput_loss_fraction
    loss = min(loss * factor, (1 + loss) / 2)
    return _End(value=loss, case=replace(case, throughput_loss_fraction=loss))


VARIED: dict[str, tuple[str, Callable[[Estimate, Case, float], _End | None]]] = {
    "parameters": ("", _parameters),
    "training_tokens": ("tokens", _tokens),
    "sequence_length": ("tokens", _sequence_length),
    "global_batch_tokens": ("tokens", _batch),
    "gemm_efficiency": ("1", _matrix_rate),
    "memory_efficiency": ("1", _memory_rate),
    "scale_out_gbit_per_second_per_gpu": ("Gbit/s", _network),
    "interruptions_per_1000_gpu_days": ("1/(1000 GPU·d)", _interruptions),
    "throughput_loss": ("1", _throughput_loss),
}


def sensitivity(estimate: Estimate, *, calibration: Calibration, sizes: Sequence[SizeTimes] = ()) -> Sensitivity | None:
    """Days of an estimate at both ends of each input's range, and by tokens and GPU count.

    Parameters
    ----------
    estimate : Estimate
        The answer whose inputs are varied; None comes back where it has no tokens or does not fit.
    calibration : Calibration
    sizes : sequence of SizeTimes, optional
        Cluster sizes that a search has evaluated already, its own among them. Without them the estimate's layout
        is given fewer and more data-parallel groups in the same pass.
    """
    plan = estimate.scenario.plan
    if plan.tokens is None or not estimate.memory.fits:
        return None
    base = base_case(estimate, calibration)
    band = error_band_fraction(estimate.scenario.cluster, estimate.scenario.model, calibration)
    cases = [base]
    ends: dict[str, tuple[_End, _End, _End]] = {}
    for name, (_unit, vary) in VARIED.items():
        low, high = _factors(name, band)
        found = [vary(estimate, base, factor) for factor in (low, 1.0, high)]
        three = [end for end in found if end is not None]
        if len(three) == len(found) and three[0].value < three[1].value < three[2].value:
            ends[name] = (three[0], three[1], three[2])
            cases += [three[0].case, three[2].case]
    counts = [] if sizes else _other_counts(estimate.scenario.cluster.gpu_count)
    cases += [replace(base, gpu_count=count) for count in counts]
    times = evaluate_cases(estimate, cases, calibration)
    inputs = [
        _varied(
            name, ends[name], (times.training_seconds[at], times.training_seconds[0], times.training_seconds[at + 1])
        )
        for name, at in zip(ends, range(1, 2 * len(ends), 2), strict=True)
    ]
    inputs = sorted((item for item in inputs if item.spread_seconds > 0), key=lambda item: -item.spread_seconds)
    if not sizes:
        places = [0, *range(len(cases) - len(counts), len(cases))]
        sizes = sorted((_size(cases, times, at) for at in places), key=lambda size: size.gpu_count)
    return Sensitivity(inputs=tuple(inputs[:STRONGEST_COUNT]), tokens_by_gpu_count=tokens_table(plan, sizes), base=base)


def _factors(name: str, band: float) -> tuple[float, float]:
    row = RANGES[name]
    low = 1 - min(band, LARGEST_BAND) if row.low_factor is None else row.low_factor
    return low, 1 + band if row.high_factor is None else row.high_factor


def _varied(name: str, ends: tuple[_End, _End, _End], seconds: tuple[float, float, float]) -> VariedInput:
    row = RANGES[name]
    low, base, high = ends
    return VariedInput(
        name=name,
        unit=VARIED[name][0],
        origin=row.origin,
        source=row.source,
        values=(low.value, base.value, high.value),
        training_seconds=(_known(seconds[0]), _known(seconds[1]), _known(seconds[2])),
    )


def _known(seconds: float) -> float | None:
    return float(seconds) if math.isfinite(seconds) else None


def _other_counts(gpu_count: int) -> list[int]:
    counts = {round(gpu_count * factor) for factor in GPU_COUNT_FACTORS if gpu_count * factor >= 1}
    return sorted(counts - {gpu_count})


def _size(cases: Sequence[Case], times: CaseTimes, at: int) -> SizeTimes:
    return SizeTimes(
        gpu_count=cases[at].gpu_count,
        step_seconds=float(times.step_seconds[at]),
        global_batch_size=float(times.global_batch_size[at]),
        goodput=float(times.goodput[at]),
    )


def tokens_table(plan: TrainingPlan, sizes: Sequence[SizeTimes]) -> TokensTable:
    """Training time of a quarter to four times the tokens on each size. [s]"""
    assert plan.tokens is not None  # noqa: S101  (asked before)
    tokens = np.array([plan.tokens * factor for factor in TOKEN_FACTORS])
    batch_tokens = np.array([size.global_batch_size for size in sizes]) * plan.sequence_length
    steps = training_time.step_counts(tokens[:, None], batch_tokens[None, :])
    seconds = training_time.training_seconds(
        steps, np.array([size.step_seconds for size in sizes]), np.array([size.goodput for size in sizes])
    )
    return TokensTable(
        tokens=tuple(float(count) for count in tokens),
        gpu_counts=tuple(size.gpu_count for size in sizes),
        training_seconds=tuple(tuple(_known(value) for value in row) for row in seconds),
    )


def sizes_around(gpu_count: int, sizes: Sequence[SizeTimes]) -> tuple[SizeTimes, ...]:
    """Of the sizes that were evaluated those nearest to a quarter up to four times a count."""
    nearest = {
        min(range(len(sizes)), key=lambda at: abs(math.log(sizes[at].gpu_count / (gpu_count * factor))))
        for factor in GPU_COUNT_FACTORS
    }
    return tuple(sizes[at] for at in sorted(nearest))

"""Fit the step-time constants to published runs: Levenberg-Marquardt on log ratios, robust, with priors.

Each constant moves in log space around a physical prior; a Huber loss keeps single odd rows from pulling; a group of n
rows of one source and model weighs as n^(1/4), so that big sweeps do not drown the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.calibration_batch import RowBatch
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates
from advisor.engine.estimate import ScenarioError, settle
from advisor.engine.measured_rates import FP8_MATMUL_FRACTIONS, MATMUL_FRACTIONS
from advisor.engine.specs import Scenario
from advisor.engine.workload import Workload, workload
from advisor.evidence import RunRow

FloatArray = NDArray[np.float64]
HUBER_DELTA = 0.07  # log units: a 7 % error counts squared, more counts linearly
GROUP_POWER = 0.82  # each row of a group of n weighs n^-0.82
PRIOR_WEIGHT = 1.0  # of a constant one width away from its prior, in rows that are off by HUBER_DELTA
PRIOR_WIDTH = 0.5  # log units; how far a constant may move against weak evidence
PRIOR_WIDTHS = {"deepspeed_overhead_factor": 0.1}
STEP = 1e-3  # log units, of the one-sided difference
LARGEST_MOVE = 0.7  # log units that a constant may move in one iteration


@dataclass(frozen=True, slots=True)
class FitRow:
    """One run with its layout settled, ready to be evaluated under any constants."""

    run: RunRow
    scenario: Scenario
    work: Workload
    candidate: Candidates
    published: float
    weight: float


def settled_layout(run: RunRow, calibration: Calibration) -> tuple[Scenario, Workload, Candidates] | None:
    """The layout of a run; what its source leaves open is the best that fits under the given constants."""
    scenario = run.scenario
    if scenario is None:
        return None
    work = workload(scenario.model, scenario.plan)
    settled = settle(scenario, work, calibration)
    if settled is None:
        return None
    return scenario, work, settled.candidates.take(slice(settled.index, settled.index + 1))


def fit_rows(runs: Sequence[RunRow], calibration: Calibration) -> list[FitRow]:
    """Rows that can be evaluated, each with its weight."""
    sizes = Counter(run.score_group for run in runs)
    rows: list[FitRow] = []
    for run in runs:
        published = run.published_tokens_per_second_per_gpu
        try:
            settled = settled_layout(run, calibration) if published else None
        except (ScenarioError, ValueError):
            settled = None
        if settled is not None and published:
            rows.append(FitRow(run, *settled, published, sizes[run.score_group] ** -GROUP_POWER))
    return rows


def log_ratios(rows: Sequence[FitRow], calibration: Calibration) -> FloatArray:
    """ln(predicted / published) of each row."""
    return Residuals(rows, calibration).at(calibration)


class Residuals:
    """ln(predicted / published) of the same rows under many sets of constants."""

    def __init__(self, rows: Sequence[FitRow], calibration: Calibration) -> None:
        self._batch = RowBatch(rows, calibration)
        self._published = np.log([row.published for row in rows])

    def at(self, calibration: Calibration) -> FloatArray:
        return np.asarray(np.log(self._batch.tokens_per_second_per_gpu(calibration)) - self._published)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One fitted constant: a field of Calibration, or one key of a table."""

    name: str
    key: str | None
    upper: float  # physical bound: an efficiency or a share is at most 1

    def value(self, calibration: Calibration) -> float:
        held: Any = getattr(calibration, self.name)
        return float(held if self.key is None else held[self.key])


def with_values(calibration: Calibration, parameters: Sequence[Parameter], values: FloatArray) -> Calibration:
    changes: dict[str, Any] = {}
    for parameter, value in zip(parameters, values, strict=True):
        bounded = float(min(value, parameter.upper))
        if parameter.key is None:
            changes[parameter.name] = bounded
        else:
            table: Mapping[str, float] = changes.get(parameter.name, getattr(calibration, parameter.name))
            changes[parameter.name] = {**table, parameter.key: bounded}
    return replace(calibration, **changes)


@dataclass(frozen=True, slots=True)
class Problem:
    """Weighted Huber loss of residuals plus the pull of the priors, over the logs of the constants."""

    residuals: Callable[[FloatArray], FloatArray]
    weights: FloatArray  # of the rows; 0 leaves one out
    centre: FloatArray  # logs of the priors
    upper: FloatArray  # logs of the bounds
    pull: FloatArray  # weight of the squared distance from the prior

    def loss(self, errors: FloatArray, point: FloatArray) -> float:
        absolute = np.abs(errors)
        huber = np.where(absolute < HUBER_DELTA, absolute**2, 2 * HUBER_DELTA * absolute - HUBER_DELTA**2)
        return float(np.sum(self.weights * huber) + np.sum(self.pull * (point - self.centre) ** 2))

    def jacobian(self, errors: FloatArray, point: FloatArray) -> FloatArray:
        columns = []
        for column in range(point.size):
            moved = point.copy()
            moved[column] += STEP if moved[column] + STEP <= self.upper[column] else -STEP
            columns.append((self.residuals(moved) - errors) / (moved[column] - point[column]))
        return np.column_stack(columns)


def solve(
    problem: Problem, start: FloatArray, iterations: int, report: Callable[[str, FloatArray], None]
) -> FloatArray:
    """The point that minimises the problem's loss: iteratively reweighted Levenberg-Marquardt within the bounds."""
    point = np.minimum(start, problem.upper)
    errors = problem.residuals(point)
    best, damping = problem.loss(errors, point), 1e-2
    for iteration in range(iterations):
        jacobian = problem.jacobian(errors, point)
        robust = problem.weights * np.minimum(1.0, HUBER_DELTA / np.maximum(np.abs(errors), 1e-12))
        normal = jacobian.T @ (robust[:, None] * jacobian) + np.diag(problem.pull)
        gradient = jacobian.T @ (robust * errors) + problem.pull * (point - problem.centre)
        # constants at their bound that would go beyond it stay there; the others move as if they were fixed
        free = np.flatnonzero(~((point >= problem.upper - 1e-12) & (gradient < 0)))
        inner, gain = normal[np.ix_(free, free)], 0.0
        for _ in range(6):
            move = np.zeros_like(point)
            move[free] = np.linalg.solve(inner + damping * np.diag(np.diag(inner)), gradient[free])
            candidate = np.minimum(point - np.clip(move, -LARGEST_MOVE, LARGEST_MOVE), problem.upper)
            candidate_errors = problem.residuals(candidate)
            candidate_loss = problem.loss(candidate_errors, candidate)
            if candidate_loss < best:
                gain = best - candidate_loss
                point, errors, best, damping = candidate, candidate_errors, candidate_loss, damping / 3
                break
            damping *= 4
        median = float(np.median(np.abs(np.expm1(errors))))
        report(f"iteration {iteration + 1}: loss {best:.4f}, row median error {median:.4f}", point)
        if gain < 1e-4 * best:
            break
    return point


def fit(
    rows: Sequence[FitRow],
    prior: Calibration,
    parameters: Sequence[Parameter],
    *,
    iterations: int = 12,
    start: Calibration | None = None,
    left_out: NDArray[np.bool_] | None = None,
    residuals: Residuals | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Calibration:
    """Constants that minimise the weighted Huber loss of the log ratios plus the pull of the priors.

    `left_out` rows have no say; `residuals` of the same rows spare stacking them again.
    """
    shared = residuals or Residuals(rows, prior)
    weights = np.array([row.weight for row in rows])
    widths = np.array([PRIOR_WIDTHS.get(parameter.name, PRIOR_WIDTH) for parameter in parameters])
    problem = Problem(
        residuals=lambda point: shared.at(with_values(prior, parameters, np.exp(point))),
        weights=weights if left_out is None else np.where(left_out, 0.0, weights),
        centre=np.log([parameter.value(prior) for parameter in parameters]),
        upper=np.log([parameter.upper for parameter in parameters]),
        pull=HUBER_DELTA**2 * PRIOR_WEIGHT / widths**2,
    )
    first = np.log([parameter.value(start or prior) for parameter in parameters])
    point = solve(problem, first, iterations, lambda line, _point: report(line))
    return with_values(prior, parameters, np.exp(point))


# upper bounds: an achieved share is at most 1; factors that count extra passes or launches are only bounded loosely
SHARES = (
    "gemm_bytes_factor",
    "tensor_exposed_fraction",
    "pipeline_exposed_fraction",
    "data_overlap_fraction",
    "data_exposed_fraction",
    "fsdp_overlap_fraction",
    "fsdp_interference_fraction",
    "captured_host_fraction",
    "context_overlap_fraction",
    "expert_exposed_fraction",
    "expert_exposed_fraction_scale_out",
    "expert_overlapped_exposed_fraction",
)
FACTORS = (
    "attention_backward_factor",
    "attention_exponential_factor",
    "elementwise_factor",
    "elementwise_factor_fsdp",
    "eager_attention_factor",
    "deepspeed_overhead_factor",
    "fp8_quantization_factor",
    "mx_quantization_factor",
    "fp4_quantization_factor",
    "layer_host_seconds",
    "moe_layer_host_seconds",
    "micro_batch_overhead_seconds",
    "step_overhead_seconds",
    "moe_permute_factor",
    "expert_width_loss",
    "scale_up_hop_seconds",
    "scale_out_hop_seconds",
    "ring_hop_seconds",
    "scale_out_congestion_fraction",
    "bubble_factor",
    "straggler_fraction_per_doubling",
    "power_exponent",
)
FAMILY_TABLES = ("gemm_efficiency", "fp8_gemm_efficiency", "fp4_gemm_efficiency", "attention_efficiency")
# no training run multiplies faster than the best shape ever measured on the part
MEASURED_BOUNDS = {
    ("gemm_efficiency", "Ampere"): MATMUL_FRACTIONS["nvidia-a100-sxm4"],
    ("gemm_efficiency", "Hopper"): MATMUL_FRACTIONS["nvidia-h100-sxm5"],
    ("gemm_efficiency", "Blackwell"): MATMUL_FRACTIONS["nvidia-b300"],
    ("gemm_efficiency", "Blackwell/rack"): MATMUL_FRACTIONS["nvidia-gb200"],
    ("fp8_gemm_efficiency", "Hopper"): FP8_MATMUL_FRACTIONS["nvidia-h200-sxm5"],
    ("fp8_gemm_efficiency", "Blackwell"): FP8_MATMUL_FRACTIONS["nvidia-b200"],
}
UNMEASURED_BOUND = 0.97


def fitted_parameters(rows: Sequence[FitRow], prior: Calibration) -> list[Parameter]:
    """Constants to fit: all global ones, and of the family tables the families that the rows cover."""
    families = {row.scenario.cluster.gpu.architecture for row in rows}
    parameters = [Parameter(name, None, 1.0) for name in SHARES]
    parameters += [Parameter(name, None, 1e3) for name in FACTORS]
    for table in FAMILY_TABLES:
        parameters += [
            Parameter(table, key, MEASURED_BOUNDS.get((table, key), UNMEASURED_BOUND))
            for key in getattr(prior, table)
            if key.split("/")[0] in families
        ]
    return parameters

"""Fit the step-time constants to published runs: Levenberg-Marquardt on log ratios, robust, with priors.

Each constant moves in log space around a physical prior; a Huber loss keeps single odd rows from pulling; a group of n
rows of one source and model weighs as sqrt(n), so that big sweeps do not drown the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.engine.calibration import FAMILY_PARENTS, Calibration
from advisor.engine.candidates import Candidates
from advisor.engine.estimate import ScenarioError, settle
from advisor.engine.evaluate import evaluate
from advisor.engine.machine import LARGEST_BOARD, RACK_SCALE, machine
from advisor.engine.specs import Scenario
from advisor.engine.workload import Workload, workload
from advisor.evidence import RunRow

FloatArray = NDArray[np.float64]
HUBER_DELTA = 0.10  # log units: a 10 % error counts squared, more counts linearly
PRIOR_WIDTH = 0.5  # log units; how far a constant may move against weak evidence
PRIOR_WEIGHT = 0.3


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
    candidates, _, index, _ = settled
    return scenario, work, candidates.take(slice(index, index + 1))


def fit_rows(runs: Sequence[RunRow], calibration: Calibration) -> list[FitRow]:
    """Rows that can be evaluated, each with its weight."""
    sizes = Counter(run.group for run in runs)
    rows: list[FitRow] = []
    for run in runs:
        published = run.published_tokens_per_second_per_gpu
        try:
            settled = settled_layout(run, calibration) if published else None
        except (ScenarioError, ValueError):
            settled = None
        if settled is not None and published:
            rows.append(FitRow(run, *settled, published, sizes[run.group] ** -0.25))
    return rows


def predicted_tokens_per_second_per_gpu(row: FitRow, calibration: Calibration) -> float:
    plan, cluster = row.scenario.plan, row.scenario.cluster
    rates = machine(cluster.gpu, cluster.gpus_per_server, cluster.fabric, plan, cluster.deployment, calibration)
    evaluated = evaluate(row.work, plan, row.candidate, rates, calibration)
    batch = float(row.candidate.global_batch_size[0])
    return batch * plan.sequence_length / float(evaluated.time.step_seconds[0]) / cluster.gpu_count


def log_ratios(rows: Sequence[FitRow], calibration: Calibration) -> FloatArray:
    """ln(predicted / published) of each row."""
    return np.array([np.log(predicted_tokens_per_second_per_gpu(row, calibration) / row.published) for row in rows])


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


def can_touch(parameter: Parameter, row: FitRow) -> bool:
    """Whether the constant enters the row's prediction at all (the others' derivatives are zero)."""
    precision, candidate = row.scenario.plan.precision.value, row.candidate
    if parameter.key is not None:
        family, _, recipe = parameter.key.partition("/")
        architecture = row.scenario.cluster.gpu.architecture
        same_family = family in (architecture, FAMILY_PARENTS.get(architecture))
        is_rack = row.scenario.cluster.gpu.scale_up_domain_size > LARGEST_BOARD
        return same_family and (recipe in ("", row.scenario.plan.recipe.value) or (recipe == RACK_SCALE and is_rack))
    conditions = {
        "moe_": row.work.expert_count > 0,
        "expert_": row.work.expert_count > 0,
        "fsdp_": bool(candidate.zero_stage[0] >= 3),
        "data_": bool(candidate.zero_stage[0] < 3),
        "pipeline_": bool(candidate.pipeline_parallel[0] > 1),
        "bubble_": bool(candidate.pipeline_parallel[0] > 1),
        "context_": bool(candidate.context_parallel[0] > 1),
        "tensor_": bool(candidate.tensor_parallel[0] > 1),
        "eager_": row.work.is_eager,
        "fp8_": precision == "fp8",
        "mx_": precision == "mxfp8",
        "fp4_": precision == "fp4",
    }
    return all(holds for prefix, holds in conditions.items() if parameter.name.startswith(prefix))


def fit(
    rows: Sequence[FitRow],
    prior: Calibration,
    parameters: Sequence[Parameter],
    *,
    iterations: int = 12,
    start: Calibration | None = None,
    report: Callable[[str, Calibration], None] = lambda line, constants: None,
) -> Calibration:
    """Constants that minimise the weighted Huber loss of the log ratios plus the pull of the priors."""
    centre = np.log([parameter.value(prior) for parameter in parameters])
    upper = np.log([parameter.upper for parameter in parameters])
    theta = np.minimum(np.log([parameter.value(start or prior) for parameter in parameters]), upper)
    row_weights = np.array([row.weight for row in rows])

    def residuals(point: FloatArray) -> FloatArray:
        return log_ratios(rows, with_values(prior, parameters, np.exp(point)))

    touched = [np.flatnonzero([can_touch(parameter, row) for row in rows]) for parameter in parameters]

    def loss(errors: FloatArray, point: FloatArray) -> float:
        absolute = np.abs(errors)
        huber = np.where(absolute < HUBER_DELTA, absolute**2, 2 * HUBER_DELTA * absolute - HUBER_DELTA**2)
        pull = PRIOR_WEIGHT * ((point - centre) / PRIOR_WIDTH) ** 2
        return float(np.sum(row_weights**2 * huber) + HUBER_DELTA**2 * np.sum(pull))

    errors = residuals(theta)
    best, damping = loss(errors, theta), 1e-2
    for iteration in range(iterations):
        step = 1e-3
        jacobian = np.zeros((len(rows), len(parameters)))
        for column in range(len(parameters)):
            moved = theta.copy()
            moved[column] += step if moved[column] + step <= upper[column] else -step
            index = touched[column]
            some = log_ratios([rows[int(i)] for i in index], with_values(prior, parameters, np.exp(moved)))
            jacobian[index, column] = (some - errors[index]) / (moved[column] - theta[column])
        robust = row_weights**2 * np.minimum(1.0, HUBER_DELTA / np.maximum(np.abs(errors), 1e-12))
        pull = HUBER_DELTA**2 * PRIOR_WEIGHT / PRIOR_WIDTH**2
        normal = jacobian.T @ (robust[:, None] * jacobian) + pull * np.eye(len(parameters))
        gradient = jacobian.T @ (robust * errors) + pull * (theta - centre)
        improved = False
        for _ in range(6):
            move = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
            candidate = np.minimum(theta - np.clip(move, -0.7, 0.7), upper)
            candidate_errors = residuals(candidate)
            candidate_loss = loss(candidate_errors, candidate)
            if candidate_loss < best:
                gain = best - candidate_loss
                theta, errors, best, damping, improved = candidate, candidate_errors, candidate_loss, damping / 3, True
                break
            damping *= 4
        median = float(np.median(np.abs(np.expm1(errors))))
        report(
            f"iteration {iteration + 1}: loss {best:.4f}, row median error {median:.4f}",
            with_values(prior, parameters, np.exp(theta)),
        )
        if not improved or gain < 1e-4 * best:
            break
    return with_values(prior, parameters, np.exp(theta))


# upper bounds: an achieved share is at most 1; factors that count extra passes or launches are only bounded loosely
SHARES = (
    "gemm_bytes_factor",
    "moe_gemm_efficiency_factor",
    "all_to_all_efficiency",
    "tensor_exposed_fraction",
    "tensor_exposed_fraction_fsdp",
    "pipeline_exposed_fraction",
    "data_overlap_fraction",
    "data_exposed_fraction",
    "fsdp_overlap_fraction",
    "fsdp_interference_fraction",
    "context_overlap_fraction",
    "expert_exposed_fraction",
    "expert_exposed_fraction_scale_out",
)
FACTORS = (
    "attention_backward_factor",
    "elementwise_factor",
    "elementwise_factor_fsdp",
    "eager_attention_factor",
    "fp8_quantization_factor",
    "mx_quantization_factor",
    "fp4_quantization_factor",
    "layer_host_seconds",
    "moe_layer_host_seconds",
    "micro_batch_overhead_seconds",
    "step_overhead_seconds",
    "moe_permute_factor",
    "scale_up_hop_seconds",
    "scale_out_hop_seconds",
    "ring_hop_seconds",
    "scale_out_congestion_fraction",
    "bubble_factor",
    "straggler_fraction_per_doubling",
    "power_exponent",
)
# launching a mixture-of-experts layer takes the host milliseconds at most where published runs give it away
UPPER_BOUNDS = {"moe_layer_host_seconds": 2.5e-3}
FAMILY_TABLES = ("gemm_efficiency", "fp8_gemm_efficiency", "fp4_gemm_efficiency", "attention_efficiency")


def fitted_parameters(rows: Sequence[FitRow], prior: Calibration) -> list[Parameter]:
    """Constants to fit: all global ones, and of the family tables the families that the rows cover."""
    families = {row.scenario.cluster.gpu.architecture for row in rows}
    parameters = [Parameter(name, None, 1.0) for name in SHARES]
    parameters += [Parameter(name, None, UPPER_BOUNDS.get(name, 1e3)) for name in FACTORS]
    for table in FAMILY_TABLES:
        keys = getattr(prior, table)
        parameters += [Parameter(table, key, 0.97) for key in keys if key.split("/")[0] in families]
    return parameters

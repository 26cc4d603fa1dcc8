"""What a search answers: the requirement, the candidates, why the others lost, and the curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from advisor.engine.specs import Candidate, HardwareOption, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPoint:
    gpu_count: int
    training_seconds: float
    mfu: float
    tokens_per_second: float
    step_seconds: float
    global_batch_size: int
    goodput: float
    is_knee: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    """A size of a priced option that no other beats in both time and cost."""

    option: HardwareOption
    gpu_count: int
    training_seconds: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    gpu_sku: str
    code: str
    params: dict[str, float | int | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    model_state_bytes: float
    total_model_flops: float | None
    sustained_flops_per_second: float | None
    dense_peak_flops_per_second: float | None
    minimum_gpu_count_for_memory: int | None
    binding_constraint: str  # time | memory | batch | none


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    requirement: Requirement
    recommended: Candidate | None
    alternatives: tuple[Candidate, ...]  # cheapest, fastest, fewest servers, best of other SKUs, ranked
    rejected: tuple[Rejection, ...]
    scaling: tuple[ScalingPoint, ...]  # of the recommended SKU, by GPU count
    pareto: tuple[ParetoPoint, ...]  # days against cost, fastest first
    relaxations: tuple[Problem, ...]  # smallest changes that would make it feasible, when nothing is
    evaluated_layout_count: int
    # the same of each option that meets the target, by GPU, for callers that prefer another one than the cheapest
    view_of: Mapping[str, Callable[[], tuple[Requirement, tuple[ScalingPoint, ...]]]] = field(default_factory=dict)

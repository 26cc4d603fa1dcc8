"""What a checked request is, and what a refused one says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from advisor.engine.specs import (
    Assumption,
    AttentionKernel,
    DeploymentProfile,
    LayoutRequest,
    LoraSpec,
    Method,
    Optimizer,
    Precision,
    Problem,
    Recipe,
    RecomputedPart,
)
from advisor.ownership_fields import OwnershipChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFault:
    """One reason why a request cannot be used. `code` never changes with the language; `message` is a sentence."""

    pointer: str
    code: str
    params: Mapping[str, Any]
    message: str


class InputError(ValueError):
    """A request that cannot be used, with every fault found."""

    def __init__(self, errors: tuple[InputFault, ...]) -> None:
        super().__init__("; ".join(f"{fault.pointer}: {fault.message}" for fault in errors))
        self.errors = errors

    def as_dicts(self) -> list[dict[str, Any]]:
        """The faults as the API writes them: `detail` in the active language, `params` as plain JSON values."""
        return [
            {"pointer": fault.pointer, "code": fault.code, "detail": fault.message, "params": _plain(fault.params)}
            for fault in self.errors
        ]


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if value is None or isinstance(value, (int, float)) else str(value)
        for name, value in params.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Exactly one way of naming the model is set; presets and configurations are resolved with the catalogue."""

    parameters: int | None = None
    active_parameters: int | None = None
    preset: str | None = None
    config: Mapping[str, Any] | None = None
    architecture: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotChoice:
    """A measured run of the same job. None: the GPU, or the number of GPUs, that is asked for."""

    tokens_per_second_per_gpu: float
    gpu_count: int | None = None
    gpu: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTraining:
    """The part that both requests share. `assumptions` and `problems` are what reading already has to tell."""

    model: ModelChoice
    tokens: float | None
    tokens_origin: str  # given | samples | text | absent
    sequence_length: int
    global_batch_size: int | None
    global_batch_tokens: int | None
    method: Method
    precision: Precision
    optimizer: Optimizer
    recipe: Recipe | None
    gradient_dtype: str | None
    uses_fused_loss: bool | None
    attention: AttentionKernel
    offload: str
    lora: LoraSpec | None
    recomputed_parts: tuple[RecomputedPart, ...]
    deployment: DeploymentProfile
    pilot: PilotChoice | None = None
    programme_factor: float = 1.0  # GPU-hours of the programme over those of the run
    assumptions: tuple[Assumption, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedEstimate(CheckedTraining):
    """`POST /api/v1/estimates`: one job on one stated cluster."""

    gpu: str | None
    gpu_count: int | None
    gpus_per_server: int | None
    scale_out_bytes_per_second_per_gpu: float | None
    layout: LayoutRequest
    includes_sensitivity: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRecommendation(CheckedTraining):
    """`/api/v1/recommendations`: which cluster to take."""

    deadline_seconds: float | None  # for the training alone: what is left of the stated one after the lead time
    budget: tuple[Decimal, str] | None
    gpus: tuple[str, ...]
    gpu_count: int | None
    max_gpu_count: int
    basis: str
    term_months: int
    currency: str
    workload: str
    data_sensitivity: str
    real_time: bool
    destination: str | None
    max_it_watts: float | None
    max_racks: int | None
    cooling: str | None
    limit: int
    ownership: OwnershipChoice
    lead_seconds: float = 0.0  # delivery, set-up and acceptance before training starts

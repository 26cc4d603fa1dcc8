"""Software against GPU, workload profiles, who controls which layer, and model kinds that are not sized here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.engine.parts import Check, GpuPart
from advisor.engine.specs import ModelKind, Precision, Recipe

SENSIBLE_CUDA = "12.0"  # current wheels of the frameworks and Transformer Engine
ENDED_SYSTEMS = ("centos",)  # CentOS Linux 7 ended 2024-06-30, CentOS Linux 8 on 2021-12-31
SUPERSEDED_PACKAGES = {"apex": "native automatic mixed precision, Transformer Engine"}


def version_key(version: str) -> tuple[int, ...]:
    """Numbers of a version, for comparing: "12.8" -> (12, 8). Raises ValueError where there is none."""
    numbers = re.findall(r"\d+", version)
    if not numbers:
        raise ValueError(f"{version!r} is not a version.")
    return tuple(int(number) for number in numbers)


def cuda_minimum(gpu: GpuPart, cuda: str) -> Check | None:
    """S1: the toolkit must know the GPU's compute capability; under 12 it works but is no longer sensible.

    Nearest: the first toolkit that passes.
    """
    if gpu.min_cuda is None:
        return None
    figures = {"cuda": cuda, "min_cuda": gpu.min_cuda, "sensible_cuda": SENSIBLE_CUDA}
    if version_key(cuda) < version_key(gpu.min_cuda):
        return Check(
            code="cuda_below_minimum",
            severity="blocks",
            rule="S1",
            parts=(gpu.sku, f"CUDA {cuda}"),
            figures=dict(figures),
            nearest=gpu.min_cuda,
        )
    if version_key(cuda) < version_key(SENSIBLE_CUDA):
        return Check(
            code="cuda_not_sensible",
            severity="note",
            rule="S1",
            parts=(gpu.sku, f"CUDA {cuda}"),
            figures=dict(figures),
            nearest=max(gpu.min_cuda, SENSIBLE_CUDA, key=version_key),
        )
    return None


def software_current(
    operating_system: str, packages: tuple[str, ...] = (), suggested_system: str | None = None
) -> tuple[Check, ...]:
    """S2: an operating system past its end, and packages that the framework has replaced."""
    checks = []
    if operating_system.lower().startswith(ENDED_SYSTEMS) and "stream" not in operating_system.lower():
        checks.append(
            Check(
                code="operating_system_ended",
                severity="check",
                rule="S2",
                parts=(operating_system,),
                nearest=suggested_system,
            )
        )
    for package in packages:
        if package.lower() in SUPERSEDED_PACKAGES:
            nearest = SUPERSEDED_PACKAGES[package.lower()]
            checks.append(
                Check(code="package_superseded", severity="note", rule="S2", parts=(package,), nearest=nearest)
            )
    return tuple(checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRule:
    """M7: what a workload profile changes. `headroom_fraction` of GPU memory stays free.

    `network_factor` multiplies the scale-out rate that must be there; `loader_factor` the bytes the loader reads.
    """

    workload: str
    precisions: frozenset[Precision]
    excluded_recipes: frozenset[Recipe]
    headroom_fraction: float
    network_factor: float
    loader_factor: float
    reason: str


_ALL_PRECISIONS = frozenset(Precision)
_FULL_PRECISIONS = frozenset({Precision.BF16, Precision.FP32, Precision.TF32})

WORKLOAD_RULES: dict[str, WorkloadRule] = {
    rule.workload: rule
    for rule in (
        WorkloadRule(
            workload="general",
            precisions=_ALL_PRECISIONS,
            excluded_recipes=frozenset(),
            headroom_fraction=0.0,
            network_factor=1.0,
            loader_factor=1.0,
            reason="no_special_need",
        ),
        WorkloadRule(
            workload="numeric_sensitive",
            # 8-bit and 4-bit products, half floats with loss scaling and 16-bit master weights lose small updates
            precisions=_FULL_PRECISIONS,
            excluded_recipes=frozenset({Recipe.PURE_BF16}),
            headroom_fraction=0.0,
            network_factor=1.0,
            loader_factor=1.0,
            reason="small_updates_must_not_be_lost",
        ),
        WorkloadRule(
            workload="generative",
            precisions=_ALL_PRECISIONS,
            excluded_recipes=frozenset(),
            # long samples vary in length: the longest batch, not the mean, must fit
            headroom_fraction=0.1,
            network_factor=1.0,
            loader_factor=1.0,
            reason="longest_samples_must_fit",
        ),
        WorkloadRule(
            workload="multimodal",
            precisions=_ALL_PRECISIONS,
            excluded_recipes=frozenset(),
            headroom_fraction=0.05,
            # encoder and decoder differ in load, so transfers hide less behind computing
            network_factor=1.25,
            # a 224 x 224 image of 110 kB stands for 196 tokens of 4 bytes: about 140 times the bytes of text
            loader_factor=140.0,
            reason="images_are_read_and_encoders_wait",
        ),
    )
}


def workload_fit(workload: str, precision: Precision, recipe: Recipe) -> Check | None:
    """M7: precision and recipe against the workload. Raises ValueError for an unknown workload."""
    if workload not in WORKLOAD_RULES:
        raise ValueError(f"Unknown workload {workload}; known: {', '.join(WORKLOAD_RULES)}.")
    rule = WORKLOAD_RULES[workload]
    if precision in rule.precisions and recipe not in rule.excluded_recipes:
        return None
    return Check(
        code="precision_against_workload",
        severity="check",
        rule="M7",
        parts=(workload, precision.value if precision not in rule.precisions else recipe.value),
        figures={"reason": rule.reason},
        nearest=Precision.BF16.value,
    )


# M9: who holds which layer, from the hardware up. seller | customer | shared
CONTROL_LAYERS = ("facility", "bmc", "firmware", "hypervisor", "operating_system", "driver", "framework", "data")
_CONTROL: dict[str, tuple[str, ...]] = {
    "bare_metal": ("seller", "shared", "seller", "none", "customer", "customer", "customer", "customer"),
    "virtualized_dedicated": ("seller", "seller", "seller", "seller", "customer", "shared", "customer", "customer"),
    "virtualized_shared": ("seller", "seller", "seller", "seller", "customer", "seller", "customer", "customer"),
}


def control_by_layer(profile: str) -> dict[str, str]:
    """M9: who controls each layer under a deployment profile. Raises ValueError for an unknown profile."""
    if profile not in _CONTROL:
        raise ValueError(f"Unknown deployment profile {profile}; known: {', '.join(_CONTROL)}.")
    return dict(zip(CONTROL_LAYERS, _CONTROL[profile], strict=True))


def overclocking(gpu: GpuPart) -> Check:
    """M9: running a data-centre GPU above its limits is not a gain its maker supports, and no figure counts on it."""
    return Check(
        code="overclocking_not_priced",
        severity="note",
        rule="M9",
        parts=(gpu.sku,),
        figures={"tdp_watts": gpu.tdp_watts},
    )


_SIZED_KINDS: dict[str, ModelKind] = {
    "decoder": ModelKind.DECODER,
    "language_model": ModelKind.DECODER,
    "image_text": ModelKind.DECODER,
    "bert": ModelKind.ENCODER,
    "encoder": ModelKind.ENCODER,
    "vit": ModelKind.VISION,
    "vision": ModelKind.VISION,
    "medical_imaging": ModelKind.VISION,
}
UNSIZED_KINDS = ("risk_control", "user_profile", "driving_perception", "molecular_structure", "diffusion", "gnn")


def model_kind(name: str) -> ModelKind | Check:
    """M10: the kind a model is sized as, or a check that says it is not sized here.

    Gradient-boosted trees, recommenders with large tables, sensor fusion and molecular networks do not follow the
    transformer's formulas.
    """
    key = name.strip().lower().replace(" ", "_").replace("-", "_")
    if key in _SIZED_KINDS:
        return _SIZED_KINDS[key]
    return Check(
        code="model_kind_not_sized" if key in UNSIZED_KINDS else "model_kind_unknown",
        severity="blocks",
        rule="M10",
        parts=(name,),
        nearest=None,
    )

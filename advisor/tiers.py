"""The article's tier of a model, its reference build, and whether that build does the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _

from advisor.answers import TierAnswer
from advisor.catalog_language import in_language, joined
from advisor.engine.specs import Estimate
from advisor.engine.units import SECONDS_PER_DAY
from advisor.figures import format_si_count, format_training_time
from advisor.part_facts import find_gpu
from advisor.parts import BuildPart, Parts, TierPart
from advisor.state_words import cluster_memory_text, states_text

# gpu_sku, gpu_count, gpus_per_server -> the job on that build, None where the GPU cannot be sized
EvaluateBuild = Callable[[str, int, int], Estimate | None]


def tier_for(parts: Parts, parameter_count: float) -> TierPart | None:
    """The tier by total parameters; a boundary value belongs to the upper tier."""
    for tier in parts.tiers:
        upper = tier.upper_parameter_count
        if tier.lower_parameter_count <= parameter_count and (upper is None or parameter_count < upper):
            return tier
    return None


def tier_answer(
    parts: Parts,
    *,
    parameter_count: float,
    active_parameter_count: float,
    model_state_bytes: float,
    deadline_seconds: float | None,
    evaluate: EvaluateBuild,
) -> TierAnswer | None:
    tier = tier_for(parts, parameter_count)
    if tier is None:
        return None
    claim = parts.builds.get(tier.claim_build_code)
    corrected = parts.builds.get(tier.reference_build_code)
    claim_answer = _build_answer(parts, claim, model_state_bytes, deadline_seconds, evaluate) if claim else None
    reference = _build_answer(parts, corrected, model_state_bytes, deadline_seconds, evaluate) if corrected else None
    shown = claim_answer or reference or {}
    reasons = [_bounds_reason(tier, parameter_count, active_parameter_count)]
    if claim_answer:
        reasons.append(str(claim_answer["reason"]))
    return TierAnswer(
        code=tier.code,
        name=in_language(tier.name, tier.name_zh),
        lower_parameter_count=tier.lower_parameter_count,
        upper_parameter_count=tier.upper_parameter_count,
        reference_build=reference or shown,
        reference_build_suffices=bool(shown.get("suffices", False)),
        reason=joined(*reasons),
        claim=claim_answer,
    )


def _bounds_reason(tier: TierPart, parameter_count: float, active_parameter_count: float) -> str:
    figures = {
        "count": format_si_count(parameter_count),
        "active": format_si_count(active_parameter_count),
        "lower": format_si_count(tier.lower_parameter_count),
        "upper": format_si_count(tier.upper_parameter_count) if tier.upper_parameter_count is not None else "",
        "tier": in_language(tier.name, tier.name_zh),
    }
    if tier.upper_parameter_count is None:
        text = _("%(count)s parameters are %(lower)s or more: tier “%(tier)s”.")
    elif tier.lower_parameter_count <= 0:
        text = _("%(count)s parameters are under %(upper)s: tier “%(tier)s”.")
    else:
        text = _("%(count)s parameters lie from %(lower)s to under %(upper)s: tier “%(tier)s”.")
    sentence = text % figures
    if active_parameter_count < parameter_count * 0.99:  # a mixture of experts: the tier goes by the total
        active = _("The tier goes by all parameters; %(active)s of them work on each token.") % figures
        return joined(sentence, active)
    return sentence


def _build_answer(
    parts: Parts,
    build: BuildPart,
    model_state_bytes: float,
    deadline_seconds: float | None,
    evaluate: EvaluateBuild,
) -> dict[str, Any]:
    """One reference build with the job run on it. A claim that names no real GPU is judged by the nearest real one."""
    sku = build.gpu_sku or _nearest_sku(parts, build.gpu_text)
    gpu = parts.gpus.get(sku)
    gpus_per_server = build.gpus_per_server or 0
    server_count = build.server_count or 1  # "many" servers: judged by one
    gpu_count = gpus_per_server * server_count
    estimate = evaluate(sku, gpu_count, gpus_per_server) if gpu and gpu_count else None
    memory_bytes = float(gpu.spec.memory_bytes * gpu_count) if gpu else None
    seconds = estimate.time.training_seconds if estimate and estimate.memory.fits else None
    suffices = bool(
        estimate
        and estimate.memory.fits
        and (deadline_seconds is None or (seconds is not None and seconds <= deadline_seconds))
    )
    return {
        "code": build.code,
        "name": in_language(build.name, build.name_zh),
        "kind": build.kind,
        "origin": build.origin,
        "gpu": sku or None,
        "gpu_text": build.gpu_text,
        "gpu_count": gpu_count,
        "gpus_per_server": gpus_per_server,
        "server": build.server_sku or None,
        "server_count": server_count,
        "memory": build.host_memory_text or build.memory_text,
        "ssd": build.ssd_text,
        "network": build.nic_text,
        "gpu_memory_bytes": memory_bytes,
        "model_state_bytes": model_state_bytes,
        "fits": estimate.memory.fits if estimate else None,
        "training_days": seconds / SECONDS_PER_DAY if seconds is not None else None,
        "suffices": suffices,
        "conflict": in_language(build.conflict, build.conflict_zh),
        "reason": _suffices_reason(build, gpu_count, memory_bytes, model_state_bytes, estimate, deadline_seconds),
    }


def _suffices_reason(
    build: BuildPart,
    gpu_count: int,
    memory_bytes: float | None,
    model_state_bytes: float,
    estimate: Estimate | None,
    deadline_seconds: float | None,
) -> str:
    scenario = estimate.scenario if estimate else None
    label = cluster_memory_text(scenario.cluster.gpu, gpu_count) if scenario else ""
    states = states_text(scenario.plan, estimate.parameter_count, model_state_bytes) if scenario and estimate else ""
    figures = {
        "build": in_language(build.name, build.name_zh),
        "count": gpu_count,
        "memory": label,
        "states": states,
    }
    conflict = in_language(build.conflict, build.conflict_zh)
    if memory_bytes is None or estimate is None:
        sentence = _("“%(build)s” cannot be judged: its GPU is not a sizeable part of the catalogue.") % figures
    elif not estimate.memory.fits:
        sentence = _does_not_fit_reason(memory_bytes, model_state_bytes) % figures
    else:
        seconds = estimate.time.training_seconds
        figures["days"] = format_training_time(seconds) if seconds is not None else ""
        figures["deadline"] = format_training_time(deadline_seconds) if deadline_seconds is not None else ""
        if seconds is None:
            sentence = _("“%(build)s” holds the job: states of %(states)s against %(memory)s of GPU memory.") % figures
        elif deadline_seconds is None:
            sentence = _("“%(build)s” holds the job and takes %(days)s.") % figures
        elif seconds <= deadline_seconds:
            sentence = _("“%(build)s” suffices: %(days)s against a deadline of %(deadline)s.") % figures
        else:
            sentence = _("“%(build)s” does not suffice: %(days)s against a deadline of %(deadline)s.") % figures
    if not conflict:
        return sentence
    return _("%(sentence)s Where the text of the build is wrong: %(conflict)s.") % {
        "sentence": sentence,
        "conflict": conflict.rstrip(".。"),
    }


def _does_not_fit_reason(memory_bytes: float, model_state_bytes: float) -> str:
    if model_state_bytes > memory_bytes:
        return _(
            "“%(build)s” does not suffice: weights, gradients and optimizer states take %(states)s, its %(count)d GPUs "
            "have %(memory)s together."
        )
    return _(
        "“%(build)s” does not suffice: states of %(states)s leave too little of its %(memory)s for activations and "
        "buffers on the %(count)d GPUs."
    )


def _nearest_sku(parts: Parts, text: str) -> str:
    """SKU of the real part that a claim's GPU text means."""
    gpu, _check = find_gpu(parts, text)
    return gpu.sku if gpu else ""

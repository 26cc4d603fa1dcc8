"""Why: the binding constraint, why this configuration, why the others fell out, and the questions buyers ask."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from django.utils.translation import gettext as _

from advisor.answers import ConfigurationAnswer, MoneyAnswer, Params, RejectionAnswer, RequirementAnswer
from advisor.engine.search_types import Rejection, Requirement, ScalingPoint
from advisor.estimate_answer import finite
from advisor.figures import (
    format_count,
    format_days,
    format_flops_rate,
    format_gb,
    format_percent,
    format_si_count,
    format_significant,
)
from advisor.parts import Parts
from advisor.problem_words import rejection_message
from catalog.money import format_money


def requirement_answer(
    requirement: Requirement,
    *,
    deadline_seconds: float | None,
    recommended: ConfigurationAnswer | None,
    horizon_seconds: float | None = None,
) -> RequirementAnswer:
    if requirement.binding_constraint == "time" and deadline_seconds is None:
        requirement = replace(requirement, binding_constraint="value")
    if requirement.binding_constraint == "memory" and _is_smallest_server(requirement, recommended):
        requirement = replace(requirement, binding_constraint="none")
    return RequirementAnswer(
        model_state_bytes=requirement.model_state_bytes,
        total_model_flops=requirement.total_model_flops,
        sustained_flops_per_second=finite(requirement.sustained_flops_per_second),
        dense_peak_flops_per_second=finite(requirement.dense_peak_flops_per_second),
        minimum_gpu_count_for_memory=requirement.minimum_gpu_count_for_memory,
        binding_constraint=requirement.binding_constraint,
        binding_constraint_reason=binding_reason(
            requirement,
            deadline_seconds=deadline_seconds,
            recommended=recommended,
            horizon_seconds=horizon_seconds,
        ),
    )


def _is_smallest_server(requirement: Requirement, recommended: ConfigurationAnswer | None) -> bool:
    """One server is taken where a part of it would hold the job: no limit decides, servers come whole."""
    needed = requirement.minimum_gpu_count_for_memory
    return (
        recommended is not None
        and recommended["server_count"] == 1
        and needed is not None
        and needed < recommended["gpu_count"]
    )


def binding_reason(
    requirement: Requirement,
    *,
    deadline_seconds: float | None,
    recommended: ConfigurationAnswer | None,
    horizon_seconds: float | None = None,
) -> str:
    figures = {
        "states": format_gb(requirement.model_state_bytes),
        "memory_count": requirement.minimum_gpu_count_for_memory,
        "sustained": format_flops_rate(requirement.sustained_flops_per_second or 0.0),
        "deadline": format_days(deadline_seconds) if deadline_seconds else "",
        "horizon": format_days(horizon_seconds) if horizon_seconds else "",
        "count": format_count(recommended["gpu_count"]) if recommended else "",
        "gpu": recommended["gpu_name"] if recommended else "",
    }
    kind = requirement.binding_constraint
    if kind == "time" and deadline_seconds and recommended and requirement.minimum_gpu_count_for_memory:
        text = _(
            "Time decides: %(memory_count)d GPUs would hold the states of %(states)s, but %(deadline)s ask for "
            "%(sustained)s sustained, which takes %(count)s × %(gpu)s."
        )
    elif kind == "time" and deadline_seconds:
        text = _("Time decides: %(deadline)s ask for %(sustained)s sustained.")
    elif kind == "none" and _is_smallest_server(requirement, recommended):
        text = _("The smallest unit decides: one server of %(count)s × %(gpu)s already meets every wish.")
    elif kind == "memory" and recommended:
        text = _("Memory decides: states of %(states)s and activations need %(count)s × %(gpu)s.")
    elif kind == "memory":
        text = _("Memory decides: the states alone are %(states)s.")
    elif kind == "batch":
        text = _("The batch decides: more GPUs would not divide the global batch, so they could not help.")
    elif kind == "cluster" and recommended:
        text = _("The size was given: %(count)s × %(gpu)s.")
    elif kind == "value" and recommended and horizon_seconds:
        text = _(
            "Value decides: %(count)s × %(gpu)s cost least of what finishes within %(horizon)s; no deadline was given."
        )
    else:
        text = _("No constraint binds: the smallest cluster that is worth its price also meets every wish.")
    return text % figures


def rejection_answers(parts: Parts, rejections: tuple[Rejection, ...], currency: str) -> list[RejectionAnswer]:
    return [rejection_answer(parts, item.gpu_sku, item.code, dict(item.params), currency) for item in rejections]


def rejection_answer(
    parts: Parts, gpu_sku: str, code: str, params: Params, currency: str | None = None
) -> RejectionAnswer:
    """Why a GPU fell out, with the one figure that decides."""
    gpu = parts.gpus.get(gpu_sku)
    named = {**params, "gpu": gpu.name if gpu else gpu_sku}
    if currency is not None and isinstance(params.get("cost"), (int, float)):
        named["amount"] = _whole(params["cost"], currency)
        named["budget"] = _whole(params.get("max_cost"), currency)
    return RejectionAnswer(
        gpu=gpu_sku, gpu_name=str(named["gpu"]), code=code, message=rejection_message(code, named), params=params
    )


def _whole(amount: float | int | str | bool | None, currency: str) -> str:
    return format_money(Decimal(round(float(amount or 0))), currency)


def configuration_reasons(
    configuration: ConfigurationAnswer, *, deadline_seconds: float | None, cheapest_other: ConfigurationAnswer | None
) -> list[str]:
    """Why this one: what it meets, what it costs, and what the next best would cost."""
    reasons = []
    estimate = configuration["estimate"]
    seconds = estimate["time"]["training_seconds"]
    figures = {
        "count": format_count(configuration["gpu_count"]),
        "gpu": configuration["gpu_name"],
        "servers": format_count(configuration["server_count"]),
        "days": format_days(seconds) if seconds else "",
        "deadline": format_days(deadline_seconds) if deadline_seconds else "",
        "mfu": format_percent(estimate["time"]["mfu"] or 0.0),
        "server": configuration["server_name"],
    }
    if seconds and deadline_seconds:
        reasons.append(_("%(count)s × %(gpu)s take %(days)s, within the deadline of %(deadline)s.") % figures)
    elif seconds:
        reasons.append(_("%(count)s × %(gpu)s take %(days)s; no deadline was given.") % figures)
    else:
        reasons.append(_("%(count)s × %(gpu)s hold the job.") % figures)
    reasons.append(_("%(servers)s × %(server)s, at an MFU of %(mfu)s.") % figures)
    if configuration["run_cost"] is None:
        reasons.append(_("Its rental price is not known: it ranks behind priced configurations."))
    elif cheapest_other is not None and cheapest_other["run_cost"] is not None:
        reasons.append(_cost_reason(configuration, cheapest_other))
    nearest = configuration["nearest_run"]
    if nearest is None:
        reasons.append(_("No published run on this GPU is close to the job: the range is wider."))
    else:
        reasons.append(
            _("Nearest published run: %(model)s on %(count)s × %(gpu)s, %(rate)s tokens a second and GPU (%(source)s).")
            % {
                "model": nearest["model"],
                "count": format_count(nearest["gpu_count"]),
                "gpu": nearest["gpu_name"],
                "rate": format_si_count(nearest["published_tokens_per_second_per_gpu"]),
                "source": nearest["source"],
            }
        )
    return reasons


def _cost_reason(configuration: ConfigurationAnswer, other: ConfigurationAnswer) -> str:
    """Against the cheapest of the others; where that one is cheaper, what speaks against it."""
    own, its = configuration["run_cost"], other["run_cost"]
    if own is None or its is None:
        raise ValueError("Both configurations need a cost.")
    figures = {
        "own": _money(own),
        "gpu": f"{format_count(other['gpu_count'])} × {other['gpu_name']}",
        "other": _money(its),
        "servers": configuration["server_count"],
        "more": other["server_count"],
    }
    if Decimal(its["amount"]) < Decimal(own["amount"]):
        text = _(
            "%(gpu)s would cost %(other)s instead of %(own)s, closer than prices are known, but takes %(more)d servers "
            "instead of %(servers)d."
        )
    else:
        text = _("The run costs %(own)s in GPU-hours; the next, %(gpu)s, costs %(other)s.")
    return text % figures


def _money(value: MoneyAnswer) -> str:
    return format_money(Decimal(value["amount"]), value["currency"])


def upgrade_path(
    scaling: tuple[ScalingPoint, ...], requirement: Requirement, configuration: ConfigurationAnswer, *, is_board: bool
) -> list[dict[str, str]]:
    """What to add when the job grows, and what is kept (M6); figures from the scaling of the same GPU."""
    seconds = configuration["estimate"]["time"]["training_seconds"]
    per_server = configuration["gpus_per_server"]
    count = configuration["gpu_count"]
    kept = (
        _("Kept: servers, drives and memory; a GPU board takes no more GPUs, the cluster grows by servers.")
        if is_board
        else _("Kept: servers; free GPU places, memory and drives can grow inside first.")
    )
    path = []
    if seconds:
        enough = [point for point in scaling if point.training_seconds <= seconds / 2]
        if enough:
            needed = min(point.gpu_count for point in enough)
            text = _("Half the time, or twice the tokens in the same time: %(gpus)d GPUs, %(more)d servers more.")
            what = text % {"gpus": needed, "more": max(0, -(-(needed - count) // per_server))}
        else:
            what = _("Half the time is out of reach with this GPU: the batch or the network limits the cluster.")
        path.append({"change": "deadline_or_tokens", "what": what, "kept": kept})
    minimum = requirement.minimum_gpu_count_for_memory
    if minimum:
        text = _("Twice the parameters: states double to %(states)s, about %(gpus)d GPUs for memory alone.")
        what = text % {"states": format_gb(2 * requirement.model_state_bytes), "gpus": 2 * minimum}
        path.append({"change": "parameters", "what": what, "kept": kept})
    text = _("A newer GPU generation needs a new board or server; network, storage and racks stay where rates match.")
    path.append({"change": "generation", "what": text, "kept": _("Kept: storage, management nodes, racks.")})
    return path


def faq(
    configuration: ConfigurationAnswer | None, *, scaling: tuple[ScalingPoint, ...], advice: str, budget_text: str
) -> list[dict[str, str]]:
    """The four questions of buyers, answered with this job's figures."""
    answers = [{"question": _("Bare metal or cloud?"), "answer": advice}]
    answers.append({"question": _("Can a small budget start?"), "answer": budget_text})
    if len(scaling) > 1:
        first, last = scaling[0], scaling[-1]
        text = _(
            "It is not linear: from %(few)s to %(many)s GPUs the speed grows %(gain)s times instead of %(ideal)s, MFU "
            "goes from %(high)s to %(low)s."
        ) % {
            "few": format_count(first.gpu_count),
            "many": format_count(last.gpu_count),
            "gain": format_significant(last.tokens_per_second / first.tokens_per_second),
            "ideal": format_significant(last.gpu_count / first.gpu_count),
            "high": format_percent(first.mfu),
            "low": format_percent(last.mfu),
        }
        answers.append({"question": _("Does a cluster grow linearly?"), "answer": text})
    if configuration is not None:
        interruptions = configuration["estimate"]["time"]["interruptions_expected"]
        text = _(
            "%(count)s interruptions are to be expected in this run; someone has to restart, replace and watch. "
            "Operations "
            "can be ordered as a service, or be your own staff."
        ) % {"count": format_si_count(interruptions) if interruptions is not None else "—"}
        answers.append({"question": _("Is an operations staff of one's own needed?"), "answer": text})
    return answers

"""A JSON body to a checked request, or to the list of all its faults."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from advisor.comparison import BARE_METAL, DEFAULT_LOSS, LOSS_PRESETS
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
    Recomputation,
    RecomputedPart,
)
from advisor.engine.units import bytes_per_second_from_gbit
from advisor.input_fields import OBJECTS, TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION, FieldKind
from advisor.input_reading import Refused, make_fault, read_value
from advisor.input_rules import contradictions, token_count
from advisor.input_run import lead_seconds, run_values
from advisor.input_types import (
    CheckedEstimate,
    CheckedRecommendation,
    InputError,
    InputFault,
    ModelChoice,
)
from advisor.messages import shown
from advisor.ownership_fields import ownership_choice
from advisor.quantities import Quantity

MAX_FAULTS = 30
_DERIVED = frozenset({"data_parallel", "micro_batch_count"})
_MODEL_FORMS = "parameters, preset, config, architecture"
_OBJECT_LABELS: dict[str, str | Promise] = {
    "": _("The request"),
    "/model": _("Model"),
    "/training": _("Training"),
    "/training/tokens": _("Training tokens"),
    "/training/lora": _("LoRA"),
    "/training/pilot": _("Pilot"),
    "/cluster": _("Cluster"),
    "/cluster/deployment": _("Deployment"),
    "/hardware": _("Hardware"),
    "/hardware/deployment": _("Deployment"),
    "/layout": _("Layout"),
    "/target": _("Target"),
    "/target/budget": _("Budget"),
    "/commercial": _("Prices"),
    "/profile": _("Use profile"),
    "/site": _("Site"),
}


def parse_estimate_request(body: Any) -> CheckedEstimate:
    """The checked form of `POST /api/v1/estimates`. Raises InputError with every fault, and nothing else."""
    values, problems = read_body(ESTIMATE, body)
    gbit = values.get("scale_out_gbit_per_second_per_gpu")
    return CheckedEstimate(
        **_training(values, problems),
        gpu=values.get("gpu"),
        gpu_count=values.get("gpu_count"),
        gpus_per_server=values.get("gpus_per_server"),
        scale_out_bytes_per_second_per_gpu=None if gbit is None else bytes_per_second_from_gbit(float(gbit)),
        includes_sensitivity=values.get("includes_sensitivity", _default("includes_sensitivity")),
        layout=LayoutRequest(
            tensor_parallel=values.get("tensor_parallel"),
            pipeline_parallel=values.get("pipeline_parallel"),
            context_parallel=values.get("context_parallel"),
            expert_parallel=values.get("expert_parallel"),
            virtual_stage_count=values.get("virtual_stage_count"),
            micro_batch_size=values.get("micro_batch_size"),
            zero_stage=values.get("zero_stage"),
            recomputation=_member(Recomputation, values.get("recomputation")),
            uses_sequence_parallel=values.get("uses_sequence_parallel"),
            shard_group_size=values.get("shard_group_size"),
        ),
    )


def parse_recommendation_request(body: Any) -> CheckedRecommendation:
    """The checked form of `/api/v1/recommendations`. Raises InputError with every fault, and nothing else."""
    values, problems = read_body(RECOMMENDATION, body)
    days, kilowatts = values.get("deadline"), values.get("max_it_kilowatts")
    currency = values.get("currency") or values.get("budget_currency") or _default("currency")
    amount, fixed = values.get("budget_amount"), values.get("fixed_gpu_count")
    destination = values.get("destination")
    return CheckedRecommendation(
        **_training(values, problems),
        deadline_seconds=None if days is None else float(days * 86_400) - lead_seconds(values),
        lead_seconds=lead_seconds(values),
        budget=None if amount is None else (amount, values.get("budget_currency") or currency),
        gpus=values.get("gpus", ()),
        gpu_count=fixed,
        max_gpu_count=values.get("max_gpu_count", max(int(_default("max_gpu_count")), fixed or 0)),
        basis=values.get("basis", _default("basis")),
        term_months=values.get("term_months", _default("term_months")),
        currency=currency,
        workload=values.get("workload", _default("workload")),
        data_sensitivity=values.get("data_sensitivity", _default("data_sensitivity")),
        real_time=values.get("real_time", _default("real_time")),
        destination=None if destination is None else destination.upper(),
        max_it_watts=None if kilowatts is None else float(kilowatts * 1000),
        max_racks=values.get("max_racks"),
        cooling=values.get("cooling"),
        limit=values.get("limit", _default("limit")),
        ownership=ownership_choice(values),
    )


def read_body(route: str, body: Any) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Typed values by field name, in the units of the API, and notes on what was rounded. Raises InputError."""
    faults = []
    values: dict[str, Any] = {}
    notes: list[Problem] = []
    for item in _walk(route, "", body):
        if isinstance(item, InputFault):
            faults.append(item)
            continue
        pointer, raw = item
        row = TABLE[route][pointer]
        try:
            value = read_value(row, raw)
        except Refused as refused:
            faults.append(make_fault(pointer, refused.code, refused.params, row))
            continue
        if isinstance(value, Quantity):
            if value.was_rounded:
                notes.append(_rounding_note(pointer, raw, value.value))
            value = int(value.value) if row.kind is FieldKind.WHOLE else value.value
        values[row.name] = value
    unread = {fault.pointer for fault in faults}  # a value that could not be read is not missing as well
    faults.extend(fault for fault in contradictions(route, values) if fault.pointer not in unread)
    if not any(fault.pointer.startswith("/model") or fault.pointer == "" for fault in faults) and not any(
        name in values for name in ("parameters", "preset", "config", "architecture")
    ):
        faults.append(make_fault("/model", "required", {"field": _("Model"), "choices": _MODEL_FORMS}))
    if faults:
        raise InputError(tuple(faults[:MAX_FAULTS]))
    return values, tuple(notes)


def _walk(route: str, pointer: str, node: Any) -> Iterator[tuple[str, Any] | InputFault]:
    """Known leaves as (pointer, raw); whatever is unknown or of the wrong shape as a fault. null means left out."""
    if not isinstance(node, Mapping):
        yield make_fault(pointer, "not_an_object", {"field": _OBJECT_LABELS[pointer], "value": shown(node)})
        return
    known = OBJECTS[route][pointer]
    for name, raw in node.items():
        child = f"{pointer}/{name}"
        if name not in known:
            yield _unknown(route, pointer, str(name))
        elif raw is None:
            continue
        elif child in OBJECTS[route] and (isinstance(raw, Mapping) or child not in TABLE[route]):
            yield from _walk(route, child, raw)
        else:
            yield child, raw


def _unknown(route: str, parent: str, name: str) -> InputFault:
    """A fault that names the field and, where one is near, what was probably meant."""
    pointer = f"{parent}/{shown(name).replace('~', '~0').replace('/', '~1')}"
    if name in _DERIVED:
        return make_fault(pointer, "derived_field", {"name": name})
    known = OBJECTS[route][parent]
    elsewhere = [place for place in TABLE[route] if place.rsplit("/", 1)[1] == name]
    near = elsewhere or difflib.get_close_matches(name[:50], known, n=1, cutoff=0.6)
    params = {"name": shown(name), "known": ", ".join(known)}
    if near:
        params["suggestion"] = near[0]
    return make_fault(pointer, "unknown_field", params)


def _rounding_note(pointer: str, raw: Any, value: Decimal) -> Problem:
    return Problem(
        field=pointer, code="rounded_to_whole", params={"given": shown(raw), "used": int(value)}, severity="note"
    )


def _training(values: Mapping[str, Any], problems: tuple[Problem, ...]) -> dict[str, Any]:
    """The fields that both requests share."""
    tokens, origin, assumptions = token_count(values)
    method = Method(values.get("method", _default("method")))
    fused, gradient = values.get("fused_loss"), values.get("gradient_dtype")
    return {
        "model": ModelChoice(
            parameters=_whole(values.get("parameters")),
            active_parameters=_whole(values.get("active_parameters")),
            preset=values.get("preset"),
            config=values.get("config"),
            architecture=values.get("architecture"),
        ),
        "tokens": None if tokens is None else float(tokens),
        "tokens_origin": origin,
        "sequence_length": values.get("sequence_length", _default("sequence_length")),
        "global_batch_size": values.get("global_batch_size"),
        "global_batch_tokens": _whole(values.get("global_batch_tokens")),
        "method": method,
        "precision": Precision(values.get("precision", _default("precision"))),
        "optimizer": Optimizer(values.get("optimizer", _default("optimizer"))),
        "recipe": _member(Recipe, values.get("recipe")),
        "gradient_dtype": gradient,
        "uses_fused_loss": fused,
        "attention": AttentionKernel(values.get("attention", _default("attention"))),
        "offload": values.get("offload", _default("offload")),
        "recomputed_parts": tuple(RecomputedPart(code) for code in values.get("recomputed_parts", ())),
        "lora": _lora(values) if method in (Method.LORA, Method.QLORA) else None,
        "deployment": _deployment(values),
        **run_values(values),
        "assumptions": (*assumptions, *_assumed_loss(values)),
        "problems": problems,
    }


def _deployment(values: Mapping[str, Any]) -> DeploymentProfile:
    assumed = DEFAULT_LOSS if _leaves_loss_open(values) else 0.0
    return DeploymentProfile(
        code=values.get("profile", _default("profile")),
        throughput_loss_fraction=float(values.get("throughput_loss", assumed)),
        scale_up_bandwidth_factor=float(values.get("scale_up_bandwidth_factor", 1)),
        scale_out_bandwidth_factor=float(values.get("scale_out_bandwidth_factor", 1)),
        latency_factor=float(values.get("latency_factor", 1)),
        interruption_rate_factor=float(values.get("interruption_rate_factor", 1)),
    )


def _leaves_loss_open(values: Mapping[str, Any]) -> bool:
    """Virtual machines were asked for, and nothing was said about what they cost."""
    said = {"throughput_loss", "scale_up_bandwidth_factor", "scale_out_bandwidth_factor", "latency_factor"}
    return values.get("profile", _default("profile")) != BARE_METAL and not said & values.keys()


def _assumed_loss(values: Mapping[str, Any]) -> tuple[Assumption, ...]:
    if not _leaves_loss_open(values):
        return ()
    measured = LOSS_PRESETS[0]
    return (
        Assumption(
            name="throughput_loss", value=measured.loss, unit="", origin=measured.origin, source=measured.source
        ),
    )


def _lora(values: Mapping[str, Any]) -> LoraSpec:
    targets = values.get("lora_targets") or LoraSpec().targets
    return LoraSpec(
        rank=values.get("lora_rank", _default("lora_rank")),
        targets=targets,
        trains_embeddings_and_head=values.get("lora_embeddings", _default("lora_embeddings")),
    )


def _whole(value: Decimal | None) -> int | None:
    return None if value is None else int(value)


def _member(kind: Any, code: str | None) -> Any:
    return None if code is None else kind(code)


_DEFAULTS = {row.name: row.default for rows in TABLE.values() for row in rows.values()}


def _default(name: str) -> Any:
    return _DEFAULTS[name]

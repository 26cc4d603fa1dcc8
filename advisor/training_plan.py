"""From a checked request to the engine's model and plan: presets resolved, open fields filled by stated rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from advisor.engine.compatibility_software import WORKLOAD_RULES
from advisor.engine.model_config import ConfigError, model_from_config, model_from_fields
from advisor.engine.parameters import active_parameter_count, parameter_count
from advisor.engine.shapes import model_from_parameter_count
from advisor.engine.specs import (
    Assumption,
    Method,
    ModelKind,
    ModelSpec,
    Origin,
    Recipe,
    TrainingPlan,
)
from advisor.evidence_runs import default_batch_tokens
from advisor.input_config import config_refused
from advisor.input_types import CheckedTraining, InputError, InputFault, ModelChoice
from advisor.problem_words import problem_message
from catalog.models import ModelArchitecture
from catalog.services import current_revision

COMPUTE_OPTIMAL_TOKENS_PER_PARAMETER = 20.0
RECIPE_BY_METHOD: Mapping[Method, Recipe] = {
    Method.PRETRAIN: Recipe.MEGATRON,
    Method.CONTINUED_PRETRAIN: Recipe.MEGATRON,
    Method.FULL_FINETUNE: Recipe.DEEPSPEED,
    Method.LORA: Recipe.PURE_BF16,
    Method.QLORA: Recipe.PURE_BF16,
}
# Sequences per step where pretraining's batch would be out of place.
FINETUNE_BATCH: Mapping[Method, tuple[int, str]] = {
    Method.FULL_FINETUNE: (128, "Stanford Alpaca, training recipe: global batch 128"),
    Method.LORA: (16, "QLoRA, arXiv:2305.14314, appendix: batch size 16"),
    Method.QLORA: (16, "QLoRA, arXiv:2305.14314, appendix: batch size 16"),
}
PROGRAMME_GIVEN = "GPU-hours of the whole programme over those of this run"
PROGRAMME_LEFT_OUT = "the run alone: no experiments, failed runs or evaluation; give a factor to have them counted"
GRADIENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is trained and how, ready for the engine, with what was assumed on the way."""

    model: ModelSpec
    plan: TrainingPlan
    parameter_count: float
    active_parameter_count: float
    unique_tokens: float | None
    assumptions: tuple[Assumption, ...]


def job_from(
    checked: CheckedTraining, *, workload: str = "general", proposes_tokens: bool = False, revision: str | None = None
) -> Job:
    """Resolve the model and complete the plan.

    Raises
    ------
    InputError
        For an unknown preset, or a configuration that describes no model we can size.
    """
    model = resolve_model(checked.model, revision)
    total, active = float(parameter_count(model)), float(active_parameter_count(model))
    assumed: list[Assumption] = list(checked.assumptions)
    tokens = checked.tokens
    if tokens is None and proposes_tokens and checked.method in (Method.PRETRAIN, Method.CONTINUED_PRETRAIN):
        tokens = COMPUTE_OPTIMAL_TOKENS_PER_PARAMETER * total
        assumed.append(
            Assumption(
                name="training_tokens",
                value=tokens,
                unit="tokens",
                origin=Origin.PUBLISHED_RUN,
                source="20 tokens per parameter, compute-optimal by arXiv:2203.15556; current open models train "
                "far past it",
            )
        )
    recipe = checked.recipe or RECIPE_BY_METHOD[checked.method]
    if checked.recipe is None:
        assumed.append(
            Assumption(
                name="recipe",
                value=recipe.value,
                unit="",
                origin=Origin.DERIVED,
                source="usual framework of the method; decides which tensor is held in which type",
            )
        )
    batch, batch_assumption = _global_batch(checked, total)
    if batch_assumption is not None:
        assumed.append(batch_assumption)
    if proposes_tokens or checked.programme_factor > 1:
        assumed.append(_programme_assumption(checked))
    gradient = GRADIENT_BYTES[checked.gradient_dtype] if checked.gradient_dtype else None
    if workload == "numeric_sensitive" and gradient is None:
        gradient = GRADIENT_BYTES["fp32"]
        assumed.append(
            _workload_assumption("gradient_bytes", 4, "bytes", "numeric-sensitive work keeps fp32 gradients")
        )
    headroom = WORKLOAD_RULES[workload].headroom_fraction
    if headroom:
        text = "memory kept free because sequence and image sizes vary from batch to batch"
        assumed.append(_workload_assumption("memory_headroom_fraction", headroom, "1", text))
    plan = TrainingPlan(
        tokens=tokens,
        sequence_length=checked.sequence_length,
        global_batch_size=batch,
        method=checked.method,
        precision=checked.precision,
        optimizer=checked.optimizer,
        recipe=recipe,
        gradient_bytes_per_parameter=gradient,
        uses_fused_loss=checked.uses_fused_loss,
        attention=checked.attention,
        lora=checked.lora,
        offload=checked.offload,
        recomputed_parts=checked.recomputed_parts,
        memory_headroom_fraction=headroom,
    )
    return Job(
        model=model,
        plan=plan,
        parameter_count=total,
        active_parameter_count=active,
        unique_tokens=tokens,
        assumptions=tuple(assumed),
    )


def _programme_assumption(checked: CheckedTraining) -> Assumption:
    is_given = checked.programme_factor > 1
    return Assumption(
        name="programme_factor",
        value=checked.programme_factor,
        unit="1",
        origin=Origin.USER if is_given else Origin.DERIVED,
        source=PROGRAMME_GIVEN if is_given else PROGRAMME_LEFT_OUT,
    )


def _workload_assumption(name: str, value: float, unit: str, source: str) -> Assumption:
    return Assumption(name=name, value=value, unit=unit, origin=Origin.DERIVED, source=source)


def _global_batch(checked: CheckedTraining, total: float) -> tuple[int, Assumption | None]:
    """Sequences per step: as given, or by model size for pretraining and by method for fine-tuning."""
    if checked.global_batch_size is not None:
        return checked.global_batch_size, None
    if checked.global_batch_tokens is not None:
        return max(1, round(checked.global_batch_tokens / checked.sequence_length)), None
    if checked.method in FINETUNE_BATCH:
        sequences, source = FINETUNE_BATCH[checked.method]
    else:
        sequences = max(1, round(default_batch_tokens(total) / checked.sequence_length))
        sequences = _smooth(sequences)
        source = "published runs: 0.5 M tokens at 1 B parameters, 4 M at 7 to 70 B, 16 M at 405 B; log-interpolated"
    return sequences, Assumption(
        name="global_batch_tokens",
        value=sequences * checked.sequence_length,
        unit="tokens",
        origin=Origin.PUBLISHED_RUN,
        source=source,
    )


def _smooth(sequences: int) -> int:
    """The nearest power of two, or half as much again: what published runs take, and what most cluster sizes divide."""
    power = 1 << (sequences.bit_length() - 1)
    choices = (power, power + power // 2, 2 * power)
    return min(choices, key=lambda choice: abs(choice - sequences))


def resolve_model(choice: ModelChoice, revision: str | None = None) -> ModelSpec:
    """The one way that is given, as an architecture."""
    if choice.preset is not None:
        return preset_model(choice.preset, revision)
    try:
        if choice.config is not None:
            return model_from_config(choice.config)
        if choice.architecture is not None:
            return model_from_fields(choice.architecture)
    except ConfigError as error:
        raise config_refused(error, "/model/config" if choice.config is not None else "/model/architecture") from error
    if choice.parameters is None:
        raise _refused("/model", "model_missing", {})
    try:
        active = None if choice.active_parameters is None else float(choice.active_parameters)
        return model_from_parameter_count(float(choice.parameters), active)
    except ValueError as error:
        raise _refused("/model/parameters", "model_not_inferable", {"reason": str(error)}) from error


def _refused(pointer: str, code: str, params: Mapping[str, Any]) -> InputError:
    fault = InputFault(pointer=pointer, code=code, params=dict(params), message=problem_message(code, params))
    return InputError((fault,))


@lru_cache(maxsize=2)
def _architectures(revision: str) -> Mapping[str, ModelArchitecture]:
    return {row.sku: row for row in ModelArchitecture.objects.active()}


def preset_model(code: str, revision: str | None = None) -> ModelSpec:
    """A published architecture of the catalogue, read once per revision."""
    row = _architectures(revision or current_revision()).get(code)
    if row is None:
        raise _refused("/model/preset", "unknown_preset", {"preset": code})
    if row.vocab_size is None and row.kind == "decoder":
        raise _refused("/model/preset", "preset_not_sizeable", {"preset": code})
    has_bias = row.attention_bias
    return ModelSpec(
        name=row.name,
        kind=ModelKind(row.kind),
        layer_count=row.layer_count,
        hidden_size=row.hidden_size,
        ffn_size=row.ffn_size or row.expert_ffn_size,
        head_count=row.head_count,
        kv_head_count=row.kv_head_count,
        head_size=row.head_size,
        vocab_size=row.vocab_size or 0,
        gated_ffn=row.gated_ffn,
        tied_embeddings=row.tied_embeddings,
        learned_position_count=row.learned_position_count,
        has_qkv_bias=has_bias in ("qkv", "all"),
        has_output_bias=has_bias == "all",
        has_ffn_bias=row.ffn_bias,
        norm_weight_vectors=2 if row.norm_bias else 1,
        norms_per_layer=row.norms_per_layer,
        has_qk_norm=row.has_qk_norm,
        q_lora_rank=row.q_lora_rank,
        kv_lora_rank=row.kv_lora_rank,
        qk_nope_head_size=row.qk_nope_head_size,
        qk_rope_head_size=row.qk_rope_head_size,
        v_head_size=row.v_head_size,
        sliding_window=row.sliding_window,
        window_layers_per_period=row.window_layers_per_period,
        window_period=row.window_period,
        expert_count=row.expert_count,
        experts_per_token=row.experts_per_token,
        expert_ffn_size=row.expert_ffn_size,
        shared_expert_count=row.shared_expert_count,
        shared_expert_ffn_size=row.shared_expert_ffn_size,
        dense_layer_count=row.dense_layer_count,
        moe_layer_interval=row.moe_layer_interval,
        mtp_layer_count=row.mtp_layer_count,
        other_parameter_count=row.other_parameter_count,
        max_sequence_length=row.max_sequence_length,
        published_parameter_count=row.published_parameter_count,
        published_active_parameter_count=row.published_active_parameter_count,
        source=f"{row.source_title}, {row.source_locator}",
    )

"""Architecture of an evidence row: its preset where given, else its own columns, completed by stated rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from advisor.engine.parameters import parameter_count
from advisor.engine.shapes import model_from_parameter_count
from advisor.engine.specs import ModelSpec
from advisor.evidence_hardware import number, preset_models, whole

USUAL_HEAD_SIZE = 128
SMALLEST_HEAD_SIZE = 32


def _mla_sizes(row: Mapping[str, str]) -> ModelSpec | None:
    """The preset whose latent attention sizes a row without a preset shares: same hidden size and heads."""
    for preset in preset_models().values():
        same = preset.hidden_size == whole(row["hidden"]) and preset.head_count == whole(row["n_heads"])
        if preset.uses_mla and same:
            return preset
    return None


def _interval(row: Mapping[str, str], layer_count: int) -> tuple[int, int]:
    """(leading dense layers, expert layer interval); exactly half dense means that they alternate."""
    dense = whole(row["dense_layer_count"]) or 0
    if dense and dense * 2 == layer_count and (whole(row["n_experts"]) or 0):
        return 0, 2
    return dense, 1


def usual_head_count(hidden: int, tensor_parallel: int) -> int:
    """Heads near 128 wide that divide the hidden size, and that the tensor-parallel size divides."""
    counts = [
        count
        for count in range(tensor_parallel, hidden + 1, tensor_parallel)
        if hidden % count == 0 and hidden // count >= SMALLEST_HEAD_SIZE
    ]
    return min(counts, key=lambda count: abs(math.log(hidden / count / USUAL_HEAD_SIZE)), default=tensor_parallel)


def _model_from_columns(row: Mapping[str, str], notes: list[str]) -> ModelSpec:
    layer_count, hidden = whole(row["n_layers"]) or 1, whole(row["hidden"]) or 0
    head_count = whole(row["n_heads"]) or usual_head_count(hidden, whole(row["tp"]) or 1)
    head_size = whole(row["head_size"]) or max(1, hidden // head_count)
    kv_head_count = whole(row["n_kv_heads"]) or head_count
    gated = row["gated_ffn"] != "n"
    expert_count = whole(row["n_experts"]) or 0
    expert_ffn = whole(row["expert_ffn_size"]) or (whole(row["ffn_hidden"]) if expert_count else 0) or 0
    ffn = whole(row["ffn_hidden"]) or expert_ffn
    if not ffn:
        ffn = 4 * hidden if not gated else round(8 * hidden / 3 / 256) * 256
        notes.append("model: FFN size not given, 4 x hidden (8/3 gated) taken")
    for column, name in (("n_heads", "heads"), ("gated_ffn", "gating"), ("tied_embeddings", "tying")):
        if not row[column]:
            notes.append(f"model: {name} not given, the usual taken")
    dense, interval = _interval(row, layer_count)
    # Plain FFNs came with LayerNorm and biases (GPT family), gated ones with RMS norm and without.
    has_biases = not gated and not row["model"].lower().startswith("nemotron")
    model = ModelSpec(
        name=row["model"],
        layer_count=layer_count,
        hidden_size=hidden,
        ffn_size=ffn,
        head_count=head_count,
        kv_head_count=kv_head_count,
        head_size=head_size,
        vocab_size=whole(row["vocab"]) or 32000,
        gated_ffn=gated,
        tied_embeddings=row["tied_embeddings"] == "y",
        learned_position_count=whole(row["learned_positions"]) or 0,
        has_qkv_bias=has_biases,
        has_output_bias=has_biases,
        has_ffn_bias=has_biases,
        norm_weight_vectors=2 if has_biases else 1,
        expert_count=expert_count,
        experts_per_token=(whole(row["top_k"]) or 1) if expert_count else 0,
        expert_ffn_size=expert_ffn if expert_count else 0,
        shared_expert_count=whole(row["shared_expert_count"]) or 0,
        shared_expert_ffn_size=expert_ffn if whole(row["shared_expert_count"]) else 0,
        dense_layer_count=dense,
        moe_layer_interval=interval,
        source=row["source_title"],
    )
    if "mla" in row.get("attention_kind", "").lower():
        latent = _mla_sizes(row)
        if latent is not None:
            notes.append(f"model: latent attention sizes of {latent.name}")
            model = replace(
                model,
                head_size=latent.head_size,
                kv_head_count=latent.kv_head_count,
                q_lora_rank=latent.q_lora_rank,
                kv_lora_rank=latent.kv_lora_rank,
                qk_nope_head_size=latent.qk_nope_head_size,
                qk_rope_head_size=latent.qk_rope_head_size,
                v_head_size=latent.v_head_size,
            )
    return model


def with_depth_for(model: ModelSpec, total: float) -> ModelSpec:
    """The model with the layer count that comes nearest to a parameter count."""
    one = replace(model, layer_count=1, dense_layer_count=0, moe_layer_interval=1)
    per_layer = parameter_count(replace(one, layer_count=2)) - parameter_count(one)
    layers = max(1, round((total - parameter_count(one)) / per_layer) + 1)
    return replace(one, layer_count=layers)


def is_hybrid_row(row: Mapping[str, str]) -> bool:
    """Whether some layers are state-space mixers, which the engine does not know."""
    words = f"{row.get('kind', '')} {row.get('attention_kind', '')} {row.get('notes', '')}".lower()
    return "hybrid mamba" in words or "-hybrid" in words


def _stated_total(row: Mapping[str, str]) -> float:
    return number(row.get("params_total") or row.get("params"))


def parameter_count_in_name(name: str) -> float:
    """Parameters that a model's name states (`Aquila2-34B`), 0 where it states none."""
    for part in reversed(name.replace("_", "-").split("-")):
        if part[-1:] in "Bb" and number(part[:-1]):
            return number(part[:-1]) * 1e9
    return 0.0


def model_of(row: Mapping[str, str], notes: list[str]) -> ModelSpec | None:
    """The row's model and, in `notes`, the rules that completed it; None where not even a size is stated."""
    preset = preset_models().get(row["preset"])
    if preset is not None:
        layers = whole(row["n_layers"])
        if layers and layers != preset.layer_count:
            notes.append(f"model: {layers} layers of preset {row['preset']}")
            return replace(preset, layer_count=layers)
        return preset
    if row["preset"]:
        notes.append(f"model: preset {row['preset']!r} is not in the catalogue, the row's columns taken")
    total = _stated_total(row)
    if whole(row["hidden"]) and whole(row["vocab"]) and total and (is_hybrid_row(row) or not whole(row["n_layers"])):
        model = with_depth_for(_model_from_columns(row, notes), total)
        reason = (
            "hybrid, mixers and FFNs taken as attention layers" if is_hybrid_row(row) else "layer count not published"
        )
        notes.append(f"model: {reason}, {model.layer_count} layers by the parameter count")
        return model
    if whole(row["n_layers"]) and whole(row["hidden"]):
        return _model_from_columns(row, notes)
    total = total or parameter_count_in_name(row["model"])
    if not total:
        return None
    notes.append(f"model: no shape given, inferred from {total:.3g} parameters")
    active = number(row.get("params_active")) or None
    return model_from_parameter_count(total, active if active and active < 0.95 * total else None)

"""A Hugging Face config.json, or explicit fields, as a checked ModelSpec. Whatever does not add up is a ConfigError.

Configs come from outside: wrong types, absurd sizes and bombs of nested objects are refused before anything is computed
from them. How each family names its sizes lives in `model_families`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields

from advisor.engine import model_families
from advisor.engine.config_reader import ConfigError, ConfigReader, check_size
from advisor.engine.parameters import parameter_count
from advisor.engine.specs import ModelKind, ModelSpec

__all__ = ["ConfigError", "model_from_config", "model_from_fields", "reduced_config", "supported_model_types"]

MAX_PARAMETER_COUNT = 1e15

# Bounds of the sizes, far above anything published and far below what overflows. (low, high)
SIZE_BOUNDS: dict[str, tuple[int, int]] = {
    "layer_count": (1, 2000),
    "hidden_size": (1, 1_000_000),
    "ffn_size": (0, 10_000_000),
    "head_count": (1, 10_000),
    "kv_head_count": (1, 10_000),
    "head_size": (1, 10_000),
    "vocab_size": (0, 10_000_000),
    "learned_position_count": (0, 100_000_000),
    "norm_weight_vectors": (0, 2),
    "norms_per_layer": (0, 8),
    "q_lora_rank": (0, 1_000_000),
    "kv_lora_rank": (0, 1_000_000),
    "qk_nope_head_size": (0, 10_000),
    "qk_rope_head_size": (0, 10_000),
    "v_head_size": (0, 10_000),
    "sliding_window": (0, 100_000_000),
    "window_layers_per_period": (0, 2000),
    "window_period": (1, 2000),
    "expert_count": (0, 100_000),
    "experts_per_token": (0, 100_000),
    "expert_ffn_size": (0, 10_000_000),
    "shared_expert_count": (0, 1000),
    "shared_expert_ffn_size": (0, 10_000_000),
    "dense_layer_count": (0, 2000),
    "moe_layer_interval": (1, 2000),
    "mtp_layer_count": (0, 100),
    "other_parameter_count": (0, 1_000_000_000_000),
    "max_sequence_length": (0, 100_000_000),
}
REQUIRED_FIELDS = ("layer_count", "hidden_size", "head_count", "vocab_size")
FLAG_FIELDS = (
    "gated_ffn",
    "tied_embeddings",
    "has_qkv_bias",
    "has_output_bias",
    "has_ffn_bias",
    "has_qk_norm",
)
NAMES = frozenset({"_name_or_path", "text_config", "llm_config", "language_config"})
CLASSES = "id2label"
NOT_SETTABLE = ("published_parameter_count", "published_active_parameter_count", "source")


def supported_model_types() -> tuple[str, ...]:
    """Every `model_type` with a reader of its own, sorted."""
    return tuple(sorted(model_families.READERS))


def model_from_config(config: Mapping[str, object]) -> ModelSpec:
    """A ModelSpec from a Hugging Face config.json.

    Parameters
    ----------
    config : Mapping
        The parsed file. A multimodal file's text model is read.

    Raises
    ------
    ConfigError
        If a size is missing, of the wrong type, out of bounds, or contradicts another.
    """
    return checked(model_families.read(_reader(config)))


def reduced_config(config: Mapping[str, object]) -> dict[str, object]:
    """The values of a config.json that its model follows from; the same model is read from them alone.

    Names and paths of the file's maker are left out, and the names of an image model's classes are counted.

    Raises
    ------
    ConfigError
        As for the whole config.
    """
    reader = _reader(config)
    checked(model_families.read(reader))
    kept = {name: value for name in sorted(reader.asked - NAMES) if (value := reader.raw(name)) is not None}
    if kept.pop(CLASSES, None) and (class_count := reader.length(CLASSES)):
        kept["num_labels"] = class_count
    return kept


def _reader(config: Mapping[str, object]) -> ConfigReader:
    """Of the object that holds the sizes: the file itself, or the text model of a multimodal one."""
    check_size(config)
    reader = ConfigReader(config)
    for inner in ("text_config", "llm_config", "language_config"):
        nested = reader.mapping(inner)
        if nested is not None and not reader.has("hidden_size"):
            reader = ConfigReader({"model_type": reader.text("model_type", ""), **nested}, prefix=f"{inner}.")
            break
    return reader


def model_from_fields(mapping: Mapping[str, object]) -> ModelSpec:
    """A ModelSpec from explicit fields, named as in `ModelSpec`; unknown names are refused.

    Raises
    ------
    ConfigError
        As for a config.
    """
    check_size(mapping)
    reader = ConfigReader(mapping)
    known = {field.name: field for field in fields(ModelSpec) if field.name not in NOT_SETTABLE}
    for name in mapping:
        if name not in known:
            raise ConfigError(str(name)[:80], "unknown_field", {"known": ", ".join(sorted(known))})
    values: dict[str, object] = {"name": reader.text("name", "custom"), "source": "stated fields"}
    if reader.has("kind"):
        values["kind"] = _kind(reader)
    for name in FLAG_FIELDS:
        if reader.has(name):
            values[name] = reader.flag(name)
    for name in SIZE_BOUNDS:
        if name in REQUIRED_FIELDS or reader.has(name):
            values[name] = reader.whole(name)
    _complete(values)
    for name, field in known.items():
        if name not in values and field.default is not MISSING:
            values[name] = field.default
    return checked(ModelSpec(**values))  # type: ignore[arg-type]


def _kind(reader: ConfigReader) -> ModelKind:
    text = reader.text("kind", "decoder")
    try:
        return ModelKind(text)
    except ValueError:
        offered = ", ".join(kind.value for kind in ModelKind)
        raise ConfigError("kind", "not_a_choice", {"value": text[:40], "offered": offered}) from None


def _complete(values: dict[str, object]) -> None:
    """Sizes that follow from others when left out: head size, key/value heads, widths of dense and expert FFNs."""
    hidden, heads = values["hidden_size"], values["head_count"]
    values.setdefault("kv_head_count", heads)
    if "head_size" not in values:
        if not isinstance(hidden, int) or not isinstance(heads, int) or heads < 1 or hidden % heads:
            raise ConfigError("head_size", "missing", {"reason": "hidden_size is no multiple of head_count"})
        values["head_size"] = hidden // heads
    if "ffn_size" not in values:
        if not values.get("expert_ffn_size"):
            raise ConfigError("ffn_size", "missing", {})
        values["ffn_size"] = values["expert_ffn_size"]
    if values.get("expert_count") and not values.get("expert_ffn_size"):
        values["expert_ffn_size"] = values["ffn_size"]
    if values.get("shared_expert_count") and not values.get("shared_expert_ffn_size"):
        values["shared_expert_ffn_size"] = values.get("expert_ffn_size", 0)


def checked(model: ModelSpec) -> ModelSpec:
    """The model, if every size is within bounds and none contradicts another.

    Raises
    ------
    ConfigError
        Otherwise.
    """
    for name, (low, high) in SIZE_BOUNDS.items():
        value = getattr(model, name)
        if not low <= value <= high:
            raise ConfigError(name, "out_of_range", {"value": value, "low": low, "high": high})
    if model.head_count % model.kv_head_count:
        params = {"head_count": model.head_count, "kv_head_count": model.kv_head_count}
        raise ConfigError("kv_head_count", "not_divisible", params)
    if model.expert_count:
        if not 1 <= model.experts_per_token <= model.expert_count:
            params = {"value": model.experts_per_token, "low": 1, "high": model.expert_count}
            raise ConfigError("experts_per_token", "out_of_range", params)
        if not model.expert_ffn_size:
            raise ConfigError("expert_ffn_size", "missing", {})
    has_dense_layer = not model.expert_count or model.dense_layer_count or model.moe_layer_interval > 1
    if not model.ffn_size and has_dense_layer:
        raise ConfigError("ffn_size", "missing", {})
    if model.dense_layer_count > model.layer_count:
        params = {"value": model.dense_layer_count, "low": 0, "high": model.layer_count}
        raise ConfigError("dense_layer_count", "out_of_range", params)
    if model.window_layers_per_period > model.window_period:
        params = {"value": model.window_layers_per_period, "low": 0, "high": model.window_period}
        raise ConfigError("window_layers_per_period", "out_of_range", params)
    total = parameter_count(model)
    if total > MAX_PARAMETER_COUNT:
        raise ConfigError("", "too_many_parameters", {"value": float(total), "high": MAX_PARAMETER_COUNT})
    return model

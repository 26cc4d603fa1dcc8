"""Readers of families with LayerNorm and a plain FFN, and of encoders; see `model_families`."""

from __future__ import annotations

from dataclasses import replace

from advisor.engine.config_reader import ConfigError, ConfigReader
from advisor.engine.config_shapes import head_size_of, layer_norm_gpt, name_of, windowed
from advisor.engine.specs import ModelKind, ModelSpec

OPT_POSITION_OFFSET = 2  # the table has two more rows than positions
IMAGE_CLASS_COUNT = 1000  # ImageNet-1k, where the config names no labels


def gpt2(c: ConfigReader) -> ModelSpec:
    return layer_norm_gpt(c, tied=True, learned_positions=c.whole("n_positions", "n_ctx", default=1024))


def gpt_bigcode(c: ConfigReader) -> ModelSpec:
    model = gpt2(c)
    return replace(model, kv_head_count=1) if c.flag("multi_query", default=True) else model


def starcoder2(c: ConfigReader) -> ModelSpec:
    has_bias = c.flag("use_bias", default=True)
    model = windowed(layer_norm_gpt(c, tied=True), c)
    return replace(model, has_qkv_bias=has_bias, has_output_bias=has_bias, has_ffn_bias=has_bias)


def gpt_neox(c: ConfigReader) -> ModelSpec:
    return layer_norm_gpt(c, tied=False)


def gptj(c: ConfigReader) -> ModelSpec:
    """GPT-J: attention without biases, one norm for both paths, a bias on the head."""
    model = layer_norm_gpt(c, tied=False)
    return replace(
        model,
        has_qkv_bias=False,
        has_output_bias=False,
        norms_per_layer=1,
        other_parameter_count=model.vocab_size,
    )


def gpt_neo(c: ConfigReader) -> ModelSpec:
    model = layer_norm_gpt(c, tied=True, learned_positions=c.whole("max_position_embeddings"))
    return replace(model, has_qkv_bias=False)


def opt(c: ConfigReader) -> ModelSpec:
    positions = c.whole("max_position_embeddings") + OPT_POSITION_OFFSET
    model = layer_norm_gpt(c, tied=True, learned_positions=positions)
    narrow = c.whole("word_embed_proj_dim", default=model.hidden_size)
    if narrow == model.hidden_size:
        return model
    # a narrow embedding with two projections (OPT-350M): the difference to a full-width embedding
    extra = 2 * narrow * model.hidden_size - model.vocab_size * (model.hidden_size - narrow)
    return replace(model, other_parameter_count=extra)


def bloom(c: ConfigReader) -> ModelSpec:
    """BLOOM: ALiBi, and a norm after the embedding."""
    model = layer_norm_gpt(c, tied=True)
    return replace(model, other_parameter_count=2 * model.hidden_size)


def falcon(c: ConfigReader) -> ModelSpec:
    """Falcon: no biases; the head is stored apart although the library would tie it."""
    model = layer_norm_gpt(c, tied=False)
    is_new = c.flag("new_decoder_architecture", default=False)
    groups = model.head_count
    if is_new:
        groups = c.whole("num_kv_heads", "n_head_kv", default=model.head_count)
    elif c.flag("multi_query", default=True):
        groups = 1
    has_one_norm = c.flag("parallel_attn", default=True) and not is_new
    has_bias = c.flag("bias", default=False)
    return replace(
        model,
        kv_head_count=groups,
        norms_per_layer=1 if has_one_norm else 2,
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
        has_ffn_bias=has_bias,
    )


def mpt(c: ConfigReader) -> ModelSpec:
    """MPT: ALiBi or learned positions, and with `no_bias` not even the norms have one."""
    hidden = c.whole("d_model")
    inner = c.mapping("attn_config") or {}
    attention = ConfigReader(inner, prefix="attn_config.")
    has_alibi, has_rope = attention.flag("alibi", default=False), attention.flag("rope", default=False)
    has_bias = not c.flag("no_bias", default=True)
    positions = 0 if has_alibi or has_rope else c.whole("max_seq_len")
    model = layer_norm_gpt(c, tied=True, learned_positions=positions)
    return replace(
        model,
        kv_head_count=attention.whole("kv_n_heads", default=model.head_count),
        ffn_size=round(c.number("expansion_ratio", 4.0) * hidden),
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
        has_ffn_bias=has_bias,
        norm_weight_vectors=2 if has_bias else 1,
    )


def phi(c: ConfigReader) -> ModelSpec:
    """Phi-1 to Phi-2: attention and FFN side by side under one norm, a bias on the head."""
    model = layer_norm_gpt(c, tied=False)
    return replace(model, norms_per_layer=1, other_parameter_count=model.vocab_size)


def bert(c: ConfigReader) -> ModelSpec:
    """BERT with its pooler; the norm after the embedding stands for the final norm."""
    model = layer_norm_gpt(c, tied=True, learned_positions=c.whole("max_position_embeddings"))
    hidden = model.hidden_size
    types = c.whole("type_vocab_size", default=2)
    return replace(model, kind=ModelKind.ENCODER, other_parameter_count=types * hidden + hidden * hidden + hidden)


def vit(c: ConfigReader) -> ModelSpec:
    """Vision transformer with a class token and a classification head."""
    hidden, heads = c.whole("hidden_size"), c.whole("num_attention_heads")
    patch, image = c.whole("patch_size", default=16), c.whole("image_size", default=224)
    channels = c.whole("num_channels", default=3)
    if patch < 1 or image < patch:
        raise ConfigError("patch_size", "out_of_range", {"value": patch, "low": 1, "high": image})
    positions = (image // patch) ** 2 + 1
    classes = c.length("id2label") or c.whole("num_labels", default=IMAGE_CLASS_COUNT)
    embedding = channels * patch * patch * hidden + hidden + hidden  # patches, their bias, the class token
    has_bias = c.flag("qkv_bias", default=True)
    return ModelSpec(
        name=name_of(c),
        kind=ModelKind.VISION,
        layer_count=c.whole("num_hidden_layers"),
        hidden_size=hidden,
        ffn_size=c.whole("intermediate_size", default=4 * hidden),
        head_count=heads,
        kv_head_count=heads,
        head_size=head_size_of(c, hidden, heads),
        vocab_size=0,
        gated_ffn=False,
        tied_embeddings=False,
        learned_position_count=positions,
        has_qkv_bias=has_bias,
        has_output_bias=True,
        has_ffn_bias=True,
        norm_weight_vectors=2,
        other_parameter_count=embedding + classes * hidden + classes,
        max_sequence_length=positions,
        source="config.json",
    )

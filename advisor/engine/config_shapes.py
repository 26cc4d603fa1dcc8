"""What the config.json files of all model families share: names of sizes, head size, windows, the two common shapes."""

from __future__ import annotations

from dataclasses import replace

from advisor.engine.config_reader import ConfigError, ConfigReader
from advisor.engine.specs import ModelSpec

HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "n_ctx")


def name_of(c: ConfigReader) -> str:
    return c.text("_name_or_path", "") or c.text("model_type", "") or "config"


def head_size_of(c: ConfigReader, hidden: int, heads: int) -> int:
    if c.has("head_dim", "kv_channels"):
        return c.whole("head_dim", "kv_channels")
    if heads < 1 or hidden % heads:
        raise ConfigError("num_attention_heads", "not_divisible", {"hidden_size": hidden, "head_count": heads})
    return hidden // heads


def windowed(model: ModelSpec, c: ConfigReader, local: int = 1, everywhere: int = 0) -> ModelSpec:
    """The model with its sliding window: layers by `layer_types` where listed, else the family's habit."""
    window = c.whole("sliding_window", "attention_chunk_size", default=0)
    types = c.texts("layer_types")
    if types:
        local = sum(kind in ("sliding_attention", "chunked_attention") for kind in types)
        everywhere = len(types) - local
    if not window or not local:
        return model
    return replace(model, sliding_window=window, window_layers_per_period=local, window_period=local + everywhere)


def gated_rms(c: ConfigReader, *, tied: bool = False) -> ModelSpec:
    """The Llama shape: RMS norms, gated FFN, grouped queries, no biases; others start from it."""
    hidden, heads = c.whole(*HIDDEN), c.whole(*HEADS)
    attention_bias = c.flag("attention_bias", default=False)
    return ModelSpec(
        name=name_of(c),
        layer_count=c.whole(*LAYERS),
        hidden_size=hidden,
        ffn_size=c.whole("intermediate_size", "ffn_hidden_size", "n_inner"),
        head_count=heads,
        kv_head_count=c.whole(*KV_HEADS, default=heads),
        head_size=head_size_of(c, hidden, heads),
        vocab_size=c.whole("vocab_size", "padded_vocab_size"),
        tied_embeddings=c.flag("tie_word_embeddings", default=tied),
        has_qkv_bias=attention_bias,
        has_output_bias=attention_bias,
        has_ffn_bias=c.flag("mlp_bias", default=False),
        max_sequence_length=c.whole(*POSITIONS, default=0),
        source="config.json",
    )


def layer_norm_gpt(c: ConfigReader, *, tied: bool, learned_positions: int = 0) -> ModelSpec:
    """The GPT shape: LayerNorm with bias, plain FFN of 4 h, biases everywhere, multi-head attention."""
    hidden, heads = c.whole(*HIDDEN), c.whole(*HEADS)
    return ModelSpec(
        name=name_of(c),
        layer_count=c.whole(*LAYERS),
        hidden_size=hidden,
        ffn_size=c.whole("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", default=4 * hidden),
        head_count=heads,
        kv_head_count=c.whole("num_key_value_heads", default=heads),
        head_size=head_size_of(c, hidden, heads),
        vocab_size=c.whole("vocab_size"),
        gated_ffn=False,
        tied_embeddings=c.flag("tie_word_embeddings", default=tied),
        learned_position_count=learned_positions,
        has_qkv_bias=True,
        has_output_bias=True,
        has_ffn_bias=True,
        norm_weight_vectors=2,
        max_sequence_length=c.whole(*POSITIONS, default=0),
        source="config.json",
    )

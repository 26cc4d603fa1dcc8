"""How each model family's config.json names its sizes, and what its layers hold beside the matrices.

A reader takes a `ConfigReader` and returns a ModelSpec. Sources: the configuration classes of the Transformers library
and the config.json files and remote code of the model repositories named per preset in the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from advisor.engine.config_reader import ConfigError, ConfigReader
from advisor.engine.config_shapes import HEADS, HIDDEN, gated_rms, windowed
from advisor.engine.model_families_gpt import (
    bert,
    bloom,
    falcon,
    gpt2,
    gpt_bigcode,
    gpt_neo,
    gpt_neox,
    gptj,
    mpt,
    opt,
    phi,
    starcoder2,
    vit,
)
from advisor.engine.specs import ModelSpec

Reader = Callable[[ConfigReader], ModelSpec]


def mistral(c: ConfigReader) -> ModelSpec:
    return windowed(gated_rms(c), c)


def mixtral(c: ConfigReader) -> ModelSpec:
    model = windowed(gated_rms(c), c)
    return replace(
        model,
        expert_count=c.whole("num_local_experts"),
        experts_per_token=c.whole("num_experts_per_tok"),
        expert_ffn_size=model.ffn_size,
    )


def qwen1(c: ConfigReader) -> ModelSpec:
    """Qwen: `intermediate_size` counts gate and up together; biases on query, key and value alone."""
    model = gated_rms(c)
    return replace(model, ffn_size=model.ffn_size // 2, has_qkv_bias=True, has_output_bias=False)


def qwen2(c: ConfigReader) -> ModelSpec:
    model = replace(gated_rms(c), has_qkv_bias=True, has_output_bias=False)
    return windowed(model, c) if c.flag("use_sliding_window", default=False) else model


def _qwen_experts(c: ConfigReader, model: ModelSpec) -> ModelSpec:
    shared = c.whole("shared_expert_intermediate_size", default=0)
    dense_only = c.length("mlp_only_layers")
    interval = max(1, c.whole("decoder_sparse_step", default=1))
    moe_layers = max(model.layer_count - dense_only, 0) // interval
    return replace(
        model,
        expert_count=c.whole("num_experts", "num_local_experts"),
        experts_per_token=c.whole("num_experts_per_tok"),
        expert_ffn_size=c.whole("moe_intermediate_size"),
        shared_expert_count=1 if shared else 0,
        shared_expert_ffn_size=shared,
        dense_layer_count=dense_only,
        moe_layer_interval=interval,
        other_parameter_count=moe_layers * model.hidden_size if shared else 0,  # the shared expert's gate
    )


def qwen2_moe(c: ConfigReader) -> ModelSpec:
    return _qwen_experts(c, qwen2(c))


def qwen3(c: ConfigReader) -> ModelSpec:
    model = replace(gated_rms(c), has_qk_norm=True)
    return windowed(model, c) if c.flag("use_sliding_window", default=False) else model


def qwen3_moe(c: ConfigReader) -> ModelSpec:
    return _qwen_experts(c, qwen3(c))


def deepseek(c: ConfigReader) -> ModelSpec:
    """DeepSeek-V2 and V3, Kimi K2, Moonlight: latent attention where stated, leading dense layers, shared experts."""
    hidden, heads = c.whole(*HIDDEN), c.whole(*HEADS)
    rope, nope = c.whole("qk_rope_head_dim", default=0), c.whole("qk_nope_head_dim", default=0)
    latent = c.whole("kv_lora_rank", default=0)
    model = gated_rms(c)
    if latent:
        model = replace(
            model,
            kv_head_count=heads,
            head_size=rope + nope,
            q_lora_rank=c.whole("q_lora_rank", default=0),
            kv_lora_rank=latent,
            qk_nope_head_size=nope,
            qk_rope_head_size=rope,
            v_head_size=c.whole("v_head_dim"),
        )
    experts = c.whole("n_routed_experts", default=0)
    if not experts:
        return model
    dense = c.whole("first_k_dense_replace", default=0)
    interval = max(1, c.whole("moe_layer_freq", default=1))
    width = c.whole("moe_intermediate_size")
    has_correction = c.text("topk_method", "") == "noaux_tc"
    moe_layers = max(model.layer_count - dense, 0) // interval
    return replace(
        model,
        hidden_size=hidden,
        expert_count=experts,
        experts_per_token=c.whole("num_experts_per_tok"),
        expert_ffn_size=width,
        shared_expert_count=c.whole("n_shared_experts", default=0),
        shared_expert_ffn_size=width if c.whole("n_shared_experts", default=0) else 0,
        dense_layer_count=dense,
        moe_layer_interval=interval,
        mtp_layer_count=c.whole("num_nextn_predict_layers", default=0),
        other_parameter_count=moe_layers * experts if has_correction else 0,  # one correction bias an expert
    )


def glm4_moe(c: ConfigReader) -> ModelSpec:
    """GLM-4.5: DeepSeek's experts and correction biases under grouped queries; no bias on the attention output."""
    model = replace(deepseek(c), has_output_bias=False, has_qk_norm=c.flag("use_qk_norm", default=False))
    moe_layers = max(model.layer_count - model.dense_layer_count, 0) // model.moe_layer_interval
    return replace(model, other_parameter_count=moe_layers * model.expert_count)


def phimoe(c: ConfigReader) -> ModelSpec:
    """Phi-3.5-MoE: LayerNorms with bias, and a bias on the head."""
    model = replace(mixtral(c), norm_weight_vectors=2)
    return replace(model, other_parameter_count=model.vocab_size if c.flag("lm_head_bias", default=False) else 0)


def dbrx(c: ConfigReader) -> ModelSpec:
    """DBRX: attention and expert sizes in objects of their own; LayerNorms without bias."""
    attention = ConfigReader(c.mapping("attn_config") or {}, prefix="attn_config.")
    experts = ConfigReader(c.mapping("ffn_config") or {}, prefix="ffn_config.")
    width = experts.whole("ffn_hidden_size")
    model = gated_rms(c.with_defaults(intermediate_size=width))
    return replace(
        model,
        kv_head_count=attention.whole("kv_n_heads", default=model.head_count),
        expert_count=experts.whole("moe_num_experts"),
        experts_per_token=experts.whole("moe_top_k"),
        expert_ffn_size=width,
    )


def gemma(c: ConfigReader) -> ModelSpec:
    return gated_rms(c, tied=True)


def gemma2(c: ConfigReader) -> ModelSpec:
    return windowed(replace(gated_rms(c, tied=True), norms_per_layer=4), c, 1, 1)


def gemma3(c: ConfigReader) -> ModelSpec:
    """Gemma 3: the published files leave out what equals the library's defaults."""
    c = c.with_defaults(vocab_size=262208, num_attention_heads=8, num_key_value_heads=4, head_dim=256)
    period = c.whole("sliding_window_pattern", "_sliding_window_pattern", default=6)
    model = replace(gated_rms(c, tied=True), norms_per_layer=4, has_qk_norm=True)
    return windowed(model, c, max(period - 1, 1), 1)


def phi3(c: ConfigReader) -> ModelSpec:
    return windowed(gated_rms(c), c)


def internlm(c: ConfigReader) -> ModelSpec:
    has_bias = c.flag("bias", default=True)
    return replace(gated_rms(c), has_qkv_bias=has_bias, has_output_bias=has_bias)


def internlm2(c: ConfigReader) -> ModelSpec:
    has_bias = c.flag("bias", default=False)
    return replace(gated_rms(c), has_qkv_bias=has_bias, has_output_bias=has_bias)


def chatglm(c: ConfigReader) -> ModelSpec:
    """ChatGLM2, ChatGLM3 and GLM-4 with remote code."""
    model = gated_rms(c)
    groups = model.head_count
    if c.flag("multi_query_attention", default=False):
        groups = c.whole("multi_query_group_num", default=1)
    has_linear_bias = c.flag("add_bias_linear", default=False)
    return replace(
        model,
        vocab_size=c.whole("padded_vocab_size", "vocab_size"),
        kv_head_count=groups,
        has_qkv_bias=c.flag("add_qkv_bias", default=False) or has_linear_bias,
        has_output_bias=has_linear_bias,
        has_ffn_bias=has_linear_bias,
    )


def glm(c: ConfigReader) -> ModelSpec:
    """GLM-4 in Transformers: `attention_bias` means query, key and value alone."""
    return replace(gated_rms(c), has_output_bias=False)


def glm4(c: ConfigReader) -> ModelSpec:
    return replace(glm(c), norms_per_layer=4)


def gpt_oss(c: ConfigReader) -> ModelSpec:
    """gpt-oss: biases on attention and experts; a sink per head and a router bias per expert."""
    model = windowed(gated_rms(c), c, 1, 1)
    experts = c.whole("num_local_experts")
    has_bias = c.flag("attention_bias", default=True)
    return replace(
        model,
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
        has_ffn_bias=True,
        expert_count=experts,
        experts_per_token=c.whole("num_experts_per_tok", "experts_per_token"),
        expert_ffn_size=model.ffn_size,
        other_parameter_count=model.layer_count * (model.head_count + experts),
    )


def olmo(c: ConfigReader) -> ModelSpec:
    """OLMo: norms without weights."""
    return replace(gated_rms(c), norm_weight_vectors=0)


def olmo2(c: ConfigReader) -> ModelSpec:
    """OLMo 2 and 3: query and key norms over the full width."""
    model = windowed(gated_rms(c), c, 3, 1)
    full_width = (model.head_count + model.kv_head_count) * model.head_size
    extra = model.layer_count * (full_width - 2 * model.head_size)
    return replace(model, has_qk_norm=True, other_parameter_count=extra)


def llama4(c: ConfigReader) -> ModelSpec:
    """Llama 4 text model: one shared expert; dense and expert layers may alternate; three of four layers chunked."""
    model = windowed(gated_rms(c), c, 3, 1)
    width = c.whole("intermediate_size")
    interval = max(1, c.whole("interleave_moe_layer_step", default=1))
    return replace(
        model,
        ffn_size=c.whole("intermediate_size_mlp", default=width),
        expert_count=c.whole("num_local_experts"),
        experts_per_token=c.whole("num_experts_per_tok"),
        expert_ffn_size=width,
        shared_expert_count=1,
        shared_expert_ffn_size=width,
        moe_layer_interval=interval,
    )


def stablelm(c: ConfigReader) -> ModelSpec:
    has_bias = c.flag("use_qkv_bias", default=False)
    norms = 1 if c.flag("use_parallel_residual", default=False) else 2
    model = replace(gated_rms(c), norm_weight_vectors=2, norms_per_layer=norms)
    return replace(model, has_qkv_bias=has_bias, has_output_bias=False)


def nemotron(c: ConfigReader) -> ModelSpec:
    """Nemotron-4: squared ReLU, so two FFN matrices; LayerNorm with bias, no other biases."""
    return replace(gated_rms(c), gated_ffn=False, norm_weight_vectors=2)


def cohere(c: ConfigReader) -> ModelSpec:
    """Command R: one LayerNorm without bias before attention and FFN side by side."""
    return replace(gated_rms(c, tied=True), norms_per_layer=1, has_qk_norm=c.flag("use_qk_norm", default=False))


READERS: dict[str, Reader] = {
    "baichuan": gated_rms,
    "bert": bert,
    "bloom": bloom,
    "chatglm": chatglm,
    "cohere": cohere,
    "dbrx": dbrx,
    "deepseek": deepseek,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "ernie4_5": gated_rms,
    "falcon": falcon,
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3": gemma3,
    "gemma3_text": gemma3,
    "glm": glm,
    "glm4": glm4,
    "glm4_moe": glm4_moe,
    "gpt2": gpt2,
    "gpt_bigcode": gpt_bigcode,
    "gpt_neo": gpt_neo,
    "gpt_neox": gpt_neox,
    "gpt_oss": gpt_oss,
    "gptj": gptj,
    "granite": gated_rms,
    "internlm": internlm,
    "internlm2": internlm2,
    "kimi_k2": deepseek,
    "llama": gated_rms,
    "llama4": llama4,
    "llama4_text": llama4,
    "mistral": mistral,
    "mixtral": mixtral,
    "mpt": mpt,
    "nemotron": nemotron,
    "olmo": olmo,
    "olmo2": olmo2,
    "olmo3": olmo2,
    "opt": opt,
    "phi": phi,
    "phi3": phi3,
    "phimoe": phimoe,
    "qwen": qwen1,
    "qwen2": qwen2,
    "qwen2_moe": qwen2_moe,
    "qwen3": qwen3,
    "qwen3_moe": qwen3_moe,
    "RefinedWeb": falcon,
    "RefinedWebModel": falcon,
    "seed_oss": glm,
    "smollm3": gated_rms,
    "stablelm": stablelm,
    "starcoder2": starcoder2,
    "vit": vit,
    "yi": gated_rms,
}


def read(c: ConfigReader) -> ModelSpec:
    """The model of a config by its `model_type`.

    An unknown type is refused: which matrices a layer has cannot be told from sizes alone.

    Raises
    ------
    ConfigError
        `missing` without a model type, `unsupported_model_type` for one without a reader.
    """
    kind = c.text("model_type", "")
    if not kind:
        raise ConfigError("model_type", "missing", {})
    reader = READERS.get(kind) or READERS.get(kind.lower())
    if reader is None:
        offered = ", ".join(sorted(READERS))
        raise ConfigError("model_type", "unsupported_model_type", {"value": kind[:80], "offered": offered})
    return reader(c)

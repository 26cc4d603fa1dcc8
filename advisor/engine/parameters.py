"""Parameter counts of a transformer, part by part, from its architecture.

All functions take one `ModelSpec` and return plain Python numbers (exact integers below 2**53), so that the array
paths multiply them in as constants. Sizes follow the published model configurations [1]_, multi-head latent attention
follows [2]_.

References
----------
.. [1] Hugging Face model repositories, config.json and checkpoint sizes, as listed per preset in the catalogue.
.. [2] DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.
"""

from __future__ import annotations

from advisor.engine.specs import ModelKind, ModelSpec


def attention_matrix_parameter_count(model: ModelSpec) -> int:
    """Weights of one layer's attention matrices, without biases and norms. [1]"""
    h, a, k, d = model.hidden_size, model.head_count, model.kv_head_count, model.head_size
    if not model.uses_mla:
        return h * a * d + 2 * h * k * d + a * d * h
    qk = model.qk_nope_head_size + model.qk_rope_head_size
    v = model.v_head_size or d
    q_path = h * model.q_lora_rank + model.q_lora_rank * a * qk if model.q_lora_rank else h * a * qk
    kv_path = h * (model.kv_lora_rank + model.qk_rope_head_size)
    kv_path += model.kv_lora_rank * a * (model.qk_nope_head_size + v)
    return q_path + kv_path + a * v * h


def attention_other_parameter_count(model: ModelSpec) -> int:
    """Biases and inner norms of one layer's attention. [1]"""
    a, k, d = model.head_count, model.kv_head_count, model.head_size
    count = 0
    if model.has_qkv_bias:
        count += (a + 2 * k) * d
    if model.has_output_bias:
        count += model.hidden_size
    if model.has_qk_norm:
        count += 2 * d
    if model.uses_mla:
        count += model.q_lora_rank + model.kv_lora_rank  # the norms of both low-rank paths
    return count


def ffn_parameter_count(model: ModelSpec, width: int) -> int:
    """Weights (and biases) of one feed-forward block of `width`: three matrices when gated, else two. [1]"""
    matrices = 3 if model.gated_ffn else 2
    count = matrices * model.hidden_size * width
    if model.has_ffn_bias:
        count += (matrices - 1) * width + model.hidden_size
    return count


def expert_parameter_count(model: ModelSpec) -> int:
    """One routed expert of one layer. [1]"""
    return ffn_parameter_count(model, model.expert_ffn_size) if model.is_moe else 0


def shared_expert_parameter_count(model: ModelSpec) -> int:
    """All shared experts of one layer. [1]"""
    if not model.shared_expert_count:
        return 0
    width = model.shared_expert_ffn_size or model.expert_ffn_size
    return model.shared_expert_count * ffn_parameter_count(model, width)


def router_parameter_count(model: ModelSpec) -> int:
    """Router of one mixture-of-experts layer. [1]"""
    return model.hidden_size * model.expert_count


def norm_parameter_count(model: ModelSpec) -> int:
    """Norms of one layer. [1]"""
    return model.norms_per_layer * model.norm_weight_vectors * model.hidden_size


def moe_layer_count(model: ModelSpec) -> int:
    """Layers with experts. [1]"""
    if not model.is_moe:
        return 0
    return (model.layer_count - model.dense_layer_count) // model.moe_layer_interval


def dense_layer_parameter_count(model: ModelSpec) -> int:
    """One dense layer, everything in it. [1]"""
    return (
        attention_matrix_parameter_count(model)
        + attention_other_parameter_count(model)
        + norm_parameter_count(model)
        + ffn_parameter_count(model, model.ffn_size)
    )


def moe_layer_shared_parameter_count(model: ModelSpec) -> int:
    """One mixture-of-experts layer without its routed experts. [1]"""
    return (
        attention_matrix_parameter_count(model)
        + attention_other_parameter_count(model)
        + norm_parameter_count(model)
        + router_parameter_count(model)
        + shared_expert_parameter_count(model)
    )


def embedding_parameter_count(model: ModelSpec) -> int:
    """Token embedding and learned positions. [1]"""
    return (model.vocab_size + model.learned_position_count) * model.hidden_size


def head_parameter_count(model: ModelSpec) -> int:
    """Output matrix; 0 when tied to the embedding, or when there is none (vision encoders). [1]"""
    if model.tied_embeddings or model.kind is ModelKind.VISION:
        return 0
    return model.vocab_size * model.hidden_size


def final_parameter_count(model: ModelSpec) -> int:
    """Final norm, and what the preset states besides (embedding norms, projections, poolers). [1]"""
    return model.norm_weight_vectors * model.hidden_size + model.other_parameter_count


def parameter_count(model: ModelSpec) -> int:
    """All parameters. Multi-token-prediction layers are left out, as publishers do. [1]"""
    moe_layers = moe_layer_count(model)
    return (
        (model.layer_count - moe_layers) * dense_layer_parameter_count(model)
        + moe_layers * (moe_layer_shared_parameter_count(model) + model.expert_count * expert_parameter_count(model))
        + embedding_parameter_count(model)
        + head_parameter_count(model)
        + final_parameter_count(model)
    )


def active_parameter_count(model: ModelSpec) -> int:
    """Parameters used per token: of the routed experts only `experts_per_token`. [1]"""
    idle_experts = model.expert_count - model.experts_per_token
    return parameter_count(model) - moe_layer_count(model) * idle_experts * expert_parameter_count(model)

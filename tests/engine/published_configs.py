"""Sizes of published models' config.json files, by preset of the catalogue."""

from __future__ import annotations


def llama(hidden, ffn, layers, heads, kv, vocab, **more):
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": vocab,
        "tie_word_embeddings": False,
        **more,
    }


def gpt2(layers, heads, width):
    return {"model_type": "gpt2", "n_embd": width, "n_layer": layers, "n_head": heads, "vocab_size": 50257}


def neox(layers, heads, hidden, vocab):
    return {
        "model_type": "gpt_neox",
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "vocab_size": vocab,
        "tie_word_embeddings": False,
    }


def opt(layers, heads, hidden):
    return {
        "model_type": "opt",
        "hidden_size": hidden,
        "ffn_dim": 4 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "word_embed_proj_dim": hidden,
        "max_position_embeddings": 2048,
        "vocab_size": 50272,
    }


def as_type(kind, config, **more):
    return {**config, "model_type": kind, **more}


DEEPSEEK_V3 = {
    **llama(7168, 18432, 61, 128, 128, 129280),
    "model_type": "deepseek_v3",
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "num_nextn_predict_layers": 1,
    "topk_method": "noaux_tc",
}
DEEPSEEK_V2 = {
    **DEEPSEEK_V3,
    **llama(5120, 12288, 60, 128, 128, 102400),
    "model_type": "deepseek_v2",
    "n_routed_experts": 160,
    "num_experts_per_tok": 6,
    "moe_intermediate_size": 1536,
    "n_shared_experts": 2,
    "first_k_dense_replace": 1,
    "topk_method": "group_limited_greedy",
    "num_nextn_predict_layers": 0,
}
DEEPSEEK_V2_LITE = {
    **DEEPSEEK_V2,
    **llama(2048, 10944, 27, 16, 16, 102400),
    "model_type": "deepseek_v2",
    "q_lora_rank": None,
    "n_routed_experts": 64,
    "moe_intermediate_size": 1408,
    "topk_method": "greedy",
}
GEMMA3_27B = {
    "model_type": "gemma3",
    "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "num_hidden_layers": 62,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "sliding_window": 1024,
        "vocab_size": 262208,
    },
}
LLAMA4_MAVERICK = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text",
        "hidden_size": 5120,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "num_hidden_layers": 48,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "num_local_experts": 128,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 2,
        "attention_chunk_size": 8192,
        "vocab_size": 202048,
        "tie_word_embeddings": False,
    },
}
CHATGLM3 = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "ffn_hidden_size": 13696,
    "num_layers": 28,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "padded_vocab_size": 65024,
    "add_qkv_bias": True,
    "add_bias_linear": False,
    "tie_word_embeddings": False,
    "seq_length": 8192,
}
VIT_L16 = {
    "model_type": "vit",
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 16,
    "num_channels": 3,
    "qkv_bias": True,
    "id2label": {str(label): "x" for label in range(1000)},
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "num_experts_per_tok": 4,
    "attention_bias": True,
    "sliding_window": 128,
    "vocab_size": 201088,
    "tie_word_embeddings": False,
}
MPT_7B = {
    "model_type": "mpt",
    "d_model": 4096,
    "n_heads": 32,
    "n_layers": 32,
    "expansion_ratio": 4,
    "max_seq_len": 2048,
    "vocab_size": 50432,
    "no_bias": True,
    "attn_config": {"alibi": True},
}
MPT_7B_COUNT = 6_649_286_656  # size of the published checkpoint of mosaicml/mpt-7b
FALCON_40B = {
    "model_type": "falcon",
    "hidden_size": 8192,
    "num_attention_heads": 128,
    "num_hidden_layers": 60,
    "num_kv_heads": 8,
    "new_decoder_architecture": True,
    "vocab_size": 65024,
}
FALCON_7B = {
    "model_type": "falcon",
    "hidden_size": 4544,
    "num_attention_heads": 71,
    "num_hidden_layers": 32,
    "multi_query": True,
    "parallel_attn": True,
    "vocab_size": 65024,
}
STARCODER = {
    "model_type": "gpt_bigcode",
    "n_embd": 6144,
    "n_head": 48,
    "n_inner": 24576,
    "n_layer": 40,
    "n_positions": 8192,
    "multi_query": True,
    "vocab_size": 49152,
}

BY_PRESET = [
    ("llama-2-7b", llama(4096, 11008, 32, 32, 32, 32000)),
    ("llama-2-70b", llama(8192, 28672, 80, 64, 8, 32000)),
    ("llama-3-8b", llama(4096, 14336, 32, 32, 8, 128256)),
    ("llama-3.1-405b", llama(16384, 53248, 126, 128, 8, 128256)),
    ("llama-3.2-1b", llama(2048, 8192, 16, 32, 8, 128256, tie_word_embeddings=True, head_dim=64)),
    ("yi-34b", llama(7168, 20480, 60, 56, 8, 64000)),
    ("mistral-7b", as_type("mistral", llama(4096, 14336, 32, 32, 8, 32000), sliding_window=4096)),
    (
        "mixtral-8x7b",
        as_type("mixtral", llama(4096, 14336, 32, 32, 8, 32000), num_local_experts=8, num_experts_per_tok=2),
    ),
    ("qwen-7b", as_type("qwen", llama(4096, 22016, 32, 32, None, 151936), no_bias=True)),
    ("qwen2-7b", as_type("qwen2", llama(3584, 18944, 28, 28, 4, 152064), sliding_window=131072)),
    ("qwen2-0.5b", as_type("qwen2", llama(896, 4864, 24, 14, 2, 151936, tie_word_embeddings=True))),
    (
        "qwen1.5-moe-a2.7b",
        as_type(
            "qwen2_moe",
            llama(2048, 5632, 24, 16, 16, 151936),
            num_experts=60,
            num_experts_per_tok=4,
            moe_intermediate_size=1408,
            shared_expert_intermediate_size=5632,
            decoder_sparse_step=1,
        ),
    ),
    ("qwen3-8b", as_type("qwen3", llama(4096, 12288, 36, 32, 8, 151936), head_dim=128)),
    (
        "qwen3-235b-a22b",
        as_type(
            "qwen3_moe",
            llama(4096, 12288, 94, 64, 4, 151936),
            head_dim=128,
            num_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=1536,
            decoder_sparse_step=1,
            mlp_only_layers=[],
        ),
    ),
    ("deepseek-v2", DEEPSEEK_V2),
    ("deepseek-v2-lite", DEEPSEEK_V2_LITE),
    ("deepseek-v3", DEEPSEEK_V3),
    ("gpt2-124m", gpt2(12, 12, 768)),
    ("gpt2-1.5b", gpt2(48, 25, 1600)),
    ("pythia-6.9b", neox(32, 32, 4096, 50432)),
    ("gpt-neox-20b", neox(44, 64, 6144, 50432)),
    ("opt-1.3b", opt(24, 32, 2048)),
    ("opt-30b", opt(48, 56, 7168)),
    (
        "bloom-176b",
        {"model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "n_head": 112, "vocab_size": 250880},
    ),
    ("falcon-7b", FALCON_7B),
    ("falcon-40b", FALCON_40B),
    (
        "gemma-7b",
        as_type("gemma", llama(3072, 24576, 28, 16, 16, 256000), head_dim=256, tie_word_embeddings=None),
    ),
    (
        "gemma-2-9b",
        as_type(
            "gemma2",
            llama(3584, 14336, 42, 16, 8, 256000),
            head_dim=256,
            sliding_window=4096,
            tie_word_embeddings=None,
        ),
    ),
    ("gemma-3-27b", GEMMA3_27B),
    (
        "phi-2",
        {**neox(32, 32, 2560, 51200), "model_type": "phi", "partial_rotary_factor": 0.4},
    ),
    ("phi-3-mini", as_type("phi3", llama(3072, 8192, 32, 32, 32, 32064), sliding_window=2047)),
    ("phi-4", as_type("phi3", llama(5120, 17920, 40, 40, 10, 100352))),
    ("chatglm3-6b", CHATGLM3),
    ("glm-4-9b", {**CHATGLM3, "num_layers": 40, "padded_vocab_size": 151552}),
    ("glm-4-32b", as_type("glm4", llama(6144, 23040, 61, 48, 2, 151552), head_dim=128, attention_bias=False)),
    ("baichuan-7b", as_type("baichuan", llama(4096, 11008, 32, 32, None, 64000))),
    ("baichuan2-13b", as_type("baichuan", llama(5120, 13696, 40, 40, None, 125696))),
    ("internlm-7b", as_type("internlm", llama(4096, 11008, 32, 32, None, 103168), bias=True)),
    ("internlm2-20b", as_type("internlm2", llama(6144, 16384, 48, 48, 8, 92544), bias=False)),
    ("gpt-oss-20b", {**GPT_OSS, "num_hidden_layers": 24, "num_local_experts": 32}),
    ("gpt-oss-120b", {**GPT_OSS, "num_hidden_layers": 36, "num_local_experts": 128}),
    ("starcoder-15.5b", STARCODER),
    (
        "olmo-3-7b",
        as_type("olmo3", llama(4096, 11008, 32, 32, 32, 100278), sliding_window=4096),
    ),
    ("llama-4-maverick", LLAMA4_MAVERICK),
    ("smollm3-3b", as_type("smollm3", llama(2048, 11008, 36, 16, 4, 128256, tie_word_embeddings=True))),
    ("nemotron-4-340b", as_type("nemotron", llama(18432, 73728, 96, 96, 8, 256000))),
    (
        "bert-base",
        {
            "model_type": "bert",
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "max_position_embeddings": 512,
            "type_vocab_size": 2,
            "vocab_size": 30522,
        },
    ),
    ("vit-l-16", VIT_L16),
]


# Families without a preset in the catalogue: (name, config, published parameters, source of the count).
GLM_45 = {
    **llama(5120, 12288, 92, 96, 8, 151552),
    "model_type": "glm4_moe",
    "head_dim": 128,
    "attention_bias": True,
    "use_qk_norm": True,
    "n_routed_experts": 160,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 1536,
    "first_k_dense_replace": 3,
}
PHI_35_MOE = {
    **llama(4096, 6400, 32, 32, 8, 32064),
    "model_type": "phimoe",
    "attention_bias": True,
    "lm_head_bias": True,
    "num_local_experts": 16,
    "num_experts_per_tok": 2,
}
DBRX = {
    "model_type": "dbrx",
    "d_model": 6144,
    "n_heads": 48,
    "n_layers": 40,
    "vocab_size": 100352,
    "max_seq_len": 32768,
    "attn_config": {"kv_n_heads": 8, "clip_qkv": 8},
    "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
}
# as google/gemma-3-4b-it has it: heads, head size and vocabulary are left to the library's defaults
GEMMA3_4B = {
    "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 34,
        "sliding_window": 1024,
    },
}

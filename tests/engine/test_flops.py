"""FLOPs per token against hand sums and the published formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import flops
from advisor.engine.specs import LoraSpec, Method, ModelKind, Recomputation
from advisor.evidence_models import preset_models
from tests.engine.cases import GPT3_175B, LLAMA2_7B, LLAMA31_405B, MIXTRAL_8X7B, plan
from tests.engine.round_numbers import SMALL


def test_gpt3_matches_the_formula_of_narayanan():
    # arXiv:2104.04473, appendix: 72 B s l h^2 (1 + s/6h + V/12lh) with full-square attention and no recomputation
    # (their 96 includes it). Ours halves the attention core: s/6h becomes s/12h.
    s, layers, h, vocab = 2048, 96, 12288, 51200
    expected = 72 * layers * h**2 * (1 + s / (12 * h) + vocab / (12 * layers * h))
    assert flops.model_flops_per_token(GPT3_175B, plan(sequence_length=s)) == pytest.approx(expected, rel=1e-12)


def test_llama_405b_is_a_little_over_six_n():
    # arXiv:2407.21783 section 3.2: 3.8e25 FLOPs for 405 B on 15.6 T tokens, as 6 N D
    assert flops.six_n_d_flops(LLAMA31_405B, 15.6e12) == pytest.approx(3.8e25, rel=0.01)
    per_token = flops.model_flops_per_token(LLAMA31_405B, plan(sequence_length=8192))
    # head and causal attention add, the embedding look-up does not: 12 * L * (s/2) * a * d of 126 layers is 4.2 %
    attention = 12 * 126 * 4096 * 16384
    expected = 6 * (405_853_388_800 - 128256 * 16384) + attention
    assert per_token == pytest.approx(expected, rel=1e-3)


def test_causal_attention_sees_half_and_an_encoder_all():
    causal = flops.attention_core_flops_per_token(LLAMA2_7B, 4096)
    assert causal == 2 * 2 * (4096 / 2) * 32 * 128
    encoder = replace(LLAMA2_7B, kind=ModelKind.ENCODER)
    assert flops.attention_core_flops_per_token(encoder, 4096) == 2 * causal


def test_window_limits_what_is_seen():
    windowed = replace(LLAMA2_7B, sliding_window=1024)
    # mean of min(i, 1024) over i = 1 .. 4096 is 1024 - 1024^2 / (2 * 4096) = 896 in the continuous limit
    assert flops.mean_seen_tokens_per_query(windowed, 4096) == 896
    assert flops.mean_seen_tokens_per_query(replace(LLAMA2_7B, sliding_window=8192), 4096) == 2048
    alternating = replace(windowed, window_layers_per_period=1, window_period=2)
    assert flops.mean_seen_tokens_per_query(alternating, 4096) == (896 + 2048) / 2


def test_mixture_pays_for_the_experts_of_the_token():
    # without experts_per_token the count would be 0.64 of this (2 of 8 experts against 1)
    per_layer = flops.layer_matrix_parameter_count(MIXTRAL_8X7B) / 32
    attention = 4096 * 4096 * 2 + 2 * 4096 * 1024
    assert per_layer == attention + 2 * 3 * 4096 * 14336 + 4096 * 8


def test_recomputation_adds_executed_not_model_flops():
    job = plan(sequence_length=4096)
    model = flops.model_flops_per_token(LLAMA2_7B, job)
    full = flops.hardware_flops_per_token(LLAMA2_7B, job, Recomputation.FULL)
    selective = flops.hardware_flops_per_token(LLAMA2_7B, job, Recomputation.SELECTIVE)
    layers_forward = 32 * (2 * (4 * 4096**2 + 3 * 4096 * 11008) + 2 * 2 * 2048 * 4096)
    assert full - model == pytest.approx(layers_forward, rel=1e-12)
    assert selective - model == pytest.approx(32 * 2 * 2 * 2048 * 4096, rel=1e-12)
    assert flops.hardware_flops_per_token(LLAMA2_7B, job, Recomputation.NONE) == model


def test_frozen_weights_skip_the_weight_gradient():
    job = plan(method=Method.LORA, lora=LoraSpec(rank=8, targets=("q", "v")))
    full = flops.model_flops_per_token(LLAMA2_7B, plan())
    frozen = flops.model_flops_per_token(LLAMA2_7B, job)
    # forward and input gradient of the matrices, all three passes of the attention core, and the adapters
    core = 32 * 2 * 2 * 2048 * 4096
    assert full - frozen == pytest.approx((full - 3 * core) / 3, rel=0.005)


def test_adapter_count_of_the_lora_paper():
    # arXiv:2106.09685, Table 2 and section 5.5: rank 4 on query and value of GPT-3 is 18.9 M (4.7 M at rank 1)
    job = plan(method=Method.LORA, lora=LoraSpec(rank=4, targets=("q", "v")))
    assert flops.adapter_parameter_count(GPT3_175B, job) == pytest.approx(18.9e6, rel=0.01)


def test_an_encoder_with_a_window_sees_the_window():
    encoder = replace(LLAMA2_7B, kind=ModelKind.ENCODER, sliding_window=1024)
    assert flops.mean_seen_tokens_per_query(encoder, 4096) == 1024
    assert flops.mean_seen_tokens_per_query(encoder, 512) == 512


def test_a_vision_encoder_has_no_head():
    vision = replace(SMALL, kind=ModelKind.VISION)
    # 576 weights a layer and 2 * 16 keys * 2 heads * 8 in the core, all of the sequence
    assert flops.forward_flops_per_token(vision, 16) == 4 * (2 * 576 + 512)


def test_latent_attention_has_keys_wider_than_values():
    # arXiv:2412.19437, section 4.2: 128 heads, keys 128 + 64 wide, values 128
    model = preset_models()["deepseek-v3"]
    assert flops.attention_core_flops_per_token(model, 4096) == 2 * 2048 * 128 * (192 + 128)


def test_shared_experts_are_passed_by_every_token():
    mixture = replace(
        SMALL, expert_count=4, experts_per_token=2, expert_ffn_size=4, shared_expert_count=1, dense_layer_count=1
    )
    # a dense layer, and three of attention, two routed experts and a shared one of 96 weights each, and a router
    assert flops.layer_matrix_parameter_count(mixture) == 576 + 3 * (192 + 3 * 96 + 8 * 4)


def lora(*targets, **changes):
    return plan(sequence_length=16, method=Method.LORA, lora=LoraSpec(rank=2, targets=targets, **changes))


def test_frozen_weights_by_hand():
    # forward and input gradient of 4 * 576 + 256 weights, three passes of the core, six operations an adapter weight:
    # rank 2 on the query, 2 * (8 + 8) a layer
    expected = 4 * (4 * 576 + 256) + 3 * 4 * 256 + 6 * 4 * 32
    assert flops.model_flops_per_token(SMALL, lora("q")) == expected
    # a head that trains adds its weight gradient, the embedding look-up nothing
    assert flops.model_flops_per_token(SMALL, lora("q", trains_embeddings_and_head=True)) == expected + 2 * 256


def test_a_token_passes_the_adapters_of_its_own_experts():
    mixture = replace(SMALL, expert_count=4, experts_per_token=2, expert_ffn_size=4)
    job = lora("gate", "up", "down")
    # 2 * 3 * (8 + 4) a layer and expert: all four are trained, two are passed
    assert flops.adapter_parameter_count(mixture, job) == 4 * 4 * 72
    frozen = flops.model_flops_per_token(mixture, replace(job, lora=None))
    assert flops.model_flops_per_token(mixture, job) - frozen == 6 * 4 * 2 * 72


def test_adapters_of_a_plain_ffn_are_two():
    plain = replace(SMALL, gated_ffn=False)
    assert flops.adapter_parameter_count(plain, lora("gate", "up", "down")) == 4 * 2 * 2 * (8 + 16)
    assert flops.adapter_parameter_count(SMALL, lora("gate", "up", "down")) == 4 * 2 * 3 * (8 + 16)


def test_adapters_of_latent_attention():
    # low-rank pairs on h -> 512 + 64 and on 512 -> 128 heads of 128 + 128 (arXiv:2412.19437, section 4.2)
    model = replace(preset_models()["deepseek-v3"], layer_count=1, dense_layer_count=1)
    assert flops.adapter_parameter_count(model, lora("k")) == 2 * (7168 + 512 + 64)
    assert flops.adapter_parameter_count(model, lora("v")) == 2 * (512 + 128 * 256)
    assert flops.adapter_parameter_count(model, lora("q")) == 2 * (7168 + 1536 + 1536 + 128 * 192)


def test_a_share_of_recomputed_layers_repeats_that_share():
    job = plan(sequence_length=16)
    base = flops.model_flops_per_token(SMALL, job)
    half = flops.hardware_flops_per_token(SMALL, job, Recomputation.FULL, 0.5)
    assert half - base == 0.5 * 4 * (2 * 576 + 256)

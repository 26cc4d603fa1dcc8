"""FLOPs per token against hand sums and the published formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import flops
from advisor.engine.specs import LoraSpec, Method, ModelKind, Recomputation
from tests.engine.cases import GPT3_175B, LLAMA2_7B, LLAMA31_405B, MIXTRAL_8X7B, plan


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

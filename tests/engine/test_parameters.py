"""Parameter counts against the publishers' own, for every preset of the catalogue."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.engine import parameters
from advisor.evidence_models import preset_models
from tests.engine.cases import GPT3_175B, LLAMA2_7B, LLAMA31_405B, MIXTRAL_8X7B
from tests.engine.round_numbers import SMALL

PRESETS = Path(__file__).resolve().parents[2] / "catalog" / "data" / "model_architectures.csv"
ROWS = [row for row in csv.DictReader(PRESETS.open(encoding="utf-8")) if row["published_parameter_count"]]


@pytest.mark.parametrize("row", ROWS, ids=[row["preset"] for row in ROWS])
def test_preset_has_the_published_count(row):
    model = preset_models()[row["preset"]]
    assert parameters.parameter_count(model) == pytest.approx(float(row["published_parameter_count"]), rel=0.005)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["published_active_parameter_count"]], ids=lambda row: row["preset"]
)
def test_preset_has_the_published_active_count(row):
    # publishers round active counts to one or two digits ("22B", "3.3B"), and some (gpt-oss, DeepSeek-V2-Lite) leave
    # out the embedding or embedding and head
    model = preset_models()[row["preset"]]
    published = float(row["published_active_parameter_count"])
    active = parameters.active_parameter_count(model)
    embedding = parameters.embedding_parameter_count(model)
    readings = [active, active - embedding, active - embedding - parameters.head_parameter_count(model)]
    assert min(abs(reading / published - 1) for reading in readings) < 0.05


def test_llama_2_7b_by_hand():
    # one layer: 4 * 4096^2 attention + 3 * 4096 * 11008 FFN + 2 * 4096 norms = 202 383 360; 32 layers, two
    # 32000 x 4096 matrices and a final norm: 6 738 415 616, the size of the published checkpoint
    assert parameters.dense_layer_parameter_count(LLAMA2_7B) == 202_383_360
    assert parameters.parameter_count(LLAMA2_7B) == 6_738_415_616


def test_mixture_counts_routed_experts_once_and_active_ones_by_the_token():
    # arXiv:2401.04088 section 1: 46.7 B in total, 12.9 B used per token (47 B and 13 B in the abstract)
    assert parameters.parameter_count(MIXTRAL_8X7B) == pytest.approx(46.7e9, rel=0.005)
    assert parameters.active_parameter_count(MIXTRAL_8X7B) == pytest.approx(12.9e9, rel=0.005)


def test_gated_ffn_has_three_matrices():
    # counting two would make a 405 B model 295 B
    assert parameters.ffn_parameter_count(LLAMA31_405B, LLAMA31_405B.ffn_size) == 3 * 16384 * 53248


def test_plain_ffn_with_biases():
    # 2 * h * f + f + h
    assert parameters.ffn_parameter_count(GPT3_175B, 49152) == 2 * 12288 * 49152 + 49152 + 12288


def test_tied_head_is_counted_once():
    assert parameters.head_parameter_count(GPT3_175B) == 0
    assert parameters.head_parameter_count(LLAMA2_7B) == 32000 * 4096


def test_latent_attention_of_deepseek_v3():
    # matrices of one layer in the published checkpoint (config.json of DeepSeek-V3, arXiv:2412.19437, section 4.2):
    # query 1536 x 7168 and 24576 x 1536, key/value 576 x 7168 and 32768 x 512, output 7168 x 16384
    model = preset_models()["deepseek-v3"]
    expected = 1536 * 7168 + 24576 * 1536 + 576 * 7168 + 32768 * 512 + 7168 * 16384
    assert parameters.attention_matrix_parameter_count(model) == expected
    assert parameters.attention_other_parameter_count(model) == 1536 + 512


def test_biases_and_norms_by_hand():
    # query 2 heads of 4, key and value one each; hidden 8
    assert parameters.attention_other_parameter_count(replace(SMALL, has_qkv_bias=True)) == (2 + 2 * 1) * 4
    assert parameters.attention_other_parameter_count(replace(SMALL, has_output_bias=True)) == 8
    assert parameters.attention_other_parameter_count(replace(SMALL, has_qk_norm=True)) == 2 * 4
    # a gated block with biases: gate and up 16 each, down 8
    assert parameters.ffn_parameter_count(replace(SMALL, has_ffn_bias=True), 16) == 3 * 8 * 16 + 2 * 16 + 8
    layer_norm = replace(SMALL, norm_weight_vectors=2)
    assert parameters.norm_parameter_count(layer_norm) == 2 * 2 * 8
    assert parameters.final_parameter_count(replace(layer_norm, other_parameter_count=5)) == 2 * 8 + 5


def test_experts_in_every_second_layer_after_the_leading_dense_ones():
    mixture = replace(SMALL, layer_count=9, expert_count=4, experts_per_token=2, expert_ffn_size=4)
    assert parameters.moe_layer_count(replace(mixture, dense_layer_count=1, moe_layer_interval=2)) == 4
    assert parameters.moe_layer_count(replace(mixture, dense_layer_count=3)) == 6
    assert parameters.moe_layer_count(SMALL) == 0

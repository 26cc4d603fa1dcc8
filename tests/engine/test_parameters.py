"""Parameter counts against the publishers' own, for every preset of the catalogue."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from advisor.engine import parameters
from advisor.evidence_models import preset_models
from tests.engine.cases import GPT3_175B, LLAMA2_7B, LLAMA31_405B, MIXTRAL_8X7B

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

"""Configs of published models give the published parameter counts; hostile configs are refused with a named field.

The configs are the sizes of the named repositories' config.json files; the counts are those the publishers state, as
the catalogue's file carries them (checkpoint sizes of the same repositories).
"""

from __future__ import annotations

import csv
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest

from advisor.engine.model_config import ConfigError, model_from_config, model_from_fields, supported_model_types
from advisor.engine.parameters import active_parameter_count, parameter_count
from advisor.engine.specs import ModelKind
from tests.engine.published_configs import (
    BY_PRESET,
    DBRX,
    DEEPSEEK_V2,
    DEEPSEEK_V3,
    GEMMA3_4B,
    GEMMA3_27B,
    GLM_45,
    GPT_OSS,
    MPT_7B,
    MPT_7B_COUNT,
    PHI_35_MOE,
    VIT_L16,
    llama,
)

PRESETS = Path(__file__).resolve().parents[2] / "catalog" / "data" / "model_architectures.csv"


@cache
def published_counts():
    with PRESETS.open(encoding="utf-8") as handle:
        return {row["preset"]: row for row in csv.DictReader(handle)}


@pytest.mark.parametrize(("preset", "config"), BY_PRESET, ids=[preset for preset, _ in BY_PRESET])
def test_published_parameter_count(preset, config):
    published = int(published_counts()[preset]["published_parameter_count"])
    assert parameter_count(model_from_config(config)) == pytest.approx(published, rel=0.005)


def test_mpt_without_biases():
    assert parameter_count(model_from_config(MPT_7B)) == pytest.approx(MPT_7B_COUNT, rel=0.005)


@pytest.mark.parametrize(
    ("config", "published"),
    [
        (PHI_35_MOE, 41_873_153_344),  # size of the published checkpoint of Phi-3.5-MoE-instruct
        (DBRX, 131_596_523_520),  # size of the published checkpoint of dbrx-base
    ],
)
def test_families_without_a_preset(config, published):
    assert parameter_count(model_from_config(config)) == pytest.approx(published, rel=0.005)


def test_rounded_model_card_of_glm_4_5():
    # the card prints 355B total and 32B active; rounded, and unclear about the extra prediction layer: 1 % and 6 %
    model = model_from_config(GLM_45)
    assert parameter_count(model) == pytest.approx(355e9, rel=0.01)
    assert active_parameter_count(model) == pytest.approx(32e9, rel=0.06)


def test_defaults_of_the_library_fill_what_the_file_leaves_out():
    published = int(published_counts()["gemma-3-4b"]["published_parameter_count"])
    assert parameter_count(model_from_config(GEMMA3_4B)) == pytest.approx(published, rel=0.005)


@pytest.mark.parametrize(
    ("config", "active"),
    [
        (DEEPSEEK_V3, 37e9),  # arXiv:2412.19437, abstract
        (DEEPSEEK_V2, 21e9),  # arXiv:2405.04434, abstract
        (dict(BY_PRESET)["qwen3-235b-a22b"], 22e9),  # model card
        (dict(BY_PRESET)["mixtral-8x7b"], 12.9e9),  # arXiv:2401.04088, section 1
    ],
)
def test_published_active_count(config, active):
    assert active_parameter_count(model_from_config(config)) == pytest.approx(active, rel=0.02)


@pytest.mark.parametrize(("preset", "config"), BY_PRESET, ids=[preset for preset, _ in BY_PRESET])
def test_same_model_from_explicit_fields(preset, config):
    model = model_from_config(config)
    names = {
        name: value for name, value in asdict(model).items() if not name.startswith("published") and name != "source"
    }
    again = model_from_fields(names)
    assert {**asdict(again), "source": ""} == {**asdict(model), "source": ""}


def test_at_least_fifteen_families():
    assert len(supported_model_types()) >= 15


def test_sliding_windows_are_read():
    gemma3 = model_from_config(GEMMA3_27B)
    assert (gemma3.sliding_window, gemma3.window_layers_per_period, gemma3.window_period) == (1024, 5, 6)
    listed = model_from_config(
        {
            **GPT_OSS,
            "num_hidden_layers": 24,
            "num_local_experts": 32,
            "layer_types": ["sliding_attention", "full_attention"] * 12,
        }
    )
    assert (listed.window_layers_per_period, listed.window_period) == (12, 24)
    qwen = model_from_config(dict(BY_PRESET)["qwen2-7b"])
    assert qwen.sliding_window == 0  # use_sliding_window is absent, so false


def test_vision_encoder_has_no_vocabulary():
    model = model_from_config(VIT_L16)
    assert model.kind is ModelKind.VISION
    assert model.vocab_size == 0


def test_minimal_fields_are_completed():
    model = model_from_fields(
        {"layer_count": 2, "hidden_size": 256, "head_count": 4, "vocab_size": 1000, "ffn_size": 512}
    )
    assert (model.kv_head_count, model.head_size) == (4, 64)
    # attention 4 h^2, gated FFN 3 h f, two norms; embedding and head; final norm
    assert parameter_count(model) == 2 * (4 * 256**2 + 3 * 256 * 512 + 2 * 256) + 2 * 1000 * 256 + 256


GOOD = llama(4096, 11008, 32, 32, 32, 32000)


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"inner": value}
    return value


@pytest.mark.parametrize(
    ("config", "field", "code"),
    [
        ([], "", "not_an_object"),
        ("llama", "", "not_an_object"),
        (None, "", "not_an_object"),
        ({}, "model_type", "missing"),
        ({**GOOD, "model_type": "unheard_of"}, "model_type", "unsupported_model_type"),
        ({**GOOD, "model_type": 7}, "model_type", "not_a_text"),
        ({**GOOD, "hidden_size": None}, "hidden_size", "missing"),
        ({**GOOD, "hidden_size": "4096"}, "hidden_size", "not_a_number"),
        ({**GOOD, "hidden_size": True}, "hidden_size", "not_a_number"),
        ({**GOOD, "hidden_size": [4096]}, "hidden_size", "not_a_number"),
        ({**GOOD, "hidden_size": -4096}, "hidden_size", "out_of_range"),
        ({**GOOD, "hidden_size": float("nan")}, "hidden_size", "out_of_range"),
        ({**GOOD, "hidden_size": float("inf")}, "hidden_size", "out_of_range"),
        ({**GOOD, "hidden_size": 10**400}, "hidden_size", "out_of_range"),
        ({**GOOD, "num_hidden_layers": 0}, "layer_count", "out_of_range"),
        ({**GOOD, "num_hidden_layers": 10**9}, "layer_count", "out_of_range"),
        ({**GOOD, "num_hidden_layers": 32.5}, "num_hidden_layers", "not_whole"),
        ({**GOOD, "num_attention_heads": 0}, "num_attention_heads", "not_divisible"),
        ({**GOOD, "num_attention_heads": 33}, "num_attention_heads", "not_divisible"),
        ({**GOOD, "num_key_value_heads": 5}, "kv_head_count", "not_divisible"),
        ({**GOOD, "num_key_value_heads": 0}, "kv_head_count", "out_of_range"),
        ({**GOOD, "tie_word_embeddings": "yes"}, "tie_word_embeddings", "not_a_flag"),
        ({**GOOD, "vocab_size": 10**9}, "vocab_size", "out_of_range"),
        ({**GOOD, "model_type": "mixtral"}, "num_local_experts", "missing"),
        (
            {**GOOD, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 9},
            "experts_per_token",
            "out_of_range",
        ),
        ({**DEEPSEEK_V3, "first_k_dense_replace": 100}, "dense_layer_count", "out_of_range"),
        ({**GOOD, "junk": nested(50)}, "", "too_deep"),
        ({**GOOD, "junk": nested(100_000)}, "", "too_deep"),
        ({**GOOD, "junk": list(range(100_000))}, "", "too_large"),
        ({**GOOD, "junk": [[] for _ in range(100_000)]}, "", "too_large"),
        ({"model_type": "gemma3", "text_config": 5}, "text_config", "not_an_object"),
        ({**MPT_7B, "attn_config": "alibi"}, "attn_config", "not_an_object"),
        ({**MPT_7B, "expansion_ratio": "4"}, "expansion_ratio", "not_a_number"),
        ({**VIT_L16, "patch_size": 0}, "patch_size", "out_of_range"),
        (
            {**GOOD, "hidden_size": 1_000_000, "intermediate_size": 10_000_000, "num_attention_heads": 1000,
             "num_key_value_heads": 1000, "num_hidden_layers": 2000},
            "",
            "too_many_parameters",
        ),
    ],
)  # fmt: skip
def test_hostile_configs_are_refused(config, field, code):
    with pytest.raises(ConfigError) as refused:
        model_from_config(config)
    assert (refused.value.field, refused.value.code) == (field, code)


@pytest.mark.parametrize(
    ("mapping", "field", "code"),
    [
        ({"layer_count": 2, "hidden_size": 256, "head_count": 4, "vocab_size": 10}, "ffn_size", "missing"),
        ({"hidden_size": 256, "head_count": 4, "vocab_size": 10, "ffn_size": 8}, "layer_count", "missing"),
        ({"layer_count": 2, "hidden_sise": 256}, "hidden_sise", "unknown_field"),
        (
            {"layer_count": 2, "hidden_size": 250, "head_count": 4, "vocab_size": 10, "ffn_size": 8},
            "head_size",
            "missing",
        ),
        ({"kind": "spreadsheet", "layer_count": 2}, "kind", "not_a_choice"),
    ],
)
def test_bad_fields_are_refused(mapping, field, code):
    with pytest.raises(ConfigError) as refused:
        model_from_fields(mapping)
    assert (refused.value.field, refused.value.code) == (field, code)


def test_a_refusal_is_a_value_error_with_a_short_message():
    with pytest.raises(ValueError, match="hidden_size") as refused:
        model_from_config({**GOOD, "hidden_size": 10**6000})
    assert len(str(refused.value)) < 1000

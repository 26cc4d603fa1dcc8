"""A bare count becomes a shape with that count; the shapes look like published models."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.engine.parameters import active_parameter_count, parameter_count
from advisor.engine.shapes import MAX_PARAMETER_COUNT, MIN_PARAMETER_COUNT, model_from_parameter_count


@settings(max_examples=150, deadline=None)
@given(st.floats(min_value=6.0, max_value=13.9))
def test_count_comes_out_within_one_percent(exponent):
    count = 10**exponent
    assert parameter_count(model_from_parameter_count(count)) == pytest.approx(count, rel=0.01)


@settings(max_examples=80, deadline=None)
@given(st.floats(min_value=9.5, max_value=12.5), st.floats(min_value=2.5, max_value=20.0))
def test_mixture_honours_both_counts(exponent, ratio):
    total = 10**exponent
    model = model_from_parameter_count(total, total / ratio)
    assert model.is_moe
    assert parameter_count(model) == pytest.approx(total, rel=0.01)
    assert active_parameter_count(model) == pytest.approx(total / ratio, rel=0.03)


@pytest.mark.parametrize(
    ("total", "active"),
    [  # published pairs: Mixtral 8x7B and 8x22B, Qwen3 30B and 235B, gpt-oss-120b, DeepSeek-V2 and V3, Kimi K2, Grok-1
        (46.7e9, 12.9e9),
        (141e9, 39e9),
        (30.5e9, 3.3e9),
        (235e9, 22e9),
        (116.8e9, 5.1e9),
        (236e9, 21e9),
        (671e9, 37e9),
        (1.04e12, 32e9),
        (314e9, 86e9),
    ],
)
def test_published_mixtures(total, active):
    model = model_from_parameter_count(total, active)
    assert parameter_count(model) == pytest.approx(total, rel=0.01)
    assert active_parameter_count(model) == pytest.approx(active, rel=0.03)


@pytest.mark.parametrize(
    ("count", "layers", "hidden"),
    [  # config.json of Llama 3 8B and 70B, Llama 3.1 405B; arXiv:2005.14165 for 175B
        (8.03e9, 32, 4096),
        (70.55e9, 80, 8192),
        (405.9e9, 126, 16384),
        (174.6e9, 96, 12288),
    ],
)
def test_shapes_resemble_published_models(count, layers, hidden):
    model = model_from_parameter_count(count)
    assert model.layer_count == pytest.approx(layers, rel=0.15)
    assert model.hidden_size == pytest.approx(hidden, rel=0.15)
    assert 2.0 < model.ffn_size / model.hidden_size < 5.0


@pytest.mark.parametrize("count", [1e9, 3e9, 7e9, 13e9, 34e9, 70e9, 175e9, 405e9, 1e12])
def test_tensor_parallel_eight_divides_large_shapes(count):
    model = model_from_parameter_count(count)
    assert model.head_count % 8 == 0
    assert model.kv_head_count % 8 == 0
    assert model.hidden_size % 128 == 0
    assert model.ffn_size % 128 == 0
    assert model.vocab_size % 8 == 0


def test_an_active_count_near_the_total_is_dense():
    assert not model_from_parameter_count(7e9, 6.9e9).is_moe


@pytest.mark.parametrize("count", [0, -1, MIN_PARAMETER_COUNT / 2, MAX_PARAMETER_COUNT * 2, float("nan"), float("inf")])
def test_counts_out_of_bounds_are_refused(count):
    with pytest.raises(ValueError, match="parameter_count"):
        model_from_parameter_count(count)


def test_more_active_than_total_is_refused():
    with pytest.raises(ValueError, match="exceeds"):
        model_from_parameter_count(7e9, 8e9)

"""How layers fall on stages; the array form agrees with the list form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.candidates import from_layout, stage_layer_counts, stage_layers
from advisor.engine.specs import Layout, Recomputation


def test_llama_405b_has_one_layer_fewer_on_both_ends():
    # arXiv:2407.21783 section 3.3.2: 126 layers, 16 stages, first and last stage one fewer
    assert stage_layer_counts(126, 16) == [7, *[8] * 14, 7]


def test_an_odd_count_is_not_averaged():
    assert stage_layer_counts(8, 3) == [3, 3, 2]
    assert stage_layer_counts(10, 4) == [2, 3, 3, 2]


@given(st.integers(1, 200), st.integers(1, 64))
def test_stages_sum_to_the_layers_and_ends_never_carry_most(layers, stages):
    if stages > layers:
        return
    counts = stage_layer_counts(layers, stages)
    assert sum(counts) == layers
    assert max(counts) - min(counts) <= 1
    assert counts[-1] == min(counts)


@given(st.integers(1, 200), st.integers(1, 64), st.integers(0, 3))
def test_array_form_gives_first_second_and_last(layers, stages, leading):
    if stages > layers or leading > layers:
        return
    counts = stage_layer_counts(layers, stages)
    arrays = stage_layers(layers, leading, 1.0, np.array([float(stages)]))
    assert arrays.dense_first[0] + arrays.moe_first[0] == counts[0]
    if stages > 1:
        assert arrays.dense_last[0] + arrays.moe_last[0] == counts[-1]
    if stages > 2:
        assert arrays.dense_middle[0] + arrays.moe_middle[0] == counts[1] == max(counts[1:])


def test_leading_dense_layers_stand_on_the_first_stage():
    # DeepSeek-V3: 61 layers, the first three dense
    arrays = stage_layers(61, 3, 1.0, np.array([16.0]))
    assert arrays.dense_first[0] == 3
    assert arrays.moe_middle[0] == pytest.approx(4)
    assert arrays.dense_middle[0] == 0


def test_dense_layers_that_reach_the_last_stage():
    # six layers on two stages, the first five dense: the last stage has two dense and one with experts
    arrays = stage_layers(6, 5, 1.0, np.array([2.0]))
    assert (arrays.dense_last[0], arrays.moe_last[0]) == (2, 1)
    assert (arrays.dense_first[0], arrays.moe_first[0]) == (3, 0)


def test_experts_without_a_group_are_split_by_the_tensor_group():
    layout = Layout(tensor_parallel=4, pipeline_parallel=1, data_parallel=2)
    assert from_layout(layout, 1).expert_tensor_parallel[0] == 4
    whole = Layout(tensor_parallel=4, pipeline_parallel=1, data_parallel=2, expert_parallel=2)
    assert from_layout(whole, 1).expert_tensor_parallel[0] == 1
    # eight ranks, experts over two: four hold the same ones
    assert from_layout(whole, 1).expert_replicas[0] == 4


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_share_of_recomputed_layers_survives_the_arrays(share):
    layout = Layout(
        tensor_parallel=1,
        pipeline_parallel=1,
        data_parallel=1,
        recomputation=Recomputation.FULL,
        recomputed_layer_fraction=share,
    )
    assert from_layout(layout, 1).layout(0).recomputed_layer_fraction == share

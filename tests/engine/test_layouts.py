"""Every enumerated layout is admissible, and none that published runs used is missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.engine.layouts import batch_for_gpus, enumerate_layouts, micro_batch_count
from advisor.engine.specs import LayoutRequest, Recipe, Recomputation
from tests.engine.cases import GPT3_175B, LLAMA3_70B, LLAMA31_405B, MIXTRAL_8X7B, plan


def has(candidates, **values: float) -> bool:
    return bool(np.any(np.logical_and.reduce([getattr(candidates, name) == value for name, value in values.items()])))


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([LLAMA3_70B, GPT3_175B, MIXTRAL_8X7B]),
    st.sampled_from([8, 24, 64, 96, 512]),
    st.sampled_from([256, 1024, 1536]),
)
def test_every_candidate_is_admissible(model, gpu_count, batch):
    c = enumerate_layouts(model, plan(global_batch_size=batch), LayoutRequest(), [gpu_count], 8)
    assert len(c) > 0
    assert np.all(c.gpu_count == gpu_count)
    assert np.all(model.head_count % c.tensor_parallel == 0)
    assert np.all(c.tensor_parallel <= 8)
    assert np.all(c.pipeline_parallel * c.virtual_stage_count <= model.layer_count)
    assert np.all(np.abs(c.global_batch_size - batch) <= 0.02 * batch)
    ranks = c.tensor_parallel * c.context_parallel * c.data_parallel
    assert np.all(ranks % (c.expert_parallel * np.where(c.expert_parallel > 1, c.expert_tensor_parallel, 1)) == 0)
    if not model.is_moe:
        assert np.all(c.expert_parallel == 1)


def test_no_candidate_stands_twice():
    c = enumerate_layouts(MIXTRAL_8X7B, plan(), LayoutRequest(), [64], 8)
    rows = np.stack([getattr(c, name) for name in c.__dataclass_fields__])
    assert np.unique(rows, axis=1).shape[1] == len(c)


def test_published_layouts_are_in_the_space():
    # arXiv:2407.21783, Table 4: TP 8, CP 1, PP 16, DP 128 at 8K sequences and 16M tokens on 16 384 GPUs
    llama = enumerate_layouts(
        LLAMA31_405B, plan(sequence_length=8192, global_batch_size=2048), LayoutRequest(), [16384], 8
    )
    assert has(llama, tensor_parallel=8, pipeline_parallel=16, data_parallel=128, context_parallel=1)
    # arXiv:2104.04473, section 5: GPT-3 with t = 8 on 1 536 sequences
    gpt3 = enumerate_layouts(GPT3_175B, plan(sequence_length=2048, global_batch_size=1536), LayoutRequest(), [1024], 8)
    assert has(gpt3, tensor_parallel=8, pipeline_parallel=8, data_parallel=16)


def test_what_is_stated_is_kept():
    request = LayoutRequest(tensor_parallel=2, zero_stage=3, recomputation=Recomputation.FULL)
    c = enumerate_layouts(LLAMA3_70B, plan(), request, [64], 8)
    assert np.all(c.tensor_parallel == 2)
    assert np.all(c.zero_stage == 3)
    assert np.all(c.recomputed_fraction == 1)


def test_recipes_shard_what_their_frameworks_offer():
    fsdp = enumerate_layouts(LLAMA3_70B, plan(recipe=Recipe.FSDP), LayoutRequest(), [64], 8)
    assert set(np.unique(fsdp.zero_stage)) == {3}


@pytest.mark.parametrize(("batch", "n", "b", "expected"), [(1024, 64, 2, 8), (1000, 64, 2, 8), (10, 64, 1, 1)])
def test_batch_is_rounded_to_the_nearest_positive_multiple(batch, n, b, expected):
    assert micro_batch_count(batch, np.array([float(n)]), np.array([float(b)]))[0] == expected


def test_an_impossible_size_gives_an_empty_set():
    request = LayoutRequest(tensor_parallel=8, pipeline_parallel=7)
    assert len(enumerate_layouts(LLAMA3_70B, plan(), request, [64], 8)) == 0


def test_interleaving_takes_whole_rounds_and_even_chunks():
    # arXiv:2104.04473, section 2.2: micro-batches are a multiple of the stages
    c = enumerate_layouts(LLAMA3_70B, plan(global_batch_size=96), LayoutRequest(), [64], 8)
    interleaved = c.virtual_stage_count > 1
    assert np.any(interleaved)
    assert np.all(c.micro_batch_count[interleaved] % c.pipeline_parallel[interleaved] == 0)
    chunks = c.pipeline_parallel[interleaved] * c.virtual_stage_count[interleaved]
    assert np.all((80 % chunks == 0) | (82 % chunks == 0))


@pytest.mark.parametrize(("length", "most"), [(4096, 1), (8192, 2), (131072, 32)])
def test_context_ranks_keep_a_useful_length(length, most):
    # arXiv:2407.21783, Table 4: none at 8K sequences is needed, 16 at 131 072
    c = enumerate_layouts(LLAMA31_405B, plan(sequence_length=length, global_batch_size=64), LayoutRequest(), [1024], 8)
    assert np.max(c.context_parallel) == most


def test_tensor_groups_never_straddle_servers_of_ten():
    across = enumerate_layouts(LLAMA3_70B, plan(global_batch_size=1000), LayoutRequest(), [40], 10)
    assert set(np.unique(across.tensor_parallel)) == {1, 2}
    within = enumerate_layouts(LLAMA3_70B, plan(global_batch_size=1000), LayoutRequest(), [8], 10)
    assert 8 in within.tensor_parallel


@pytest.mark.parametrize(
    ("batch", "gpu_count", "expected"),
    [
        (1024, 472, 944),  # 59 servers: twice the GPUs, 8 % less
        (128, 272, 136),  # 34 servers: 4 of each, since 1 of each GPU would more than double it
        (2048, 8168, 2042),  # 1 021 servers: 2 of each
        (100, 8168, 1021),  # nothing near: the least that feeds every server
        (1024, 512, 1024),
    ],
)
def test_a_batch_that_many_replicas_can_share(batch, gpu_count, expected):
    assert batch_for_gpus(batch, gpu_count) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4096), st.integers(1, 400))
def test_a_moved_batch_always_has_layouts(batch, server_count):
    moved = batch_for_gpus(batch, 8 * server_count)
    assert moved > 0
    assert len(enumerate_layouts(LLAMA3_70B, plan(global_batch_size=moved), LayoutRequest(), [8 * server_count], 8)) > 0

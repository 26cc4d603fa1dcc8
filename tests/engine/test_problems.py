"""Contradictions between the fields of a scenario, each by its code and the figures that the sentence needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from advisor.calibration_data import current_calibration
from advisor.engine.estimate import estimate
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.problems import find_problems, schedule_checks
from advisor.engine.specs import Layout, LayoutRequest, Precision, Recipe, Recomputation, RecomputedPart, Scenario
from tests.engine.cases import A100, H100, LLAMA3_70B, LLAMA31_405B, MIXTRAL_8X7B, cluster, plan


def found(model=LLAMA3_70B, gpu=H100, gpu_count=64, job=None, **layout):
    problems = find_problems(model, job or plan(), cluster(gpu, gpu_count), LayoutRequest(**layout))
    return {problem.code: problem.params for problem in problems}


def test_nothing_is_wrong_with_an_open_layout():
    assert found() == {}


def test_fp8_on_ampere_names_what_is_offered():
    params = found(gpu=A100, job=plan(precision=Precision.FP8))["unsupported_precision"]
    assert params["offered"] == "bf16, fp16"


@pytest.mark.parametrize(
    ("layout", "product"),
    [
        ({"tensor_parallel": 8, "pipeline_parallel": 16}, 128),
        ({"tensor_parallel": 4, "pipeline_parallel": 2, "context_parallel": 16}, 128),
        ({"pipeline_parallel": 3}, 3),
    ],
)
def test_groups_that_do_not_divide_the_gpus(layout, product):
    assert found(**layout)["layout_not_divisible"] == {"gpu_count": 64, "product": product}


@pytest.mark.parametrize(
    ("gpu_count", "layout", "product"),
    [
        (4, {"expert_parallel": 8}, 8),
        (8, {"pipeline_parallel": 2, "expert_parallel": 8}, 16),
        (8, {"tensor_parallel": 2, "expert_parallel": 8, "expert_tensor_parallel": 2}, 16),
    ],
)
def test_experts_are_split_over_the_ranks_of_one_stage(gpu_count, layout, product):
    assert found(MIXTRAL_8X7B, gpu_count=gpu_count, **layout)["layout_not_divisible"]["product"] == product


def test_experts_that_share_the_ranks_of_tensor_and_data_groups_are_fine():
    assert found(MIXTRAL_8X7B, gpu_count=8, tensor_parallel=2, expert_parallel=8) == {}
    # without an expert group the tensor group splits experts, whatever the second figure says
    assert found(MIXTRAL_8X7B, gpu_count=2, tensor_parallel=2, expert_parallel=1, expert_tensor_parallel=4) == {}


def test_expert_groups_divide_the_experts_of_a_mixture():
    assert found(expert_parallel=2)["experts_not_divisible"] == {"expert_parallel": 2, "expert_count": 0}
    assert found(MIXTRAL_8X7B, expert_parallel=16)["experts_not_divisible"]["expert_count"] == 8
    assert found(MIXTRAL_8X7B, expert_parallel=4) == {}


def test_stages_and_their_chunks_need_layers():
    assert found(gpu_count=128, pipeline_parallel=128)["more_stages_than_layers"]["pipeline_parallel"] == 128
    chunks = found(pipeline_parallel=16, virtual_stage_count=8)["more_stages_than_layers"]
    assert chunks == {"pipeline_parallel": 128, "layer_count": 80}
    # arXiv:2407.21783, section 3.3.2: 126 layers on 16 stages, first and last chunk with embedding and head alone
    assert found(LLAMA31_405B, pipeline_parallel=16, virtual_stage_count=8) == {}


def test_tensor_groups_divide_the_ffn_width():
    odd = replace(LLAMA3_70B, ffn_size=28_668)  # 4 x 7167
    assert found(odd, tensor_parallel=8)["ffn_not_divisible"] == {"tensor_parallel": 8, "ffn_size": 28_668}
    assert found(odd, tensor_parallel=4) == {}


def test_recomputed_parts_need_the_setting_the_framework_and_the_layers_that_have_them():
    job = plan(recomputed_parts=(RecomputedPart.MOE, RecomputedPart.MLP, RecomputedPart.MLA_UP_PROJECTION))
    assert found(job=job) == {"parts_need_selective": {}}
    chosen = {"recomputation": Recomputation.SELECTIVE}
    assert found(job=replace(job, recipe=Recipe.FSDP), **chosen) == {"parts_need_megatron": {"recipe": "fsdp"}}
    assert found(job=job, **chosen) == {"parts_not_in_model": {"parts": "moe, mla_up_proj"}}
    assert found(MIXTRAL_8X7B, job=plan(recomputed_parts=(RecomputedPart.MOE,)), **chosen) == {}
    every = found(MIXTRAL_8X7B, job=plan(recomputed_parts=tuple(RecomputedPart)), **chosen)
    assert every == {"parts_not_in_model": {"parts": "mlp, shared_experts, mla_up_proj"}}


def test_shard_groups_divide_the_replicas():
    problem = found(tensor_parallel=8, pipeline_parallel=1, shard_group_size=3)["shard_group_not_divisible"]
    assert problem == {"shard_group_size": 3, "replicas": 8}
    assert found(tensor_parallel=8, pipeline_parallel=1, shard_group_size=16)["shard_group_not_divisible"]
    assert found(tensor_parallel=8, pipeline_parallel=1, shard_group_size=4) == {}
    assert found(shard_group_size=7)["shard_group_not_divisible"]


def test_an_open_search_takes_only_replicas_that_shard_groups_divide():
    job = plan(global_batch_size=512)
    layouts = enumerate_layouts(LLAMA3_70B, job, LayoutRequest(shard_group_size=16), [64], 8)
    assert len(layouts)
    assert np.all(layouts.data_parallel * layouts.context_parallel % 16 == 0)


def test_an_interleaved_schedule_wants_equal_chunks_and_whole_rounds():
    layout = Layout(tensor_parallel=8, pipeline_parallel=4, data_parallel=2, virtual_stage_count=3)
    checks = {item.code: item for item in schedule_checks(LLAMA3_70B, layout, 6)}
    assert checks["uneven_virtual_stages"].params == {"layer_count": 80, "chunk_count": 12}
    assert checks["uneven_interleaving"].params == {"micro_batch_count": 6, "pipeline_parallel": 4}
    assert {item.severity for item in checks.values()} == {"check"}
    assert schedule_checks(LLAMA3_70B, replace(layout, virtual_stage_count=5), 8) == []
    assert schedule_checks(LLAMA3_70B, replace(layout, virtual_stage_count=1), 6) == []
    # Llama 3 405B: 126 layers and two chunks for embedding and head on 16 stages of 8 (arXiv:2407.21783)
    published = replace(layout, pipeline_parallel=16, virtual_stage_count=8)
    assert schedule_checks(LLAMA31_405B, published, 16) == []


def test_what_is_uneven_is_told_in_the_estimate():
    stated = LayoutRequest(
        tensor_parallel=8, pipeline_parallel=4, context_parallel=1, expert_parallel=1, virtual_stage_count=3,
        micro_batch_size=1, zero_stage=1, recomputation=Recomputation.FULL,
    )  # fmt: skip
    scenario = Scenario(model=LLAMA3_70B, plan=plan(global_batch_size=1024), cluster=cluster(H100, 64), layout=stated)
    told = {item.code for item in estimate(scenario, calibration=current_calibration()).problems}
    assert "uneven_virtual_stages" in told


@pytest.mark.parametrize(("asked", "used"), [(1000, 1024), (1030, 1024), (1024, 1024)])
def test_a_batch_that_had_to_move_is_told_in_both_directions(asked, used):
    # 64 GPUs in groups of 4 are 16 replicas of 4 sequences: multiples of 64
    stated = LayoutRequest(
        tensor_parallel=4, pipeline_parallel=1, context_parallel=1, expert_parallel=1, virtual_stage_count=1,
        micro_batch_size=4, zero_stage=3, recomputation=Recomputation.FULL,
    )  # fmt: skip
    scenario = Scenario(model=LLAMA3_70B, plan=plan(global_batch_size=asked), cluster=cluster(H100, 64), layout=stated)
    found = estimate(scenario, calibration=current_calibration())
    moved = {item.code: item.params for item in found.problems}.get("batch_moved")
    assert found.global_batch_size == used
    assert moved == (None if asked == used else {"asked": asked, "used": used})

"""Memory by parts: hand-worked cases, published bytes per parameter, and the faults that other estimators have."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.calibration_data import current_calibration
from advisor.engine.candidates import from_layout
from advisor.engine.memory import MemoryArrays, memory_per_gpu
from advisor.engine.specs import (
    AttentionKernel,
    Layout,
    LoraSpec,
    Method,
    ModelSpec,
    Optimizer,
    Recipe,
    Recomputation,
    TrainingPlan,
)
from advisor.engine.workload import state_bytes, workload
from tests.engine.cases import GPT3_175B, LLAMA2_7B, LLAMA3_70B, MIXTRAL_8X7B, plan

CALIBRATION = current_calibration()


def memory(
    model: ModelSpec = LLAMA2_7B, job: TrainingPlan | None = None, count: int = 32, **layout: object
) -> MemoryArrays:
    values: dict[str, object] = {"tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 1}
    chosen = Layout(**(values | layout))  # type: ignore[arg-type]
    job = job or plan(sequence_length=2048)
    return memory_per_gpu(workload(model, job), job, from_layout(chosen, count), CALIBRATION)


def states(arrays: MemoryArrays) -> float:
    return float((arrays.weight_bytes + arrays.gradient_bytes + arrays.optimizer_bytes)[0])


@pytest.mark.parametrize(
    ("recipe", "optimizer", "bytes_per_parameter"),
    [  # README of the public memory evidence, "AdamW bf16 means 8, 12, 16, 18 or 20 bytes by framework"
        (Recipe.PURE_BF16, Optimizer.ADAMW, 8),
        (Recipe.DEEPSPEED, Optimizer.ADAMW, 16),  # ZeRO, arXiv:1910.02054 section 3.1: 2 + 2 + 12
        (Recipe.FSDP, Optimizer.ADAMW, 16),
        (Recipe.MEGATRON, Optimizer.ADAMW, 18),
        (Recipe.MEGATRON, Optimizer.SGD, 14),
        (Recipe.MEGATRON, Optimizer.LION, 14),
    ],
)
def test_bytes_per_parameter_by_recipe(recipe, optimizer, bytes_per_parameter):
    held = state_bytes(plan(recipe=recipe, optimizer=optimizer))
    assert held.weight + held.gradient + held.optimizer == bytes_per_parameter
    assert states(memory(job=plan(recipe=recipe, optimizer=optimizer))) == pytest.approx(
        6_738_415_616 * bytes_per_parameter
    )


@pytest.mark.parametrize(("data_parallel", "expected"), [(1, 18.0), (2, 12.0), (4, 9.0)])
def test_distributed_optimizer_is_six_plus_twelve_over_n(data_parallel, expected):
    # Megatron-LM documentation, dist_optimizer: bf16 parameters, fp32 gradients: 6 + 12/d bytes per parameter
    arrays = memory(data_parallel=data_parallel, zero_stage=1)
    assert states(arrays) / 6_738_415_616 == pytest.approx(expected, rel=1e-9)


def test_activations_of_a_gpt_layer_match_korthikanti():
    # arXiv:2205.05198, Eq. 2: s b h (10 + 24/t + 5 a s / (h t)) per layer with dropout and unfused attention, without
    # sequence parallelism; 22B model of its Table 3: h 6144, a 64, s 2048, t 8
    model = replace(
        GPT3_175B, layer_count=1, hidden_size=6144, ffn_size=24576, head_count=64, kv_head_count=64, head_size=96
    )
    job = plan(sequence_length=2048, attention=AttentionKernel.EAGER, dropout=True)
    arrays = memory(model, job, count=1, tensor_parallel=8, uses_sequence_parallel=False)
    expected = 2048 * 6144 * (10 + 24 / 8 + 5 * 64 * 2048 / (6144 * 8))
    assert arrays.activation_bytes[0] == pytest.approx(expected, rel=1e-9)


def test_selective_recomputation_drops_the_attention_core():
    # arXiv:2205.05198, Eq. 4 with sequence parallelism: 34 s b h / t per layer
    model = replace(GPT3_175B, layer_count=1)
    job = plan(sequence_length=2048, attention=AttentionKernel.EAGER, dropout=True)
    arrays = memory(model, job, count=1, tensor_parallel=8, recomputation=Recomputation.SELECTIVE)
    assert arrays.activation_bytes[0] == pytest.approx(34 * 2048 * 12288 / 8, rel=1e-9)


def test_gated_layer_by_hand():
    # (8h + 4ad + 4kd + 6f + 4a) bytes per token of one layer, t = 1
    model = replace(LLAMA2_7B, layer_count=1)
    arrays = memory(model, plan(sequence_length=1000), count=1)
    expected = 1000 * (8 * 4096 + 4 * 4096 + 4 * 4096 + 6 * 11008 + 4 * 32)
    assert arrays.activation_bytes[0] == pytest.approx(expected, rel=1e-12)


def test_full_recomputation_keeps_inputs_and_one_layer():
    arrays = memory(recomputation=Recomputation.FULL, count=1)
    per_token = 8 * 4096 + 8 * 4096 + 6 * 11008 + 4 * 32
    assert arrays.activation_bytes[0] == pytest.approx(2048 * (32 * 2 * 4096 + per_token), rel=1e-12)


def test_first_stage_of_1f1b_holds_as_many_micro_batches_as_stages():
    # arXiv:2104.04473, section 2.2.1
    deep = replace(LLAMA2_7B, vocab_size=128)
    whole = memory(deep, count=32, pipeline_parallel=1).activation_bytes[0]
    assert memory(deep, count=32, pipeline_parallel=4).activation_bytes[0] == pytest.approx(whole, rel=1e-9)
    assert memory(deep, count=2, pipeline_parallel=4).activation_bytes[0] == pytest.approx(whole / 2, rel=1e-9)


def test_interleaving_costs_memory():
    # arXiv:2205.05198, section 4.2.3: a factor 1 + (p - 1) / (p m) for m chunks on the first stage
    plain = memory(count=32, pipeline_parallel=4).activation_bytes[0]
    interleaved = memory(count=32, pipeline_parallel=4, virtual_stage_count=2).activation_bytes[0]
    assert interleaved / plain == pytest.approx(1 + 3 / (4 * 2), rel=1e-9)


def test_experts_divide_by_expert_groups_not_by_tensor_ranks():
    expert_bytes = 32 * 8 * 3 * 4096 * 14336 * 2  # all layers and experts, 16-bit
    four = memory(MIXTRAL_8X7B, tensor_parallel=2, data_parallel=4, expert_parallel=4).weight_bytes[0]
    eight = memory(MIXTRAL_8X7B, tensor_parallel=2, data_parallel=4, expert_parallel=8).weight_bytes[0]
    assert four - eight == pytest.approx(expert_bytes * (1 / 4 - 1 / 8), rel=1e-9)


def test_wider_expert_groups_do_not_shrink_balanced_activations():
    narrow = memory(MIXTRAL_8X7B, data_parallel=8, expert_parallel=2)
    wide = memory(MIXTRAL_8X7B, data_parallel=8, expert_parallel=8)
    assert narrow.activation_bytes[0] == wide.activation_bytes[0]


def test_the_worst_stage_is_a_real_one():
    # 8 layers on 3 stages: an average would take 8/3 layers, the fullest stage holds 3
    model = replace(LLAMA2_7B, layer_count=8, vocab_size=128)
    layer = 202_383_360
    arrays = memory(model, pipeline_parallel=3)
    assert arrays.weight_bytes[0] >= 2 * 3 * layer
    assert arrays.pipeline_stage[0] == 0


def test_big_vocabulary_moves_the_peak_to_the_last_stage():
    model = replace(LLAMA2_7B, vocab_size=1_000_000, layer_count=8)
    arrays = memory(model, plan(sequence_length=2048, uses_fused_loss=False), count=1, pipeline_parallel=8)
    assert arrays.pipeline_stage[0] == 7


def test_70b_states_are_over_a_terabyte():
    # 70.6e9 x 16 = 1.13 TB of states in plain mixed precision: one server of 8 x 80 GB holds 640 GB
    arrays = memory(LLAMA3_70B, plan(recipe=Recipe.DEEPSPEED), tensor_parallel=8)
    assert 8 * states(arrays) == pytest.approx(16 * 70.55e9, rel=0.005)


def test_qlora_of_65b_holds_its_base_in_about_half_a_byte():
    # arXiv:2305.14314, section 3: 4-bit with double quantization is 0.5 + 0.016 byte a parameter; 33 GB for 65 B
    llama_65b = replace(LLAMA2_7B, layer_count=80, hidden_size=8192, ffn_size=22016, head_count=64, kv_head_count=64)
    job = plan(method=Method.QLORA, lora=LoraSpec(rank=64), sequence_length=512, recipe=Recipe.PURE_BF16)
    arrays = memory(llama_65b, job, zero_stage=0)
    assert 33e9 < arrays.weight_bytes[0] < 37e9


def test_lora_base_is_held_by_every_data_parallel_rank():
    job = plan(method=Method.LORA, lora=LoraSpec(rank=8))
    one, eight = memory(job=job, zero_stage=1), memory(job=job, data_parallel=8, zero_stage=1)
    assert one.weight_bytes[0] == pytest.approx(eight.weight_bytes[0], rel=1e-9)
    assert memory(job=job, data_parallel=8, zero_stage=3).weight_bytes[0] < one.weight_bytes[0] / 7


layouts = st.fixed_dictionaries(
    {
        "tensor_parallel": st.sampled_from([1, 2, 4, 8]),
        "pipeline_parallel": st.sampled_from([1, 2, 4, 5, 8]),
        "data_parallel": st.sampled_from([1, 2, 8, 64]),
        "micro_batch_size": st.sampled_from([1, 2, 4]),
        "recomputation": st.sampled_from(list(Recomputation)),
        "zero_stage": st.sampled_from([0, 1, 2, 3]),
    }
)


@settings(deadline=None, max_examples=60)
@given(layouts)
def test_parts_sum_to_allocated_and_device_is_more(layout):
    m = memory(LLAMA3_70B, **layout)
    parts = m.weight_bytes + m.gradient_bytes + m.optimizer_bytes + m.activation_bytes + m.logits_bytes + m.buffer_bytes
    assert parts[0] == pytest.approx(m.allocated_bytes[0], rel=1e-12)
    assert m.allocated_bytes[0] < m.reserved_bytes[0] < m.total_bytes[0]
    assert np.isfinite(m.total_bytes[0])


@settings(deadline=None, max_examples=60)
@given(layouts)
def test_states_never_grow_with_any_split(layout):
    base = states(memory(LLAMA3_70B, **layout))
    for axis in ("tensor_parallel", "pipeline_parallel", "data_parallel"):
        assert states(memory(LLAMA3_70B, **(layout | {axis: layout[axis] * 2}))) <= base * (1 + 1e-12)


@settings(deadline=None, max_examples=60)
@given(layouts)
def test_zero_stages_only_take_states_away(layout):
    held = [states(memory(LLAMA3_70B, **(layout | {"zero_stage": stage}))) for stage in range(4)]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(held))


@settings(deadline=None, max_examples=60)
@given(layouts)
def test_recomputation_only_takes_activations_away(layout):
    job = plan(sequence_length=4096, attention=AttentionKernel.EAGER)
    none, selective, full = (
        memory(LLAMA3_70B, job, count=64, **(layout | {"recomputation": kind})).activation_bytes[0]
        for kind in Recomputation
    )
    assert full <= selective * (1 + 1e-12) <= none * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(layouts, st.sampled_from(["sequence_length", "layer_count", "vocab_size", "micro_batch_size"]))
def test_memory_grows_with_the_job(layout, what):
    base = memory(LLAMA3_70B, **layout).allocated_bytes[0]
    if what == "sequence_length":
        more = memory(LLAMA3_70B, plan(sequence_length=4096), **layout)
    elif what == "micro_batch_size":
        more = memory(LLAMA3_70B, **(layout | {"micro_batch_size": 2 * layout["micro_batch_size"]}))
    else:
        more = memory(replace(LLAMA3_70B, **{what: 2 * getattr(LLAMA3_70B, what)}), **layout)
    assert more.allocated_bytes[0] >= base

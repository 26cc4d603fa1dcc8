"""Selective recomputation of stated modules, worked by hand from what each module keeps (Megatron-LM's names)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.calibration_data import current_calibration
from advisor.engine.candidates import from_layout
from advisor.engine.evaluate import evaluate
from advisor.engine.flops import hardware_flops_per_token
from advisor.engine.machine import machine
from advisor.engine.memory import MemoryArrays, memory_per_gpu
from advisor.engine.specs import AttentionKernel, Layout, ModelSpec, Recomputation, RecomputedPart, TrainingPlan
from advisor.engine.workload import workload
from tests.engine.cases import H100, LLAMA2_7B, MIXTRAL_8X7B, cluster, plan

CALIBRATION = current_calibration()
TOKENS = 1000
# one layer of DeepSeek-V2's attention: 128 heads, latents 1536 and 512, heads of 128 + 64 and values of 128
MLA = replace(
    LLAMA2_7B,
    hidden_size=5120,
    head_count=128,
    kv_head_count=128,
    head_size=192,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_nope_head_size=128,
    qk_rope_head_size=64,
    v_head_size=128,
)


def memory(
    model: ModelSpec, *parts: RecomputedPart, recomputation: Recomputation = Recomputation.SELECTIVE, **changes: object
) -> MemoryArrays:
    layout: dict[str, object] = {"tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 8}
    layout |= {key: changes.pop(key) for key in list(changes) if key in ("tensor_parallel", "expert_parallel")}
    job: TrainingPlan = plan(sequence_length=TOKENS, recomputed_parts=parts, **changes)
    chosen = from_layout(Layout(**layout, recomputation=recomputation), 1)  # type: ignore[arg-type]
    return memory_per_gpu(workload(model, job), job, chosen, CALIBRATION)


def saved(model: ModelSpec, *parts: RecomputedPart, **changes: object) -> float:
    """Activation bytes per token that the parts take away, all layers."""
    none = memory(model, recomputation=Recomputation.NONE, **changes).activation_bytes[0]
    return float(none - memory(model, *parts, **changes).activation_bytes[0]) / TOKENS


def test_dense_ffn_drops_gate_up_product_and_the_fused_norm():
    # of 32 layers all drop 3 x 2f and 2h; the one at work holds its share again
    assert saved(LLAMA2_7B, RecomputedPart.MLP) == pytest.approx(31 * (6 * 11008 + 2 * 4096), rel=1e-9)


def test_parts_split_along_the_tensor_group():
    whole, half = (saved(LLAMA2_7B, RecomputedPart.MLP, tensor_parallel=size) for size in (1, 2))
    assert half == pytest.approx(whole / 2, rel=1e-9)


def test_norms_are_dropped_once_beside_the_ffn_that_holds_one_of_them():
    both = saved(LLAMA2_7B, RecomputedPart.MLP, RecomputedPart.LAYERNORM)
    assert both == pytest.approx(31 * (6 * 11008 + 4 * 4096), rel=1e-9)


def test_a_stated_attention_core_is_what_selective_means_unasked():
    job = {"attention": AttentionKernel.EAGER}
    unasked = memory(LLAMA2_7B, **job)
    assert memory(LLAMA2_7B, RecomputedPart.CORE_ATTENTION, **job).activation_bytes == unasked.activation_bytes
    assert memory(LLAMA2_7B, RecomputedPart.MLP, **job).activation_bytes[0] > unasked.activation_bytes[0]


def test_expert_activation_drops_one_of_three_tensors_of_the_routed_width():
    # 2 of 8 experts a token, width 14336, 16-bit, with the imbalance of the busiest rank
    expected = 31 * CALIBRATION.moe_imbalance_factor * 2 * 2 * 14336
    assert saved(MIXTRAL_8X7B, RecomputedPart.MOE_ACTIVATION, expert_parallel=8) == pytest.approx(expected, rel=1e-9)


def test_the_expert_layer_drops_dispatched_tokens_experts_and_router():
    width = 2 * (2 * 2 * 4096 + 3 * 2 * 14336)  # experts a token x (dispatch and combine + gate, up, product)
    expected = 31 * (CALIBRATION.moe_imbalance_factor * width + 2 * 4 * 8)
    assert saved(MIXTRAL_8X7B, RecomputedPart.MOE, expert_parallel=8) == pytest.approx(expected, rel=1e-9)


def test_mla_up_projections_drop_queries_keys_and_values_but_not_the_output():
    # queries and keys of 192 and the projection of 128 + 128 to each head
    assert saved(MLA, RecomputedPart.MLA_UP_PROJECTION) == pytest.approx(
        31 * 2 * 128 * (192 + 192 + 128 + 128), rel=1e-9
    )


@pytest.mark.parametrize("part", list(RecomputedPart))
@pytest.mark.parametrize("model", [LLAMA2_7B, MIXTRAL_8X7B, MLA], ids=["dense", "experts", "latent"])
def test_no_part_ever_costs_memory_and_all_cost_less_than_full(model, part):
    none = memory(model, recomputation=Recomputation.NONE).activation_bytes[0]
    full = memory(model, recomputation=Recomputation.FULL).activation_bytes[0]
    assert full <= memory(model, part).activation_bytes[0] <= none


def test_parts_count_under_selective_alone():
    stated = memory(LLAMA2_7B, RecomputedPart.MLP, recomputation=Recomputation.FULL)
    assert stated.allocated_bytes == memory(LLAMA2_7B, recomputation=Recomputation.FULL).allocated_bytes


# --- the price in work and time ---------------------------------------------------------------------------------------
def hardware_flops(model: ModelSpec, *parts: RecomputedPart, recomputation: Recomputation) -> float:
    return hardware_flops_per_token(model, plan(sequence_length=TOKENS, recomputed_parts=parts), recomputation)


def test_repeated_products_are_two_operations_a_weight():
    none = hardware_flops(LLAMA2_7B, recomputation=Recomputation.NONE)
    ffn = hardware_flops(LLAMA2_7B, RecomputedPart.MLP, recomputation=Recomputation.SELECTIVE)
    assert ffn - none == pytest.approx(32 * 2 * 3 * 4096 * 11008, rel=1e-9)
    # 2 of 8 experts and the router
    none = hardware_flops(MIXTRAL_8X7B, recomputation=Recomputation.NONE)
    experts = hardware_flops(MIXTRAL_8X7B, RecomputedPart.MOE, recomputation=Recomputation.SELECTIVE)
    assert experts - none == pytest.approx(32 * 2 * (2 * 3 * 4096 * 14336 + 8 * 4096), rel=1e-9)
    # latents of 1536 and 512 to 128 heads of 192, and of 128 + 128
    none = hardware_flops(MLA, recomputation=Recomputation.NONE)
    latent = hardware_flops(MLA, RecomputedPart.MLA_UP_PROJECTION, recomputation=Recomputation.SELECTIVE)
    assert latent - none == pytest.approx(32 * 2 * 128 * (1536 * 192 + 512 * 256), rel=1e-9)


def test_the_core_is_repeated_unasked_or_when_it_is_stated():
    none, unasked = (hardware_flops(LLAMA2_7B, recomputation=kind) for kind in list(Recomputation)[:2])
    core = hardware_flops(LLAMA2_7B, RecomputedPart.CORE_ATTENTION, recomputation=Recomputation.SELECTIVE)
    norms = hardware_flops(LLAMA2_7B, RecomputedPart.LAYERNORM, recomputation=Recomputation.SELECTIVE)
    assert core == unasked > none == norms


@pytest.mark.parametrize("part", list(RecomputedPart))
@pytest.mark.parametrize("model", [LLAMA2_7B, MIXTRAL_8X7B, MLA], ids=["dense", "experts", "latent"])
def test_a_step_with_parts_takes_longer_than_with_none_and_less_than_with_all(model, part):
    def seconds(recomputation: Recomputation, *parts: RecomputedPart) -> float:
        job = plan(sequence_length=4096, recomputed_parts=parts)
        layout = Layout(tensor_parallel=1, pipeline_parallel=1, data_parallel=8, recomputation=recomputation)
        rates = machine(H100, 8, cluster().fabric, job, cluster().deployment, CALIBRATION)
        found = evaluate(workload(model, job), job, from_layout(layout, 4), rates, CALIBRATION)
        return float(found.time.step_seconds[0])

    none, full = seconds(Recomputation.NONE), seconds(Recomputation.FULL)
    assert none <= seconds(Recomputation.SELECTIVE, part) < full
    if part is RecomputedPart.MLP and model is not MIXTRAL_8X7B:
        assert none < seconds(Recomputation.SELECTIVE, part)

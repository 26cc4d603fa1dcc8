"""Achieved rates from datasheet figures, with efficiencies that are easy to multiply."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine.machine import compute_precision, machine
from advisor.engine.specs import DeploymentProfile, FabricSpec, Method, Precision, Recipe
from tests.engine.cases import A100, H100, plan
from tests.engine.round_numbers import constants

FABRIC = FabricSpec(scale_out_bytes_per_second_per_gpu=50e9)


def achieved(gpu=H100, per_server=8, fabric=FABRIC, deployment=None, calibration=None, **job):
    return machine(gpu, per_server, fabric, plan(**job), deployment or DeploymentProfile(), calibration or constants())


def test_link_rates_are_efficiency_times_what_oversubscription_leaves():
    rates = achieved(
        fabric=replace(FABRIC, oversubscription=2.0),
        calibration=constants(scale_out_efficiency=0.5, scale_up_efficiency=0.8),
    )
    assert rates.scale_out_bytes_per_second == 50e9 / 2 * 0.5
    assert rates.scale_up_bytes_per_second == 450e9 * 0.8


def test_a_profile_scales_links_and_latencies():
    profile = DeploymentProfile(scale_up_bandwidth_factor=0.5, scale_out_bandwidth_factor=0.25, latency_factor=3.0)
    calibration = constants(scale_up_hop_seconds=1e-6, scale_out_hop_seconds=2e-6, ring_hop_seconds=4e-6)
    rates = achieved(deployment=profile, calibration=calibration)
    assert rates.scale_up_bytes_per_second == 225e9
    assert rates.scale_out_bytes_per_second == 12.5e9
    hops = (rates.scale_up_hop_seconds, rates.scale_out_hop_seconds, rates.ring_hop_seconds)
    assert hops == pytest.approx((3e-6, 6e-6, 12e-6))


def test_without_links_the_gpus_of_a_server_talk_over_pcie():
    card = replace(A100, scale_up_bytes_per_second=0.0, scale_up_domain_size=1)
    rates = achieved(card, per_server=4)
    assert rates.domain_size == 4
    assert rates.scale_up_bytes_per_second == 31e9
    assert achieved().domain_size == 8


def test_a_part_with_less_power_clocks_lower():
    # A100 PCIe: 300 W where the module has 400 W for the same peak; with exponent 1/2 the square root of 3/4
    card = replace(A100, tdp_watts=300)
    rates = achieved(card, calibration=constants(power_exponent=0.5))
    assert rates.gemm_flops_per_second == pytest.approx(312e12 * 0.75**0.5)
    assert achieved(replace(A100, tdp_watts=500)).gemm_flops_per_second == pytest.approx(312e12)


def test_head_and_attention_stay_in_16_bit_under_fp8():
    calibration = constants(gemm_efficiency={"other": 0.5}, fp8_gemm_efficiency={"other": 0.25})
    rates = achieved(precision=Precision.FP8, calibration=calibration)
    assert rates.gemm_flops_per_second == pytest.approx(1978.9e12 * 0.25)
    assert rates.head_flops_per_second == pytest.approx(989.4e12 * 0.5)
    assert rates.attention_flops_per_second == pytest.approx(989.4e12)
    assert rates.dense_peak_flops_per_second == 1978.9e12


@pytest.mark.parametrize(("precision", "peak"), [(Precision.TF32, 156e12), (Precision.FP32, 19.5e12)])
def test_a_32_bit_job_computes_head_and_attention_in_its_own_type(precision, peak):
    # NVIDIA A100 datasheet: 156 TFLOP/s TF32 dense and 19.5 FP32, beside 312 in 16 bit
    peaks = A100.dense_peak_flops_per_second | {precision: peak}
    rates = achieved(replace(A100, dense_peak_flops_per_second=peaks), precision=precision)
    assert rates.head_flops_per_second == pytest.approx(peak)
    assert rates.attention_flops_per_second == pytest.approx(peak)
    assert rates.element_bytes == 4


def test_exponentials_keep_pace_with_the_special_function_units():
    # CUDA programming guide: 16 special-function results a clock and SM; tensor cores of an H100 do 4096 FLOP in it
    rates = achieved(calibration=constants(attention_exponential_factor=0.5))
    assert rates.exponentials_per_second == pytest.approx(989.4e12 / 256 / 0.5)


def test_rack_scale_parts_launch_captured_layers_unless_told_otherwise():
    calibration = constants(captured_host_fraction=0.3)
    rack = replace(H100, scale_up_domain_size=72)
    assert achieved(calibration=calibration).launch_factor == 1.0
    assert achieved(rack, calibration=calibration).launch_factor == 0.3
    assert achieved(rack, calibration=calibration, uses_cuda_graphs=False).launch_factor == 1.0
    assert achieved(calibration=calibration, uses_cuda_graphs=True).launch_factor == 0.3


def test_tensor_collectives_hide_only_where_the_framework_runs_them_beside():
    calibration = constants(tensor_exposed_fraction=0.25)
    assert achieved(calibration=calibration).tensor_exposed_fraction == 1.0
    beside = achieved(calibration=calibration, overlaps_tensor_parallel=True)
    assert beside.tensor_exposed_fraction == 0.25


def test_deepspeed_adds_to_every_kernel():
    calibration = constants(deepspeed_overhead_factor=1.1)
    assert achieved(calibration=calibration, recipe=Recipe.DEEPSPEED).kernel_overhead_factor == 1.1
    assert achieved(calibration=calibration, recipe=Recipe.MEGATRON).kernel_overhead_factor == 1.0


def test_no_network_is_a_rate_and_not_a_division_by_zero():
    rates = achieved(fabric=FabricSpec(scale_out_bytes_per_second_per_gpu=0.0, kind="none"))
    assert 0 < rates.scale_out_bytes_per_second <= 1


def test_a_precision_without_hardware_is_refused():
    with pytest.raises(ValueError, match="no fp8 peak"):
        achieved(A100, precision=Precision.FP8)


def test_4_bit_training_multiplies_in_16_bit():
    assert compute_precision(plan(method=Method.QLORA, precision=Precision.FP8)) is Precision.BF16
    assert compute_precision(plan(method=Method.QLORA, precision=Precision.FP16)) is Precision.FP16
    assert compute_precision(plan(method=Method.LORA, precision=Precision.FP8)) is Precision.FP8


def test_exchanges_of_experts_wait_in_full_unless_they_run_beside_others():
    calibration = constants(expert_overlapped_exposed_fraction=0.4)
    assert achieved(calibration=calibration).dispatch_exposed_fraction == 1.0
    assert achieved(calibration=calibration, overlaps_dispatch=True).dispatch_exposed_fraction == 0.4
    assert achieved().is_dispatch_deduplicated == 0.0
    assert achieved(deduplicates_dispatch=True).is_dispatch_deduplicated == 1.0

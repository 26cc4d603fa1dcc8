"""Coefficients of one layer by hand, with every rate 1 or out of the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from advisor.engine.operations import LayerCost, dense_layer_costs, expert_costs
from advisor.engine.specs import LoraSpec, Method
from advisor.engine.workload import workload
from tests.engine.cases import plan
from tests.engine.round_numbers import SMALL, constants, rates

MEMORY = rates(memory_bytes_per_second=1)
LORA = {"method": Method.LORA, "lora": LoraSpec(rank=1, targets=("q",))}


def costs(machine=MEMORY, **job):
    work = workload(SMALL, plan(sequence_length=16, **job))
    return dense_layer_costs(work, machine, constants(), work.ffn_size, work.dense_ffn_count)


def test_coefficients_combine_by_what_each_axis_splits():
    one = np.ones(1)
    cost = LayerCost(split=8.0, whole=1.0, norm=4.0, weights=100.0, fixed=7.0)
    # ten tokens on two tensor ranks, norms not split: 10 * (4 + 1 + 4) + 50 + 7; split too: 10 * (4 + 1 + 2) + 57
    assert cost.seconds(10 * one, 2 * one, one) == 147
    assert cost.seconds(10 * one, 2 * one, 2 * one) == 127


def test_bytes_of_a_layer_forward():
    forward, _ = costs()
    # 16-bit: query 8, key and value 4 each, output 8, gate, up and product of 16: 72 in GEMMs, 48 again in activations
    assert forward.split == pytest.approx(2 * 72 + 2 * 48, rel=1e-12)
    assert forward.whole == 2 * 4 * 8  # hidden state into and out of both blocks
    assert forward.norm == 2 * 10 * 8  # ten passes of norms and residuals
    assert forward.weights == 2 * 576


def test_bytes_of_a_layer_backward():
    _, backward = costs()
    assert backward.split == pytest.approx(2 * (144 + 96), rel=1e-12)
    assert backward.whole == 2 * 64
    assert backward.norm == 2 * 160
    # weights for both multiplications, and fp32 gradients read and written
    assert backward.weights == 2 * 1152 + 2 * 4 * 576


def test_frozen_weights_are_read_once_and_accumulate_nothing():
    _, backward = costs(**LORA)
    assert backward.weights == 1152


def test_quantization_passes_over_every_input_of_a_multiplication():
    plain, quantized = costs()[0], costs(replace(MEMORY, quantization_bytes=1.0))[0]
    assert quantized.split - plain.split == pytest.approx(8 + 16, rel=1e-12)
    assert quantized.whole - plain.whole == 2 * 8


MIXTURE = replace(SMALL, expert_count=4, experts_per_token=2, expert_ffn_size=4)


def test_grouped_multiplications_run_at_their_own_efficiency():
    # two experts of 3 * 8 * 4 weights a token: 2 * 192 operations, at half the efficiency twice the time
    work = workload(MIXTURE, plan(sequence_length=16))
    calibration = constants(moe_gemm_efficiency_factor=0.5)
    forward, backward = expert_costs(work, rates(gemm_flops_per_second=1), calibration)
    assert forward.routed == pytest.approx(768, rel=1e-12)
    assert backward.routed == pytest.approx(2 * 768, rel=1e-12)


def test_bytes_of_routed_experts():
    work = workload(MIXTURE, plan(sequence_length=16))
    forward, backward = expert_costs(work, MEMORY, constants())
    # both experts' inputs and outputs (32) and inner width (24) in GEMMs, the inner width again, four permuting passes
    moved, permuted = 2 * (32 + 24 + 24), 2 * 4 * 2 * 8
    assert forward.routed == pytest.approx(moved + permuted, rel=1e-12)
    assert backward.routed == pytest.approx(2 * moved + permuted, rel=1e-12)
    assert forward.weights == 2 * 96
    assert backward.weights == 2 * 2 * 96 + 2 * 4 * 96

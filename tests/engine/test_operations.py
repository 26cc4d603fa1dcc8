"""Coefficients of one layer by hand, with every rate 1 or out of the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from advisor.engine.buffers import NF4_BYTES
from advisor.engine.operations import LayerCost, core_seconds, dense_layer_costs, expert_costs
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


def test_narrow_experts_multiply_as_if_each_were_wider():
    # two experts of 3 * 8 * 4 weights a token: 2 * 192 operations; a loss of 2 columns costs half of a width of 4
    work = workload(MIXTURE, plan(sequence_length=16))
    forward, backward = expert_costs(work, rates(gemm_flops_per_second=1), constants(expert_width_loss=2.0))
    assert (forward.routed, forward.narrow) == pytest.approx((384, 192), rel=1e-12)
    assert (backward.routed, backward.narrow) == pytest.approx((2 * 384, 2 * 192), rel=1e-12)


def test_inputs_in_fewer_bytes_spare_only_what_multiplications_read():
    # attention output 8 and FFN product 16 split, hidden state read twice whole: one byte less of each
    narrow = costs(replace(MEMORY, input_bytes=1.0))[0]
    assert costs()[0].split - narrow.split == pytest.approx(8 + 16, rel=1e-12)
    assert costs()[0].whole - narrow.whole == pytest.approx(2 * 8, rel=1e-12)


def test_a_4_bit_base_is_written_out_before_every_multiplication():
    # half a byte of codes read and a 16-bit copy written, per weight and pass (arXiv:2305.14314, section 3)
    forward, backward = costs(method=Method.QLORA, lora=LoraSpec(rank=1, targets=("q",)))
    plain, _ = costs(**LORA)
    assert forward.weights - plain.weights == pytest.approx(576 * (2 + NF4_BYTES), rel=1e-12)
    assert backward.weights == pytest.approx(forward.weights, rel=1e-12)


def test_softmax_exponentials_are_computed_in_both_directions():
    # 8 keys seen on average by each of 2 heads: 16 exponentials a token (arXiv:2307.08691: recomputed backward)
    work = workload(SMALL, plan(sequence_length=16))
    forward, backward = core_seconds(work, rates(exponentials_per_second=1), constants())
    assert (forward, backward) == pytest.approx((16, 16), rel=1e-9)


def test_expert_biases_outside_the_fused_kernels_move_fp32_copies():
    # two experts of 2 * 4 gate and up columns and 8 outputs: 32 elements, 28 bytes forward and 36 backward each
    biased = replace(MIXTURE, has_ffn_bias=True)
    plain = expert_costs(workload(MIXTURE, plan(sequence_length=16)), MEMORY, constants())
    added = expert_costs(workload(biased, plan(sequence_length=16)), MEMORY, constants())
    assert added[0].routed - plain[0].routed == pytest.approx(28 * 32, rel=1e-12)
    assert added[1].routed - plain[1].routed == pytest.approx(36 * 32, rel=1e-12)
    fused = workload(biased, plan(sequence_length=16, uses_fused_kernels=True))
    assert fused.unfused_bias_width == 0


def test_bytes_of_routed_experts():
    work = workload(MIXTURE, plan(sequence_length=16))
    forward, backward = expert_costs(work, MEMORY, constants())
    # both experts' inputs and outputs (32) and inner width (24) in GEMMs, the inner width again, four permuting passes
    moved, permuted = 2 * (32 + 24 + 24), 2 * 4 * 2 * 8
    assert forward.routed == pytest.approx(moved + permuted, rel=1e-12)
    assert backward.routed == pytest.approx(2 * moved + permuted, rel=1e-12)
    assert forward.weights == 2 * 96
    assert backward.weights == 2 * 2 * 96 + 2 * 4 * 96

"""Compute time of the operations of one layer, as coefficients that the arrays multiply.

One additive form per operation, ``FLOPs / rate + bytes / bandwidth + launch``. Because every count of a layer is linear
in T/t, T, 1/t and 1, a layer's time is a few coefficients and the arrays carry only group sizes.

Symbols: T tokens of a micro-batch on a context rank; t tensor parallel size; h, f, a, d as in `workload`.

References
----------
.. [1] T. Dao, arXiv:2307.08691 (flash attention: backward 2.5 x forward FLOPs).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from advisor.engine.buffers import NF4_BYTES
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, FloatArray
from advisor.engine.machine import Machine
from advisor.engine.units import BYTES_16BIT, BYTES_FP32
from advisor.engine.workload import Workload

FLASH_BACKWARD_FLOPS = 2.5  # [1]
# element-wise passes over the hidden state in one layer, forward: two norms (read, write), two residual adds
# (two reads, one write), and over the FFN's inner width: activation and product (reads and a write)
NORM_PASSES = 10.0
# per element and pass when biases of grouped experts are added in fp32 outside the fused kernels: product written, sum
# read and written, joined, cast; backward: cast, two products and their sums
UNFUSED_BIAS_FORWARD_BYTES = 28.0
UNFUSED_BIAS_BACKWARD_BYTES = 36.0
EAGER_SCORE_PASSES = 8.0  # scores written, scaled, masked, softmaxed and read again without a fused kernel


@dataclass(frozen=True, slots=True)
class LayerCost:
    """Seconds of one layer: T/t split + T whole + T/(t, or 1 without sequence parallel) norm + weights/t + fixed."""

    split: float
    whole: float
    norm: float
    weights: float
    fixed: float

    def seconds(self, tokens: FloatArray, tensor: FloatArray, norm_split: FloatArray) -> FloatArray:
        return tokens * (self.split / tensor + self.whole + self.norm / norm_split) + self.weights / tensor + self.fixed

    def scaled(self, factor: float) -> LayerCost:
        """Every part `factor` times as long."""
        split, whole, norm = factor * self.split, factor * self.whole, factor * self.norm
        return LayerCost(split, whole, norm, factor * self.weights, factor * self.fixed)


def core_seconds(work: Workload, machine: Machine, calibration: Calibration) -> tuple[float, float]:
    """Attention core per token of the split layer, forward and backward. [s]"""
    exponentials = work.attention_scores_per_token / machine.exponentials_per_second
    forward = work.attention_core_flops_per_token / machine.attention_flops_per_second + exponentials
    backward = FLASH_BACKWARD_FLOPS * work.attention_core_flops_per_token / machine.attention_backward_flops_per_second
    backward = backward + exponentials  # the backward pass computes the probabilities again
    if work.is_eager:
        score_bytes = EAGER_SCORE_PASSES * BYTES_16BIT * work.head_count * work.sequence_length
        extra = calibration.eager_attention_factor * score_bytes / machine.memory_bytes_per_second
        forward = work.attention_core_flops_per_token / machine.head_flops_per_second + extra
        backward = 2 * forward
    return forward, backward


def dequantized_bytes(work: Workload, machine: Machine) -> float:
    """Moved per weight of a 4-bit base before each multiplication: the codes read, the 16-bit copy written. [B]"""
    return NF4_BYTES + machine.element_bytes if work.is_quantized else 0.0


def _gemm(matrix_count: float, machine: Machine) -> float:
    return 2 * matrix_count / machine.gemm_flops_per_second


def dense_layer_costs(
    work: Workload, machine: Machine, calibration: Calibration, ffn_width: float, ffn_count: float
) -> tuple[LayerCost, LayerCost]:
    """Forward and backward cost of a layer with a dense FFN of `ffn_width` (0: attention only)."""
    memory, size = machine.memory_bytes_per_second, machine.element_bytes
    h = work.hidden_size
    core_forward, core_backward = core_seconds(work, machine, calibration)
    count = work.attention_matrix_count + ffn_count
    inner = work.ffn_inner_copies * ffn_width
    # inputs (hidden state twice, attention output, FFN product) and outputs (projections, gate and up, hidden state
    # twice) of the GEMMs
    projected = work.query_width + 2 * work.kv_width + (work.ffn_inner_copies - 1) * ffn_width
    moved_split = calibration.gemm_bytes_factor * (
        machine.input_bytes * (work.value_width + ffn_width) + size * projected
    )
    moved_whole = calibration.gemm_bytes_factor * (machine.input_bytes + size) * 2 * h
    quantized = machine.quantization_bytes
    split = (
        _gemm(count, machine)
        + core_forward
        + (moved_split + size * machine.elementwise_factor * inner + quantized * (work.value_width + ffn_width))
        / memory
    )
    whole = (moved_whole + quantized * 2 * h) / memory
    norm = size * machine.elementwise_factor * NORM_PASSES * h / memory
    weights = (size + dequantized_bytes(work, machine)) * count / memory
    forward = LayerCost(split, whole, norm, weights, calibration.layer_launch_seconds)
    # backward: two GEMMs each (one when frozen), weight gradients accumulated in fp32
    gemm_passes = 1.0 if work.is_frozen else 2.0
    accumulated = 0.0 if work.is_frozen else 2 * BYTES_FP32 * count / memory
    backward = LayerCost(
        gemm_passes * _gemm(count, machine)
        + core_backward
        + 2 * (moved_split + size * machine.elementwise_factor * inner) / memory
        + gemm_passes * quantized * (work.value_width + ffn_width) / memory,
        2 * moved_whole / memory + gemm_passes * quantized * 2 * h / memory,
        2 * norm,
        gemm_passes * weights + accumulated,
        2 * calibration.layer_launch_seconds,
    )
    return forward, backward


@dataclass(frozen=True, slots=True)
class ExpertCost:
    """Seconds of the routed experts of one layer = T/t (routed + y narrow) + experts_per_rank * weights + fixed.

    y is the number of ranks that split one expert.
    """

    routed: float
    narrow: float
    weights: float
    fixed: float

    def scaled(self, factor: float) -> ExpertCost:
        """Every part `factor` times as long."""
        return ExpertCost(factor * self.routed, factor * self.narrow, factor * self.weights, factor * self.fixed)


def expert_costs(work: Workload, machine: Machine, calibration: Calibration) -> tuple[ExpertCost, ExpertCost]:
    """Forward and backward cost of routed experts (grouped GEMMs, permutation), balanced routing."""
    memory, size = machine.memory_bytes_per_second, machine.element_bytes
    h, e = work.hidden_size, work.experts_per_token
    gemm = _gemm(work.routed_ffn_count, machine)
    # grouped multiplications of narrow experts lose part of every tile row: as if each were wider by a fixed number
    narrow = gemm * calibration.expert_width_loss / work.expert_width
    moved = size * (
        calibration.gemm_bytes_factor
        * (
            (machine.input_bytes / size) * (e * h + work.routed_width)
            + e * h
            + (work.ffn_inner_copies - 1) * work.routed_width
        )
        + machine.elementwise_factor * work.ffn_inner_copies * work.routed_width
    )
    permuted = calibration.moe_permute_factor * size * 4 * e * h
    quantized = machine.quantization_bytes * (e * h + work.routed_width)
    weights = (size + dequantized_bytes(work, machine)) * work.expert_ffn_count / memory
    passes = 1.0 if work.is_frozen else 2.0
    accumulated = 0.0 if work.is_frozen else 2 * BYTES_FP32 * work.expert_ffn_count / memory
    forward = ExpertCost(
        gemm + (moved + permuted + quantized + UNFUSED_BIAS_FORWARD_BYTES * work.unfused_bias_width) / memory,
        narrow,
        weights,
        calibration.layer_launch_seconds,
    )
    backward = ExpertCost(
        passes * gemm
        + (2 * moved + permuted + passes * quantized + UNFUSED_BIAS_BACKWARD_BYTES * work.unfused_bias_width) / memory,
        passes * narrow,
        passes * weights + accumulated,
        2 * calibration.layer_launch_seconds,
    )
    return forward, backward


@dataclass(frozen=True, slots=True)
class LayerCompute:
    """Seconds of one layer of either kind for one micro-batch, and of its attention core forward."""

    dense_forward: FloatArray
    dense_backward: FloatArray
    moe_forward: FloatArray
    moe_backward: FloatArray
    core: FloatArray


@dataclass(frozen=True, slots=True)
class LayerCosts:
    """Coefficients of one layer, which all layouts of a job on one kind of GPU have in common."""

    dense_forward: LayerCost
    dense_backward: LayerCost
    core_forward: float
    # of a mixture-of-experts layer: attention and shared experts, and routed experts; None where the job has none
    shared_forward: LayerCost | None = None
    shared_backward: LayerCost | None = None
    routed_forward: ExpertCost | None = None
    routed_backward: ExpertCost | None = None


def layer_costs(work: Workload, machine: Machine, calibration: Calibration) -> LayerCosts:
    """Forward and backward cost of a layer of either kind, with the kernels beside what is counted. [s] per unit

    Where `machine` holds arrays of several kinds of GPU, so do the coefficients, in its shape.
    """
    overhead = machine.kernel_overhead_factor
    costs = dense_layer_costs(work, machine, calibration, work.ffn_size, work.dense_ffn_count)
    forward, backward = (cost.scaled(overhead) for cost in costs)
    core_forward, _ = core_seconds(work, machine, calibration)
    if not np.any(work.expert_count):
        return LayerCosts(forward, backward, core_forward)
    shared = dense_layer_costs(work, machine, calibration, work.shared_width, work.shared_ffn_count)
    routed = expert_costs(work, machine, calibration)
    return LayerCosts(
        forward,
        backward,
        core_forward,
        shared_forward=shared[0].scaled(overhead),
        shared_backward=shared[1].scaled(overhead),
        routed_forward=routed[0].scaled(overhead),
        routed_backward=routed[1].scaled(overhead),
    )


def layer_compute(
    work: Workload, cand: Candidates, costs: LayerCosts, tokens: FloatArray, norm_split: FloatArray
) -> LayerCompute:
    """Seconds of one layer on the GPU, forward and backward.

    Parameters
    ----------
    work, costs : Workload, LayerCosts
        The job, and its coefficients on this kind of GPU.
    cand : Candidates, shape (N,)
    tokens, norm_split : ndarray, shape (N,)
        Tokens of a micro-batch on a context rank; ranks that split norms and residuals. [1]

    Returns
    -------
    LayerCompute
        Arrays of shape (N,). [s]
    """
    t = cand.tensor_parallel
    dense_forward = costs.dense_forward.seconds(tokens, t, norm_split)
    dense_backward = costs.dense_backward.seconds(tokens, t, norm_split)
    core = costs.core_forward * tokens / t
    routed_forward, routed_backward = costs.routed_forward, costs.routed_backward
    shared_forward, shared_backward = costs.shared_forward, costs.shared_backward
    if shared_forward and shared_backward and routed_forward and routed_backward:
        local, split = tokens / t, cand.expert_tensor_parallel
        experts_per_rank = work.expert_count / (cand.expert_parallel * cand.expert_tensor_parallel)
        moe_forward = shared_forward.seconds(tokens, t, norm_split) + (
            local * (routed_forward.routed + split * routed_forward.narrow)
            + experts_per_rank * routed_forward.weights
            + routed_forward.fixed
        )
        moe_backward = shared_backward.seconds(tokens, t, norm_split) + (
            local * (routed_backward.routed + split * routed_backward.narrow)
            + experts_per_rank * routed_backward.weights
            + routed_backward.fixed
        )
    else:
        moe_forward, moe_backward = dense_forward, dense_backward

    return LayerCompute(
        dense_forward=dense_forward,
        dense_backward=dense_backward,
        moe_forward=moe_forward,
        moe_backward=moe_backward,
        core=core,
    )

"""Calibrated constants of the step-time and memory model: names, meaning and units. The values are data.

Every constant is a physical quantity of one additive form per operation,
``time = FLOPs / (peak x efficiency) + bytes / (bandwidth x efficiency) + launch``, fitted over all published rows at
once by the `calibrate` command, never to a single row. Tables are by GPU architecture family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Values come from advisor/data/calibration.toml, which carries origin, date and the error they leave."""

    # achieved share of the dense peak by large matrix multiplications, by family and precision
    gemm_efficiency: Mapping[str, float]
    fp8_gemm_efficiency: Mapping[str, float]
    fp4_gemm_efficiency: Mapping[str, float]
    # achieved share of the dense 16-bit peak in flash attention, forward; backward as a factor on it
    attention_efficiency: Mapping[str, float]
    attention_backward_factor: float
    # exponentials of the softmax that stay beside the products, of one for every score seen
    attention_exponential_factor: float
    # achieved share of the memory bandwidth
    memory_efficiency: float
    # bytes moved by element-wise and norm kernels, relative to the counted minimum
    gemm_bytes_factor: float  # of the counted operands; below 1 what stays in cache or overlaps with the multiplication
    elementwise_factor: float
    elementwise_factor_fsdp: float
    eager_attention_factor: float
    fp8_quantization_factor: float
    mx_quantization_factor: float
    fp4_quantization_factor: float
    deepspeed_overhead_factor: float  # of a layer's kernels, where gradients are not accumulated inside the products
    # launches and host gaps
    layer_launch_seconds: float
    # the host needs this long to launch one direction of a layer kernel by kernel; small batches wait for it
    layer_host_seconds: float
    moe_layer_host_seconds: float
    captured_host_fraction: float  # of that, where layers are captured in CUDA graphs
    micro_batch_overhead_seconds: float
    step_overhead_seconds: float
    # mixture of experts
    expert_width_loss: float  # columns
    moe_permute_factor: float
    # links: achieved share of the rate, latencies
    scale_up_efficiency: float
    scale_out_efficiency: float
    scale_up_hop_seconds: float
    scale_out_hop_seconds: float
    ring_hop_seconds: float  # per domain that a ring passes through
    # shares that stay exposed beside compute
    scale_out_congestion_fraction: float  # loss of scale-out rate per doubling of the domains that take part
    tensor_exposed_fraction: float  # where the framework runs them beside the multiplications; 1 elsewhere
    pipeline_exposed_fraction: float
    data_overlap_fraction: float
    data_exposed_fraction: float
    fsdp_overlap_fraction: float
    fsdp_interference_fraction: float
    context_overlap_fraction: float
    expert_exposed_fraction: float
    expert_exposed_fraction_scale_out: float
    expert_overlapped_exposed_fraction: float  # of these, where another micro-batch's layers run beside
    power_exponent: float  # of watts per peak FLOP/s against the family's usual part, when a part has less
    bubble_factor: float
    straggler_fraction_per_doubling: float
    # memory
    # reserved over live bytes without the logits, by recipe: Megatron 1.03 to 1.09 in paired logs; `fsdp`, where
    # PyTorch shards the weights, the mean of seven pairs (llama-recipes pull requests 41 and 165, fsdp_qlora, XTuner)
    reserved_factor: Mapping[str, float]
    overhead_bytes_single: float
    overhead_bytes_distributed: float
    activation_transient_factor: float
    moe_imbalance_factor: float
    # band that holds four of five residuals that these constants leave, by "family/kind": the answers' low and high
    error_band_fraction: Mapping[str, float]

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> Calibration:
        """Checked construction; names that are missing or unknown raise ValueError."""
        names = {field.name for field in fields(cls)}
        if names != set(values):
            missing, unknown = sorted(names - set(values)), sorted(set(values) - names)
            raise ValueError(f"calibration: missing {missing}, unknown {unknown}")
        return cls(**values)  # type: ignore[arg-type]


FAMILY_PARENTS = {"Blackwell Ultra": "Blackwell"}


def by_family(table: Mapping[str, float], architecture: str, variant: str = "") -> float:
    """Value of the GPU's family (of its `variant` where the table has one); families without evidence share `other`."""
    parent = FAMILY_PARENTS.get(architecture, architecture)
    for key in (f"{architecture}/{variant}", f"{parent}/{variant}", architecture, parent):
        if key in table:
            return table[key]
    return table["other"]

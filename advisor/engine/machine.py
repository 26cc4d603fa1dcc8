"""Achieved rates of one GPU in one cluster: datasheet figures times calibrated efficiencies and profile factors."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.engine.calibration import Calibration, by_family
from advisor.engine.specs import DeploymentProfile, FabricSpec, GpuSpec, Method, Precision, Recipe, TrainingPlan

# stands for no network, so that times stay finite: whatever crosses servers then takes years
NO_NETWORK_BYTES_PER_SECOND = 1.0
# precisions computed by the tensor cores in another type when the hardware lacks them are refused, not replaced
_ELEMENT_BYTES = {Precision.FP32: 4.0, Precision.TF32: 4.0}
_INPUT_BYTES = {**_ELEMENT_BYTES, Precision.FP8: 1.0, Precision.MXFP8: 1.0 + 1 / 32, Precision.FP4: 0.5 + 1 / 16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Rates in FLOP/s and bytes/s, latencies in seconds."""

    gemm_flops_per_second: float
    head_flops_per_second: float  # the output layer stays in 16 bit under FP8 and FP4; 32-bit jobs compute it in theirs
    attention_flops_per_second: float
    attention_backward_flops_per_second: float
    exponentials_per_second: float  # softmax scores per second that stay beside the attention core's products
    memory_bytes_per_second: float
    scale_up_bytes_per_second: float
    scale_out_bytes_per_second: float
    scale_up_hop_seconds: float
    scale_out_hop_seconds: float
    ring_hop_seconds: float
    scale_out_congestion_fraction: float
    tensor_exposed_fraction: float
    domain_size: float
    quantization_bytes: float  # moved per GEMM input element to produce its low-precision copy; 0 in 16 bit
    element_bytes: float
    input_bytes: float  # of one element that a matrix multiplication reads
    elementwise_factor: float
    dense_peak_flops_per_second: float
    host_bytes_per_second: float
    kernel_overhead_factor: float  # of a layer's kernels beside what is counted
    launch_factor: float  # of the host's time to launch a layer: 1, less with captured graphs
    dispatch_exposed_fraction: float  # of the exchange of expert tokens, where nothing runs beside it
    is_dispatch_deduplicated: float  # 1 where a token crosses once to each domain, 0 where once for each expert


def compute_precision(plan: TrainingPlan) -> Precision:
    """The type that matrix multiplications run in: QLoRA computes in the 16-bit type it dequantizes to."""
    return Precision.BF16 if plan.method is Method.QLORA and plan.precision is not Precision.FP16 else plan.precision


def dense_peak(gpu: GpuSpec, precision: Precision) -> float | None:
    """Dense peak of a precision, None where the hardware has none. MXFP8 runs at the FP8 rate."""
    peaks = gpu.dense_peak_flops_per_second
    if precision is Precision.MXFP8:
        return peaks.get(Precision.FP8)
    if precision is Precision.BF16:
        return peaks.get(Precision.BF16)
    return peaks.get(precision)


def _sixteen_bit_peak(gpu: GpuSpec) -> float | None:
    return dense_peak(gpu, Precision.BF16) or dense_peak(gpu, Precision.FP16)


# watts per dense 16-bit FLOP/s of each family's usual training part (A100 SXM 400 W / 312 T, H100 SXM 700 W / 989.4 T,
# B200 1000 W / 2250 T: catalogue). A part of the family with less power clocks lower under load.
REFERENCE_WATTS_PER_FLOPS = {"Ampere": 400 / 312e12, "Hopper": 700 / 989.4e12, "Blackwell": 1000 / 2250e12}


# Dense 16-bit FLOP of the tensor cores in the time of one exponential. Special-function units: 16 a clock and SM
# (CUDA programming guide, throughput of native arithmetic), 32 on Blackwell Ultra (NVIDIA: twice the attention-layer
# throughput); tensor cores: 1024, 2048, 4096, 8192 FLOP a clock and SM from Volta to Blackwell.
FLOPS_PER_EXPONENTIAL = {"Volta": 64, "Ampere": 128, "Hopper": 256, "Blackwell": 512, "Blackwell Ultra": 256}
OTHER_FLOPS_PER_EXPONENTIAL = 256

RACK_SCALE = "rack"  # key of calibrated tables for GPUs whose scale-up domain is larger than one board
LARGEST_BOARD = 16


def power_factor(gpu: GpuSpec, wide_peak: float, calibration: Calibration) -> float:
    """Share of the achieved rate that a power-limited part of a family reaches; 1 for its usual part and above."""
    reference = REFERENCE_WATTS_PER_FLOPS.get(gpu.architecture)
    if reference is None or gpu.tdp_watts <= 0:
        return 1.0
    return float(min(1.0, (gpu.tdp_watts / wide_peak / reference) ** calibration.power_exponent))


def domain_size(gpu: GpuSpec, gpus_per_server: int) -> int:
    """GPUs that exchange at the scale-up rate; without such links, those of one server over PCIe."""
    return max(gpu.scale_up_domain_size if gpu.scale_up_bytes_per_second > 0 else gpus_per_server, 1)


def machine(
    gpu: GpuSpec,
    gpus_per_server: int,
    fabric: FabricSpec,
    plan: TrainingPlan,
    deployment: DeploymentProfile,
    calibration: Calibration,
) -> Machine:
    """Achieved rates; raises ValueError when the GPU has no peak for the plan's precision."""
    precision = compute_precision(plan)
    peak = dense_peak(gpu, precision)
    if peak is None:
        raise ValueError(f"{gpu.sku} has no {precision.value} peak.")
    family = gpu.architecture
    wide_peak = peak if precision in _ELEMENT_BYTES else _sixteen_bit_peak(gpu) or peak
    # rack-scale parts draw more power under liquid cooling and hold higher clocks than the same chip on a board
    variant = RACK_SCALE if gpu.scale_up_domain_size > LARGEST_BOARD else ""
    wide_efficiency = by_family(calibration.gemm_efficiency, family, variant)
    efficiency, quantization = wide_efficiency, 0.0
    if precision in (Precision.FP8, Precision.MXFP8):
        efficiency = by_family(calibration.fp8_gemm_efficiency, family, variant)
        is_mx = precision is Precision.MXFP8
        quantization = calibration.mx_quantization_factor if is_mx else calibration.fp8_quantization_factor
    elif precision is Precision.FP4:
        efficiency = by_family(calibration.fp4_gemm_efficiency, family)
        quantization = calibration.fp4_quantization_factor
    is_fused = plan.recipe is Recipe.MEGATRON if plan.uses_fused_kernels is None else plan.uses_fused_kernels
    attention = by_family(calibration.attention_efficiency, family, "" if is_fused else plan.recipe.value) * wide_peak
    exponentials = wide_peak / FLOPS_PER_EXPONENTIAL.get(family, OTHER_FLOPS_PER_EXPONENTIAL)
    is_captured = variant == RACK_SCALE if plan.uses_cuda_graphs is None else plan.uses_cuda_graphs
    power = power_factor(gpu, _sixteen_bit_peak(gpu) or peak, calibration)
    has_link = gpu.scale_up_bytes_per_second > 0
    scale_up = gpu.scale_up_bytes_per_second if has_link else gpu.pcie_bytes_per_second
    return Machine(
        gemm_flops_per_second=peak * efficiency * power,
        head_flops_per_second=wide_peak * wide_efficiency * power,
        attention_flops_per_second=attention * power,
        attention_backward_flops_per_second=attention * power * calibration.attention_backward_factor,
        exponentials_per_second=exponentials * power / calibration.attention_exponential_factor,
        memory_bytes_per_second=gpu.memory_bytes_per_second * calibration.memory_efficiency,
        scale_up_bytes_per_second=scale_up * calibration.scale_up_efficiency * deployment.scale_up_bandwidth_factor,
        scale_out_bytes_per_second=max(fabric.scale_out_bytes_per_second_per_gpu, NO_NETWORK_BYTES_PER_SECOND)
        / fabric.oversubscription
        * calibration.scale_out_efficiency
        * deployment.scale_out_bandwidth_factor,
        scale_up_hop_seconds=calibration.scale_up_hop_seconds * deployment.latency_factor,
        scale_out_hop_seconds=calibration.scale_out_hop_seconds * deployment.latency_factor,
        ring_hop_seconds=calibration.ring_hop_seconds * deployment.latency_factor,
        scale_out_congestion_fraction=calibration.scale_out_congestion_fraction,
        tensor_exposed_fraction=(calibration.tensor_exposed_fraction if plan.overlaps_tensor_parallel else 1.0),
        domain_size=float(domain_size(gpu, gpus_per_server)),
        quantization_bytes=quantization,
        element_bytes=_ELEMENT_BYTES.get(precision, 2.0),
        input_bytes=_INPUT_BYTES.get(precision, 2.0),
        elementwise_factor=(calibration.elementwise_factor if is_fused else calibration.elementwise_factor_fsdp),
        dense_peak_flops_per_second=peak,
        host_bytes_per_second=gpu.pcie_bytes_per_second,
        kernel_overhead_factor=calibration.deepspeed_overhead_factor if plan.recipe is Recipe.DEEPSPEED else 1.0,
        launch_factor=calibration.captured_host_fraction if is_captured else 1.0,
        dispatch_exposed_fraction=calibration.expert_overlapped_exposed_fraction if plan.overlaps_dispatch else 1.0,
        is_dispatch_deduplicated=float(plan.deduplicates_dispatch),
    )

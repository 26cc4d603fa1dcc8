"""Achieved rates of one GPU in one cluster: datasheet figures times calibrated efficiencies and profile factors."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.engine.calibration import Calibration, by_family
from advisor.engine.specs import DeploymentProfile, FabricSpec, GpuSpec, Method, Precision, Recipe, TrainingPlan

# precisions computed by the tensor cores in another type when the hardware lacks them are refused, not replaced
_ELEMENT_BYTES = {Precision.FP32: 4.0, Precision.TF32: 4.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Rates in FLOP/s and bytes/s, latencies in seconds."""

    gemm_flops_per_second: float
    head_flops_per_second: float  # the output layer stays in 16 bit under FP8 and FP4
    attention_flops_per_second: float
    attention_backward_flops_per_second: float
    memory_bytes_per_second: float
    scale_up_bytes_per_second: float
    scale_out_bytes_per_second: float
    all_to_all_factor: float
    scale_up_hop_seconds: float
    scale_out_hop_seconds: float
    domain_size: float
    quantization_bytes: float  # moved per GEMM input element to produce its low-precision copy; 0 in 16 bit
    element_bytes: float
    elementwise_factor: float
    dense_peak_flops_per_second: float
    host_bytes_per_second: float


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
    wide_peak = dense_peak(gpu, Precision.BF16) or dense_peak(gpu, Precision.FP16) or peak
    wide_efficiency = by_family(calibration.gemm_efficiency, family)
    efficiency, quantization = wide_efficiency, 0.0
    if precision in (Precision.FP8, Precision.MXFP8):
        efficiency = by_family(calibration.fp8_gemm_efficiency, family)
        is_mx = precision is Precision.MXFP8
        quantization = calibration.mx_quantization_factor if is_mx else calibration.fp8_quantization_factor
    elif precision is Precision.FP4:
        efficiency = by_family(calibration.fp4_gemm_efficiency, family)
        quantization = calibration.fp4_quantization_factor
    attention = by_family(calibration.attention_efficiency, family) * wide_peak
    has_link = gpu.scale_up_bytes_per_second > 0
    scale_up = gpu.scale_up_bytes_per_second if has_link else gpu.pcie_bytes_per_second
    domain = gpu.scale_up_domain_size if has_link else gpus_per_server
    return Machine(
        gemm_flops_per_second=peak * efficiency,
        head_flops_per_second=wide_peak * wide_efficiency,
        attention_flops_per_second=attention,
        attention_backward_flops_per_second=attention * calibration.attention_backward_factor,
        memory_bytes_per_second=gpu.memory_bytes_per_second * calibration.memory_efficiency,
        scale_up_bytes_per_second=scale_up * calibration.scale_up_efficiency * deployment.scale_up_bandwidth_factor,
        scale_out_bytes_per_second=fabric.scale_out_bytes_per_second_per_gpu
        / fabric.oversubscription
        * calibration.scale_out_efficiency
        * deployment.scale_out_bandwidth_factor,
        all_to_all_factor=calibration.all_to_all_efficiency,
        scale_up_hop_seconds=calibration.scale_up_hop_seconds * deployment.latency_factor,
        scale_out_hop_seconds=calibration.scale_out_hop_seconds * deployment.latency_factor,
        domain_size=float(max(domain, 1)),
        quantization_bytes=quantization,
        element_bytes=_ELEMENT_BYTES.get(precision, 2.0),
        elementwise_factor=(
            calibration.elementwise_factor if plan.recipe is Recipe.MEGATRON else calibration.elementwise_factor_fsdp
        ),
        dense_peak_flops_per_second=peak,
        host_bytes_per_second=gpu.pcie_bytes_per_second,
    )

"""Architectures of published models and datasheet GPUs that several engine tests use, typed in from their sources."""

from __future__ import annotations

from typing import Any

from advisor.engine.specs import ClusterSpec, FabricSpec, GpuSpec, ModelSpec, Precision, TrainingPlan
from advisor.engine.units import MEBI, TERA, bytes_per_second_from_gbit

# Touvron et al., arXiv:2307.09288, and the model repository's config.json
LLAMA2_7B = ModelSpec(
    name="llama-2-7b",
    layer_count=32,
    hidden_size=4096,
    ffn_size=11008,
    head_count=32,
    kv_head_count=32,
    head_size=128,
    vocab_size=32000,
)
# Dubey et al., arXiv:2407.21783, Table 3
LLAMA31_405B = ModelSpec(
    name="llama-3.1-405b",
    layer_count=126,
    hidden_size=16384,
    ffn_size=53248,
    head_count=128,
    kv_head_count=8,
    head_size=128,
    vocab_size=128256,
)
LLAMA3_70B = ModelSpec(
    name="llama-3-70b",
    layer_count=80,
    hidden_size=8192,
    ffn_size=28672,
    head_count=64,
    kv_head_count=8,
    head_size=128,
    vocab_size=128256,
)
# Jiang et al., arXiv:2401.04088, Table 1
MIXTRAL_8X7B = ModelSpec(
    name="mixtral-8x7b",
    layer_count=32,
    hidden_size=4096,
    ffn_size=14336,
    head_count=32,
    kv_head_count=8,
    head_size=128,
    vocab_size=32000,
    expert_count=8,
    experts_per_token=2,
    expert_ffn_size=14336,
)
# Narayanan et al., arXiv:2104.04473 (GPT-3 with padded vocabulary), learned positions of 2048
GPT3_175B = ModelSpec(
    name="gpt3-175b",
    layer_count=96,
    hidden_size=12288,
    ffn_size=49152,
    head_count=96,
    kv_head_count=96,
    head_size=128,
    vocab_size=51200,
    gated_ffn=False,
    tied_embeddings=True,
    learned_position_count=2048,
    has_qkv_bias=True,
    has_output_bias=True,
    has_ffn_bias=True,
    norm_weight_vectors=2,
)
# BLOOM: arXiv:2211.05100, Table 3 and the model repository
BLOOM_176B = ModelSpec(
    name="bloom-176b",
    layer_count=70,
    hidden_size=14336,
    ffn_size=57344,
    head_count=112,
    kv_head_count=112,
    head_size=128,
    vocab_size=250880,
    gated_ffn=False,
    tied_embeddings=True,
    has_qkv_bias=True,
    has_output_bias=True,
    has_ffn_bias=True,
    norm_weight_vectors=2,
)

# datasheets as in catalog/data/gpus.csv: dense peaks, visible memory, links per direction
H100 = GpuSpec(
    sku="nvidia-h100-sxm5-80gb",
    name="H100 80GB SXM5",
    vendor="NVIDIA",
    architecture="Hopper",
    memory_bytes=81_559 * MEBI,
    memory_label="80 GB",
    memory_bytes_per_second=3350e9,
    dense_peak_flops_per_second={
        Precision.BF16: 989.4 * TERA,
        Precision.FP16: 989.4 * TERA,
        Precision.FP8: 1978.9 * TERA,
    },
    scale_up_bytes_per_second=450e9,
    scale_up_domain_size=8,
    pcie_bytes_per_second=63e9,
    tdp_watts=700,
)
A100 = GpuSpec(
    sku="nvidia-a100-sxm4-80gb",
    name="A100 80GB SXM4",
    vendor="NVIDIA",
    architecture="Ampere",
    memory_bytes=81_920 * MEBI,
    memory_label="80 GB",
    memory_bytes_per_second=2039e9,
    dense_peak_flops_per_second={Precision.BF16: 312 * TERA, Precision.FP16: 312 * TERA},
    scale_up_bytes_per_second=300e9,
    scale_up_domain_size=8,
    pcie_bytes_per_second=31e9,
    tdp_watts=400,
)


def plan(**changes: Any) -> TrainingPlan:
    values: dict[str, Any] = {"tokens": 1.4e12, "sequence_length": 4096, "global_batch_size": 1024}
    return TrainingPlan(**(values | changes))


def cluster(gpu: GpuSpec = H100, gpu_count: int = 512, gbit_per_second: float = 400, **changes: Any) -> ClusterSpec:
    fabric = FabricSpec(scale_out_bytes_per_second_per_gpu=bytes_per_second_from_gbit(gbit_per_second))
    return ClusterSpec(gpu=gpu, gpu_count=gpu_count, gpus_per_server=8, fabric=fabric, **changes)

"""One small job on stated hardware, for tests that need a real estimate without a database."""

from __future__ import annotations

from advisor.calibration_data import current_calibration
from advisor.engine.estimate import estimate
from advisor.engine.specs import (
    ClusterSpec,
    DeploymentProfile,
    Estimate,
    FabricSpec,
    GpuSpec,
    ModelSpec,
    Precision,
    Scenario,
    TrainingPlan,
)

# NVIDIA H100 SXM datasheet; memory as nvidia-smi shows it in MLPerf system files
H100 = GpuSpec(
    sku="nvidia-h100-sxm5-80gb",
    name="H100 80GB SXM5",
    vendor="NVIDIA",
    architecture="Hopper",
    memory_bytes=81559 * 2**20,
    memory_label="80 GB",
    memory_bytes_per_second=3.35e12,
    dense_peak_flops_per_second={Precision.BF16: 989.4e12},
    scale_up_bytes_per_second=450e9,
    scale_up_domain_size=8,
    pcie_bytes_per_second=63e9,
    tdp_watts=700.0,
)
# Llama 2 7B, arXiv:2307.09288
LLAMA_2_7B = ModelSpec(
    name="Llama 2 7B",
    layer_count=32,
    hidden_size=4096,
    ffn_size=11008,
    head_count=32,
    kv_head_count=32,
    head_size=128,
    vocab_size=32000,
)


def h100_estimate(deployment: DeploymentProfile | None = None) -> Estimate:
    """7B, 1 T tokens, 64 H100."""
    cluster = ClusterSpec(
        gpu=H100,
        gpu_count=64,
        gpus_per_server=8,
        fabric=FabricSpec(scale_out_bytes_per_second_per_gpu=50e9),
        deployment=deployment or DeploymentProfile(),
    )
    plan = TrainingPlan(tokens=1e12, sequence_length=4096, global_batch_size=1024)
    return estimate(Scenario(model=LLAMA_2_7B, plan=plan, cluster=cluster), calibration=current_calibration())

"""A model, a machine and constants with round numbers: every rate is either 1 or out of the way, so that one term of a
formula stands alone and its value can be written down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates, from_layout
from advisor.engine.machine import Machine
from advisor.engine.memory import MemoryArrays
from advisor.engine.specs import Layout, ModelSpec

# one layer: attention 8*8 + 2*8*4 + 8*8 = 192 weights, FFN 3*8*16 = 384, two norms of 8: 592 parameters; head 256.
# Attention core at 16 tokens: 2 * (16/2) keys * 2 heads * (4 + 4) = 256 FLOPs a token
SMALL = ModelSpec(
    name="small",
    layer_count=4,
    hidden_size=8,
    ffn_size=16,
    head_count=2,
    kv_head_count=1,
    head_size=4,
    vocab_size=32,
)
OUT_OF_THE_WAY = 1e30


def constants(**changes: Any) -> Calibration:
    """Efficiencies and factors 1, latencies and overlaps 0."""
    values: dict[str, Any] = {}
    for item in fields(Calibration):
        is_table = str(item.type).startswith("Mapping") or item.type is Mapping
        is_idle = item.name.endswith("_seconds") or "overlap" in item.name or "interference" in item.name
        is_idle = is_idle or item.name in ("straggler_fraction_per_doubling", "scale_out_congestion_fraction")
        values[item.name] = {"other": 1.0} if is_table else 0.0 if is_idle else 1.0
    return Calibration(**(values | changes))


def rates(**changes: float) -> Machine:
    """Nothing costs anything but what `changes` states."""
    idle = {
        "scale_up_hop_seconds": 0.0,
        "scale_out_hop_seconds": 0.0,
        "ring_hop_seconds": 0.0,
        "scale_out_congestion_fraction": 0.0,
        "quantization_bytes": 0.0,
        "element_bytes": 2.0,
        "input_bytes": 2.0,
        "launch_factor": 1.0,
        "kernel_overhead_factor": 1.0,
        "elementwise_factor": 1.0,
        "tensor_exposed_fraction": 1.0,
        "dispatch_exposed_fraction": 1.0,
        "is_dispatch_deduplicated": 0.0,
        "domain_size": 8.0,
    }
    values = {item.name: OUT_OF_THE_WAY for item in fields(Machine)}
    return Machine(**(values | idle | changes))


def candidate(micro_batch_count: int = 1, **changes: Any) -> Candidates:
    values: dict[str, Any] = {"tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 1}
    return from_layout(Layout(**(values | changes)), micro_batch_count)


def held(parameters: float = 0.0, experts: float = 0.0) -> MemoryArrays:
    """Memory of a rank whose stage holds `parameters`, `experts` of them routed experts."""
    values = {item.name: np.zeros(1) for item in fields(MemoryArrays)}
    values |= {"stage_parameters": np.array([parameters]), "stage_expert_parameters": np.array([experts])}
    return MemoryArrays(**values)

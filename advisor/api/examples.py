"""Requests shown in the documents; each is executed by a test."""

from __future__ import annotations

from typing import Any

ESTIMATE_EXAMPLE: dict[str, Any] = {
    "model": {"parameters": "70B"},
    "training": {
        "tokens": "1.4T",
        "method": "pretrain",
        "precision": "bf16",
        "optimizer": "adamw",
        "sequence_length": 4096,
        "global_batch_tokens": "4194304",
    },
    "cluster": {
        "gpu": "nvidia-h100-sxm5-80gb",
        "gpu_count": 512,
        "gpus_per_server": 8,
        "scale_out_gbit_per_second_per_gpu": 400,
        "deployment": {"profile": "bare_metal"},
    },
    "layout": {
        "tensor_parallel": 8,
        "pipeline_parallel": 4,
        "virtual_stage_count": 1,
        "context_parallel": 1,
        "expert_parallel": 1,
        "zero_stage": 1,
        "micro_batch_size": 1,
        "recomputation": "selective",
        "uses_sequence_parallel": True,
    },
}
FINE_TUNING_EXAMPLE: dict[str, Any] = {
    "model": {"parameters": "8B"},
    "training": {
        "method": "qlora",
        "lora": {"rank": 64},
        "tokens": {"samples": 50000, "sequence_length": 8192, "epochs": 3},
    },
    "cluster": {"gpu": "nvidia-a100-sxm4-80gb", "gpu_count": 8},
}
RECOMMENDATION_EXAMPLE: dict[str, Any] = {
    "model": {"parameters": "70B"},
    "training": {"tokens": "1.4T"},
    "target": {"deadline_days": 30, "budget": {"amount": "80000000", "currency": "CNY"}},
    "hardware": {"gpus": ["nvidia-h100-sxm5-80gb"], "max_gpu_count": 4096, "deployment": {"profile": "bare_metal"}},
    "commercial": {"basis": "compare", "term_months": 12, "currency": "CNY"},
    "profile": {"workload": "general", "data_sensitivity": "internal", "real_time": False},
    "limit": 3,
}
RECOMMENDATION_QUERY_EXAMPLE = "deadline_days=30&gpu=nvidia-h100-sxm5-80gb&limit=3&parameters=7e10&tokens=1.4e12&v=1"
REFUSED_EXAMPLE: dict[str, Any] = {"model": {"parameters": "8x7B"}, "training": {"tokens": "1,4T"}}

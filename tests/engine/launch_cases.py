"""Models, a layout and short constructors that the launch tests share."""

from __future__ import annotations

from advisor.engine.launch import (
    LaunchRequest,
    launch,
)
from advisor.engine.specs import (
    Layout,
    ModelSpec,
    Recomputation,
    TrainingPlan,
)

# Llama 3 70B: config.json of the published model
LLAMA = ModelSpec(
    name="llama-3-70b",
    layer_count=80,
    hidden_size=8192,
    ffn_size=28672,
    head_count=64,
    kv_head_count=8,
    head_size=128,
    vocab_size=128256,
    max_sequence_length=8192,
)
# DeepSeek-V3: config.json of the published model
DEEPSEEK = ModelSpec(
    name="deepseek-v3",
    layer_count=61,
    hidden_size=7168,
    ffn_size=18432,
    head_count=128,
    kv_head_count=128,
    head_size=128,
    vocab_size=129280,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_nope_head_size=128,
    qk_rope_head_size=64,
    v_head_size=128,
    expert_count=256,
    experts_per_token=8,
    expert_ffn_size=2048,
    shared_expert_count=1,
    dense_layer_count=3,
    mtp_layer_count=1,
)
LAYOUT = Layout(
    tensor_parallel=8,
    pipeline_parallel=4,
    data_parallel=16,
    virtual_stage_count=5,
    recomputation=Recomputation.SELECTIVE,
)


def plan_with(**changes) -> TrainingPlan:
    values = {"tokens": 1.4e12, "sequence_length": 4096, "global_batch_size": 1024}
    return TrainingPlan(**(values | changes))


def request_with(**changes) -> LaunchRequest:
    values = {"model": LLAMA, "plan": plan_with(), "layout": LAYOUT, "gpus_per_server": 8, "save_interval_steps": 120}
    return LaunchRequest(**(values | changes))


def arguments_of(request: LaunchRequest) -> set[str]:
    return {line.strip().removesuffix("\\").strip() for line in launch(request).files[0].text.splitlines()}

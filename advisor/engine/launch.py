"""Launch configuration of a layout: Megatron-LM arguments, a torchtitan job file, or a DeepSpeed file.

Names follow Megatron-LM core 0.13 and later, torchtitan 0.2 (the last with TOML job files), DeepSpeed 0.16 and later.
What sizing does not decide stays a shell variable: data, tokenizer, checkpoint path, learning rate, head address.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

from advisor.engine import launch_megatron
from advisor.engine.specs import Layout, Method, ModelSpec, Optimizer, Precision, Recipe, Recomputation, TrainingPlan

ADAPTERS = (Method.LORA, Method.QLORA)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """What runs where; `save_interval_steps` from the checkpoint plan, None for no saving."""

    model: ModelSpec
    plan: TrainingPlan
    layout: Layout
    gpus_per_server: int
    save_interval_steps: int | None = None
    kept_checkpoint_count: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFile:
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Files and the command for every server; `notes` are codes of what the user must still do or know."""

    framework: str  # megatron | torchtitan | deepspeed
    command: str
    files: tuple[LaunchFile, ...]
    environment: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def micro_batch_count(plan: TrainingPlan, layout: Layout) -> int:
    """Micro-batches of one pipeline and step.

    Raises
    ------
    ValueError
        If the global batch is no multiple of data_parallel x micro_batch_size.
    """
    each = layout.data_parallel * layout.micro_batch_size
    if plan.global_batch_size < each or plan.global_batch_size % each:
        raise ValueError(
            f"A global batch of {plan.global_batch_size} sequences is no multiple of data_parallel x micro_batch_size "
            f"= {layout.data_parallel} x {layout.micro_batch_size}."
        )
    return plan.global_batch_size // each


def step_count(plan: TrainingPlan) -> int | None:
    """Optimizer steps of the run, rounded up; None without a token count."""
    if plan.tokens is None:
        return None
    return math.ceil(plan.tokens / (plan.global_batch_size * plan.sequence_length))


def server_count(layout: Layout, gpus_per_server: int) -> int:
    """Servers of a layout, the last one perhaps not full."""
    if gpus_per_server < 1:
        raise ValueError("gpus_per_server must be at least 1.")
    return -(-layout.gpu_count // gpus_per_server)


def launch(request: LaunchRequest) -> Launch:
    """Configuration for the framework of the plan's recipe; adapters always run on DeepSpeed with PEFT.

    Parameters
    ----------
    request : LaunchRequest
        Model, plan, layout, and GPUs per server.

    Returns
    -------
    Launch

    Raises
    ------
    ValueError
        If the global batch does not divide by the layout.

    References
    ----------
    .. [1] Megatron-LM, megatron/training/arguments.py.
    .. [2] torchtitan 0.2, torchtitan/config/job_config.py.
    .. [3] DeepSpeed, "DeepSpeed Configuration JSON".
    """
    if request.plan.method in ADAPTERS or request.plan.recipe is Recipe.DEEPSPEED:
        return deepspeed(request)
    if request.plan.recipe is Recipe.MEGATRON:
        return megatron(request)
    return torchtitan(request)


def _torchrun(request: LaunchRequest, script: str) -> str:
    """The same on every server; the head's address and the server's rank are shell variables."""
    servers = server_count(request.layout, request.gpus_per_server)
    processes = min(request.gpus_per_server, request.layout.gpu_count)
    return (
        f"torchrun --nnodes {servers} --nproc-per-node {processes} --node-rank $NODE_RANK "
        f"--master-addr $MASTER_ADDR --master-port 29500 {script}"
    )


def megatron(request: LaunchRequest) -> Launch:
    """Script for Megatron-LM's pre-training programs; it runs on every server."""
    arguments, notes = launch_megatron.arguments(
        request.model,
        request.plan,
        request.layout,
        save_interval_steps=request.save_interval_steps,
    )
    micro_batch_count(request.plan, request.layout)
    environment = launch_megatron.environment(request.layout)
    lines = [
        "#!/usr/bin/env bash",
        "set -euo pipefail",
        *(f"export {name}={value}" for name, value in environment.items()),
        " \\\n  ".join((_torchrun(request, launch_megatron.SCRIPTS[request.model.kind]), *arguments)),
    ]
    return Launch(
        framework="megatron",
        command="bash train.sh",
        files=(LaunchFile(name="train.sh", text="\n".join(lines) + "\n"),),
        environment=environment,
        notes=notes,
    )


def _flavor(name: str) -> str:
    """A model's name as a plain key; names from outside may hold anything."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-") or "custom"


TomlValue = bool | int | float | str


def _toml(tables: dict[str, dict[str, TomlValue]], comments: tuple[str, ...]) -> str:
    """Tables of plain values; JSON's notation of booleans, numbers and strings is TOML's."""
    lines = [f"# {comment}" for comment in comments]
    for name, values in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _torchtitan_notes(request: LaunchRequest) -> tuple[str, ...]:
    plan, layout = request.plan, request.layout
    notes = ["register_model_flavor", "set_learning_rate"]
    if layout.zero_stage == 1:
        notes.append("zero_1_runs_as_zero_2")
    if plan.optimizer is not Optimizer.ADAMW:
        notes.append("optimizer_needs_own_code")
    if plan.precision in (Precision.FP16, Precision.FP4):
        notes.append("precision_needs_own_code")
    if not layout.uses_sequence_parallel and layout.tensor_parallel > 1:
        notes.append("sequence_parallel_always_on")
    return tuple(notes)


def _parallelism(layout: Layout) -> dict[str, TomlValue]:
    """Sharded copies: all of the data-parallel group, or groups of `shard_group_size` that are replicated (HSDP)."""
    shard = 1 if layout.zero_stage == 0 else layout.shard_group_size or layout.data_parallel
    if layout.data_parallel % shard:
        raise ValueError(f"shard_group_size {shard} does not divide data_parallel {layout.data_parallel}.")
    values: dict[str, TomlValue] = {
        "data_parallel_replicate_degree": layout.data_parallel // shard,
        "data_parallel_shard_degree": shard,
        "fsdp_reshard_after_forward": "always" if layout.zero_stage == 3 else "never",
        "tensor_parallel_degree": layout.tensor_parallel,
        "pipeline_parallel_degree": layout.pipeline_parallel,
        "context_parallel_degree": layout.context_parallel,
        "expert_parallel_degree": layout.expert_parallel,
    }
    if layout.pipeline_parallel > 1:
        values["pipeline_parallel_schedule"] = "Interleaved1F1B" if layout.virtual_stage_count > 1 else "1F1B"
        values["pipeline_parallel_microbatch_size"] = layout.micro_batch_size
    return values


def torchtitan(request: LaunchRequest) -> Launch:
    """Job file of torchtitan 0.2; ZeRO 3 gathers weights again in the backward pass, ZeRO 2 keeps them."""
    model, plan, layout = request.model, request.plan, request.layout
    count = micro_batch_count(plan, layout)
    # a pipeline gets all micro-batches of a step at once; without one they are accumulated
    local = layout.micro_batch_size * (count if layout.pipeline_parallel > 1 else 1)
    parallelism = _parallelism(layout)
    if layout.pipeline_parallel > 1:
        chunks = layout.pipeline_parallel * layout.virtual_stage_count
        parallelism["pipeline_parallel_layers_per_stage"] = math.ceil(model.layer_count / chunks)
    training: dict[str, TomlValue] = {
        "local_batch_size": local,
        "global_batch_size": plan.global_batch_size,
        "seq_len": plan.sequence_length,
        "mixed_precision_param": "float32" if plan.precision in (Precision.FP32, Precision.TF32) else "bfloat16",
    }
    if plan.recipe is Recipe.PURE_BF16:
        training["dtype"] = "bfloat16"
    if plan.offload != "none":
        training["enable_cpu_offload"] = True
    steps = step_count(plan)
    if steps is not None:
        training["steps"] = steps
    recompute: dict[str, TomlValue] = {"mode": layout.recomputation.value}
    if layout.recomputation is Recomputation.SELECTIVE:
        recompute["selective_ac_option"] = "op"
    tables: dict[str, dict[str, TomlValue]] = {
        "model": {"name": "deepseek_v3" if model.is_moe else "llama3", "flavor": _flavor(model.name)},
        "training": training,
        "optimizer": {"name": "AdamW", "early_step_in_backward": plan.optimizer_in_backward},
        "parallelism": parallelism,
        "activation_checkpoint": recompute,
        "compile": {"enable": True},
    }
    if plan.precision is Precision.FP8:
        tables["quantize.linear.float8"] = {"enable_fsdp_float8_all_gather": layout.zero_stage >= 2}
    if request.save_interval_steps is not None:
        tables["checkpoint"] = {
            "enable": True,
            "interval": request.save_interval_steps,
            "async_mode": "async_with_pinned_mem",
            "keep_latest_k": request.kept_checkpoint_count,
        }
    shape = (
        f"{model.layer_count} layers, hidden {model.hidden_size}, heads {model.head_count}/{model.kv_head_count} x "
        f"{model.head_size}, feed-forward {model.ffn_size}, vocabulary {model.vocab_size}"
    )
    text = _toml(tables, (f"register the flavor with: {shape}", f"{layout.gpu_count} GPUs"))
    return Launch(
        framework="torchtitan",
        command=_torchrun(request, "-m torchtitan.train --job.config_file job.toml"),
        files=(LaunchFile(name="job.toml", text=text),),
        environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        notes=_torchtitan_notes(request),
    )


JsonValue = bool | int | float | str | list[str] | dict[str, "JsonValue"]


def deepspeed_configuration(plan: TrainingPlan, layout: Layout) -> dict[str, JsonValue]:
    """DeepSpeed's settings as a dictionary; batch = micro-batch x accumulation x data-parallel group."""
    zero: dict[str, JsonValue] = {
        "stage": layout.zero_stage,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_scatter": True,
    }
    if layout.zero_stage == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
        if layout.shard_group_size is not None:
            zero["zero_hpz_partition_size"] = layout.shard_group_size
    if plan.offload in ("optimizer", "parameters"):
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if plan.offload == "parameters":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    gradient = "fp32" if plan.gradient_bytes_per_parameter == 4 else "bf16"
    configuration: dict[str, JsonValue] = {
        "train_batch_size": plan.global_batch_size,
        "train_micro_batch_size_per_gpu": layout.micro_batch_size,
        "gradient_accumulation_steps": micro_batch_count(plan, layout),
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
    }
    if plan.precision is Precision.FP16:
        configuration["fp16"] = {"enabled": True, "loss_scale": 0}
    elif plan.precision not in (Precision.FP32, Precision.TF32):
        configuration["bf16"] = {"enabled": True}
        configuration["data_types"] = {"grad_accum_dtype": gradient}
    if layout.tensor_parallel > 1:
        configuration["tensor_parallel"] = {"autotp_size": layout.tensor_parallel}
    return configuration


# Names of the projections in Hugging Face decoder models
_PROJECTIONS = {
    "q": "q_proj",
    "k": "k_proj",
    "v": "v_proj",
    "o": "o_proj",
    "gate": "gate_proj",
    "up": "up_proj",
    "down": "down_proj",
}


def adapter_configuration(plan: TrainingPlan) -> dict[str, JsonValue]:
    """Settings of PEFT's LoraConfig and, for QLoRA, of the 4-bit base model.

    Raises
    ------
    ValueError
        If the plan has no LoRA settings.
    """
    if plan.lora is None:
        raise ValueError("An adapter method needs its LoRA settings.")
    peft: dict[str, JsonValue] = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": plan.lora.rank,
        "lora_alpha": 2 * plan.lora.rank,
        "target_modules": [_PROJECTIONS[target] for target in plan.lora.targets],
    }
    if plan.lora.trains_embeddings_and_head:
        peft["modules_to_save"] = ["embed_tokens", "lm_head"]
    if plan.method is not Method.QLORA:
        return {"peft": peft}
    base: dict[str, JsonValue] = {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": plan.double_quantization,
        "bnb_4bit_compute_dtype": "bfloat16",
    }
    return {"peft": peft, "base_model": base}


def deepspeed(request: LaunchRequest) -> Launch:
    """DeepSpeed file, and PEFT's settings for adapters. The training script is the user's."""
    plan, layout = request.plan, request.layout
    files = [LaunchFile(name="deepspeed.json", text=_json(deepspeed_configuration(plan, layout)))]
    notes = ["training_script_is_yours", "set_learning_rate"]
    if plan.method in ADAPTERS and plan.lora is not None:
        files.append(LaunchFile(name="adapter.json", text=_json(adapter_configuration(plan))))
    if layout.pipeline_parallel > 1:
        notes.append("pipeline_needs_pipeline_module")
    if layout.tensor_parallel > 1 and layout.zero_stage == 3:
        notes.append("tensor_parallel_needs_zero_2")
    if layout.context_parallel > 1:
        notes.append("context_parallel_runs_as_ulysses")
    if layout.recomputation is not Recomputation.NONE:
        notes.append("enable_gradient_checkpointing_in_script")
    if plan.optimizer is not Optimizer.ADAMW:
        notes.append("optimizer_needs_own_code")
    return Launch(
        framework="deepspeed",
        command=_torchrun(request, "$TRAINING_SCRIPT --deepspeed deepspeed.json"),
        files=tuple(files),
        notes=tuple(notes),
    )


def _json(value: dict[str, JsonValue]) -> str:
    return json.dumps(value, indent=2) + "\n"

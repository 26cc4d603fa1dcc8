"""Arguments of Megatron-LM for a model, a plan and a layout (names as in core 0.13 and later)."""

from __future__ import annotations

import math

from advisor.engine.specs import (
    AttentionKernel,
    Layout,
    ModelKind,
    ModelSpec,
    Optimizer,
    Precision,
    Recomputation,
    TrainingPlan,
)

SCRIPTS: dict[ModelKind, str] = {
    ModelKind.DECODER: "pretrain_gpt.py",
    ModelKind.ENCODER: "pretrain_bert.py",
    ModelKind.VISION: "pretrain_vision_classify.py",
}

_PRECISION: dict[Precision, tuple[str, ...]] = {
    Precision.BF16: ("--bf16",),
    Precision.FP16: ("--fp16",),
    Precision.FP8: ("--bf16", "--fp8-format hybrid", "--fp8-recipe tensorwise"),
    Precision.MXFP8: ("--bf16", "--fp8-format e4m3", "--fp8-recipe mxfp8"),
    Precision.FP4: ("--bf16", "--fp4-format e2m1", "--fp4-recipe nvfp4"),
    Precision.FP32: (),
    Precision.TF32: (),
}

_OPTIMIZER: dict[Optimizer, tuple[str, ...]] = {
    Optimizer.ADAMW: ("--optimizer adam",),
    Optimizer.ADAMW_8BIT: (
        "--optimizer adam",
        "--use-precision-aware-optimizer",
        "--exp-avg-dtype fp8",
        "--exp-avg-sq-dtype fp8",
    ),
    Optimizer.SGD: ("--optimizer sgd",),
    Optimizer.MUON: ("--optimizer muon",),
}


def environment(layout: Layout) -> dict[str, str]:
    """One hardware queue makes communication start in order; fully sharded weights need several."""
    return {} if layout.zero_stage >= 2 else {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def arguments(
    model: ModelSpec, plan: TrainingPlan, layout: Layout, *, save_interval_steps: int | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Arguments, one per item and quoted for a shell, and notes on what Megatron-LM does not take from here.

    Parameters
    ----------
    model, plan, layout
        What is trained, how, and split how.
    save_interval_steps : int, optional
        Steps between checkpoints; None does not save.

    Returns
    -------
    tuple of (tuple of str, tuple of str)
        Arguments and note codes.
    """
    notes = ["set_learning_rate", "set_data_and_tokenizer"]
    if plan.optimizer not in _OPTIMIZER:
        notes.append("optimizer_needs_own_code")
    uneven, uneven_notes = _uneven_stages(model, layout)
    found = (
        *_shape(model, plan),
        *_experts(model, plan, layout),
        *_latent_attention(model),
        *_parallel(plan, layout),
        *uneven,
        *_training(plan, layout),
        '--data-path "$DATA_PATH"',
        "--tokenizer-type HuggingFaceTokenizer",
        '--tokenizer-model "$TOKENIZER_PATH"',
        '--lr "$LEARNING_RATE"',
    )
    if save_interval_steps is not None:
        found = (
            *found,
            '--save "$CHECKPOINT_PATH"',
            '--load "$CHECKPOINT_PATH"',
            f"--save-interval {save_interval_steps}",
            f"--ckpt-format {'fsdp_dtensor' if layout.zero_stage >= 2 else 'torch_dist'}",
        )
        # the sharded format is written synchronously
        if layout.zero_stage < 2:
            found = (*found, "--async-save")
    return found, (*notes, *uneven_notes)


def _shape(model: ModelSpec, plan: TrainingPlan) -> list[str]:
    longest = max(model.max_sequence_length, plan.sequence_length, model.learned_position_count)
    found = [
        f"--num-layers {model.layer_count}",
        f"--hidden-size {model.hidden_size}",
        f"--ffn-hidden-size {model.ffn_size}",
        f"--num-attention-heads {model.head_count}",
        f"--seq-length {plan.sequence_length}",
        f"--max-position-embeddings {longest}",
        f"--vocab-size {model.vocab_size}",
        f"--position-embedding-type {'learned_absolute' if model.learned_position_count else 'rope'}",
        f"--normalization {'RMSNorm' if model.norm_weight_vectors == 1 else 'LayerNorm'}",
    ]
    if not model.uses_mla:  # latent attention names its head sizes apart
        found.append(f"--kv-channels {model.head_size}")
    if model.kv_head_count != model.head_count and not model.uses_mla:
        found += ["--group-query-attention", f"--num-query-groups {model.kv_head_count}"]
    flags = {
        "--swiglu": model.gated_ffn,
        "--untie-embeddings-and-output-weights": not model.tied_embeddings,
        "--disable-bias-linear": not (model.has_output_bias or model.has_ffn_bias),
        "--add-qkv-bias": model.has_qkv_bias and not model.has_output_bias,
        "--qk-layernorm": model.has_qk_norm,
    }
    found += [flag for flag, is_set in flags.items() if is_set]
    if model.sliding_window:
        found.append(f"--window-size {model.sliding_window},0")
        if model.window_period > 1:
            found.append(f"--window-attn-skip-freq {_window_pattern(model)}")
    if model.mtp_layer_count:
        found.append(f"--mtp-num-layers {model.mtp_layer_count}")
    return found


def _window_pattern(model: ModelSpec) -> str:
    """N means N - 1 layers with the window, then one without; any other pattern is a list of 1 and 0 by layer."""
    windowed, period = model.window_layers_per_period, model.window_period
    if windowed == period - 1:
        return str(period)
    layers = [int(layer % period < windowed) for layer in range(model.layer_count)]
    return f"'[{','.join(str(layer) for layer in layers)}]'"


def _dispatcher(plan: TrainingPlan) -> list[str]:
    found = ["--moe-token-dispatcher-type flex", "--moe-enable-deepep"]
    if not plan.deduplicates_dispatch:
        found = ["--moe-token-dispatcher-type alltoall"]
    return [*found, "--overlap-moe-expert-parallel-comm"] if plan.overlaps_dispatch else found


def _experts(model: ModelSpec, plan: TrainingPlan, layout: Layout) -> list[str]:
    if not model.is_moe:
        return []
    found = [
        f"--num-experts {model.expert_count}",
        f"--moe-router-topk {model.experts_per_token}",
        f"--moe-ffn-hidden-size {model.expert_ffn_size}",
        f"--expert-model-parallel-size {layout.expert_parallel}",
        "--expert-tensor-parallel-size 1" if layout.expert_parallel > 1 else "",
        *_dispatcher(plan),
        "--moe-grouped-gemm",
        "--moe-permute-fusion",
    ]
    if model.shared_expert_count:
        width = model.shared_expert_count * (model.shared_expert_ffn_size or model.expert_ffn_size)
        found.append(f"--moe-shared-expert-intermediate-size {width}")
    if model.dense_layer_count:
        rest = model.layer_count - model.dense_layer_count
        found.append(f"--moe-layer-freq '([0]*{model.dense_layer_count}+[1]*{rest})'")
    elif model.moe_layer_interval > 1:
        found.append(f"--moe-layer-freq {model.moe_layer_interval}")
    return [argument for argument in found if argument]


def _latent_attention(model: ModelSpec) -> list[str]:
    if not model.uses_mla:
        return []
    found = [
        "--multi-latent-attention",
        f"--kv-lora-rank {model.kv_lora_rank}",
        f"--qk-head-dim {model.qk_nope_head_size}",
        f"--qk-pos-emb-head-dim {model.qk_rope_head_size}",
        f"--v-head-dim {model.v_head_size or model.head_size}",
    ]
    return [*found, f"--q-lora-rank {model.q_lora_rank}"] if model.q_lora_rank else found


def _parallel(plan: TrainingPlan, layout: Layout) -> list[str]:
    found = [
        f"--tensor-model-parallel-size {layout.tensor_parallel}",
        f"--pipeline-model-parallel-size {layout.pipeline_parallel}",
        f"--context-parallel-size {layout.context_parallel}",
    ]
    if layout.tensor_parallel > 1 and layout.uses_sequence_parallel:
        found.append("--sequence-parallel")
        if plan.overlaps_tensor_parallel:
            found.append("--tp-comm-overlap")
    if layout.virtual_stage_count > 1:
        found.append(f"--num-virtual-stages-per-pipeline-rank {layout.virtual_stage_count}")
    if layout.zero_stage >= 1:
        found += ["--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"]
    if layout.zero_stage >= 2:
        strategy = "optim_grads_params" if layout.zero_stage == 3 else "optim_grads"
        found += [
            "--use-megatron-fsdp",
            f"--data-parallel-sharding-strategy {strategy}",
            "--no-gradient-accumulation-fusion",
        ]
    return found


def _uneven_stages(model: ModelSpec, layout: Layout) -> tuple[list[str], tuple[str, ...]]:
    """A last stage with fewer layers where the layers do not divide; interleaved stages need a layout by hand."""
    stages = layout.pipeline_parallel
    if model.layer_count % (stages * layout.virtual_stage_count) == 0:
        return [], ()
    each = math.ceil(model.layer_count / stages)
    last = model.layer_count - each * (stages - 1)
    if layout.virtual_stage_count > 1 or last < 1:
        return [], ("uneven_stages_need_layout",)
    return [f"--decoder-last-pipeline-num-layers {last}"], ()


def _training(plan: TrainingPlan, layout: Layout) -> list[str]:
    found = [
        f"--micro-batch-size {layout.micro_batch_size}",
        f"--global-batch-size {plan.global_batch_size}",
        *_PRECISION[plan.precision],
        *_OPTIMIZER.get(plan.optimizer, ()),
        "--transformer-impl transformer_engine",
        f"--attention-backend {'flash' if plan.attention is AttentionKernel.FLASH else 'unfused'}",
        "--clip-grad 1.0",
    ]
    if plan.tokens is not None:
        found.append(f"--train-samples {math.ceil(plan.tokens / plan.sequence_length)}")
    if plan.gradient_bytes_per_parameter == 2:
        found.append("--grad-reduce-in-bf16")
    if plan.uses_fused_loss:
        found.append("--cross-entropy-loss-fusion")
    if not plan.dropout:
        found += ["--attention-dropout 0", "--hidden-dropout 0"]
    if plan.offload in ("optimizer", "parameters"):
        found += ["--optimizer-cpu-offload", "--overlap-cpu-optimizer-d2h-h2d"]
        if plan.optimizer is not Optimizer.ADAMW_8BIT:  # which sets it itself
            found.append("--use-precision-aware-optimizer")
    if layout.recomputation is Recomputation.SELECTIVE:
        found.append("--recompute-granularity selective")
        if plan.recomputed_parts:
            found.append(f"--recompute-modules {' '.join(plan.recomputed_parts)}")
    elif layout.recomputation is Recomputation.FULL:
        found += ["--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"]
    return found

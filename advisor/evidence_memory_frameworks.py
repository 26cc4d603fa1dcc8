"""What a framework of a memory row is known to do that no column carries: rules by framework, never by row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from advisor.engine.specs import Method, ModelSpec, Recipe, TrainingPlan
from advisor.engine.units import BYTES_16BIT
from advisor.evidence_hardware import whole

# Instruction data that is not packed rarely reaches the length limit. Alpaca's samples have about 100 tokens on the
# average and a batch of a few is padded to its longest; self-cognition sets have less.
UNPACKED_SAMPLE_TOKENS = 512
SHORT_SAMPLE_TOKENS = 256
SHORT_SAMPLE_WORDS = ("short samples", "short) samples", "samples are much shorter")

GRADIENT_SCRATCH_YEAR = 2025  # TransformerEngine 2.3
COMPILED_LOSS_YEAR = 2025  # torchtitan pull request 1033


def _is(row: Mapping[str, str], framework: str) -> bool:
    return framework in row["framework"].lower()


def held_model(row: Mapping[str, str], model: ModelSpec, notes: list[str]) -> ModelSpec:
    """The model as the framework holds it."""
    if model.tied_embeddings and _is(row, "litgpt"):
        notes.append("model: LitGPT's converter writes a head of its own (convert_hf_checkpoint.py, lm_head.weight)")
        return replace(model, tied_embeddings=False)
    return model


def real_sequence_length(row: Mapping[str, str], length: int, notes: list[str]) -> int:
    """The stated length, unless the samples never reach it."""
    low = row["notes"].lower()
    real = length
    if row["kind"] == "measured_peak" and any(words in low for words in SHORT_SAMPLE_WORDS):
        real = SHORT_SAMPLE_TOKENS
    elif _is(row, "torchtune") and "packed" not in low and row["kind"] == "measured_peak":
        real = UNPACKED_SAMPLE_TOKENS
    if real >= length:
        return length
    notes.append(f"sequence length: samples are not packed and shorter than the limit, {real} tokens taken")
    return real


def held_plan(row: Mapping[str, str], plan: TrainingPlan, gpu_count: int, notes: list[str]) -> TrainingPlan:
    """The plan with what the framework keeps beyond the columns."""
    low = row["notes"].lower()
    if _is(row, "litgpt"):
        # chunks of the head's output stay alive in a list until the whole loss is differentiated; torchtune found the
        # same before it chunked ahead of the head (torchtune pull request 1390)
        notes.append("loss: LitGPT's chunked loss keeps the logits of all chunks (chunked_cross_entropy)")
        plan = replace(plan, uses_fused_loss=False)
        if plan.recipe is Recipe.FSDP and plan.method is Method.FULL_FINETUNE:
            notes.append("gradients: LitGPT accumulates under no_backward_sync, FSDP keeps them whole")
            plan = replace(plan, whole_gradients=True)
        if plan.recipe is Recipe.FSDP and "full model is held" in low:
            notes.append("weights: the whole model and the shard beside it, as the notes say")
            plan = replace(plan, weight_bytes_per_parameter=BYTES_16BIT * (1 + 1 / gpu_count))
    if _is(row, "torchtitan") and "compile" in low and (whole(row["year"]) or 0) >= COMPILED_LOSS_YEAR:
        notes.append("loss: torchtitan compiles it with the model since 2025, which keeps the logits alone")
        plan = replace(plan, uses_fused_loss=True)
    if plan.recipe in (Recipe.FSDP, Recipe.PURE_BF16) and re.search(r"torch\.compile|\bcompile\b|compile\+", low):
        notes.append("kernels: torch.compile fuses element-wise operations and keeps their inputs alone")
        plan = replace(plan, compiles_layers=True)
    if plan.recipe is Recipe.MEGATRON and (whole(row["year"]) or GRADIENT_SCRATCH_YEAR) < GRADIENT_SCRATCH_YEAR:
        notes.append("gradients: no scratch beside them before TransformerEngine 2.3")
        plan = replace(plan, has_gradient_scratch=False)
    if _is(row, "megatron-swift") and plan.uses_fused_loss:
        notes.append("loss: Megatron-Core's own fusion casts logits to fp32 (fused_cross_entropy.py)")
        plan = replace(plan, uses_fused_loss=False)
    return plan

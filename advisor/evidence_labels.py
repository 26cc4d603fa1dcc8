"""Words of the evidence files -> the engine's terms: precision, recipe, sharding, recomputation. Pure look-ups."""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.engine.specs import AttentionKernel, Optimizer, Precision, Recipe, Recomputation, RecomputedPart

FLASH_ATTENTION_YEAR = 2023  # training frameworks took it up that year (arXiv:2205.14135 is of mid-2022)
SEQUENCE_PARALLEL_YEAR = 2023  # arXiv:2205.05198; its own rows state the setting
INTERLEAVING_FRAMEWORKS = ("nemo", "megatron-bridge", "nvidia release", "ngc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """A zero_or_fsdp cell: ZeRO stage, and GPUs that share one copy (None: the whole data-parallel group)."""

    zero_stage: int
    shard_group_size: int | None = None


def precision_of(label: str, params_total: float) -> tuple[Precision, str]:
    """Precision of a run's label, with a note where the label leaves a doubt.

    `not established` rows follow the assumption printed in the label; FP8-or-NVFP4 rows are read as FP8, the wider
    type; FP8-MX is the block-scaled type.
    """
    text = label.lower()
    if not text:
        return Precision.BF16, "precision: blank, BF16 taken"
    doubt = f"precision: {label}" if "not established" in text else ""
    if "fp8 or nvfp4" in text:
        return Precision.FP8, doubt
    if "mxfp8" in text or "fp8-mx" in text:
        return Precision.MXFP8, doubt
    if "fp4" in text:
        return Precision.FP4, doubt
    if "fp8" in text:
        return Precision.FP8, doubt
    if "1b: bf16" in text:
        return (Precision.BF16 if 0.9e9 < params_total < 1.1e9 else Precision.FP16), ""
    if "bf16/fp16" in text:
        return Precision.BF16, "precision: BF16 or FP16, the same rate"
    if "bf16" in text:
        return Precision.BF16, doubt
    if "fp16" in text:
        return Precision.FP16, doubt
    if "fp32" in text:
        return Precision.FP32, doubt
    return Precision.BF16, f"precision: {label!r} not known, BF16 taken"


def recipe_of(framework: str, gpu_vendor: str) -> tuple[Recipe, str]:
    """Recipe (which tensor is held in which type, how the allocator behaves) of a framework's name."""
    text = framework.lower()
    if any(word in text for word in ("deepspeed", "internevo", "gpt-neox", "colossal", "sagemaker")):
        return Recipe.DEEPSPEED, ""
    if any(word in text for word in ("fsdp", "torchtitan", "llm-foundry", "composer", "automodel", "maxtext", "paxml")):
        return Recipe.FSDP, ""
    if any(word in text for word in ("lit-gpt", "litgpt", "lightning", "accelerate", "llama-recipes", "torchtune")):
        return Recipe.FSDP, ""
    if any(word in text for word in ("megatron", "nemo", "mindformers", "modellink", "mindspeed", "gigatron")):
        return Recipe.MEGATRON, ""
    if "llmboost" in text or "rocm" in text or (gpu_vendor == "AMD" and "pytorch" in text):
        return Recipe.FSDP, "recipe: PyTorch on ROCm taken as fully sharded"
    if "nvidia release" in text or "ngc" in text or "mxnet" in text or "nvidia" in text:
        return Recipe.MEGATRON, "recipe: a vendor container, taken as NeMo"
    return Recipe.MEGATRON, f"recipe: framework {framework!r} taken as Megatron-like"


def has_fused_kernels(framework: str) -> bool:
    """Frameworks outside Megatron whose compiler or library fuses as it does: XLA, TransformerEngine in AutoModel."""
    return any(word in framework.lower() for word in ("maxtext", "paxml", "/jax", "automodel"))


def captures_graphs(framework: str, source_title: str, notes: str) -> bool | None:
    """Whether layers are launched as CUDA graphs: where the notes say so, in benchmark submissions and under XLA.

    None otherwise: as the usual recipe of the GPU has it.
    """
    low = notes.lower()
    if "cuda graph" in low:
        return "no cuda graph" not in low
    is_compiled = any(word in framework.lower() for word in ("maxtext", "paxml", "/jax"))
    return True if is_compiled or source_title.startswith("MLPerf") else None


def follows_performance_recipes(framework: str) -> bool:
    """Whether a run follows NVIDIA's performance recipes: NeMo, Megatron-Bridge, the submissions made of them.

    They run tensor-parallel collectives beside the multiplications, an option that plain Megatron-LM leaves off
    (--tp-comm-overlap), and reduce gradients in 16 bit (Megatron-Bridge, scripts/performance: grad_reduce_in_fp32 is
    False).
    """
    return interleaves_by_default(framework) and "automodel" not in framework.lower()


def gathers_fp8_weights(framework: str, precision: str) -> bool:
    """Whether sharded weights travel in FP8: torchtitan with one scale per tensor.

    Its published runs enable it (enable_fsdp_float8_all_gather); with a scale per row torchao has no such gather.
    """
    low = precision.lower()
    return "torchtitan" in framework.lower() and "float8" in low and "rowwise" not in low


def stops_recomputation_early(framework: str, year: int) -> bool | None:
    """Whether full recomputation leaves out a layer's last product: XLA always; None as the recipe does today.

    PyTorch does since 2.1, of October 2023.
    """
    if any(word in framework.lower() for word in ("maxtext", "paxml", "/jax")):
        return True
    return None if year > 2023 else False


def dispatch_of(framework: str, notes: str, is_rack: bool, is_interleaved: bool) -> tuple[bool, bool]:
    """(a token crosses once to each domain, exchanges run beside other micro-batches) of a mixture-of-experts run.

    By the notes; else Megatron-Bridge as its performance recipes have it (scripts/performance/configs: HybridEP in
    racks, the plain all-to-all elsewhere, which interleaved pipelines overlap); others with the plain one, exposed.
    """
    low = notes.lower()
    is_recipe = "megatron-bridge" in framework.lower()
    is_deduplicated = "deepep" in low or "hybridep" in low or (is_recipe and is_rack)
    return is_deduplicated, "ep overlap" in low or (is_recipe and not is_rack and is_interleaved)


def sharding_of(text: str, recipe: Recipe, year: int, gpus_per_server: int) -> tuple[Sharding, str]:
    """ZeRO stage and shard group of a zero_or_fsdp cell; blank follows the framework's habit."""
    low = text.lower()
    if not low:
        if recipe is Recipe.FSDP:
            return Sharding(zero_stage=3), "sharding: blank, fully sharded as the framework does"
        if recipe is Recipe.MEGATRON and year < FLASH_ATTENTION_YEAR:
            return Sharding(zero_stage=0), "sharding: blank, replicated optimizer as Megatron-LM of that year"
        return Sharding(zero_stage=1), "sharding: blank, distributed optimizer taken"
    if low in ("none", "no"):
        return Sharding(zero_stage=0), ""
    if "distributed optimizer" in low:
        return Sharding(zero_stage=1), ""
    group = re.search(r"(?:over|fsdp)\s*(\d+)", low) if "fsdp2" not in low else None
    size = int(group[1]) if group else None
    if "shard_grad_op" in low or "zero-2" in low or "zero2" in low:
        return Sharding(zero_stage=2, shard_group_size=size), ""
    if "zero-3" in low or "zero3" in low:
        note = "sharding: MiCS group size not stated, the whole group taken" if "mics" in low else ""
        return Sharding(zero_stage=3, shard_group_size=size), note
    if "zero-1" in low or "zero1" in low:
        return Sharding(zero_stage=1, shard_group_size=size), ""
    if "hsdp" in low:
        return Sharding(zero_stage=3, shard_group_size=gpus_per_server), "sharding: HSDP, one copy a server taken"
    if "fsdp" in low:
        note = "sharding: FSDP x DP split not stated, the whole group taken" if "dp" in low[4:] and not size else ""
        return Sharding(zero_stage=3, shard_group_size=size), note
    return Sharding(zero_stage=1), f"sharding: {text!r} not known, distributed optimizer taken"


# Checkpoint policies of published benchmark scripts (NVIDIA/dgxc-benchmarking v25.01: paxml/paxml_mod_configs.py,
# SAVE_DOT_ONLY, which keeps products and repeats the attention kernel; maxtext/configure.sh, save_qkv_proj).
RECIPE_RECOMPUTATIONS = {"paxml": Recomputation.SELECTIVE, "maxtext": Recomputation.FULL}


def _recipe_recomputation(framework: str) -> tuple[Recomputation | None, str]:
    for name, recomputation in RECIPE_RECOMPUTATIONS.items():
        if name in framework.lower():
            return recomputation, f"recomputation: unknown, {recomputation.value} as the benchmark's script has it"
    return None, "recomputation: unknown, the least that fits"


def recomputation_of(text: str, framework: str = "") -> tuple[Recomputation | None, str]:
    """Recomputation of a cell; None (the least that fits) where unknown."""
    low = text.lower()
    if low in ("", "unknown"):
        return _recipe_recomputation(framework)
    try:
        return Recomputation(low), ""
    except ValueError:
        return None, f"recomputation: {text!r} not known, the least that fits"


def recomputed_parts_of(text: str, notes: str, recipe: Recipe) -> tuple[RecomputedPart, ...]:
    """Modules that the notes name ("selective modules: moe,layernorm"), in the order of the enum.

    None but where the recomputation cell says selective and the framework has such modules.
    """
    if recipe is not Recipe.MEGATRON or recomputation_of(text)[0] is not Recomputation.SELECTIVE:
        return ()
    named = re.search(r"(?:modules:? |recompute=)([a-z_]+(?:\s*[+,]\s*[a-z_]+)*)", notes.lower())
    words = re.split(r"\s*[+,]\s*", named[1]) if named else []
    return tuple(part for part in RecomputedPart if part.value in words)


def avoids_recomputation(framework: str, year: int) -> bool:
    """Whether an unknown recomputation is taken as none: the performance recipes of Megatron and NeMo from 2023 on.

    Their published rates leave no room for a second forward pass: Llama 3 70B at 50 % and Nemotron-4 340B at 46 % of
    the BF16 peak of an H100 would mean 67 % and 61 % executed, above what such layers reach.
    """
    text = framework.lower()
    names = ("nemo", "megatron", "nvidia release", "ngc", "nvidia pytorch")
    return year >= FLASH_ATTENTION_YEAR and any(name in text for name in names) and "automodel" not in text


def optimizer_of(text: str) -> tuple[Optimizer, bool, str]:
    """(optimizer, gradients are freed layer by layer, note) of an optimizer cell."""
    low = text.lower()
    in_backward = low.endswith(("_in_bwd", "_per_layer"))
    if not low:
        return Optimizer.ADAMW, False, "optimizer: blank, AdamW taken"
    if "muon" in low:
        return Optimizer.MUON, in_backward, ""
    if "adafactor" in low:
        return Optimizer.ADAFACTOR, in_backward, ""
    if "lion" in low:
        return Optimizer.LION, in_backward, ""
    if "8bit" in low:
        return Optimizer.ADAMW_8BIT, in_backward, ""
    if low.startswith("sgd"):
        return Optimizer.SGD, in_backward, ""
    return Optimizer.ADAMW, in_backward, ""


def attention_of(text: str, year: int) -> tuple[AttentionKernel, str]:
    """Attention kernel of a cell, or by the year where it is blank."""
    low = text.lower()
    if low in ("flash", "sdpa", "flex", "xformers", "triton"):
        return AttentionKernel.FLASH, ""
    if low in ("eager", "torch", "unfused"):
        return AttentionKernel.EAGER, ""
    if year and year < FLASH_ATTENTION_YEAR:
        return AttentionKernel.EAGER, "attention: unfused before 2023"
    return AttentionKernel.FLASH, "attention: flash from 2023 on"


def interleaves_by_default(framework: str) -> bool:
    """Whether a pipeline of this framework with no stated schedule is taken as interleaved.

    Published NeMo runs that leave the schedule out are as fast as their twins that state twelve chunks, and could not
    be without interleaving: with 16 micro-batches on 8 stages the plain bubble alone would cost 44 %.
    """
    text = framework.lower()
    return any(word in text for word in INTERLEAVING_FRAMEWORKS)


# Words in a run's notes -> what they say that no column carries.
NOTE_CAUSES = (
    ("without forced balance", "expert_capacity"),
    ("tokendrop", "token_drop"),
    ("token drop", "token_drop"),
    ("known performance regression", "known_regression"),
)


def note_cause_of(notes: str) -> str:
    """A cause of the published rate that only the notes name; empty where they name none."""
    low = notes.lower()
    return next((cause for words, cause in NOTE_CAUSES if words in low), "")


MEMORY_NOTE_CAUSES = (
    ("activations go to host", "activation_offload"),
    ("activation offload", "activation_offload"),
    ("activation_cpu_offload", "activation_offload"),
    ("checkpoints moved to cpu", "activation_offload"),
    ("samples are shorter", "shorter_samples"),
    ("samples are much shorter", "shorter_samples"),
    ("short samples", "shorter_samples"),
    ("kv cache kept", "kv_cache"),
    ("hybrid mamba", "state_space_layers"),
)


def memory_note_cause_of(notes: str) -> str:
    """A cause of the published memory that only the notes name; empty where they name none."""
    low = notes.lower()
    return next((cause for words, cause in MEMORY_NOTE_CAUSES if words in low), "")


LORA_ALL = ("q", "k", "v", "o", "gate", "up", "down")
_LORA_WORDS = {
    "q": ("q",),
    "k": ("k",),
    "v": ("v",),
    "o": ("o",),
    "gate": ("gate",),
    "up": ("up",),
    "down": ("down",),
    "query_key_value": ("q", "k", "v"),
    "qkv_proj": ("q", "k", "v"),
    "o_proj": ("o",),
    "proj": ("o",),
    "mlp": ("gate", "up", "down"),
    "c_attn": ("q", "k", "v"),
    "c_proj": ("o", "down"),  # Qwen names both output projections so
    "w1": ("up",),
    "w2": ("gate",),
    "all linear": LORA_ALL,
}


def lora_targets_of(text: str) -> tuple[tuple[str, ...], bool, str]:
    """(adapted projections, embeddings and head are trained whole, note) of a lora_targets cell."""
    low = text.lower()
    trains_embeddings = "full" in low and ("wte" in low or "embed" in low)
    named: list[str] = []
    unknown: list[str] = []
    for word in (part.strip() for part in low.split("+")[0].split(",") if part.strip()):
        if word in ("head", "lm_head"):
            continue  # an adapter on the head is a few megabytes
        targets = _LORA_WORDS.get(word)
        if targets is None:
            unknown.append(word)
        named.extend(targets or ())
    if not named:
        return LORA_ALL, trains_embeddings, "lora targets: not stated, all projections taken"
    note = f"lora targets: {', '.join(unknown)} not known, left out" if unknown else ""
    return tuple(target for target in LORA_ALL if target in named), trains_embeddings, note

"""A row of published memory outcomes -> the engine's Scenario, with every completing rule named."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from advisor.engine.specs import (
    ClusterSpec,
    GpuSpec,
    LayoutRequest,
    LoraSpec,
    Method,
    ModelSpec,
    Precision,
    Recipe,
    Scenario,
    TrainingPlan,
)
from advisor.engine.units import BYTES_16BIT, BYTES_FP8, BYTES_FP32, GIBI
from advisor.evidence_hardware import (
    UNKNOWN_CARD_STAND_IN,
    catalog_gpus,
    default_gpus_per_server,
    fabric_of,
    gpu_by_label,
    number,
    whole,
)
from advisor.evidence_labels import (
    attention_of,
    lora_targets_of,
    memory_note_cause_of,
    optimizer_of,
    recipe_of,
    recomputation_of,
    recomputed_parts_of,
)
from advisor.evidence_memory_frameworks import held_model, held_plan, real_sequence_length
from advisor.evidence_models import model_of

WEIGHT_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "nf4": 2.0, "int4": 2.0}
GRADIENT_BYTES = {"fp32": BYTES_FP32, "bf16": BYTES_16BIT, "fp16": BYTES_16BIT, "fp8": BYTES_FP8}
COMPUTE_PRECISIONS = {"bf16": Precision.BF16, "fp16": Precision.FP16, "fp8": Precision.FP8, "fp32": Precision.FP32}

# Bytes of one of Adam's two moments where a method keeps less than one value a parameter.
# GaLore (arXiv:2403.03507, rank 1024 of 4096): a quarter as many 8-bit values, and the 16-bit projector of the same
# rank shared by both; Q-GaLore (arXiv:2407.08296) stores the projector in 4 bits; APOLLO-mini (arXiv:2412.05270) keeps
# rank 1.
LOW_RANK_MOMENT_BYTES = {"galore_adamw8bit": 0.5, "galore_adamw": 1.25, "qgalore_adamw8bit": 0.3, "apollo_mini": 0.0}
BLOCK_COORDINATE_BYTES = 14.0  # BAdam (arXiv:2404.02827): 16 bytes a parameter of one block, 2 of them its weights
DEFAULT_FINETUNE_LENGTH = 2048

# Types that a framework's published recipe sets where the row only has the framework's general defaults:
# (framework, preset) -> bytes of (gradient, one moment). Megatron-Bridge recipes, moonlight_16b and deepseek_v3.
RECIPE_TYPES = {
    ("Megatron-Bridge", "moonlight-16b-a3b"): (BYTES_16BIT, BYTES_16BIT),
    ("Megatron-Bridge", "deepseek-v3"): (BYTES_FP32, BYTES_16BIT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """One published outcome. `kind`: measured_peak | fits | oom. `skipped` set: why it cannot be compared."""

    id: str
    group: str  # source title / model
    source: str
    kind: str
    method: str
    measure: str  # allocated | reserved | nvidia-smi | unknown
    gpu_label: str
    framework: str
    is_complete: bool
    published_peak_bytes: float | None
    is_at_ceiling: bool
    outcome_cause: str
    card_bytes: int | None  # visible memory of the card; None: not published
    notes: str
    note_cause: str  # what the notes name and the columns do not carry
    scenario: Scenario | None
    skipped: str | None
    completed: tuple[str, ...]


def _card(row: Mapping[str, str], notes: list[str]) -> tuple[GpuSpec, int | None]:
    """The card and its visible memory; the memory size column corrects a label that leaves it open."""
    label, stated = row["gpu"], number(row["gpu_mem_gb"])
    found = gpu_by_label(label) if label else None
    if found is None:
        gpu = catalog_gpus()[UNKNOWN_CARD_STAND_IN]
        notes.append(f"gpu: not published, {UNKNOWN_CARD_STAND_IN} stands in")
        if not stated:
            return gpu, None
        return replace(gpu, memory_bytes=int(stated * GIBI)), int(stated * GIBI)
    gpu, note = found
    notes.append(note)
    if stated and label == "A100" and stated < 60:
        gpu = catalog_gpus()["nvidia-a100-sxm4-40gb"]
        notes.append("gpu: A100 with 40 GB as the memory column says")
    return gpu, gpu.memory_bytes


def _recipe(row: Mapping[str, str], notes: list[str]) -> Recipe:
    """Recipe by framework; for the Hugging Face family by what shards, and by the type of the weights."""
    framework = row["framework"].lower()
    sharding = row["zero_or_fsdp"]
    if "deepspeed" in framework and "megatron" in framework:
        return Recipe.DEEPSPEED
    if "megatron" in framework:
        return Recipe.MEGATRON
    if sharding.startswith("zero"):
        return Recipe.DEEPSPEED
    is_pure = row["precision_weights"] in ("bf16", "fp16", "nf4", "int4", "int8") and row["master_weights_fp32"] != "y"
    if sharding.startswith("fsdp"):
        return Recipe.FSDP
    if is_pure:
        return Recipe.PURE_BF16
    if row["precision_weights"] == "fp32" or row["precision_compute"] == "fp32":
        return Recipe.FSDP
    if row["master_weights_fp32"] == "y":
        return Recipe.DEEPSPEED
    recipe, note = recipe_of(row["framework"], "NVIDIA")
    notes.append(note or f"recipe: {recipe.value} by framework")
    return recipe


def _method(row: Mapping[str, str], notes: list[str]) -> Method:
    if row["method"] == "other":
        notes.append("method: another adapter, LoRA of rank 1 stands for it")
        return Method.QLORA if row["quant_bits"] == "4" else Method.LORA
    try:
        return Method(row["method"])
    except ValueError:
        notes.append(f"method: {row['method']!r} not known, full fine-tuning taken")
        return Method.FULL_FINETUNE


def _lora(row: Mapping[str, str], method: Method, notes: list[str]) -> LoraSpec | None:
    if method not in (Method.LORA, Method.QLORA):
        return None
    if row["method"] == "other":
        # prompts beside the keys and values, as LLaMA-Adapter has them, keep no copy of a layer's inputs
        return LoraSpec(rank=1, targets=("o",), has_dropout=False)
    targets, trains_embeddings, note = lora_targets_of(row["lora_targets"])
    notes.append(note)
    rank = whole(row["lora_rank"])
    if not rank:
        notes.append("lora: rank not published, 16 taken")
    return LoraSpec(rank=rank or 16, targets=targets, trains_embeddings_and_head=trains_embeddings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _States:
    """Overrides of the recipe's bytes per parameter; None leaves the recipe's own."""

    weight: float | None
    gradient: int | None
    master: int | None
    moment: float | None


def _states(row: Mapping[str, str], recipe: Recipe, method: Method, layer_count: int) -> _States:
    """What the row says about types: weights, gradients, fp32 master copy, one moment."""
    weights, optimizer = row["precision_weights"], row["optimizer"].lower().removesuffix("_per_layer")
    weight = WEIGHT_BYTES.get(weights)
    gradient = GRADIENT_BYTES.get(row["grad_dtype"])
    if method in (Method.LORA, Method.QLORA):
        return _States(weight=weight, gradient=None, master=None, moment=None)
    master = {"y": BYTES_FP32, "n": 0}.get(row["master_weights_fp32"])
    is_narrow = weight is not None and weight <= BYTES_16BIT
    moment: float | None = None
    if "bf16states" in optimizer:
        moment = BYTES_16BIT
    elif master == 0 and is_narrow:
        # PyTorch's optimizers keep moments in the parameters' type; DeepSpeed's keep fp32
        moment = BYTES_FP32 if recipe is Recipe.DEEPSPEED else BYTES_16BIT
    elif master == BYTES_FP32 or weight == BYTES_FP32:
        moment = BYTES_FP32
    if optimizer in LOW_RANK_MOMENT_BYTES:
        moment = LOW_RANK_MOMENT_BYTES[optimizer]
    elif optimizer == "badam":
        moment = BLOCK_COORDINATE_BYTES / 2 / layer_count
    if weight == BYTES_FP32:
        master = 0
    return _States(weight=weight, gradient=gradient, master=master, moment=moment)


def _zero_stage(row: Mapping[str, str], recipe: Recipe, method: Method, gpu_count: int, notes: list[str]) -> int:
    text = row["zero_or_fsdp"]
    if "full model is held" in row["notes"].lower():
        notes.append("sharding: every GPU held the whole model, as the notes say")
        return 0
    stages = {"none": 0, "zero1": 1, "zero2": 2, "shard_grad_op": 2, "zero3": 3, "fsdp_full": 3, "full_shard": 3}
    if text.lower() in stages:
        return stages[text.lower()]
    if gpu_count == 1:
        return 0
    is_frozen = method in (Method.LORA, Method.QLORA)
    stage = 1 if recipe is Recipe.MEGATRON else 0 if is_frozen else 3
    notes.append(f"sharding: not published, ZeRO stage {stage} taken")
    return stage


def _sequence_parallel(row: Mapping[str, str], recipe: Recipe, tensor: int, notes: list[str]) -> bool:
    stated = row["sequence_parallel"]
    if stated in ("y", "n"):
        return stated == "y"
    if tensor > 1:
        notes.append("sequence parallel: not stated, on in Megatron recipes and sharded FSDP, off in DeepSpeed")
    return recipe in (Recipe.MEGATRON, Recipe.FSDP) and tensor > 1


def _global_batch(row: Mapping[str, str], data_parallel: int, pipeline: int, micro: int, notes: list[str]) -> int:
    stated = re.search(r"GBS[ =]+(\d+)", row["notes"])
    if stated:
        return max(1, int(stated[1]))
    if pipeline > 1:
        notes.append("global batch: not published, two micro-batches for each pipeline stage taken")
        return data_parallel * micro * 2 * pipeline
    return data_parallel * micro


def _layout(
    row: Mapping[str, str], model: ModelSpec, recipe: Recipe, method: Method, gpu_count: int, notes: list[str]
) -> LayoutRequest:
    tensor, pipeline = whole(row["tp"]) or 1, whole(row["pp"]) or 1
    virtual = whole(row["vpp"])
    if not virtual:
        virtual = 1
        if pipeline > 1:
            notes.append("virtual stages: not stated, plain 1F1B taken")
    recomputation, note = recomputation_of(row["recompute"])
    notes.append(note)
    micro = whole(row["micro_batch"])
    if not micro:
        notes.append("micro-batch: not published, 1 taken")
    return LayoutRequest(
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        context_parallel=whole(row["cp"]) or 1,
        expert_parallel=(whole(row["ep"]) or 1) if model.is_moe else 1,
        virtual_stage_count=virtual,
        micro_batch_size=micro or 1,
        zero_stage=_zero_stage(row, recipe, method, gpu_count, notes),
        recomputation=recomputation,
        uses_sequence_parallel=_sequence_parallel(row, recipe, tensor, notes),
    )


def _sequence_length(row: Mapping[str, str], model: ModelSpec, notes: list[str]) -> int:
    length = whole(row["seq_len"])
    if length and length > 0:
        return real_sequence_length(row, length, notes)
    length = min(model.max_sequence_length or DEFAULT_FINETUNE_LENGTH, DEFAULT_FINETUNE_LENGTH)
    notes.append(f"sequence length: not published, {length} taken")
    return length


def _plan(row: Mapping[str, str], model: ModelSpec, recipe: Recipe, notes: list[str]) -> TrainingPlan:
    method = _method(row, notes)
    optimizer, in_backward, note = optimizer_of(row["optimizer"])
    notes.append(note)
    states = _states(row, recipe, method, model.layer_count)
    if "recipe defaults" in row["inferred_fields"]:
        recipe_types = RECIPE_TYPES.get((row["framework"], row["preset"]))
        if recipe_types:
            states = replace(states, gradient=recipe_types[0], moment=recipe_types[1])
            notes.append("types: gradients and moments as the framework's recipe of this model sets them")
        elif row["framework"] == "Megatron-Bridge" and row["precision_compute"] == "fp8":
            states = replace(states, gradient=BYTES_16BIT)
            notes.append("types: 16-bit gradients, as the framework's FP8 performance recipes set them")
    if row["optimizer"].lower().startswith(("galore", "qgalore", "apollo", "badam")):
        optimizer = optimizer_of("adamw")[0]
        in_backward = True
    if row["offload"] == "optimizer" and recipe is Recipe.DEEPSPEED:
        in_backward = True
        notes.append("gradients: ZeRO-Offload moves them to the host as they appear (arXiv:2101.06840)")
    attention, note = attention_of(row["attention_impl"], whole(row["year"]) or 0)
    notes.append(note)
    fused = {"y": True, "n": False}.get(row["packed_or_fused_loss"])
    if "llm-foundry" in row["framework"].lower():
        fused = True
        notes.append(
            "loss: llm-foundry's MPT takes fused_crossentropy unless told otherwise (modeling_mpt.py, loss_fn)"
        )
    low_notes = row["notes"].lower()
    precision = COMPUTE_PRECISIONS.get(row["precision_compute"])
    if precision is None:
        notes.append("precision: not published, BF16 taken")
    return TrainingPlan(
        tokens=None,
        sequence_length=_sequence_length(row, model, notes),
        global_batch_size=1,
        method=method,
        precision=precision or Precision.BF16,
        optimizer=optimizer,
        recipe=recipe,
        gradient_bytes_per_parameter=states.gradient,
        uses_fused_loss=fused,
        attention=attention,
        lora=_lora(row, method, notes),
        double_quantization="double quant" in low_notes or "gptq" in low_notes,
        offload={"params": "parameters", "optimizer": "optimizer"}.get(row["offload"], "none"),
        recomputed_parts=recomputed_parts_of(row["recompute"], row["notes"], recipe),
        offload_activations=memory_note_cause_of(row["notes"]) == "activation_offload",
        optimizer_in_backward=in_backward,
        weight_bytes_per_parameter=states.weight,
        master_weight_bytes_per_parameter=states.master,
        moment_bytes_per_parameter=states.moment,
    )


def _scenario(row: Mapping[str, str], notes: list[str]) -> tuple[Scenario, int | None] | str:
    model = model_of(row, notes)
    if model is None:
        return "unknown_model"
    model = held_model(row, model, notes)
    gpu, card_bytes = _card(row, notes)
    recipe = _recipe(row, notes)
    plan = _plan(row, model, recipe, notes)
    sizes = [whole(row[column]) or 1 for column in ("tp", "pp", "cp")]
    gpu_count = whole(row["n_gpus"])
    if not gpu_count:
        gpu_count = math.prod(sizes)
        notes.append(f"GPU count: not published, {gpu_count} taken")
    plan = held_plan(row, plan, gpu_count, notes)
    layout = _layout(row, model, recipe, plan.method, gpu_count, notes)
    data_parallel = max(1, gpu_count // math.prod(sizes))
    batch = _global_batch(row, data_parallel, sizes[1], layout.micro_batch_size or 1, notes)
    per_server = min(default_gpus_per_server(gpu), gpu_count)
    fabric, _ = fabric_of("", gpu, per_server)
    cluster = ClusterSpec(gpu=gpu, gpu_count=gpu_count, gpus_per_server=per_server, fabric=fabric)
    scenario = Scenario(model=model, plan=replace(plan, global_batch_size=batch), cluster=cluster, layout=layout)
    return scenario, card_bytes


def memory_from_row(row: Mapping[str, str]) -> MemoryRow:
    """One CSV row; whatever cannot be read ends in `skipped`, never in an exception."""
    notes: list[str] = []
    scenario: Scenario | None = None
    card_bytes: int | None = None
    skipped: str | None = None
    try:
        built = _scenario(row, notes)
    except (ValueError, KeyError, OverflowError, ZeroDivisionError) as error:
        built = f"unreadable: {error}"
    if isinstance(built, str):
        skipped = built
    else:
        scenario, card_bytes = built
    peak = number(row["published_peak_bytes"]) or None
    if skipped is None and row["kind"] == "measured_peak" and peak is None:
        skipped = "no_peak"
    if skipped is None and row["kind"] in ("fits", "oom") and card_bytes is None:
        skipped = "unknown_card"
    return MemoryRow(
        id=row["id"],
        group=row["group"],
        source=row["source_title"],
        kind=row["kind"],
        method=row["method"],
        measure=row["measure"] or "unknown",
        gpu_label=row["gpu"],
        framework=row["framework"],
        is_complete=row["completeness"] == "complete",
        published_peak_bytes=peak,
        is_at_ceiling=row["at_ceiling"] == "y",
        outcome_cause=row["outcome_cause"],
        card_bytes=card_bytes,
        notes=row["notes"],
        note_cause=memory_note_cause_of(row["notes"]),
        scenario=scenario,
        skipped=skipped,
        completed=tuple(note for note in notes if note),
    )

"""A row of published training throughput -> the engine's Scenario, with every completing rule named."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from advisor.engine.specs import (
    ClusterSpec,
    LayoutRequest,
    LoraSpec,
    Method,
    ModelSpec,
    Optimizer,
    Precision,
    Recipe,
    Recomputation,
    Scenario,
    TrainingPlan,
)
from advisor.engine.units import BYTES_16BIT, BYTES_FP32
from advisor.evidence_hardware import default_gpus_per_server, fabric_of, gpu_by_label, number, whole
from advisor.evidence_labels import (
    FLASH_ATTENTION_YEAR,
    SEQUENCE_PARALLEL_YEAR,
    attention_of,
    avoids_recomputation,
    captures_graphs,
    dispatch_of,
    follows_performance_recipes,
    gathers_fp8_weights,
    has_fused_kernels,
    interleaves_by_default,
    note_cause_of,
    precision_of,
    recipe_of,
    recomputation_of,
    recomputed_parts_of,
    sharding_of,
    stops_recomputation_early,
)
from advisor.evidence_models import model_of

# Default global batch in tokens by model size, from published runs: 0.5 M at 1 B, 4 M at 7-70 B, 16 M at 405 B.
BATCH_TOKENS_BY_PARAMETERS = ((1e9, 0.5e6), (7e9, 4e6), (70e9, 4e6), (405e9, 16e6))

# Columns that decide how fast a run is; two rows that share all of them differ by what no model can know.
DECIDING_COLUMNS: tuple[str, ...] = (
    *("preset", "model", "n_layers", "hidden", "ffn_hidden", "n_heads", "n_kv_heads", "vocab", "n_experts", "top_k"),
    *("seq_len", "gpu", "n_gpus", "gpus_per_node", "precision", "tp", "pp", "vpp", "cp", "ep", "zero_or_fsdp"),
    *(
        "sequence_parallel",
        "recompute",
        "micro_batch",
        "global_batch_seqs",
        "task",
        "framework",
        "interconnect",
        "year",
    ),
)

COLUMN_SEPARATOR = "\x1f"  # interconnect texts contain the bar


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One published run. `scenario` None or `skipped` set: why it cannot be compared."""

    id: str
    group: str
    source: str  # first part of the group: who published
    source_title: str
    year: int
    kind: str  # dense | moe | moe-hybrid | dense-hybrid
    task: str
    gpu_label: str
    gpu_sku: str
    gpu_architecture: str
    precision_label: str
    full_layout: bool
    unmodelled: str
    note_cause: str  # what the notes name and the columns do not carry
    notes: str
    published_tokens_per_second_per_gpu: float | None
    throughput_rule: str
    published_step_seconds: float | None
    published_tflops_per_gpu: float | None
    published_mfu_fraction: float | None
    flops_convention: str
    scenario: Scenario | None
    skipped: str | None
    completed: tuple[str, ...]
    twin_key: str  # equal for rows that share every deciding column

    @property
    def precision(self) -> str:
        """The engine's precision, or `not established` where the source does not say."""
        if "not established" in self.precision_label or self.scenario is None:
            return "not established"
        return self.scenario.plan.precision.value

    @property
    def score_group(self) -> str:
        """Source and model: the unit whose medians are averaged."""
        return "/".join(self.group.split("/")[:2])


def default_batch_tokens(parameter_count: float) -> float:
    """Tokens of a global batch usual for a model size, log-interpolated between published runs."""
    points = BATCH_TOKENS_BY_PARAMETERS
    if parameter_count <= points[0][0]:
        return points[0][1]
    for (low, low_tokens), (high, high_tokens) in pairwise(points):
        if parameter_count <= high:
            share = math.log(parameter_count / low) / math.log(high / low)
            return float(low_tokens * (high_tokens / low_tokens) ** share)
    return points[-1][1]


def _gpu_count(row: Mapping[str, str], gpus_per_server: int, notes: list[str]) -> int:
    count = whole(row["n_gpus"])
    if count and count > 0:
        return count
    sizes = [whole(row[column]) or 1 for column in ("tp", "pp", "cp", "dp")]
    product = math.prod(sizes)
    params = number(row["params_total"])
    count = product if product > 1 else gpus_per_server
    if product <= 1:
        # One server holds about 16 bytes a parameter up to 32 B; larger ones need more.
        count = gpus_per_server * max(1, math.ceil(params * 16 / (gpus_per_server * 48e9)))
    notes.append(f"GPU count: not published, {count} taken")
    return count


def _gpus_per_server(row: Mapping[str, str], gpu_default: int, is_rack: bool, notes: list[str]) -> int:
    stated = whole(row["gpus_per_node"])
    if not stated or stated < 1:
        return gpu_default
    if "nvl72" in row["interconnect"].lower() and not is_rack:
        notes.append(f"server: an NVL72 rack named for a GPU that has none, {gpu_default} GPUs a server taken")
        return gpu_default
    return stated


def _lora(row: Mapping[str, str], notes: list[str]) -> LoraSpec | None:
    if row["task"] != "lora":
        return None
    if row["source_title"].startswith("MLPerf"):
        notes.append("lora: rank 16 on query, key, value and output as the benchmark's reference has it")
        return LoraSpec(rank=16, targets=("q", "k", "v", "o"))
    notes.append("lora: rank 16 on all projections taken")
    return LoraSpec(rank=16)


def _global_batch(row: Mapping[str, str], gpu_count: int, sequence_length: int, notes: list[str]) -> int:
    stated = whole(row["global_batch_seqs"])
    if stated and stated > 0:
        return stated
    step, total = number(row["published_step_time_s"]), number(row["published_tokens_per_s"])
    if step and total:
        notes.append("global batch: total rate x step time")
        return max(1, round(total * step / sequence_length))
    sizes = math.prod(whole(row[column]) or 1 for column in ("tp", "pp", "cp"))
    data_parallel = max(1, gpu_count // sizes)
    if whole(row["micro_batch"]):
        notes.append("global batch: not published, one micro-batch for each data-parallel rank and pipeline stage")
        return data_parallel * (whole(row["micro_batch"]) or 1) * (whole(row["pp"]) or 1)
    notes.append("global batch: not published, usual for the model size")
    tokens = default_batch_tokens(number(row["params_total"]) or 7e9)
    return max(1, round(tokens / sequence_length / gpu_count)) * gpu_count


def _sequence_parallel(row: Mapping[str, str], recipe: Recipe, year: int, notes: list[str]) -> bool:
    stated = row["sequence_parallel"].lower()
    if stated in ("yes", "y"):
        return True
    if stated in ("no", "n"):
        return False
    if (whole(row["tp"]) or 0) > 1:
        notes.append("sequence parallel: not stated, on with tensor parallel from 2023 on, off in DeepSpeed recipes")
    return recipe is not Recipe.DEEPSPEED and year >= SEQUENCE_PARALLEL_YEAR


def _virtual_stages(row: Mapping[str, str], framework: str, notes: list[str]) -> int | None:
    stated = whole(row["vpp"])
    if stated and stated > 0:
        return stated
    if (whole(row["pp"]) or 1) == 1 and row["pp"]:
        return 1
    if interleaves_by_default(framework) or not row["pp"]:
        notes.append("virtual stages: not stated, the best taken")
        return None
    notes.append("virtual stages: not stated, plain 1F1B taken")
    return 1


def _expert_parallel(row: Mapping[str, str], model: ModelSpec, notes: list[str]) -> int | None:
    if not model.is_moe:
        return 1
    stated = whole(row["ep"])
    if stated and model.expert_count % stated:
        notes.append(f"expert parallel: the stated {stated} does not divide the inferred experts, the best taken")
        return None
    if not stated:
        notes.append("expert parallel: not stated, the best taken")
    return stated


def _expert_tensor_parallel(row: Mapping[str, str], model: ModelSpec, notes: list[str]) -> int | None:
    """Ranks that split one expert. Megatron-Core takes the tensor-parallel size unless told otherwise; the recipes of
    fine-grained models (experts narrower than the hidden size) say 1."""
    tensor = whole(row["tp"]) or 1
    if not model.is_moe or tensor == 1 or not whole(row["ep"]):
        return None
    if model.expert_ffn_size < model.hidden_size:
        notes.append("expert tensor parallel: not stated, 1 as fine-grained recipes have it")
        return 1
    notes.append("expert tensor parallel: not stated, the tensor-parallel size as Megatron-Core's default")
    return tensor


def _layout(
    row: Mapping[str, str], model: ModelSpec, recipe: Recipe, per_server: int, notes: list[str]
) -> LayoutRequest:
    year = whole(row["year"]) or 0
    sharding, note = sharding_of(row["zero_or_fsdp"], recipe, year, per_server)
    notes.append(note)
    recomputation, note = recomputation_of(row["recompute"], row["framework"])
    is_placed = bool(whole(row["tp"]) and whole(row["pp"]) and whole(row["micro_batch"]))
    if recomputation is None and is_placed and avoids_recomputation(row["framework"], year):
        recomputation, note = Recomputation.NONE, "recomputation: unknown, none taken as the framework's recipes do"
    notes.append(note)
    for column, name in (("tp", "tensor parallel"), ("pp", "pipeline parallel"), ("micro_batch", "micro-batch")):
        if not whole(row[column]):
            notes.append(f"{name}: not published, the best that fits")
    context = whole(row["cp"])
    if not context and (row["tp"] or row["pp"]):
        context = 1
    return LayoutRequest(
        tensor_parallel=whole(row["tp"]),
        pipeline_parallel=whole(row["pp"]),
        context_parallel=context,
        expert_parallel=_expert_parallel(row, model, notes),
        expert_tensor_parallel=_expert_tensor_parallel(row, model, notes),
        virtual_stage_count=_virtual_stages(row, row["framework"], notes),
        micro_batch_size=whole(row["micro_batch"]),
        zero_stage=sharding.zero_stage,
        recomputation=recomputation,
        uses_sequence_parallel=_sequence_parallel(row, recipe, year, notes),
        shard_group_size=sharding.shard_group_size,
    )


def _method(row: Mapping[str, str]) -> Method:
    if row["task"] == "lora":
        return Method.LORA
    return Method.FULL_FINETUNE if row["task"] == "sft" else Method.PRETRAIN


def _scenario(row: Mapping[str, str], notes: list[str]) -> Scenario | str:
    """The row as a Scenario, or the reason why there is none."""
    found = gpu_by_label(row["gpu"])
    if found is None:
        return "unknown_gpu"
    gpu, note = found
    notes.append(note)
    model = model_of(row, notes)
    if model is None:
        return "unknown_model"
    sequence_length = whole(row["seq_len"])
    if not sequence_length or sequence_length < 1:
        sequence_length = min(model.max_sequence_length or 4096, 4096)
        notes.append(f"sequence length: not published, {sequence_length} taken")
    is_rack = gpu.scale_up_domain_size > 16
    per_server = _gpus_per_server(row, default_gpus_per_server(gpu), is_rack, notes)
    gpu_count = _gpu_count(row, per_server, notes)
    fabric, note = fabric_of(row["interconnect"], gpu, per_server)
    if gpu_count > per_server:
        notes.append(note)
    year = whole(row["year"]) or 0
    recipe, note = recipe_of(row["framework"], gpu.vendor)
    notes.append(note)
    precision, note = precision_of(row["precision"], number(row["params_total"]))
    notes.append(note)
    if precision not in gpu.dense_peak_flops_per_second:
        fallback = Precision.FP16 if Precision.FP16 in gpu.dense_peak_flops_per_second else Precision.BF16
        if precision is Precision.MXFP8 and Precision.FP8 in gpu.dense_peak_flops_per_second:
            fallback = Precision.FP8
        elif precision is Precision.FP16 and Precision.BF16 in gpu.dense_peak_flops_per_second:
            fallback = Precision.BF16
        notes.append(f"precision: {precision.value} is not in the GPU's hardware, {fallback.value} taken")
        precision = fallback
    is_flash_era_neox = "neox" in row["framework"].lower()
    attention, note = attention_of("flash" if is_flash_era_neox else "", year)
    notes.append(note if year < FLASH_ATTENTION_YEAR else "")
    is_interleaved = (whole(row["vpp"]) or 1) > 1
    is_deduplicated, overlaps_dispatch = dispatch_of(row["framework"], row["notes"], is_rack, is_interleaved)
    has_dropout = recipe is Recipe.MEGATRON and year < FLASH_ATTENTION_YEAR
    plan = TrainingPlan(
        tokens=None,
        sequence_length=sequence_length,
        global_batch_size=_global_batch(row, gpu_count, sequence_length, notes),
        method=_method(row),
        precision=precision,
        optimizer=Optimizer.MUON if re.search(r"\bmuon\b", row["notes"], re.IGNORECASE) else Optimizer.ADAMW,
        recipe=recipe,
        gradient_bytes_per_parameter=_gradient_bytes(row),
        attention=attention,
        # llm-foundry takes fused_crossentropy unless told otherwise (modeling_mpt.py, loss_fn)
        uses_fused_loss=True if "llm-foundry" in row["framework"].lower() else None,
        overlaps_tensor_parallel=recipe is Recipe.MEGATRON and follows_performance_recipes(row["framework"]),
        uses_cuda_graphs=captures_graphs(row["framework"], row["source_title"], row["notes"]),
        stops_recomputation_early=stops_recomputation_early(row["framework"], year),
        gathers_fp8_weights=gathers_fp8_weights(row["framework"], row["precision"]),
        deduplicates_dispatch=is_deduplicated,
        overlaps_dispatch=overlaps_dispatch,
        uses_fused_kernels=True if has_fused_kernels(row["framework"]) else None,
        recomputed_parts=recomputed_parts_of(row["recompute"], row["notes"], recipe),
        lora=_lora(row, notes),
        dropout=has_dropout,
    )
    cluster = ClusterSpec(gpu=gpu, gpu_count=gpu_count, gpus_per_server=per_server, fabric=fabric)
    layout = _layout(row, model, recipe, per_server, notes)
    return Scenario(model=model, plan=plan, cluster=cluster, layout=layout)


def _gradient_bytes(row: Mapping[str, str]) -> int | None:
    """Type that gradients are reduced in, where the row or its framework says; None: the recipe's own."""
    precision = row["precision"].lower()
    if "fp32 grad" in precision:
        return BYTES_FP32
    # llm-foundry's PURE and the bfSixteen policy of fms-fsdp set the reduction's type to bf16 as well
    if "pure" in precision or "fms-fsdp" in row["framework"].lower():
        return BYTES_16BIT
    if follows_performance_recipes(row["framework"]):
        return BYTES_16BIT
    return None


def _fraction_of_percent(text: str) -> float | None:
    return number(text) / 100 if number(text) else None


def run_from_row(row: Mapping[str, str]) -> RunRow:
    """One CSV row; whatever cannot be read ends in `skipped`, never in an exception."""
    notes: list[str] = []
    try:
        built = _scenario(row, notes)
    except (ValueError, KeyError, OverflowError, ZeroDivisionError) as error:
        built = f"unreadable: {error}"
    scenario = None if isinstance(built, str) else built
    throughput = number(row["throughput_tokens_per_s_per_gpu"]) or None
    skipped = built if isinstance(built, str) else None
    if skipped is None and throughput is None:
        skipped = "no_throughput"
    gpu = scenario.cluster.gpu if scenario else None
    return RunRow(
        id=row["id"],
        group=row["group"],
        source=row["group"].split("/")[0],
        source_title=row["source_title"],
        year=whole(row["year"]) or 0,
        kind=row["kind"],
        task=row["task"],
        gpu_label=row["gpu"],
        gpu_sku=gpu.sku if gpu else "",
        gpu_architecture=gpu.architecture if gpu else "",
        precision_label=row["precision"],
        full_layout=row["full_layout"] == "y",
        unmodelled=row["unmodelled"],
        note_cause=note_cause_of(row["notes"]),
        notes=row["notes"],
        published_tokens_per_second_per_gpu=throughput,
        throughput_rule=row["throughput_rule"],
        published_step_seconds=number(row["published_step_time_s"]) or None,
        published_tflops_per_gpu=number(row["published_tflops_per_gpu"]) or None,
        published_mfu_fraction=_fraction_of_percent(row["published_mfu"]),
        flops_convention=row["flops_convention"],
        scenario=scenario,
        skipped=skipped,
        completed=tuple(note for note in notes if note),
        twin_key=COLUMN_SEPARATOR.join(row[column] for column in DECIDING_COLUMNS),
    )

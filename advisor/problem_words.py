"""Sentences for the engine's problems and assumptions: the engine knows codes and figures, this module the words.

What, which values, and what would pass. A code without a sentence is a fault of ours and fails a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from advisor.answers import AssumptionAnswer, ProblemAnswer
from advisor.engine.specs import Assumption, Origin, Problem
from advisor.figures import NO_BREAK_SPACE
from advisor.messages import FAULTS, sentence, written
from advisor.source_words import source_text

SENTENCES: dict[str, str | Promise] = {
    # the model
    "model_missing": _("No model is given. Give a parameter count, a preset, a config or an architecture."),
    "model_not_inferable": _("No architecture can be inferred: %(reason)s"),
    "unknown_preset": _("There is no preset “%(preset)s”. The catalogue's list of model architectures names them all."),
    "preset_not_sizeable": _("The preset “%(preset)s” lacks a vocabulary size; enter its architecture instead."),
    "model_missing_field": _("The model description lacks %(field)s."),
    "model_not_an_object": _("The model description must be an object; %(field)s is a %(type)s."),
    "model_not_a_number": _("%(field)s of the model must be a number, not a %(type)s."),
    "model_not_a_flag": _("%(field)s of the model must be true or false, not a %(type)s."),
    "model_not_a_text": _("%(field)s of the model must be a text, not a %(type)s."),
    "model_not_whole": _("%(field)s of the model must be a whole number, not %(value)s."),
    "model_out_of_range": _("%(field)s of the model is %(value)s; write a value from %(low)s to %(high)s."),
    "model_not_a_choice": _("%(field)s of the model cannot be %(value)s; choose one of: %(offered)s."),
    "model_not_divisible": _(
        "%(field)s of the model: %(head_count)s heads do not divide the hidden size of %(hidden_size)s; take a divisor."
    ),
    "model_kv_heads_not_divisible": _(
        "%(field)s of the model: %(kv_head_count)s key-value heads do not divide the %(head_count)s attention heads; "
        "take a divisor."
    ),
    "model_too_large": _("The model description has more entries than the %(high)s that are read."),
    "model_too_deep": _("The model description nests deeper than the %(high)s levels that are read."),
    "model_too_many_parameters": _("The model has %(value)s parameters; at most %(high)s are sized."),
    "model_unknown_field": _("“%(field)s” is no field of a model description. Known: %(known)s."),
    "model_unsupported_model_type": _("The model type %(value)s is not read. Known: %(offered)s."),
    # the cluster
    "unknown_gpu": _("There is no GPU “%(gpu)s” in the catalogue."),
    "unknown_gpu_nearest": _("There is no GPU “%(gpu)s”. Nearest real part: %(nearest)s (%(sku)s)."),
    "gpu_not_sizeable": _("%(gpu)s cannot be sized: %(reason)s."),
    "gpu_not_orderable": _("No orderable server of the catalogue takes %(gpu)s."),
    "unsupported_precision": _("%(gpu)s has no %(precision)s hardware; choose one of: %(offered)s."),
    "layout_not_divisible": _(
        "%(gpu_count)s GPUs do not divide by the stated groups (%(product)s); take a multiple of %(product)s."
    ),
    "heads_not_divisible": _(
        "Tensor parallelism of %(tensor_parallel)s does not divide the %(head_count)s attention heads; take a divisor."
    ),
    "ffn_not_divisible": _(
        "Tensor parallelism of %(tensor_parallel)s does not divide the FFN width of %(ffn_size)s; take a divisor."
    ),
    "parts_need_selective": _("Recomputed parts belong to selective recomputation; choose it, or leave the parts out."),
    "parts_need_megatron": _(
        "Recomputed parts are modules of Megatron-LM; the recipe %(recipe)s does not know them. Leave them out."
    ),
    "parts_not_in_model": _("The model has no layers of these parts: %(parts)s. Leave them out."),
    "shard_group_not_divisible": _(
        "Shard groups of %(shard_group_size)s do not divide the %(replicas)s data-parallel ranks; take a divisor."
    ),
    "uneven_virtual_stages": _(
        "%(layer_count)s layers do not divide into %(chunk_count)s equal chunks (pipeline × virtual stages): "
        "Megatron-LM refuses that unless layers are placed by hand."
    ),
    "uneven_interleaving": _(
        "%(micro_batch_count)s micro-batches are no multiple of %(pipeline_parallel)s pipeline stages: Megatron-LM's "
        "interleaved schedule needs one."
    ),
    "more_stages_than_layers": _("%(pipeline_parallel)s pipeline stages are more than the %(layer_count)s layers."),
    "experts_not_divisible": _(
        "Expert parallelism of %(expert_parallel)s does not divide the %(expert_count)s experts; take a divisor."
    ),
    "no_experts": _("The model has no experts to share; leave expert parallelism at 1."),
    "no_admissible_layout": _(
        "No layout of %(gpu_count)s GPUs divides a global batch of %(global_batch_size)s sequences; "
        "take fewer GPUs or a larger batch."
    ),
    "fits_no_size": _("The job fits no cluster of %(gpu)s that is searched; take a GPU with more memory."),
    "does_not_fit": _(
        "The job does not fit: weights, gradients and optimizer states are %(states)s, the memory of %(gpu_count)s × "
        "%(gpu)s is %(memory)s; each GPU would need %(needed_bytes)s of its %(available_bytes)s. "
        "Smallest cluster that fits: %(smallest_gpu_count)s × %(gpu)s."
    ),
    "does_not_fit_this_way": _(
        "The job does not fit with the stated settings: weights, gradients and optimizer states are %(states)s, the "
        "memory of %(gpu_count)s × %(gpu)s is %(memory)s; each GPU would need %(needed_bytes)s of its "
        "%(available_bytes)s. Leave the layout open: with another one %(smallest_gpu_count)s × %(gpu)s are enough."
    ),
    "does_not_fit_anywhere": _(
        "The job does not fit: weights, gradients and optimizer states are %(states)s, the memory of %(gpu_count)s × "
        "%(gpu)s is %(memory)s; each GPU would need %(needed_bytes)s of its %(available_bytes)s. "
        "No searched cluster of this GPU holds it."
    ),
    "batch_moved": _(
        "The global batch moved from %(asked)s to %(used)s sequences, a multiple of what the layout needs."
    ),
    # the pilot
    "pilot_does_not_fit": _(
        "The pilot is left out: as entered, the job does not fit %(gpu_count)s × %(gpu)s, so there is no prediction to "
        "compare it with."
    ),
    "pilot_far_from_prediction": _(
        "The pilot ran at %(measured)s tokens/s a GPU where %(predicted)s are predicted. Check that it trained this "
        "model at this sequence length and precision."
    ),
    "pilot_other_gpu": _("The pilot ran on %(gpu)s: it rescales that GPU alone, others are predicted without it."),
    # policy and profile
    "regulated_on_shared": _(
        "Regulated data may not go on a shared host: the seller's policy, not a law. Choose bare metal or a "
        "dedicated host."
    ),
    "real_time_virtualized": _(
        "Real-time training on virtual machines: jitter of the host stalls every GPU; bare metal is advised."
    ),
    # the search
    "dearer": _("%(gpu)s: the run costs %(cost_ratio)s times as much."),
    "more_servers": _("%(gpu)s: takes %(server_count)s servers instead of %(recommended_count)s."),
    "no_price": _("%(gpu)s meets the conditions, but a price of it (rent or purchase) is not known."),
    "relax_deadline": _(
        "The fastest is %(training_seconds)s, on %(gpu_count)s × %(gpu)s: a deadline from there on can be met."
    ),
    "relax_budget": _("The cheapest run is on %(gpu)s and costs %(cost)s: a budget from there on is enough."),
    "relax_max_gpu_count": _(
        "The smallest cluster that holds the job has %(gpu_count)s × %(gpu)s: allow that many GPUs."
    ),
    "does_not_meet_deadline": _(
        "%(gpu)s misses the deadline: %(training_seconds)s on %(gpu_count)s GPUs against %(deadline_seconds)s."
    ),
    "no_configuration": _("No configuration meets all conditions."),
    "budget_not_checked": _("A price is missing for %(gpus)s: the budget could not be checked, so they are left out."),
    "budget_needs_tokens": _(
        "Without training tokens there is no run to price: the budget is not checked. Enter the tokens to have it "
        "checked."
    ),
    "deadline_needs_tokens": _(
        "Without training tokens there is no training time: the deadline is not checked. Enter the tokens to have it "
        "checked."
    ),
    "over_budget_purchase": _(
        "The hardware of the cheapest run costs %(cost)s (%(gpu_count)s × %(gpu)s); the budget is %(budget)s."
    ),
    "over_budget": _("The cheapest run costs %(cost)s, on %(gpu_count)s × %(gpu)s; the budget is %(budget)s."),
    "over_budget_tokens": _(
        "The cheapest run costs %(cost)s, on %(gpu_count)s × %(gpu)s; the budget of %(budget)s pays %(tokens)s "
        "tokens on it."
    ),
    "term_shorter_than_run": _("The run takes %(run_days)s, longer than the term of %(term_months)s months."),
}

REJECTIONS: dict[str, str | Promise] = {
    "unsupported_precision": _("%(gpu)s has no %(precision)s hardware."),
    "does_not_fit": _(
        "%(gpu)s: the job does not fit within %(limit)s GPUs; the smallest cluster that fits has "
        "%(smallest_gpu_count)s."
    ),
    "does_not_fit_anywhere": _("%(gpu)s: the job fits no cluster of it that is searched."),
    "does_not_meet_deadline": _(
        "%(gpu)s misses the deadline: %(training_seconds)s on %(gpu_count)s GPUs against %(deadline_seconds)s."
    ),
    "over_budget": _("%(gpu)s: its cheapest run costs %(amount)s, the budget is %(budget)s."),
    "consumer_card": _(
        "%(gpu)s is a consumer card: no peer-to-peer between cards, and its driver licence rules out data centres. "
        "Name it to have it sized."
    ),
    "gpu_not_orderable": _("No orderable server of the catalogue takes %(gpu)s."),
    "exceeds_site": _(
        "%(gpu)s: the site's power and racks take %(limit)s GPUs of it, less than one server or the size asked."
    ),
}

ASSUMPTION_LABELS: dict[str, str | Promise] = {
    "training_tokens": _("Training tokens"),
    "measured_tokens_per_second_per_gpu": _("Measured tokens per second per GPU"),
    "programme_factor": _("Programme factor"),
    "recipe": _("Framework recipe"),
    "global_batch_tokens": _("Global batch in tokens"),
    "gradient_bytes": _("Bytes of a gradient"),
    "memory_headroom_fraction": _("GPU memory kept free"),
    "bytes_per_token_zh": _("Bytes of Chinese text per token"),
    "bytes_per_token_en": _("Bytes of English text per token"),
    "bytes_per_token_code": _("Bytes of source code per token"),
    "bytes_per_token_mixed": _("Bytes of mixed text per token"),
    "gemm_efficiency": _("Achieved share of the dense peak in matrix products"),
    "memory_efficiency": _("Achieved share of memory bandwidth"),
    "scale_out_efficiency": _("Achieved share of the network's line rate"),
    "reserved_factor": _("Reserved over allocated GPU memory"),
    "interruptions_per_gpu_second": _("Interruptions per GPU and second"),
    "restart_seconds": _("Time from an interruption to training again"),
    "checkpoint_copy_bytes_per_second_per_gpu": _("Copy rate to host memory per GPU"),
    "checkpoint_fixed_stall_seconds": _("Fixed stall of one checkpoint"),
    "interrupted_run_fraction": _("Share of runs that are interrupted"),
    "hardware_interruption_fraction": _("Share of interruptions by hardware"),
    "repair_seconds": _("Repair of a server"),
    "kept_checkpoint_count": _("Checkpoints kept"),
    "cpu_cores_per_gpu": _("CPU cores a GPU"),
    "training_power_fraction": _("Average power in training over the maximum"),
    "idle_power_fraction": _("Idle power over the maximum"),
    "pue": _("Facility power over IT power (PUE)"),
    "throughput_loss": _("Throughput lost by virtualization"),
    "depreciation_months": _("Depreciation"),
    "cost_of_capital_fraction_per_year": _("Cost of capital a year"),
    "maintenance_fraction_per_year": _("Maintenance a year over the price"),
    "utilisation_fraction": _("Share of the time the cluster is used"),
    "colocation_amount_per_kilowatt_month": _("Colocation per kW and month"),
    "electricity_amount_per_kilowatt_hour": _("Electricity per kWh"),
    "scale_out_gbit_per_second_per_gpu": _("Network rate per GPU in Gbit/s"),
    "gpu": _("GPU"),
    "gpus_per_server": _("GPUs a server"),
    "value_rule": _("What “best value” means without a deadline"),
    "tax_rate_goods": _("Tax rate of goods and lease"),
    "tax_rate_services": _("Tax rate of services"),
    "rental_hours_per_month": _("Hours in a month of rent"),
    "error_band_fraction": _("Range of the estimate"),
}

ORIGIN_LABELS: dict[Origin, str | Promise] = {
    Origin.DATASHEET: _("datasheet"),
    Origin.MEASURED: _("measured"),
    Origin.PUBLISHED_RUN: _("published run"),
    Origin.VENDOR_CLAIM: _("vendor claim"),
    Origin.DERIVED: _("derived"),
    Origin.USER: _("your input"),
}


MAX_TEXT = 400


def filled(template: str | Promise, params: Mapping[str, Any]) -> str:
    """The template with figures written by their unit, and names and notes of ours whole but printable."""
    return str(template) % {
        name: _printable(value) if isinstance(value, str) else written(name, value) for name, value in params.items()
    }


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() or char == NO_BREAK_SPACE else "\ufffd" for char in text[:MAX_TEXT])


def problem_message(code: str, params: Mapping[str, Any]) -> str:
    """The sentence of an engine problem or of one of ours; input faults keep their own wording."""
    if code == "does_not_fit":
        code = _does_not_fit(params)
    if code == "experts_not_divisible" and not params.get("expert_count"):
        code = "no_experts"
    if code == "model_missing" and params:
        code = "model_missing_field"
    if code == "model_not_divisible" and "kv_head_count" in params:
        code = "model_kv_heads_not_divisible"
    if code in SENTENCES:
        return filled(SENTENCES[code], params)
    if code in FAULTS:
        return sentence(FAULTS[code], params)
    raise KeyError(f"Problem code {code!r} has no sentence.")


def _does_not_fit(params: Mapping[str, Any]) -> str:
    """Which of its sentences: more GPUs hold the job, as many do with another layout, or none do."""
    smallest = params.get("smallest_gpu_count")
    if smallest is None:
        return "does_not_fit_anywhere"
    return "does_not_fit_this_way" if smallest <= params.get("gpu_count", 0) else "does_not_fit"


def rejection_message(code: str, params: Mapping[str, Any]) -> str:
    """Why a GPU fell out, in one sentence with the figure that decides."""
    if code == "does_not_fit" and params.get("smallest_gpu_count") is None:
        code = "does_not_fit_anywhere"
    return filled(REJECTIONS[code] if code in REJECTIONS else SENTENCES[code], params)


def problem_answer(problem: Problem, words: Mapping[str, str] | None = None) -> ProblemAnswer:
    """A problem with its sentence; `words` are texts that the sentence needs beside the figures."""
    return ProblemAnswer(
        field=problem.field,
        code=problem.code,
        message=problem_message(problem.code, {**problem.params, **(words or {})}),
        severity=problem.severity,
        params=dict(problem.params),
    )


def assumption_answers(assumptions: Iterable[Assumption]) -> list[AssumptionAnswer]:
    """Each assumption once, the first of a name wins (the user's before a default)."""
    seen: dict[str, AssumptionAnswer] = {}
    language = get_language() or ""
    for item in assumptions:
        if item.name in seen:
            continue
        label, origin_label, source = _assumption_words(item.name, item.origin, item.source, language)
        seen[item.name] = AssumptionAnswer(
            name=item.name,
            label=label,
            value=item.value,
            unit=item.unit,
            origin=item.origin.value,
            origin_label=origin_label,
            source=source,
        )
    return list(seen.values())


@lru_cache(maxsize=2048)
def _assumption_words(name: str, origin: Origin, source: str, language: str) -> tuple[str, str, str]:
    """Label, origin and source in the active language, which is `language`."""
    label = ASSUMPTION_LABELS.get(name)
    return (
        str(label) if label is not None else name.replace("_", " "),
        str(ORIGIN_LABELS[origin]),
        source_text(source),
    )

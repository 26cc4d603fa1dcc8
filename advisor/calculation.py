"""Every figure of an answer as a sum one can check: formula in words, the numbers put in, the value, its unit.

Pure functions of the answer's dict. Page, API (`explain=true`), downloads and the PDF's appendix show the same rows. A
row whose numbers do not give its value is left out: a formula that does not hold explains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from advisor import figures
from advisor.calculation_offer import (
    cluster_figures,
    deadline_figures,
    deployment_figures,
    money_figures,
    storage_figures,
)
from advisor.calculation_terms import Figure, StepAnswer, Term, written_rows
from advisor.quantities import SECONDS_PER_HOUR

MEMORY_PARTS = ("weight", "gradient", "optimizer", "activation", "logits", "buffer")


def calculation(answer: Mapping[str, Any], *, deadline_seconds: float | None = None) -> list[StepAnswer]:
    """The rows of a recommendation's answer, in the order in which they build on each other; [] without one."""
    best = answer.get("recommended")
    if not best:
        return []
    rows = estimate_calculation(best["estimate"])
    rows += written_rows("deadline", deadline_figures(answer, best, deadline_seconds))
    rows += written_rows("cluster", cluster_figures(best))
    rows += written_rows("storage", storage_figures(answer, best))
    rows += written_rows("money", money_figures(best))
    rows += written_rows("deployment", deployment_figures(answer.get("deployment_comparison")))
    return rows


def estimate_calculation(estimate: Mapping[str, Any]) -> list[StepAnswer]:
    """The rows of one job on one cluster."""
    groups = {"work": _work, "step": _step, "time": _time, "memory": _memory}
    return [row for group, figures_of in groups.items() for row in written_rows(group, figures_of(estimate))]


def _work(estimate: Mapping[str, Any]) -> Iterator[Figure]:
    model, training, flops = estimate["model"], estimate["training"], estimate["flops"]
    tokens = training["tokens"]
    if not tokens or not flops["total_model_flops"]:
        return
    per_token = Term(_("model FLOPs per token"), flops["model_flops_per_token"], "FLOP")
    budget = Term(_("training tokens"), tokens)
    active = Term(_("active parameters"), model["active_parameter_count"])
    yield Figure(
        code="total_model_flops",
        label=_("Total work"),
        formula="{a} × {b}",
        terms={"a": per_token, "b": budget},
        result=per_token.value * tokens,
        value=flops["total_model_flops"],
        unit="FLOP",
        text=figures.format_flops(flops["total_model_flops"]),
    )
    yield Figure(
        code="six_n_d_flops",
        label=_("For comparison: the 6ND rule"),
        formula="6 × {a} × {b}",
        terms={"a": active, "b": budget},
        result=6 * active.value * tokens,
        value=flops["six_n_d_flops"],
        unit="FLOP",
        text=figures.format_flops(flops["six_n_d_flops"]),
    )


def _step(estimate: Mapping[str, Any]) -> Iterator[Figure]:
    """A loss of virtualization stretches every part alike, so that the parts still add up."""
    layout, time = estimate["layout"], estimate["time"]
    if not time["step_seconds"]:
        return
    yield from _batch(layout, estimate["training"])
    parts = {
        "a": Term(_("compute"), time["compute_seconds"], "s"),
        "b": Term(_("exposed communication"), time["exposed_communication_seconds"], "s"),
        "c": Term(_("pipeline bubble"), time["bubble_seconds"], "s"),
        "d": Term(_("optimizer step"), time["optimizer_seconds"], "s"),
    }
    yield Figure(
        code="step_seconds",
        label=_("One optimizer step"),
        formula="{a} + {b} + {c} + {d}",
        terms=parts,
        result=sum(term.value for term in parts.values()),
        value=time["step_seconds"],
        unit="s",
        text=figures.format_duration(time["step_seconds"]),
    )
    yield from _rates(estimate)


def _batch(layout: Mapping[str, Any], training: Mapping[str, Any]) -> Iterator[Figure]:
    names = {
        "a": Term(_("tensor parallel"), layout["tensor_parallel"]),
        "b": Term(_("pipeline parallel"), layout["pipeline_parallel"]),
        "c": Term(_("context parallel"), layout["context_parallel"]),
        "d": Term(_("data parallel"), layout["data_parallel"]),
    }
    yield Figure(
        code="gpu_count",
        label=_("GPUs of the layout"),
        formula="{a} × {b} × {c} × {d}",
        terms=names,
        result=math.prod(term.value for term in names.values()),
        value=layout["gpu_count"],
        unit="",
        text=figures.format_count(layout["gpu_count"]),
    )
    parts = {
        "a": names["d"],
        "b": Term(_("micro-batch"), layout["micro_batch_size"]),
        "c": Term(_("micro-batches per step"), layout["micro_batch_count"]),
        "d": Term(_("sequence length"), training["sequence_length"]),
    }
    yield Figure(
        code="global_batch_tokens",
        label=_("Tokens of one step"),
        formula="{a} × {b} × {c} × {d}",
        terms=parts,
        result=math.prod(term.value for term in parts.values()),
        value=layout["global_batch_tokens"],
        unit=_("tokens"),
        text=figures.format_count(layout["global_batch_tokens"]),
    )


def _rates(estimate: Mapping[str, Any]) -> Iterator[Figure]:
    layout, time, cluster, flops = estimate["layout"], estimate["time"], estimate["cluster"], estimate["flops"]
    batch = Term(_("tokens of one step"), layout["global_batch_tokens"])
    step = Term(_("one optimizer step"), time["step_seconds"], "s")
    gpus = Term(_("GPUs"), cluster["gpu_count"])
    yield Figure(
        code="tokens_per_second_per_gpu",
        label=_("Tokens a second and GPU"),
        formula="{a} / {b} / {c}",
        terms={"a": batch, "b": step, "c": gpus},
        result=batch.value / step.value / gpus.value,
        value=time["tokens_per_second_per_gpu"],
        unit=_("tokens/s"),
        text=figures.format_significant(time["tokens_per_second_per_gpu"]),
    )
    peak = cluster["dense_peak_flops_per_second_per_gpu"]
    if not peak:
        return
    rate = Term(_("tokens a second and GPU"), time["tokens_per_second_per_gpu"], "1/s")
    dense = Term(_("dense peak of a GPU"), peak, "FLOP/s")
    for code, label, name, key in (
        ("mfu", "MFU", _("model FLOPs per token"), "model_flops_per_token"),
        ("hfu", "HFU", _("hardware FLOPs per token"), "hardware_flops_per_token"),
    ):
        yield Figure(
            code=code,
            label=label,
            formula="{a} × {b} / {c}",
            terms={"a": rate, "b": Term(name, flops[key], "FLOP"), "c": dense},
            result=rate.value * flops[key] / peak,
            value=time[code],
            unit="",
            text=figures.format_percent(time[code]),
        )


def _time(estimate: Mapping[str, Any]) -> Iterator[Figure]:
    time, layout, tokens = estimate["time"], estimate["layout"], estimate["training"]["tokens"]
    seconds = time["training_seconds"]
    if not seconds or not tokens:
        return
    budget, batch = Term(_("training tokens"), tokens), Term(_("tokens of one step"), layout["global_batch_tokens"])
    yield Figure(
        code="step_count",
        label=_("Optimizer steps"),
        formula="ceil({a} / {b})",
        terms={"a": budget, "b": batch},
        result=math.ceil(tokens / batch.value),
        value=time["step_count"],
        unit="",
        text=figures.format_count(time["step_count"]),
    )
    steps, step = (
        Term(_("optimizer steps"), time["step_count"]),
        Term(_("one optimizer step"), time["step_seconds"], "s"),
    )
    goodput = Term(_("goodput"), time["goodput"])
    yield Figure(
        code="training_seconds",
        label=_("Training time"),
        formula="{a} × {b} / {c}",
        terms={"a": steps, "b": step, "c": goodput},
        result=steps.value * step.value / goodput.value,
        value=seconds,
        unit="s",
        text=figures.format_days(seconds),
    )
    yield from _range(time)
    hours = seconds * estimate["cluster"]["gpu_count"] / SECONDS_PER_HOUR
    yield Figure(
        code="gpu_hours",
        label=_("GPU-hours of the run"),
        formula="{a} × {b} / 3600",
        terms={
            "a": Term(_("GPUs"), estimate["cluster"]["gpu_count"]),
            "b": Term(_("training time"), seconds, "s"),
        },
        result=hours,
        value=hours,
        unit="h",
        text=figures.format_significant(hours),
    )


def _range(time: Mapping[str, Any]) -> Iterator[Figure]:
    """Both ends. What the model misses and luck with interruptions are independent: their squares add up."""
    model, seconds, high = time.get("error_band_fraction"), time["training_seconds"], time["training_seconds_high"]
    if not model or not high:
        return
    whole = high / seconds - 1
    luck = math.sqrt(max(whole**2 - model**2, 0.0))
    terms = {
        "a": Term(_("training time"), seconds, "s"),
        "b": Term(_("error that four of five published runs stay within"), model),
        "c": Term(_("luck with interruptions"), luck),
    }
    band = math.hypot(model, luck)
    low = (
        ("{a} × (1 − √({b}² + {c}²))", seconds * (1 - band))
        if band < 1
        else ("{a} / (1 + √({b}² + {c}²))", seconds / (1 + band))
    )
    for code, label, (formula, result) in (
        ("training_seconds_low", _("Training time, fastest"), low),
        ("training_seconds_high", _("Training time, slowest"), ("{a} × (1 + √({b}² + {c}²))", seconds * (1 + band))),
    ):
        yield Figure(
            code=code,
            label=label,
            formula=formula,
            terms=terms,
            result=result,
            value=time[code],
            unit="s",
            text=figures.format_days(time[code]),
        )


def _memory(estimate: Mapping[str, Any]) -> Iterator[Figure]:
    memory = estimate["memory_per_gpu"]
    words = (_("weights"), _("gradients"), _("optimizer states"), _("activations"), _("logits and loss"), _("buffers"))
    parts = {part: Term(word, memory[f"{part}_bytes"], "B") for part, word in zip(MEMORY_PARTS, words, strict=True)}
    yield Figure(
        code="allocated_bytes",
        label=_("Allocated memory of the fullest GPU"),
        formula=" + ".join(f"{{{part}}}" for part in MEMORY_PARTS),
        terms=parts,
        result=sum(term.value for term in parts.values()),
        value=memory["allocated_bytes"],
        unit="B",
        text=figures.format_gib(memory["allocated_bytes"]),
    )
    allocator = memory["reserved_bytes"] - memory["allocated_bytes"]
    device = {
        "a": Term(_("allocated memory"), memory["allocated_bytes"], "B"),
        "b": Term(_("allocator reserve"), allocator, "B"),
        "c": Term(_("context and libraries"), memory["overhead_bytes"], "B"),
    }
    yield Figure(
        code="total_bytes",
        label=_("Memory on the device"),
        formula="{a} + {b} + {c}",
        terms=device,
        result=sum(term.value for term in device.values()),
        value=memory["total_bytes"],
        unit="B",
        text=figures.format_gib(memory["total_bytes"]),
    )
    used = memory["total_bytes"] / memory["available_bytes"]
    yield Figure(
        code="memory_used_fraction",
        label=_("Share of the GPU's memory"),
        formula="{a} / {b}",
        terms={
            "a": Term(_("memory on the device"), memory["total_bytes"], "B"),
            "b": Term(_("available memory"), memory["available_bytes"], "B"),
        },
        result=used,
        value=used,
        unit="",
        text=figures.format_percent(used),
    )

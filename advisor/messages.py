"""Words for codes: the input's faults and the engine's problems carry a code and figures, this module the sentence.

A sentence says what, which values, and what would pass. Figures are written by the unit that their name ends in
(`_bytes`, `_seconds`, `_fraction` ...). A code without a sentence fails a test, and is never shown as a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from advisor import figures
from advisor.quantities import canonical

MAX_SHOWN = 60

FAULTS: dict[str, str | Promise] = {
    "required": _("%(field)s is missing. Give one of: %(choices)s."),
    "unknown_field": _("There is no field “%(name)s” here. Known: %(known)s."),
    "unknown_field_like": _("There is no field “%(name)s” here. Did you mean “%(suggestion)s”?"),
    "derived_field": _("%(name)s cannot be set: it follows from the number of GPUs and the other group sizes."),
    "repeated": _("%(field)s is given more than once; give it once."),
    "not_an_object": _("%(field)s must be an object with named values, not %(value)s."),
    "not_a_list": _("%(field)s must be a list, not %(value)s."),
    "not_a_text": _("%(field)s must be a text, not %(value)s."),
    "not_a_number": _("%(field)s must be a number or a text such as %(example)s, not %(value)s."),
    "not_a_flag": _("%(field)s must be true or false, not %(value)s."),
    "not_whole": _("%(field)s must be a whole number, not %(value)s."),
    "not_finite": _("%(field)s is not a finite number; write a number such as %(example)s."),
    "out_of_range": _("%(field)s is %(value)s; write a value from %(minimum)s to %(maximum)s."),
    "not_above": _("%(field)s is %(value)s; write a value above %(minimum)s, up to %(maximum)s."),
    "above_maximum": _("%(field)s is %(value)s; write a value of at most %(maximum)s."),
    "percent_expected": _("%(field)s is %(value)s; write a fraction such as 0.2, or 20%%."),
    "invalid_choice": _("%(field)s cannot be %(value)s; choose one of: %(choices)s."),
    "text_too_long": _("%(field)s is longer than %(limit)s characters."),
    "text_unusable": _("%(field)s holds characters that cannot be printed."),
    "text_empty": _("%(field)s is empty; write a name such as %(example)s or leave the field out."),
    "too_many": _("%(field)s has %(count)s entries; give at most %(limit)s."),
    "country_code": _("%(field)s must be a country code of two letters such as CN, not %(value)s."),
    "unsupported_version": _("This link was made by version %(value)s of the form; only version 1 is read."),
    "not_linkable": _("A link cannot carry %(field)s; use the JSON API for it."),
    "config_unreadable": _("%(reason)s The config.json was not read."),
    "config_too_long": _(
        "A link with this config.json would have %(length)s characters, more than the %(limit)s that fit; "
        "send it to the JSON API instead."
    ),
    # one quantity
    "quantity_empty": _("%(field)s is empty; write a number such as %(example)s or leave the field out."),
    "quantity_too_long": _("%(field)s is too long; a number has at most %(limit)s characters."),
    "quantity_too_many_digits": _("%(field)s has too many digits; write at most %(limit)s, such as %(example)s."),
    "quantity_exponent": _("%(field)s: the exponent of “%(text)s” is out of reach; it may be -%(limit)s to %(limit)s."),
    "quantity_not_a_number": _("%(field)s: “%(text)s” is not a number; write it as %(example)s."),
    "quantity_mixed_digits": _("%(field)s: write “%(text)s” with the digits 0 to 9, such as %(example)s."),
    "quantity_negative": _("%(field)s: “%(text)s” is negative; write a positive number such as %(example)s."),
    "quantity_decimal_comma": _("%(field)s: the comma in “%(text)s” can be read in two ways; write %(suggestion)s."),
    "quantity_grouping": _(
        "%(field)s: the digit groups of “%(text)s” are uneven; groups have three digits: 7,000,000."
    ),
    "quantity_product": _(
        "%(field)s: “%(text)s” is a product; for a mixture of experts enter total and active parameters, "
        "such as 46.7B and 12.9B for eight experts of 7B."
    ),
    "quantity_lower_m": _("%(field)s: “%(text)s” is unclear; did you mean %(suggestion)s (million)?"),
    "quantity_suffix": _(
        "%(field)s: “%(unit)s” in “%(text)s” is not known; use K, M, B, T, 万 or 亿, such as %(example)s."
    ),
    "quantity_unit": _("%(field)s: “%(unit)s” in “%(text)s” is not known; use GB, GiB, TB or TiB."),
    "quantity_bits": _("%(field)s: “%(text)s” counts bits; write bytes, such as 80 GB."),
    "quantity_time_unit": _("%(field)s: “%(unit)s” in “%(text)s” is not known; use h, d, w or months, such as 30d."),
    "quantity_gloss": _("%(field)s: the two numbers in “%(text)s” differ; write one."),
    "rounded_to_whole": _("%(given)s has a rest below one; %(used)s is used."),
    # several fields against each other
    "model_ambiguous": _("The model is given in %(count)s ways (%(given)s); give exactly one."),
    "active_exceeds_total": _("%(active_parameter_count)s active parameters are more than all %(parameter_count)s."),
    "active_without_total": _("Active parameters need the total as well; give both."),
    "tokens_given_twice": _("Training tokens are given in %(count)s ways (%(given)s); give one."),
    "tokens_incomplete": _("Training tokens by %(given)s also need %(missing)s."),
    "tokens_out_of_range": _("The data make %(tokens)s tokens; the run must have from 1 to %(maximum_tokens)s."),
    "batch_given_twice": _("The global batch is given both in sequences and in tokens; give one."),
    "batch_below_sequence": _(
        "A global batch of %(global_batch_tokens)s tokens is less than one sequence of %(sequence_length)s."
    ),
    "lora_without_method": _("LoRA settings need the method lora or qlora; the method is %(method)s."),
    "loss_on_bare_metal": _(
        "A throughput loss of %(loss_fraction)s belongs to virtual machines; "
        "choose a virtualized profile or leave it out."
    ),
    "factor_on_bare_metal": _("%(field)s belongs to virtual machines; choose a virtualized profile or leave it out."),
    "layout_not_divisible": _(
        "%(gpu_count)s GPUs do not divide into groups of tensor %(tensor_parallel)s × pipeline %(pipeline_parallel)s × "
        "context %(context_parallel)s = %(group_count)s; take a multiple, such as %(suggestion)s."
    ),
    "gpu_count_above_maximum": _("%(gpu_count)s GPUs are more than the most allowed, %(maximum)s."),
    "pilot_incomplete": _("A pilot needs its measured tokens per second per GPU; give them, or leave the pilot out."),
    "pilot_gpu_missing": _(
        "A pilot is measured on one GPU, but %(count)s are asked for; name the GPU of the pilot in measured_gpu."
    ),
    "lead_exceeds_deadline": _(
        "Delivery, set-up and acceptance take %(lead_days)s of a deadline of %(deadline_days)s; nothing is left to "
        "train. Write a later deadline."
    ),
    "budget_incomplete": _("A budget needs an amount; only the currency is given."),
}


def shown(value: Any) -> str:
    """A raw value as a message may repeat it: short, printable, and safe to encode."""
    text = (value or "“”") if isinstance(value, str) else _json_like(value)
    text = text[: MAX_SHOWN + 1]
    text = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _json_like(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{…}"
    if isinstance(value, (list, tuple)):
        return "[…]"
    if isinstance(value, int):
        return str(value) if value.bit_length() < 200 else "…"
    return repr(value)


class _Written(dict[str, str]):
    """Figures of a sentence; one that is absent is written as unknown, as a missing figure must not hide the rest."""

    def __missing__(self, name: str) -> str:
        return figures.UNKNOWN


def written(name: str, value: Any) -> str:
    """A figure by the unit in which its name ends; texts as they are."""
    if isinstance(value, (str, Promise)):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return shown(value)
    for ending, formatter in _FORMATTERS:
        if name.endswith(ending):
            return formatter(value)
    if isinstance(value, int):
        return figures.format_count(value)
    return canonical(value) if isinstance(value, Decimal) else figures.format_significant(value)


_FORMATTERS = (
    ("_bytes_per_second", lambda value: f"{figures.format_gb(value)}/s"),
    ("_bytes", figures.format_gib),
    ("_seconds", figures.format_duration),
    ("_days", lambda value: figures.format_days(value * 86_400)),
    ("_fraction", figures.format_percent),
    ("_flops_per_second", figures.format_flops_rate),
    ("_flops", figures.format_flops),
    ("_watts", figures.format_watts),
    ("parameter_count", figures.format_si_count),
    ("tokens", figures.format_si_count),
)


def sentence(template: str | Promise, params: Mapping[str, Any]) -> str:
    """The template in the active language with its figures written."""
    return str(template) % _Written({name: written(name, value) for name, value in params.items()})


def fault_message(code: str, params: Mapping[str, Any]) -> str:
    """The sentence of an input fault."""
    key = "unknown_field_like" if code == "unknown_field" and params.get("suggestion") else code
    return sentence(FAULTS[key], params)

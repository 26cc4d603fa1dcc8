"""Rules over several fields of a request: what contradicts itself is refused with both values named.

What concerns the model's shape, the memory or the time is the engine's matter and comes back as its problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from advisor.engine.specs import Assumption, Method, Origin
from advisor.input_fields import DEPLOYMENT_PARENT, TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION
from advisor.input_reading import make_fault
from advisor.input_run import run_faults
from advisor.input_types import InputFault

Values = Mapping[str, Any]
MAX_TOKENS = Decimal("1e15")

_DEEPSEEK = "DeepSeek API documentation, Token & Token Usage: 1 {} character is about {} token"
# Bytes of UTF-8 text that make one token, by language, and where the figure comes from.
BYTES_PER_TOKEN: dict[str, tuple[Decimal, str]] = {
    "en": (Decimal(1) / Decimal("0.3"), _DEEPSEEK.format("English", "0.3")),  # an English character is one byte
    "zh": (Decimal(3) / Decimal("0.6"), _DEEPSEEK.format("Chinese", "0.6")),  # a Chinese character is three bytes
    "code": (Decimal(783) / Decimal(250), "Hugging Face data set bigcode/starcoderdata: 783 GB are about 250 B tokens"),
    "mixed": (Decimal(1600) / Decimal(350), "BLOOM model card: 1.6 TB of text in 46 languages are 350 B tokens"),
}
_POINTERS = {route: {row.name: pointer for pointer, row in rows.items()} for route, rows in TABLE.items()}
_MODEL_FORMS = ("parameters", "preset", "config", "architecture")
_DATA_FORMS = (("samples", "sample_length", "epochs"), ("gigabytes", "text_language"))
_FACTORS = (
    "scale_up_bandwidth_factor",
    "scale_out_bandwidth_factor",
    "latency_factor",
    "interruption_rate_factor",
)


def contradictions(route: str, values: Values) -> Iterator[InputFault]:
    """Every fault between the fields of one request; a field that could not be read is absent from `values`."""
    pointers = _POINTERS[route]
    yield from _model_faults(values)
    yield from _token_faults(pointers, values)
    yield from _batch_faults(pointers, values)
    yield from _deployment_faults(route, pointers, values)
    if "lora_rank" in values or "lora_targets" in values or values.get("lora_embeddings"):
        method = values.get("method", Method.PRETRAIN.value)
        if method not in (Method.LORA, Method.QLORA):
            yield make_fault("/training/lora", "lora_without_method", {"method": method})
    yield from run_faults(route, values)
    if route == ESTIMATE:
        yield from _layout_faults(values)
    if route == RECOMMENDATION:
        yield from _search_faults(pointers, values)


def _model_faults(values: Values) -> Iterator[InputFault]:
    given = [name for name in _MODEL_FORMS if name in values]
    if len(given) > 1:
        yield make_fault("/model", "model_ambiguous", {"count": len(given), "given": ", ".join(given)})
    active, total = values.get("active_parameters"), values.get("parameters")
    if active is None:
        return
    if total is None and not given:
        yield make_fault("/model/active_parameters", "active_without_total", {})
    elif total is None:
        yield make_fault("/model", "model_ambiguous", {"count": 2, "given": ", ".join((given[0], "active_parameters"))})
    elif active > total:
        params = {"active_parameter_count": int(active), "parameter_count": int(total)}
        yield make_fault("/model/active_parameters", "active_exceeds_total", params)


def _token_faults(pointers: Mapping[str, str], values: Values) -> Iterator[InputFault]:
    forms = [name for form in (("tokens",), *_DATA_FORMS) for name in form[:1] if any(part in values for part in form)]
    if len(forms) > 1:
        yield make_fault("/training/tokens", "tokens_given_twice", {"count": len(forms), "given": ", ".join(forms)})
        return
    for form in _DATA_FORMS:
        present = [name for name in form if name in values]
        missing = [name for name in form if name not in values and name != "epochs"]
        if present and missing:
            keys = [pointers[name].rsplit("/", 1)[1] for name in missing]
            params = {"given": pointers[present[0]].rsplit("/", 1)[1], "missing": ", ".join(keys)}
            yield make_fault(pointers[missing[0]], "tokens_incomplete", params)
            return
    tokens, _origin, _assumptions = token_count(values)
    if forms and tokens is not None and not 1 <= tokens <= MAX_TOKENS:
        limits = {"tokens": float(tokens), "maximum_tokens": float(MAX_TOKENS)}
        yield make_fault("/training/tokens", "tokens_out_of_range", limits)


def token_count(values: Values) -> tuple[Decimal | None, str, tuple[Assumption, ...]]:
    """Tokens of the run, how they were given, and the conversion used, if any."""
    if "tokens" in values:
        return values["tokens"], "given", ()
    if "samples" in values:
        epochs = values.get("epochs", Decimal(1))
        return (values["samples"] * values["sample_length"] * epochs).to_integral_value(), "samples", ()
    if "gigabytes" in values:
        language = values["text_language"]
        ratio, source = BYTES_PER_TOKEN[language]
        assumption = Assumption(
            name=f"bytes_per_token_{language}",
            value=round(float(ratio), 3),
            unit="bytes",
            origin=Origin.DERIVED,
            source=source,
        )
        return (values["gigabytes"] * 10**9 / ratio).to_integral_value(), "text", (assumption,)
    return None, "absent", ()


def _batch_faults(pointers: Mapping[str, str], values: Values) -> Iterator[InputFault]:
    tokens = values.get("global_batch_tokens")
    if tokens is None:
        return
    if "global_batch_size" in values:
        yield make_fault(pointers["global_batch_tokens"], "batch_given_twice", {})
    length = values.get("sequence_length")
    if length is not None and tokens < length:
        params = {"global_batch_tokens": int(tokens), "sequence_length": length}
        yield make_fault(pointers["global_batch_tokens"], "batch_below_sequence", params)


def _deployment_faults(route: str, pointers: Mapping[str, str], values: Values) -> Iterator[InputFault]:
    if values.get("profile", "bare_metal") != "bare_metal":
        return
    if values.get("throughput_loss"):
        params = {"loss_fraction": float(values["throughput_loss"])}
        yield make_fault(pointers["throughput_loss"], "loss_on_bare_metal", params)
    for name in _FACTORS:
        if values.get(name, 1) != 1:
            pointer = f"{DEPLOYMENT_PARENT[route]}/deployment/{name}"
            yield make_fault(pointer, "factor_on_bare_metal", {}, TABLE[route][pointer])


def _layout_faults(values: Values) -> Iterator[InputFault]:
    gpu_count = values.get("gpu_count")
    groups = {name: values.get(name, 1) for name in ("tensor_parallel", "pipeline_parallel", "context_parallel")}
    group_count = groups["tensor_parallel"] * groups["pipeline_parallel"] * groups["context_parallel"]
    if gpu_count is not None and gpu_count % group_count:
        suggestion = max(1, round(gpu_count / group_count)) * group_count
        params = {"gpu_count": gpu_count, **groups, "group_count": group_count, "suggestion": suggestion}
        yield make_fault("/layout", "layout_not_divisible", params)


def _search_faults(pointers: Mapping[str, str], values: Values) -> Iterator[InputFault]:
    fixed, maximum = values.get("fixed_gpu_count"), values.get("max_gpu_count")
    if fixed is not None and maximum is not None and fixed > maximum:
        params = {"gpu_count": fixed, "maximum": maximum}
        yield make_fault(pointers["fixed_gpu_count"], "gpu_count_above_maximum", params)
    if "budget_currency" in values and "budget_amount" not in values:
        yield make_fault(pointers["budget_amount"], "budget_incomplete", {})
    destination = values.get("destination")
    if destination is not None and not (len(destination) == 2 and destination.isascii() and destination.isalpha()):
        pointer = pointers["destination"]
        yield make_fault(pointer, "country_code", {"value": destination}, TABLE[RECOMMENDATION][pointer])

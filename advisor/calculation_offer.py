"""The rows of the calculation beyond the job itself: deadline, power, storage, money, virtualization."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from advisor import figures
from advisor.calculation_terms import Figure, Term
from advisor.engine.units import HOURS_PER_MONTH
from advisor.quantities import SECONDS_PER_DAY
from catalog.money import format_money

JOULES_PER_KILOWATT_HOUR = 3.6e6
MINOR_UNIT = 0.01


def deadline_figures(
    answer: Mapping[str, Any], best: Mapping[str, Any], deadline_seconds: float | None
) -> Iterator[Figure]:
    need, cluster, seconds = (
        answer["requirement"],
        best["estimate"]["cluster"],
        best["estimate"]["time"]["training_seconds"],
    )
    if not deadline_seconds or not need["sustained_flops_per_second"] or not seconds:
        return
    deadline = Term(_("deadline"), deadline_seconds, "s")
    yield Figure(
        code="sustained_flops_per_second",
        label=_("Sustained compute for the deadline"),
        formula="{a} / {b}",
        terms={"a": Term(_("total work"), need["total_model_flops"], "FLOP"), "b": deadline},
        result=need["total_model_flops"] / deadline_seconds,
        value=need["sustained_flops_per_second"],
        unit="FLOP/s",
        text=figures.format_flops_rate(need["sustained_flops_per_second"]),
    )
    peak = cluster["dense_peak_flops_per_second_per_gpu"]
    if not peak or not need["dense_peak_flops_per_second"]:
        return
    yield Figure(
        code="dense_peak_flops_per_second",
        label=_("Dense peak for the deadline"),
        formula="{a} × {b} × {c} / {d}",
        terms={
            "a": Term(_("GPUs"), cluster["gpu_count"]),
            "b": Term(_("dense peak of a GPU"), peak, "FLOP/s"),
            "c": Term(_("training time"), seconds, "s"),
            "d": deadline,
        },
        result=cluster["gpu_count"] * peak * seconds / deadline_seconds,
        value=need["dense_peak_flops_per_second"],
        unit="FLOP/s",
        text=figures.format_flops_rate(need["dense_peak_flops_per_second"]),
    )


def cluster_figures(best: Mapping[str, Any]) -> Iterator[Figure]:
    power, reliability, time = best["power"], best["reliability"], best["estimate"]["time"]
    seconds = time["training_seconds"]
    if reliability.get("mean_seconds_between_interruptions") and seconds:
        between = Term(_("time between interruptions"), reliability["mean_seconds_between_interruptions"], "s")
        yield Figure(
            code="interruptions_expected",
            label=_("Expected interruptions"),
            formula="{a} / {b}",
            terms={"a": Term(_("training time"), seconds, "s"), "b": between},
            result=seconds / between.value,
            value=reliability["interruptions_expected"],
            unit="",
            text=figures.format_significant(reliability["interruptions_expected"]),
        )
    if power.get("facility_watts"):
        yield Figure(
            code="facility_watts",
            label=_("Facility power"),
            formula="{a} × {b}",
            terms={"a": Term(_("IT power"), power["it_watts"], "W"), "b": Term("PUE", power["pue"])},
            result=power["it_watts"] * power["pue"],
            value=power["facility_watts"],
            unit="W",
            text=figures.format_watts(power["facility_watts"]),
        )
    if power.get("energy_kilowatt_hours") and seconds:
        average = Term(_("average facility power"), power["facility_average_watts"], "W")
        yield Figure(
            code="energy_kilowatt_hours",
            label=_("Energy of the run"),
            formula="{a} × {b} / 3600000",
            terms={"a": average, "b": Term(_("training time"), seconds, "s")},
            result=average.value * seconds / JOULES_PER_KILOWATT_HOUR,
            value=power["energy_kilowatt_hours"],
            unit="kWh",
            text=figures.format_significant(power["energy_kilowatt_hours"]),
        )


def storage_figures(answer: Mapping[str, Any], best: Mapping[str, Any]) -> Iterator[Figure]:
    storage, tokens = best["storage"], answer["training"].get("tokens")
    if not storage.get("retention_bytes"):
        return
    kept = {
        "a": Term(_("one checkpoint"), storage["checkpoint_bytes"], "B"),
        "b": Term(_("checkpoints kept"), storage["kept_checkpoint_count"]),
    }
    yield Figure(
        code="retention_bytes",
        label=_("Checkpoints together"),
        formula="{a} × {b}",
        terms=kept,
        result=kept["a"].value * kept["b"].value,
        value=storage["retention_bytes"],
        unit="B",
        text=figures.format_gb(storage["retention_bytes"]),
    )
    if storage.get("dataset_bytes") and storage.get("bytes_per_token") and tokens:
        yield Figure(
            code="dataset_bytes",
            label=_("Data set"),
            formula="{a} × {b}",
            terms={
                "a": Term(_("training tokens"), tokens),
                "b": Term(_("bytes per token"), storage["bytes_per_token"], "B"),
            },
            result=tokens * storage["bytes_per_token"],
            value=storage["dataset_bytes"],
            unit="B",
            text=figures.format_gb(storage["dataset_bytes"]),
        )


def money_figures(best: Mapping[str, Any]) -> Iterator[Figure]:
    hours, cost = best["gpu_hours"], best["run_cost"]
    rental = best["prices"]["rental"]
    hourly = _hourly_price(rental, best["gpus_per_server"])
    if hours and cost and hourly:
        yield Figure(
            code="run_cost",
            label=_("Cost of the run"),
            formula="{a} × {b}",
            terms={
                "a": Term(_("GPU-hours of the run"), hours, "h"),
                "b": Term(_("price of a GPU-hour"), hourly, cost["currency"]),
            },
            result=hours * hourly,
            value=float(cost["amount"]),
            unit=cost["currency"],
            text=format_money(Decimal(cost["amount"]), cost["currency"]),
            rounding=MINOR_UNIT,
        )
    words = {"rental": _("Rental, tax included"), "purchase": _("Purchase, tax included")}
    for basis, label in words.items():
        if best["prices"][basis]:
            yield _total(f"{basis}_total", label, best["prices"][basis])


def _hourly_price(rental: Mapping[str, Any] | None, gpus_per_server: int) -> float | None:
    """Price of a GPU-hour behind the rent of a server-month."""
    lines: Sequence[Mapping[str, Any]] = rental["lines"] if rental else ()
    rent = next((line for line in lines if line["kind"] == "server" and line["unit"] == "server_month"), None)
    if rent is None or not rent["unit_price"]:
        return None
    return float(rent["unit_price"]["amount"]) / gpus_per_server / HOURS_PER_MONTH


def _total(code: str, label: str, prices: Mapping[str, Any]) -> Figure:
    """Net and, for each rate, tax on its base."""
    unit = prices["currency"]
    terms = {"net": Term(_("net"), float(prices["subtotal"]["amount"]), unit)}
    pieces, result = ["{net}"], terms["net"].value
    for index, group in enumerate(prices["tax_groups"]):
        terms[f"base{index}"] = Term(_("base"), float(group["base"]["amount"]), unit)
        terms[f"rate{index}"] = Term(_("tax rate"), float(group["rate"]))
        pieces.append(f"{{base{index}}} × {{rate{index}}}")
        result += float(group["base"]["amount"]) * float(group["rate"])
    return Figure(
        code=code,
        label=label,
        formula=" + ".join(pieces),
        terms=terms,
        result=result,
        value=float(prices["total"]["amount"]),
        unit=unit,
        text=format_money(Decimal(prices["total"]["amount"]), unit),
        rounding=MINOR_UNIT,
    )


def deployment_figures(comparison: Mapping[str, Any] | None) -> Iterator[Figure]:
    if not comparison or not comparison["throughput_loss"]:
        return
    bare, virtual = comparison["bare_metal"]["training_days"], comparison["virtualized"]["training_days"]
    if bare is None or virtual is None:
        return
    loss = comparison["throughput_loss"]
    yield Figure(
        code="virtualized_days",
        label=_("Training time, virtualized"),
        formula="{a} / (1 − {b})",
        terms={"a": Term(_("days on bare metal"), bare, "d"), "b": Term(_("throughput loss"), loss)},
        result=bare / (1 - loss),
        value=virtual,
        unit="d",
        text=figures.format_days(virtual * SECONDS_PER_DAY),
    )

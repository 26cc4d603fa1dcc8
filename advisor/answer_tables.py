"""An answer as named tables: the one form from which CSV, spreadsheet and PDF are written.

A figure stands twice: as a number in its base unit, to go on computing with, and as the page shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from advisor import figures
from advisor.calculation import calculation
from advisor.exclusions import exclusions
from advisor.inputs import CheckedRecommendation
from advisor.page_words import CALCULATION_GROUPS, ORIGINS, PARTS, SEVERITIES, STEP_PARTS
from advisor.price_table import price_rows
from advisor.quantities import SECONDS_PER_DAY
from advisor.templatetags.page import assumption_value
from catalog.cells import Shape
from catalog.money import format_money
from catalog.sheet_writing import Column

SIGNIFICANT_DIGITS = 15  # what a spreadsheet keeps of a number


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTable:
    """`widths` are percent of the page, for paper."""

    code: str
    title: str
    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]


def headline(answer: Mapping[str, Any]) -> str:
    """What stands at the top of every export, with the word that it is an estimate."""
    best = answer["recommended"]
    if not best:
        return _("Estimate: no configuration meets these conditions.")
    words = {
        "servers": figures.format_count(best["server_count"]),
        "per": figures.format_count(best["gpus_per_server"]),
        "gpu": best["gpu_name"],
        "gpus": figures.format_count(best["gpu_count"]),
    }
    time = best["estimate"]["time"]
    if time["training_seconds"] is None:
        return _("Estimate: %(servers)s servers of %(per)s × %(gpu)s, %(gpus)s GPUs") % words
    words |= {
        "days": figures.format_training_time(time["training_seconds"]),
        "low": figures.format_training_time(time["training_seconds_low"]),
        "high": figures.format_training_time(time["training_seconds_high"]),
    }
    return (
        _("Estimate: %(servers)s servers of %(per)s × %(gpu)s, %(gpus)s GPUs, %(days)s (%(low)s to %(high)s)") % words
    )


def answer_tables(answer: Mapping[str, Any], checked: CheckedRecommendation, *, url: str) -> list[AnswerTable]:
    """Summary first, then what it rests on; tables without rows are left out."""
    best = answer["recommended"]
    tables = [_summary(answer, checked, url)]
    if best:
        tables += [_bill(best), _memory(best), _step(best)]
    tables += [_configurations(answer), _rejected(answer), _assumptions(answer), _sensitivity(answer)]
    if best:
        tables += [_calculation(answer, checked), _checks(best), _excluded(answer)]
    return [table for table in tables if table.rows]


def number(value: float | int | Decimal | str | None) -> str:
    """A number as a spreadsheet reads it, to its fifteen digits; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, int | str | Decimal):
        return str(value)
    digits = SIGNIFICANT_DIGITS if abs(value) >= 1 else SIGNIFICANT_DIGITS - 1  # a leading zero is counted too
    text = f"{value:.{digits}g}"
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _text(*headers: str) -> tuple[Column, ...]:
    return tuple(Column(header=header) for header in headers)


def _figure(header: str) -> Column:
    return Column(header=header, shape=Shape.NUMBER)


FigureRow = tuple[str, str, str, str]


def _summary(answer: Mapping[str, Any], checked: CheckedRecommendation, url: str) -> AnswerTable:
    rows = [*_question(answer, checked)]
    if answer["recommended"]:
        rows += [*_result(answer["recommended"]), *_prices(answer["recommended"])]
    rows += [
        (_("Engine"), "", "", answer["engine_version"]),
        (_("Catalogue"), "", "", answer["catalog_revision"]),
        (_("Link"), "", "", url),
    ]
    return AnswerTable(
        code="summary",
        title=_("Estimate"),
        columns=(Column(header=_("Figure")), _figure(_("Value")), *_text(_("Unit"), _("As shown"))),
        widths=(34, 22, 12, 32),
        rows=tuple(rows),
    )


def _question(answer: Mapping[str, Any], checked: CheckedRecommendation) -> Iterator[FigureRow]:
    model, training = answer["model"], answer["training"]
    count = model["parameter_count"]
    yield _("Parameters"), number(count), "", figures.format_si_count(count)
    if model["active_parameter_count"] != count:
        active = model["active_parameter_count"]
        yield _("Active parameters"), number(active), "", figures.format_si_count(active)
    if training["tokens"]:
        yield _("Training tokens"), number(training["tokens"]), "", figures.format_si_count(training["tokens"])
    if checked.deadline_seconds:
        seconds = checked.deadline_seconds
        yield _("Deadline"), number(seconds / SECONDS_PER_DAY), _("days"), figures.format_days(seconds)
    if checked.budget:
        amount, currency = checked.budget
        yield _("Budget"), number(amount), currency, format_money(amount, currency)


def _result(best: Mapping[str, Any]) -> Iterator[FigureRow]:
    time, memory, power = best["estimate"]["time"], best["estimate"]["memory_per_gpu"], best["power"]
    yield "GPU", "", "", best["gpu_name"]
    yield _("GPUs"), number(best["gpu_count"]), "", figures.format_count(best["gpu_count"])
    yield _("Servers"), number(best["server_count"]), "", figures.format_count(best["server_count"])
    spares = best["spare_server_count"]
    yield _("Spare servers"), number(spares), "", figures.format_count(spares)
    if time["training_seconds"] is not None:
        for label, key in (
            (_("Training time"), "training_days"),
            (_("Training time, fastest"), "training_days_low"),
            (_("Training time, slowest"), "training_days_high"),
        ):
            yield label, number(best[key]), _("days"), figures.format_days(best[key] * SECONDS_PER_DAY)
        yield "MFU", number(time["mfu"]), "", figures.format_percent(time["mfu"])
        rate = time["tokens_per_second_per_gpu"]
        yield _("Tokens a second and GPU"), number(rate), "1/s", figures.format_significant(rate)
        yield _("GPU-hours of the run"), number(best["gpu_hours"]), "h", figures.format_significant(best["gpu_hours"])
    yield _("GPU memory used"), number(memory["total_bytes"]), "B", figures.format_gib(memory["total_bytes"])
    available = memory["available_bytes"]
    yield _("GPU memory available"), number(available), "B", figures.format_gib(available)
    for label, key in ((_("IT power"), "it_watts"), (_("Facility power"), "facility_watts")):
        if power.get(key):
            yield label, number(power[key]), "W", figures.format_watts(power[key])
    if power.get("rack_count"):
        yield _("Racks"), number(power["rack_count"]), "", figures.format_count(power["rack_count"])
    if power.get("energy_kilowatt_hours"):
        energy = power["energy_kilowatt_hours"]
        yield _("Energy of the run"), number(energy), "kWh", figures.format_significant(energy)


def _prices(best: Mapping[str, Any]) -> Iterator[FigureRow]:
    rental, purchase = best["prices"]["rental"], best["prices"]["purchase"]
    rows = [
        (_("Cost of the run"), best["run_cost"]),
        (_("Rental a month, tax included"), rental and rental["monthly"]),
        (_("Rental, tax included"), rental and rental["total"]),
        (_("Purchase, tax included"), purchase and purchase["total"]),
    ]
    for label, money in rows:
        if money:
            yield label, money["amount"], money["currency"], _money(money)


def _money(money: Mapping[str, str] | None) -> str:
    return format_money(Decimal(money["amount"]), money["currency"]) if money else ""


def _bill(best: Mapping[str, Any]) -> AnswerTable:
    def amount(cell: Any) -> str:
        return cell.amount["amount"] if cell and cell.amount else ""

    currency = next((prices["currency"] for prices in best["prices"].values() if prices), "")
    rows = [
        (row.name, row.sku, number(row.quantity), amount(row.rental), amount(row.purchase), " ".join(row.reasons))
        for row in price_rows(best)
    ]
    return AnswerTable(
        code="bill",
        title=_("Bill of materials"),
        columns=(
            *_text(_("Item"), "SKU"),
            _figure(_("Quantity")),
            _figure(_("Rental, %(currency)s net") % {"currency": currency}),
            _figure(_("Purchase, %(currency)s net") % {"currency": currency}),
            Column(header=_("Reason")),
        ),
        widths=(24, 17, 8, 15, 15, 21),
        rows=tuple(rows),
    )


def _memory(best: Mapping[str, Any]) -> AnswerTable:
    memory = best["estimate"]["memory_per_gpu"]
    rows = [
        (str(label), number(memory[f"{code}_bytes"]), figures.format_gib(memory[f"{code}_bytes"]))
        for code, label in PARTS.items()
        if f"{code}_bytes" in memory
    ]
    for label, key in (
        (_("Allocated"), "allocated_bytes"),
        (_("Reserved"), "reserved_bytes"),
        (_("Total on the device"), "total_bytes"),
        (_("Available"), "available_bytes"),
    ):
        rows.append((label, number(memory[key]), figures.format_gib(memory[key])))
    return _parts("memory", _("GPU memory"), _("Bytes"), rows)


def _step(best: Mapping[str, Any]) -> AnswerTable:
    time = best["estimate"]["time"]
    rows: list[tuple[str, str, str]] = []
    if time["step_seconds"]:
        rows = [
            (str(label), number(time[f"{code}_seconds"]), figures.format_duration(time[f"{code}_seconds"]))
            for code, label in STEP_PARTS.items()
            if time.get(f"{code}_seconds") is not None
        ]
        rows.append((_("Step"), number(time["step_seconds"]), figures.format_duration(time["step_seconds"])))
    return _parts("step", _("Step time"), _("Seconds"), rows)


def _parts(code: str, title: str, unit: str, rows: Sequence[tuple[str, str, str]]) -> AnswerTable:
    return AnswerTable(
        code=code,
        title=title,
        columns=(Column(header=_("Part")), _figure(unit), Column(header=_("As shown"))),
        widths=(50, 25, 25),
        rows=tuple(rows),
    )


def _configurations(answer: Mapping[str, Any]) -> AnswerTable:
    best = answer["recommended"]
    shown = [best, *answer["alternatives"]] if best else answer["alternatives"]
    said = {row["gpu"]: row["message"] for row in answer["rejected"]}
    rows = [
        (
            row["gpu_name"],
            number(row["gpu_count"]),
            number(row["server_count"]),
            number(row["training_days"]),
            number(row["estimate"]["time"]["mfu"]),
            row["run_cost"]["amount"] if row["run_cost"] else "",
            _("recommended") if row is best else said.get(row["gpu"], ""),
        )
        for row in shown
    ]
    return AnswerTable(
        code="configurations",
        title=_("Configurations"),
        columns=(
            Column(header="GPU"),
            *(_figure(header) for header in (_("GPUs"), _("Servers"), _("Days"), "MFU", _("Cost of the run"))),
            Column(header=_("Why, or why not")),
        ),
        widths=(20, 8, 9, 13, 13, 13, 24),
        rows=tuple(rows),
    )


def _rejected(answer: Mapping[str, Any]) -> AnswerTable:
    return AnswerTable(
        code="rejected",
        title=_("Other GPUs"),
        columns=_text("GPU", _("Reason")),
        widths=(28, 72),
        rows=tuple((row["gpu_name"], row["message"]) for row in answer["rejected"]),
    )


def _assumptions(answer: Mapping[str, Any]) -> AnswerTable:
    best = answer["recommended"]
    found = {item["name"]: item for item in answer["assumptions"]}
    if best:
        found |= {item["name"]: item for item in best["estimate"]["assumptions"] if item["name"] not in found}
    rows = [
        (item.get("label") or item["name"], assumption_value(item), str(ORIGINS[item["origin"]]), item["source"])
        for item in found.values()
    ]
    return AnswerTable(
        code="assumptions",
        title=_("Assumptions"),
        columns=_text(_("Assumption"), _("Value"), _("Origin"), _("Source")),
        widths=(28, 18, 14, 40),
        rows=tuple(rows),
    )


def _sensitivity(answer: Mapping[str, Any]) -> AnswerTable:
    inputs = (answer.get("sensitivity") or {}).get("inputs", ())
    sides = ("low", "base", "high")
    rows = [
        (
            item["label"],
            item["unit"],
            *(number(item[side][key]) for side in sides for key in ("value", "training_days")),
        )
        for item in inputs
    ]
    heads = (_("Low end"), _("Days"), _("Base"), _("Days"), _("High end"), _("Days"))
    return AnswerTable(
        code="sensitivity",
        title=_("Sensitivity"),
        columns=(*_text(_("Assumption"), _("Unit")), *(_figure(head) for head in heads)),
        widths=(24, 10, 11, 11, 11, 11, 11, 11),
        rows=tuple(rows),
    )


def _calculation(answer: Mapping[str, Any], checked: CheckedRecommendation) -> AnswerTable:
    rows = [
        (
            str(CALCULATION_GROUPS[row["group"]]),
            row["label"],
            row["formula"],
            row["substituted"],
            number(row["value"]),
            row["unit"],
        )
        for row in calculation(answer, deadline_seconds=checked.deadline_seconds)
    ]
    return AnswerTable(
        code="calculation",
        title=_("Calculation"),
        columns=(
            *_text(_("Group"), _("Figure"), _("Formula"), _("Numbers put in")),
            _figure(_("Value")),
            Column(header=_("Unit")),
        ),
        widths=(11, 17, 23, 26, 15, 8),
        rows=tuple(rows),
    )


def _checks(best: Mapping[str, Any]) -> AnswerTable:
    return AnswerTable(
        code="checks",
        title=_("Checks"),
        columns=_text(_("Severity"), _("Check")),
        widths=(20, 80),
        rows=tuple((str(SEVERITIES[check["severity"]]), check["message"]) for check in best["checks"]),
    )


def _excluded(answer: Mapping[str, Any]) -> AnswerTable:
    return AnswerTable(
        code="excluded",
        title=_("Not included"),
        columns=_text(_("Not included")),
        widths=(100,),
        rows=tuple((line,) for line in exclusions(answer)),
    )

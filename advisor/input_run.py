"""Inputs around the run: a pilot that was measured, what a programme trains beside it, the days before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from advisor.engine.units import SECONDS_PER_DAY
from advisor.input_kinds import RECOMMENDATION, FieldKind, InputField, count_row, whole_row
from advisor.input_reading import make_fault
from advisor.input_types import InputFault, PilotChoice
from advisor.quantities import Kind

_RECOMMENDATION_ONLY = frozenset({RECOMMENDATION})
_DAY = Decimal(SECONDS_PER_DAY)
LEAD_NAMES = ("delivery", "set_up", "acceptance")


def _lead(name: str, label: Any, help: Any, example: str) -> InputField:
    return InputField(
        name=name, pointer=f"/target/{name}_days", kind=FieldKind.QUANTITY, quantity=Kind.DURATION, label=label,
        minimum=Decimal(0), maximum=Decimal(1000), scale=_DAY, unit=_("days"), query=f"{name}_days", help=help,
        example=example, routes=_RECOMMENDATION_ONLY,
    )  # fmt: skip


RUN_FIELDS = (
    count_row(
        "pilot_rate", "/training/pilot/measured_tokens_per_second_per_gpu", _("Measured tokens per second per GPU"),
        "0.001", "1e9", query="measured_tokens_per_second_per_gpu", example="410",
        help=_("Of a pilot of this job: rescales the prediction for the same GPU and narrows its range."),
    ),
    whole_row(
        "pilot_gpu_count", "/training/pilot/measured_gpu_count", _("GPUs of the pilot"), 1, 131_072,
        query="measured_gpu_count", example="8",
        help=_("Left out: those of the cluster, or of one server in a search."),
    ),
    InputField(
        name="pilot_gpu", pointer="/training/pilot/measured_gpu", kind=FieldKind.TEXT, label=_("GPU of the pilot"),
        query="measured_gpu", example="nvidia-h100-sxm5-80gb",
        help=_("Left out: the one GPU that is asked for."),
    ),
    count_row(
        "programme_factor", "/training/programme_factor", _("Programme factor"), "1", "100", query="programme_factor",
        example="1.5",
        help=_("GPU-hours of the whole programme over those of this run: experiments, failed runs and evaluation. "
               "Left out: 1, the run alone."),
    ),
    _lead("delivery", _("Delivery time"), _("Days until the hardware is there; part of the deadline."), "60"),
    _lead("set_up", _("Set-up time"), _("Days to install it; part of the deadline."), "7"),
    _lead("acceptance", _("Acceptance time"), _("Days of tests before training; part of the deadline."), "3"),
)  # fmt: skip


def run_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that both requests share."""
    rate, factor = values.get("pilot_rate"), values.get("programme_factor")
    return {
        "pilot": None
        if rate is None
        else PilotChoice(
            tokens_per_second_per_gpu=float(rate),
            gpu_count=values.get("pilot_gpu_count"),
            gpu=values.get("pilot_gpu"),
        ),
        "programme_factor": 1.0 if factor is None else float(factor),
    }


def lead_seconds(values: Mapping[str, Any]) -> float:
    """Days before training can start, together. [s]"""
    return float(sum((values.get(name, Decimal(0)) for name in LEAD_NAMES), Decimal(0)) * _DAY)


def run_faults(route: str, values: Mapping[str, Any]) -> Iterator[InputFault]:
    """Contradictions of these fields among themselves and with the others."""
    pilot = "/training/pilot/measured_tokens_per_second_per_gpu"
    if "pilot_rate" not in values and ("pilot_gpu_count" in values or "pilot_gpu" in values):
        yield make_fault(pilot, "pilot_incomplete", {})
    if "pilot_rate" in values and "pilot_gpu" not in values and route == RECOMMENDATION:
        asked = values.get("gpus", ())
        if len(asked) != 1:
            yield make_fault("/training/pilot/measured_gpu", "pilot_gpu_missing", {"count": len(asked)})
    deadline = values.get("deadline")
    lead = sum((values.get(name, Decimal(0)) for name in LEAD_NAMES), Decimal(0))
    if deadline is not None and lead >= deadline:
        params = {"lead_days": float(lead), "deadline_days": float(deadline)}
        yield make_fault("/target/deadline_days", "lead_exceeds_deadline", params)

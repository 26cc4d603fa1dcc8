"""The present cluster and what it is to do next, as sent and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from advisor.input_fields import CURRENCIES
from advisor.input_kinds import FieldKind, InputField, count_row, whole_row
from advisor.input_parsing import parse_recommendation_request
from advisor.input_types import CheckedRecommendation, InputError, InputFault
from advisor.market_reading import as_object, distinct, given_values, not_an_object, unknown_names
from advisor.quantities import SECONDS_PER_DAY, Kind


def _rows(*rows: InputField) -> dict[str, InputField]:
    return {row.name: row for row in rows}


PRESENT_FIELDS = _rows(
    InputField(
        name="present_gpu", pointer="/present/gpu", kind=FieldKind.TEXT, label=_("Present GPU"),
        example="nvidia-h100-sxm5-80gb", help=_("Catalogue key, or a name such as H100 80GB."),
    ),
    whole_row("present_gpu_count", "/present/gpu_count", _("Present GPUs"), 1, 131_072, example="64"),
    whole_row("gpus_per_server", "/present/gpus_per_server", _("GPUs in a server today"), 1, 128, example="8",
              help=_("Left out: all places of the server are taken.")),
    InputField(
        name="server", pointer="/present/server", kind=FieldKind.TEXT, label=_("Present server"),
        example="nvidia-dgx-h100", help=_("Catalogue key. Left out: the usual server for this GPU."),
    ),
    count_row("host_memory_gigabytes", "/present/host_memory_gigabytes", _("Host memory of a server"), "1", "65536",
              unit="GB", example="1024", help=_("Left out: as the server is sold.")),
)  # fmt: skip
TARGET_FIELDS = _rows(
    InputField(
        name="deadline", pointer="/target/deadline_days", kind=FieldKind.QUANTITY, quantity=Kind.DURATION,
        label=_("Deadline"), minimum=Decimal(0), is_minimum_excluded=True, maximum=Decimal(3650),
        scale=Decimal(SECONDS_PER_DAY), unit=_("days"), example="30",
        help=_("Days until the run must be finished: 30, 6w, 3 months."),
    ),
    InputField(
        name="target_gpu", pointer="/target/gpu", kind=FieldKind.TEXT, label=_("GPU to grow with"),
        example="nvidia-h200-sxm5-141gb", help=_("Left out: the same GPU as today."),
    ),
    whole_row("target_gpu_count", "/target/gpu_count", _("GPUs in all"), 1, 131_072, example="256",
              help=_("Left out: as many as the deadline needs.")),
    InputField(
        name="currency", pointer="/commercial/currency", kind=FieldKind.CHOICE, label=_("Currency"), default="CNY",
        choices=CURRENCIES, example="CNY",
    ),
)  # fmt: skip
_REQUIRED = ("present_gpu", "present_gpu_count")
_OBJECTS = {
    "": ("model", "training", "present", "target", "commercial"),
    "/present": ("gpu", "gpu_count", "gpus_per_server", "server", "host_memory_gigabytes"),
    "/target": ("deadline_days", "gpu", "gpu_count"),
    "/commercial": ("currency",),
}
# a fault of the search, as a fault of this request
_FROM_SEARCH = {"/hardware/gpus": "/target/gpu", "/hardware/gpu_count": "/target/gpu_count"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedUpgrade:
    gpu: str
    gpu_count: int
    gpus_per_server: int | None
    server: str | None
    host_memory_bytes: float | None
    target_gpu: str | None
    target_gpu_count: int | None
    search: CheckedRecommendation  # the job, with deadline, currency and the GPU to grow with


def parse_upgrade_request(body: Any) -> CheckedUpgrade:
    """The checked form of `POST /api/v1/upgrades`. Raises InputError with every fault."""
    if not isinstance(body, Mapping):
        raise InputError((not_an_object("", _("Request"), body),))
    faults: list[InputFault] = list(unknown_names("", body, _OBJECTS[""]))
    leaves: dict[str, Any] = {}
    for pointer in ("/present", "/target", "/commercial"):
        node, node_faults = as_object(pointer, body.get(pointer[1:]), _OBJECTS[pointer])
        faults += node_faults
        leaves |= {f"{pointer}/{name}": raw for name, raw in node.items()}
    values, value_faults = given_values("", PRESENT_FIELDS | TARGET_FIELDS, leaves)
    faults += value_faults
    faulty = {fault.pointer for fault in faults}
    faults += [_missing(PRESENT_FIELDS[name]) for name in _REQUIRED if _is_absent(name, values, faulty)]
    search = None
    try:
        search = _search(body, values)
    except InputError as error:
        faults += [replace(fault, pointer=_FROM_SEARCH.get(fault.pointer, fault.pointer)) for fault in error.errors]
    if faults or search is None:
        raise InputError(distinct(faults))
    memory = values.get("host_memory_gigabytes")
    return CheckedUpgrade(
        gpu=values["present_gpu"],
        gpu_count=values["present_gpu_count"],
        gpus_per_server=values.get("gpus_per_server"),
        server=values.get("server"),
        host_memory_bytes=None if memory is None else float(memory) * 1e9,
        target_gpu=values.get("target_gpu"),
        target_gpu_count=values.get("target_gpu_count"),
        search=search,
    )


def _is_absent(name: str, values: Mapping[str, Any], faulty: set[str]) -> bool:
    return name not in values and PRESENT_FIELDS[name].pointer not in faulty


def _missing(row: InputField) -> InputFault:
    text = _("%(field)s is missing; enter it, such as %(example)s.") % {"field": row.label, "example": row.example}
    return InputFault(pointer=row.pointer, code="present_incomplete", params={"name": row.name}, message=str(text))


def _search(body: Mapping[str, Any], values: Mapping[str, Any]) -> CheckedRecommendation:
    request: dict[str, Any] = {name: body[name] for name in ("model", "training") if name in body}
    hardware: dict[str, Any] = {}
    gpu = values.get("target_gpu") or values.get("present_gpu")
    if gpu:
        hardware["gpus"] = [gpu]
    if "target_gpu_count" in values:
        hardware["gpu_count"] = values["target_gpu_count"]
    if "deadline" in values:
        request["target"] = {"deadline_days": values["deadline"]}
    request |= {"hardware": hardware, "commercial": {"currency": values.get("currency", "CNY"), "basis": "purchase"}}
    return parse_recommendation_request(request)

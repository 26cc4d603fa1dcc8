"""How near the recommended cluster is to each of its limits: what binds it, and which limit comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from advisor import figures
from advisor.inputs import CheckedRecommendation
from catalog.money import format_money

# the engine's word for what decides -> the limit that it names here
BINDING = {"time": "deadline", "memory": "memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`share` of the limit that is used, 1 at the limit."""

    code: str
    label: str
    used: str
    limit: str
    share: float
    is_binding: bool = False

    @property
    def headroom(self) -> float:
        return 1 - self.share


def limits(answer: Mapping[str, Any], checked: CheckedRecommendation) -> list[Limit]:
    """The limits of the case, the binding one first, then by how much of each is used."""
    best = answer["recommended"]
    if not best:
        return []
    binding = BINDING.get(answer["requirement"]["binding_constraint"], "")
    found = [_marked(limit, binding) for limit in _found(best, checked)]
    return sorted(found, key=lambda limit: (not limit.is_binding, -limit.share))


def _marked(limit: Limit, binding: str) -> Limit:
    if limit.code != binding:
        return limit
    return Limit(
        code=limit.code, label=limit.label, used=limit.used, limit=limit.limit, share=limit.share, is_binding=True
    )


def _found(best: Mapping[str, Any], checked: CheckedRecommendation) -> Iterator[Limit]:
    memory, seconds, power = best["estimate"]["memory_per_gpu"], best["training_days"], best["power"]
    if checked.deadline_seconds and seconds is not None:
        expected = best["estimate"]["time"]["training_seconds"]
        yield Limit(
            code="deadline",
            label=_("Deadline"),
            used=figures.format_training_time(expected),
            limit=figures.format_days(checked.deadline_seconds),
            share=expected / checked.deadline_seconds,
        )
    yield Limit(
        code="memory",
        label=_("GPU memory"),
        used=figures.format_gib(memory["total_bytes"]),
        limit=figures.format_gib(memory["available_bytes"]),
        share=memory["total_bytes"] / memory["available_bytes"],
    )
    if (spent := _spent(best, checked)) is not None and checked.budget:
        amount, currency = checked.budget
        yield Limit(
            code="budget",
            label=_("Budget"),
            used=format_money(spent, currency),
            limit=format_money(amount, currency),
            share=float(spent / amount) if amount else 1.0,
        )
    if checked.max_it_watts and power.get("it_watts"):
        yield Limit(
            code="power",
            label=_("IT power of the site"),
            used=figures.format_watts(power["it_watts"]),
            limit=figures.format_watts(checked.max_it_watts),
            share=power["it_watts"] / checked.max_it_watts,
        )
    if checked.max_racks and power.get("rack_count"):
        yield Limit(
            code="racks",
            label=_("Racks of the site"),
            used=figures.format_count(power["rack_count"]),
            limit=figures.format_count(checked.max_racks),
            share=power["rack_count"] / checked.max_racks,
        )
    yield from _communication(best)


def _spent(best: Mapping[str, Any], checked: CheckedRecommendation) -> Decimal | None:
    """What counts against the budget: the run when rented, the hardware when only purchase is asked for."""
    purchase = best["prices"]["purchase"]
    spent = purchase["total"] if checked.basis == "purchase" and purchase else best["run_cost"]
    if not spent or not checked.budget or spent["currency"] != checked.budget[1]:
        return None
    return Decimal(spent["amount"])


def _communication(best: Mapping[str, Any]) -> Iterator[Limit]:
    """The network has no limit of its own; how much of a step waits for it says when it becomes one."""
    time = best["estimate"]["time"]
    if not time["step_seconds"] or best["server_count"] < 2:
        return
    exposed = time["exposed_communication_seconds"]
    yield Limit(
        code="network",
        label=_("Communication in a step"),
        used=figures.format_duration(exposed),
        limit=figures.format_duration(time["step_seconds"]),
        share=exposed / time["step_seconds"],
    )

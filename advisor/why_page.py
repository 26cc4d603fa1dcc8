"""Why this configuration in three sentences, and one decisive reason against each of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from advisor import figures
from catalog.money import format_money

MAX_REASONS = 3
# others that the table shows at least; GPUs that fell out fill it up, those that came nearest first
MIN_OTHERS = 6
# share of the memory from which a fit is called narrow: 5 % are less than the error of many a memory estimate
FULL = 0.95
NEAREST_CODES = ("dearer", "slower", "no_price", "does_not_meet_deadline", "does_not_fit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A sentence with its figures; `anchor` is the row of the calculation that it rests on."""

    text: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A configuration beside the recommended one: ratios to it, None where a side has no figure."""

    row: Mapping[str, Any]
    is_recommended: bool
    time_ratio: float | None
    cost_ratio: float | None
    reason: str


def reasons(
    best: Mapping[str, Any], others: Sequence[Mapping[str, Any]], *, deadline_seconds: float | None
) -> list[Reason]:
    """Time, money and fit: at most three, each computed from this answer."""
    found = [_time_reason(best, deadline_seconds), _cost_reason(best, others), _fit_reason(best)]
    return [reason for reason in found if reason is not None][:MAX_REASONS]


def _time_reason(best: Mapping[str, Any], deadline_seconds: float | None) -> Reason | None:
    time = best["estimate"]["time"]
    seconds, high = time["training_seconds"], time["training_seconds_high"]
    if seconds is None:
        return None
    words = {"days": figures.format_training_time(seconds), "high": figures.format_training_time(high) if high else ""}
    if deadline_seconds is None:
        text = _("%(days)s expected, %(high)s at worst; no deadline was given.")
    elif high is not None and high <= deadline_seconds:
        words["left"] = figures.format_training_time(deadline_seconds - high)
        text = _("In time even if slow: %(high)s at worst leave %(left)s to the deadline.")
    else:
        words["left"] = figures.format_training_time(max(deadline_seconds - seconds, 0.0))
        text = _("In time: %(days)s expected leave %(left)s to the deadline; at worst it takes %(high)s.")
    return Reason(text=text % words, anchor="training_seconds")


def _cost_reason(best: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Reason | None:
    cost = best["run_cost"]
    if not cost:
        return None
    own = Decimal(cost["amount"])
    priced = [row for row in others if row["run_cost"] and row["run_cost"]["currency"] == cost["currency"]]
    words = {"own": format_money(own, cost["currency"])}
    if not priced:
        return Reason(text=_("%(own)s for the run; no other configuration has a price.") % words, anchor="run_cost")
    nearest = min(priced, key=lambda row: Decimal(row["run_cost"]["amount"]))
    its = Decimal(nearest["run_cost"]["amount"])
    words |= {
        "other": format_money(its, cost["currency"]),
        "gpus": figures.format_count(nearest["gpu_count"]),
        "gpu": nearest["gpu_name"],
        "share": figures.format_percent(abs(float(its / own) - 1)) if own else "",
    }
    if its >= own:
        text = _("Cheapest run: %(own)s; the next, %(gpus)s × %(gpu)s, costs %(share)s more (%(other)s).")
    else:
        words |= {"servers": str(best["server_count"]), "more": str(nearest["server_count"])}
        text = _(
            "%(own)s for the run; %(gpus)s × %(gpu)s would cost %(share)s less, but take %(more)s servers "
            "instead of %(servers)s."
        )
    return Reason(text=text % words, anchor="run_cost")


def _fit_reason(best: Mapping[str, Any]) -> Reason | None:
    time, memory = best["estimate"]["time"], best["estimate"]["memory_per_gpu"]
    words = {
        "used": figures.format_gib(memory["total_bytes"]),
        "available": figures.format_gib(memory["available_bytes"]),
        "mfu": figures.format_percent(time["mfu"]) if time["mfu"] else "",
    }
    if not time["mfu"]:
        return Reason(text=_("It fits: %(used)s of %(available)s on each GPU.") % words, anchor="total_bytes")
    if memory["total_bytes"] > FULL * memory["available_bytes"]:
        text = _(
            "It fits, with little to spare: %(used)s of %(available)s on each GPU, at an MFU of %(mfu)s. Should the "
            "first steps run out of memory, recompute more or take a smaller micro-batch."
        )
    else:
        text = _("It fits and works well: %(used)s of %(available)s on each GPU, at an MFU of %(mfu)s.")
    return Reason(text=text % words, anchor="mfu")


def candidates(answer: Mapping[str, Any]) -> list[Candidate]:
    """The recommended one and its alternatives, each with its ratios to the first and what speaks against it."""
    best = answer["recommended"]
    rows = [best, *answer["alternatives"]] if best else list(answer["alternatives"])
    said = {rejection["gpu"]: rejection["message"] for rejection in answer["rejected"]}
    found = []
    for row in rows:
        is_best = row is best
        found.append(
            Candidate(
                row=row,
                is_recommended=is_best,
                time_ratio=None if is_best or not best else _ratio(row["training_days"], best["training_days"]),
                cost_ratio=None if is_best or not best else _ratio(_amount(row), _amount(best)),
                reason="" if is_best else _without_name(said.get(row["gpu"], ""), row) or _handicap(row, best),
            )
        )
    return found


def _handicap(row: Mapping[str, Any], best: Mapping[str, Any] | None) -> str:
    """The one figure in which a configuration that the search did not speak against is the worse: money, then
    servers, then days."""
    if not best:
        return ""
    cost, days = _ratio(_amount(row), _amount(best)), _ratio(row["training_days"], best["training_days"])
    if cost is not None and cost > 0:
        return _("Costs %(share)s more.") % {"share": figures.format_percent(cost)}
    if row["server_count"] > best["server_count"]:
        servers = {"more": figures.format_count(row["server_count"]), "own": figures.format_count(best["server_count"])}
        return _("Takes %(more)s servers instead of %(own)s.") % servers
    if days is not None and days > 0:
        return _("Takes %(share)s longer.") % {"share": figures.format_percent(days)}
    return ""


def fallen_out(answer: Mapping[str, Any], shown: Sequence[Candidate]) -> tuple[list[Any], list[Any]]:
    """GPUs without a configuration in the table: those that fill it up, and the rest for the list below."""
    names = {candidate.row["gpu"] for candidate in shown}
    left = [row for row in answer["rejected"] if row["gpu"] not in names]
    order = {code: place for place, code in enumerate(NEAREST_CODES)}
    ranked = sorted(left, key=lambda row: order.get(row["code"], len(order)))
    filling = ranked[: max(0, MIN_OTHERS + 1 - len(shown))] if answer["recommended"] else []
    taken = {row["gpu"] for row in filling}
    return filling, [row for row in left if row["gpu"] not in taken]


def without_name(row: Mapping[str, Any]) -> str:
    """The sentence of a GPU that fell out, without the name that stands at the head of its row."""
    return _without_name(row["message"], row)


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base - 1 if value and base else None


def _amount(row: Mapping[str, Any]) -> float | None:
    return float(row["run_cost"]["amount"]) if row["run_cost"] else None


def _without_name(reason: str, row: Mapping[str, Any]) -> str:
    """The reason without the GPU's name, which stands at the head of its row."""
    rest = reason.removeprefix(row["gpu_name"]).lstrip(":： ")
    return rest[:1].upper() + rest[1:]

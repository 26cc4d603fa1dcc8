"""The same job on several GPUs beside each other: each column is the best configuration of one GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from advisor.inputs import CheckedRecommendation
from advisor.services import scenario_search

MAX_COLUMNS = 4
# how a figure of a row may be better; a row without a winner has no direction
LOWER, HIGHER = "lower", "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A GPU with its best configuration, or the sentence that says why it has none."""

    gpu: str
    name: str
    configuration: Mapping[str, Any] | None
    reason: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    columns: list[Column]
    left_out: int
    best: Mapping[str, str]  # row -> GPU that wins it


def comparison(checked: CheckedRecommendation, query: str) -> Comparison:
    """Columns for the GPUs named in the case, else for those that its answer ranks first.

    Raises
    ------
    InputError
        For an unknown preset or GPU.
    """
    gpus = list(checked.gpus) or _ranked(scenario_search(checked=checked))
    columns = [_column(checked, gpu, query) for gpu in gpus[:MAX_COLUMNS]]
    return Comparison(columns=columns, left_out=max(len(gpus) - MAX_COLUMNS, 0), best=_winners(columns))


def _ranked(answer: Mapping[str, Any]) -> list[str]:
    shown = [answer["recommended"], *answer["alternatives"]] if answer["recommended"] else answer["alternatives"]
    return list(dict.fromkeys(row["gpu"] for row in shown))


def _column(checked: CheckedRecommendation, gpu: str, query: str) -> Column:
    answer = scenario_search(checked=replace(checked, gpus=(gpu,)))
    found = answer["recommended"]
    messages = [row["message"] for row in answer["rejected"]] or [row["message"] for row in answer["problems"]]
    rest = [pair for pair in parse_qsl(query) if pair[0] != "gpu"]
    return Column(
        gpu=gpu,
        name=found["gpu_name"] if found else gpu,
        configuration=found,
        reason="" if found else " ".join(messages[:1]),
        query=urlencode(sorted([*rest, ("gpu", gpu)])),
    )


def _winners(columns: list[Column]) -> dict[str, str]:
    """GPU with the best figure of each row, where at least two have one and they differ."""
    rows: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
        "training_days": (LOWER, lambda row: row["training_days"]),
        "server_count": (LOWER, lambda row: row["server_count"]),
        "mfu": (HIGHER, lambda row: row["estimate"]["time"]["mfu"]),
        "it_watts": (LOWER, lambda row: row["power"].get("it_watts")),
        "rack_count": (LOWER, lambda row: row["power"].get("rack_count")),
        "energy": (LOWER, lambda row: row["power"].get("energy_kilowatt_hours")),
        "run_cost": (LOWER, lambda row: _amount(row["run_cost"])),
        "purchase": (LOWER, lambda row: _amount((row["prices"]["purchase"] or {}).get("total"))),
    }
    best = {}
    for name, (direction, figure) in rows.items():
        values = {c.gpu: figure(c.configuration) for c in columns if c.configuration is not None}
        known = {gpu: value for gpu, value in values.items() if value is not None}
        if len(known) > 1 and len(set(known.values())) > 1:
            best[name] = (min if direction == LOWER else max)(known, key=lambda gpu: known[gpu])
    return best


def _amount(money: Mapping[str, str] | None) -> float | None:
    return float(money["amount"]) if money else None

"""The sizing basis as the appendix prints it: facts, parts of memory and of a step with their bars, assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise

from advisor.charts import Bar, memory_chart, step_chart
from advisor.page_words import PARTS, STEP_PARTS

# The light chart colours of tokens.css as sRGB: the renderer applies no stylesheet inside SVG.
COLOURS: dict[str, str] = {
    "weight": "#004e6f",
    "gradient": "#01858a",
    "optimizer": "#ce903a",
    "activation": "#d5b0d0",
    "logits": "#59544e",
    "buffer": "#8a857e",
    "allocator": "#b9b5ae",
    "overhead": "#dad7d2",
    "compute": "#004e6f",
    "exposed_communication": "#ce903a",
    "bubble": "#d5b0d0",
    "deployment": "#8a857e",
}
STEP_COLOURS = COLOURS | {"optimizer": "#01858a"}  # its amber is the communication's in a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a bar, with its place in a drawing 100 wide."""

    label: Promise | str
    value: float
    share: float
    x: str
    width: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Appendix:
    """The basis in one language; `memory` and `step` are empty where the job was not timed or does not fit."""

    basis: Mapping[str, Any]
    configuration: Mapping[str, Any]
    estimate: Mapping[str, Any]
    memory: tuple[Part, ...]
    memory_limit_x: str
    available_bytes: float
    total_bytes: float
    free_bytes: float
    step: tuple[Part, ...]
    step_seconds: float | None
    assumptions: tuple[Mapping[str, Any], ...]
    checks: tuple[Mapping[str, Any], ...]
    calculation: tuple[Mapping[str, Any], ...]  # empty where it was made before the rows were kept


def appendix_of(basis: Mapping[str, Any]) -> Appendix | None:
    """None when the basis holds no configuration (a quote made by hand)."""
    configuration = basis.get("configuration")
    if not configuration:
        return None
    estimate = configuration["estimate"]
    memory, step = memory_chart(estimate["memory_per_gpu"]), step_chart(estimate["time"])
    return Appendix(
        basis=basis,
        configuration=configuration,
        estimate=estimate,
        memory=_parts(memory.bars, PARTS, COLOURS),
        memory_limit_x=f"{memory.limit_at:.3f}",
        available_bytes=memory.available_bytes,
        total_bytes=memory.total.value,
        free_bytes=memory.free_bytes,
        step=_parts(step.bars, STEP_PARTS, STEP_COLOURS) if step else (),
        step_seconds=step.step_seconds if step else None,
        assumptions=_assumptions(basis, estimate),
        checks=tuple(check for check in configuration.get("checks", ()) if check.get("severity") != "ok"),
        calculation=tuple(basis.get("calculation", ())),
    )


def _parts(bars: Sequence[Bar], labels: Mapping[str, str | Promise], colours: Mapping[str, str]) -> tuple[Part, ...]:
    return tuple(
        Part(
            label=labels.get(bar.code, bar.code),
            value=bar.value,
            share=bar.share,
            x=f"{bar.start:.3f}",
            width=f"{bar.length:.3f}",
            colour=colours.get(bar.code, "#8a857e"),
        )
        for bar in bars
        if bar.value > 0
    )


def _assumptions(basis: Mapping[str, Any], estimate: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Those of the search and those of the estimate, each name once."""
    found = {row["name"]: row for row in (*basis.get("assumptions", ()), *estimate.get("assumptions", ()))}
    return tuple(found.values())

"""What one row of the calculation holds, and how its numbers are put into its formula."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

TOLERANCE = 1e-6
WRITTEN_DIGITS = 9


class TermAnswer(TypedDict):
    label: str
    value: float
    unit: str


class StepAnswer(TypedDict):
    """One figure: `formula` in words, `substituted` with the numbers, both of the same shape."""

    code: str
    group: str
    label: str
    formula: str
    substituted: str
    terms: list[TermAnswer]
    value: float
    unit: str
    text: str


@dataclass(frozen=True, slots=True)
class Term:
    """One number of a formula, by the name that stands for it there."""

    label: str
    value: float
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A formula over named terms, `{a} × {b}`; `result` is what the terms give and must equal `value`.

    `rounding` is how far an amount may stand off, since money is rounded to its minor unit.
    """

    code: str
    label: str
    formula: str
    terms: Mapping[str, Term]
    result: float
    value: float
    unit: str
    text: str
    rounding: float = 1e-12


def written_rows(group: str, found: Iterable[Figure]) -> list[StepAnswer]:
    return [
        StepAnswer(
            code=item.code,
            group=group,
            label=item.label,
            formula=item.formula.format(**{name: term.label for name, term in item.terms.items()}),
            substituted=item.formula.format(**{name: written_number(term.value) for name, term in item.terms.items()}),
            terms=[TermAnswer(label=t.label, value=t.value, unit=t.unit) for t in item.terms.values()],
            value=item.value,
            unit=item.unit,
            text=item.text,
        )
        for item in found
        if math.isclose(item.result, item.value, rel_tol=TOLERANCE, abs_tol=item.rounding)
    ]


def written_number(value: float) -> str:
    """A number as it is typed into a calculator: nine digits or to the hundredth, `2.35622892e22` from 10^15 on."""
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    if 1e-4 <= abs(value) < 1e15:
        text = f"{value:,.{max(2, WRITTEN_DIGITS - 1 - math.floor(math.log10(abs(value))))}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{WRITTEN_DIGITS - 1}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"

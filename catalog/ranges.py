"""Numeric ranges of a list in the units that its columns show: `from_memory_bytes=80` under a head in GiB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from catalog.cell_habits import DecimalMark, plain_number
from catalog.cells import CellError, Shape
from catalog.filter_fields import LARGEST_NUMBER
from catalog.kinds import Kind
from catalog.presentation import label_of, unit_for

ENDS = (("from", "min"), ("to", "max"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """One column's range as the form shows it."""

    name: str
    label: str
    unit: str
    low: str
    high: str
    error: str

    @property
    def is_set(self) -> bool:
        return bool(self.low or self.high)


def range_names(kind: Kind) -> list[str]:
    """Columns of figures that the kind's table shows."""
    limits = kind.filter_class.base_filters
    return [name for name in kind.columns if f"min_{name}" in limits and f"max_{name}" in limits]


def ranges_of(kind: Kind, query: Mapping[str, Any]) -> tuple[list[Range], dict[str, str]]:
    """The ranges of the address, and the same as limits in base units; a fault stays beside its field."""
    found: list[Range] = []
    limits: dict[str, str] = {}
    for name in range_names(kind):
        measure = unit_for(kind.code, name)
        texts, error = {}, ""
        for end, limit in ENDS:
            raw = str(query.get(f"{end}_{name}", "")).strip()
            texts[end] = raw
            if not raw:
                continue
            try:
                value = Decimal(plain_number(raw, Shape.NUMBER, DecimalMark.POINT))
            except (CellError, InvalidOperation):
                error = _("“%(value)s” is not a number.") % {"value": raw[:40]}
                continue
            factor = measure.factor if measure else Decimal(1)
            if not value.is_finite() or value < 0 or value.adjusted() > 20 or value * factor > LARGEST_NUMBER:
                error = _("“%(value)s” is not a usable number.") % {"value": raw[:40]}
                continue
            limits[f"{limit}_{name}"] = f"{value * factor:f}"
        low, high = (limits.get(f"{limit}_{name}") for _end, limit in ENDS)
        if low and high and Decimal(low) > Decimal(high):
            error = _("From %(low)s to %(high)s holds nothing: put the smaller figure first.")
            error %= {"low": texts["from"], "high": texts["to"]}
        label = label_of(kind.model, name)
        unit = measure.symbol if measure else ""
        found.append(Range(name=name, label=label, unit=unit, low=texts["from"], high=texts["to"], error=error))
    return found, limits


def with_limits(query: QueryDict, limits: Mapping[str, str]) -> QueryDict:
    """The address as the filters and the API take it: ranges as limits in base units."""
    plain = query.copy()
    for name in [name for name in plain if name.startswith(("from_", "to_"))]:
        plain.pop(name)
    for name, value in limits.items():
        plain[name] = value
    return plain

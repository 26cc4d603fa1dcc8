"""Up to four parts of a kind side by side: every figure in the page's groups, differences marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from catalog import sheet_writing
from catalog.cells import Shape
from catalog.kinds import Kind
from catalog.models import Gpu, Part
from catalog.part_page import RATES
from catalog.presentation import PAGE_DIGITS, Cell, cell, label_of, unit_for

MAX_PART_COUNT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    label: str
    unit: str
    cells: tuple[Cell, ...]

    @property
    def differs(self) -> bool:
        return len({(shown.exact, shown.text) for shown in self.cells}) > 1

    @property
    def is_empty(self) -> bool:
        return all(shown.is_missing for shown in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedGroup:
    title: str | Promise
    rows: tuple[ComparedRow, ...]


def compared_groups(kind: Kind, parts: Sequence[Part], *, only_differences: bool = False) -> list[ComparedGroup]:
    """The groups of the part page as rows of a table; rows that no part fills are left out."""
    groups = [ComparedGroup(title=_("Identity"), rows=(_row(kind, parts, "vendor"), _row(kind, parts, "status")))]
    if kind.model is Gpu:
        rates = [f"{code}_{density}_flops_per_second" for _name, code in RATES for density in ("dense", "sparse")]
        fields = ["fp64_flops_per_second", "fp32_dense_flops_per_second", *rates]
        groups.append(ComparedGroup(title=_("Peak rates"), rows=tuple(_row(kind, parts, name) for name in fields)))
    for title, names in kind.groups:
        rows = tuple(_row(kind, parts, name) for name in names if name not in ("vendor", "status"))
        groups.append(ComparedGroup(title=title, rows=rows))
    groups.append(ComparedGroup(title=pgettext("of a part", "Sources"), rows=(_row(kind, parts, "checked_on"),)))
    shown = [
        ComparedGroup(
            title=group.title,
            rows=tuple(row for row in group.rows if not row.is_empty and (row.differs or not only_differences)),
        )
        for group in groups
    ]
    return [group for group in shown if group.rows]


def _row(kind: Kind, parts: Sequence[Part], field: str) -> ComparedRow:
    measure = unit_for(kind.code, field)
    cells = tuple(replace(cell(part, field, digits=PAGE_DIGITS), unit="") for part in parts)
    return ComparedRow(label=label_of(kind.model, field), unit=measure.symbol if measure else "", cells=cells)


def compared_table(kind: Kind, parts: Sequence[Part], *, only_differences: bool = False) -> sheet_writing.Table:
    """The same comparison for a spreadsheet."""
    heads = [_("Property"), _("Unit"), *(part.sku for part in parts), pgettext("column of a comparison", "Differs")]
    rows = [
        [row.label, row.unit, *(shown.text for shown in row.cells), "y" if row.differs else ""]
        for group in compared_groups(kind, parts, only_differences=only_differences)
        for row in group.rows
    ]
    columns = [sheet_writing.Column(header=head, shape=Shape.TEXT) for head in heads]
    return sheet_writing.Table(name="comparison", columns=columns, rows=rows)

"""Changes of prices in words and figures, for the pages of price books and for commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import pgettext

from catalog.models import Price
from catalog.part_page import item_of
from catalog.presentation import MISSING, number_text
from catalog.price_diffs import PriceChange


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow:
    """One line of the table of differences."""

    sku: str
    item: str
    before: str
    after: str
    percent: str
    kind: str  # added | removed | changed
    others: str  # what differs beside the amount


def diff_rows(changes: Iterable[PriceChange]) -> list[DiffRow]:
    return [_row(change) for change in changes]


def _row(change: PriceChange) -> DiffRow:
    side: Any = change.after if change.after is not None else change.before
    kind = "added" if change.before is None else "removed" if change.after is None else "changed"
    fields = {field.name: field for field in Price._meta.concrete_fields}
    labels = [str(fields[name].verbose_name) for name in change.fields(has_costs=True)]
    fraction = change.fraction
    return DiffRow(
        sku=change.sku,
        item=item_of(side),
        before=_amount(change.before),
        after=_amount(change.after),
        percent=f"{fraction * 100:+.1f} %" if fraction else "",
        kind=kind,
        others=pgettext("list", ", ").join(labels),
    )


def _amount(price: Any | None) -> str:
    """All digits: a difference in the fourth place behind the point is a difference."""
    if price is None:
        return MISSING
    if price.unit == "fraction":
        return f"{number_text(price.amount * 100, 6)} %"
    plain = f"{price.amount.normalize():,f}"
    whole, _point, digits = plain.partition(".")
    return f"{whole}.{digits.ljust(2, '0')}"

"""The lines of a draft as the editor leaves them: changed, taken out, added by hand, in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F
from django.utils.translation import gettext_lazy as _

from quotes.drafting import DraftLine
from quotes.models import MAX_LINES, QuoteLine, QuoteRevision
from quotes.services.book_prices import add_catalog_facts

LINE_FIELDS = (
    "quantity",
    "period_count",
    "unit_price",
    "discount_fraction",
    "discount_amount",
    "discount_reason",
    "tax_category",
    "tax_rate",
    "change_reason",
    "is_optional",
)
# an edit that leaves these None does not speak of them
_LEFT_AS_IT_IS = frozenset({"discount_amount", "discount_reason", "tax_category", "is_optional"})
_HAND_FIELDS = (
    "list_price",
    "discount_fraction",
    "discount_amount",
    "discount_reason",
    "tax_category",
    "change_reason",
    "is_optional",
)
# Positions are unique in a revision: lines step aside by this much before they take their new places.
_ASIDE = 10_000


class StaleEditError(Exception):
    """Someone else saved since the editor was opened; nothing was overwritten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """New values of one line, by its position; `unit_price` None leaves the price open.

    Discount amount and reason, tax category and `is_optional` stay as they are where None.
    """

    position: int
    quantity: Decimal
    period_count: int
    unit_price: Decimal | None
    discount_fraction: Decimal
    tax_rate: Decimal
    change_reason: str = ""
    discount_amount: Decimal | None = None
    discount_reason: str | None = None
    tax_category: str | None = None
    is_optional: bool | None = None
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedLine:
    """A line made by hand. `list_price` is that of the price book, and None for what no book has."""

    line: DraftLine
    list_price: Decimal | None = None
    discount_fraction: Decimal = Decimal(0)
    discount_amount: Decimal = Decimal(0)
    discount_reason: str = ""
    tax_category: str = ""
    change_reason: str = ""
    is_optional: bool = False

    def values(self) -> dict[str, Any]:
        """The columns of the stored line."""
        own = {name: getattr(self, name) for name in _HAND_FIELDS}
        return asdict(self.line) | own


def apply_lines(
    revision: QuoteRevision,
    edits: Sequence[LineEdit],
    *,
    added: Sequence[AddedLine] = (),
    order: Sequence[int] = (),
) -> tuple[list[QuoteLine], list[dict[str, Any]]]:
    """Store the lines as edited; returns them in order, and the changes as the log keeps them.

    `order` names lines by their position and added ones by -1, -2, ...; what it leaves out follows behind. Parts inside
    another line's price move and go with that line. Raises `StaleEditError` for a line that is no longer there.
    """
    rows = list(revision.lines.all())
    changes = _change(rows, edits)
    rows, removed = _without_removed(rows, edits)
    QuoteLine.objects.bulk_update(rows, LINE_FIELDS)
    fresh = _create(revision, rows, added)
    changes += removed
    changes += [{"added": row.sku or row.name_en, "quantity": _plain(row.quantity)} for row in fresh]
    if order:
        moved = _reorder(revision, rows, fresh, order)
        changes += [{"order": [row.sku or row.name_en for row in rows if not row.is_included]}] if moved else []
    else:
        rows += fresh
    return rows, changes


def _change(rows: Sequence[QuoteLine], edits: Sequence[LineEdit]) -> list[dict[str, Any]]:
    by_position = {row.position: row for row in rows}
    changes: list[dict[str, Any]] = []
    for edit in edits:
        row = by_position.get(edit.position)
        if row is None:
            raise StaleEditError(f"There is no line {edit.position}.")
        if row.is_included or edit.is_removed:
            continue
        changed: dict[str, Any] = {}
        for name in LINE_FIELDS:
            old, new = getattr(row, name), getattr(edit, name)
            if name in _LEFT_AS_IT_IS and new is None:
                continue
            if old != new:
                changed[name] = [_plain(old), _plain(new)]
                setattr(row, name, new)
        if changed:
            row.full_clean(exclude=["revision"], validate_unique=False)
            changes.append({"line": row.pk, "position": row.position, **changed})
    return changes


def _without_removed(
    rows: Sequence[QuoteLine], edits: Sequence[LineEdit]
) -> tuple[list[QuoteLine], list[dict[str, Any]]]:
    """Take lines out, and with each the parts that its price covers."""
    positions = {edit.position for edit in edits if edit.is_removed}
    kept: list[QuoteLine] = []
    removed: list[dict[str, Any]] = []
    is_under_removed = False
    for row in rows:
        is_under_removed = row.position in positions or (row.is_included and is_under_removed)
        if is_under_removed:
            removed.append({"line": row.pk, "position": row.position, "removed": row.sku or row.name_en})
            row.delete()
        else:
            kept.append(row)
    return kept, removed


def _create(revision: QuoteRevision, rows: Sequence[QuoteLine], added: Sequence[AddedLine]) -> list[QuoteLine]:
    if added and len(rows) + len(added) > MAX_LINES:
        raise ValidationError(
            _("A quote has at most %(limit)d lines; this one would have %(count)d."),
            params={"limit": MAX_LINES, "count": len(rows) + len(added)},
        )
    last = max((row.position for row in rows), default=0)
    fresh = [
        QuoteLine(revision=revision, position=position, **line.values())
        for position, line in enumerate(added, start=last + 1)
    ]
    add_catalog_facts(revision, fresh)
    for row in fresh:
        row.full_clean(exclude=["revision"], validate_unique=False)
    QuoteLine.objects.bulk_create(fresh)
    return fresh


def _reorder(revision: QuoteRevision, rows: list[QuoteLine], fresh: Sequence[QuoteLine], order: Sequence[int]) -> bool:
    """Number the lines anew in `order`; `rows` becomes the whole list. Returns whether a line that was there moved."""
    before = [row.pk for row in rows]
    blocks: dict[int, list[QuoteLine]] = {}
    for row in rows:
        if row.is_included and blocks:
            blocks[next(reversed(blocks))].append(row)
        else:
            blocks[row.position] = [row]
    blocks |= {-number: [row] for number, row in enumerate(fresh, start=1)}
    wanted = [key for key in dict.fromkeys(order) if key in blocks]
    keys = [*wanted, *(key for key in blocks if key not in set(wanted))]
    rows[:] = [row for key in keys for row in blocks[key]]
    if [row.position for row in rows] != list(range(1, len(rows) + 1)):
        revision.lines.update(position=F("position") + _ASIDE)
        for position, row in enumerate(rows, start=1):
            row.position = position
        QuoteLine.objects.bulk_update(rows, ["position"])
    return [row.pk for row in rows if row.pk in set(before)] != before


def _plain(value: Any) -> Any:
    """A value as the log keeps it."""
    if isinstance(value, Decimal | date):
        return str(value)
    return value if isinstance(value, str | int | bool | None) else str(value)

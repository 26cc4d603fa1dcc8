"""What one price book changes against another, row by row and in numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from catalog.models import PriceBook
from catalog.price_files import PriceKey, price_key

COMPARED = ("origin_mark", "origin_text", "as_of", "source_title", "source_locator", "lead_time_days")
COSTS = ("floor_amount", "cost_amount")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """One price on both sides; None where the book does not have it."""

    key: PriceKey
    before: Any | None
    after: Any | None

    @property
    def sku(self) -> str:
        return self.key[0]

    @property
    def fraction(self) -> Decimal | None:
        """Of the old amount; None where there was none to compare with."""
        if self.before is None or self.after is None or not self.before.amount:
            return None
        return Decimal(self.after.amount / self.before.amount - 1)

    def fields(self, *, has_costs: bool) -> tuple[str, ...]:
        """What differs beside the amount."""
        if self.before is None or self.after is None:
            return ()
        names = COMPARED + COSTS if has_costs else COMPARED
        return tuple(name for name in names if getattr(self.before, name) != getattr(self.after, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class BookDiff:
    added: tuple[PriceChange, ...]
    removed: tuple[PriceChange, ...]
    changed: tuple[PriceChange, ...]
    unchanged_count: int

    @property
    def raised(self) -> tuple[PriceChange, ...]:
        return tuple(change for change in self.changed if (change.fraction or 0) > 0)

    @property
    def lowered(self) -> tuple[PriceChange, ...]:
        return tuple(change for change in self.changed if (change.fraction or 0) < 0)

    @property
    def largest_rise(self) -> PriceChange | None:
        return max(self.raised, key=lambda change: change.fraction or Decimal(0), default=None)

    @property
    def largest_fall(self) -> PriceChange | None:
        return min(self.lowered, key=lambda change: change.fraction or Decimal(0), default=None)

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.changed)

    @property
    def rows(self) -> tuple[PriceChange, ...]:
        return tuple(sorted((*self.changed, *self.added, *self.removed), key=lambda change: _order(change.key)))


def price_diff(old: Iterable[Any], new: Iterable[Any]) -> BookDiff:
    """Rows of books or records from a file on either side."""
    before = {price_key(price): price for price in old}
    after = {price_key(price): price for price in new}
    shared = [key for key in after if key in before]
    changed = [key for key in shared if _differs(before[key], after[key])]
    return BookDiff(
        added=tuple(PriceChange(key=key, before=None, after=after[key]) for key in after if key not in before),
        removed=tuple(PriceChange(key=key, before=before[key], after=None) for key in before if key not in after),
        changed=tuple(PriceChange(key=key, before=before[key], after=after[key]) for key in changed),
        unchanged_count=len(shared) - len(changed),
    )


def book_diff(old: PriceBook | None, new: PriceBook) -> BookDiff:
    return price_diff(old.prices.all() if old else (), new.prices.all())


def _differs(old: Any, new: Any) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in ("amount", *COMPARED, *COSTS))


def _order(key: PriceKey) -> tuple[str, str, int, str]:
    return (key[0], key[1], key[2] or 0, key[3])

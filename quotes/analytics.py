"""How quotes end: win rates, time to a decision, discounts, reasons of losses.

A quote counts once, as its newest issued revision, and belongs to the month in which it was issued first. Won:
accepted. Lost: declined, or run out unanswered. Open quotes and withdrawn ones are in no rate. Money of two currencies
is never added: the figures by value are of one currency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from quotes.listing import DISCOUNT_CLASSES, LOST, OPEN, WON, first_issue, is_lapsed, list_net, main_product
from quotes.states import LIVE_STATES, State

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from quotes.models import QuoteRevision

# Upper ends of the classes of size, in units of the currency, tax included; the last class has none.
SIZE_CLASSES = (Decimal(1_000_000), Decimal(10_000_000), Decimal(100_000_000))
NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One quote as it stands; `days` from its first issue to the decision, `discount` of the list price."""

    outcome: str
    owner: str
    basis: str
    gross: Decimal
    month: str
    days: float | None
    discount: Decimal | None
    lost_reason: str
    product: str = ""  # the SKU of its largest line


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts and values of one group; `key` is what its list is filtered by."""

    key: str
    won: int = 0
    lost: int = 0
    open: int = 0
    won_value: Decimal = Decimal(0)
    lost_value: Decimal = Decimal(0)
    days: list[float] = field(default_factory=list)

    def add(self, ending: Ending) -> None:
        if ending.outcome == WON:
            self.won += 1
            self.won_value += ending.gross
        elif ending.outcome == LOST:
            self.lost += 1
            self.lost_value += ending.gross
        else:
            self.open += 1
        if ending.days is not None:
            self.days.append(ending.days)

    @property
    def win_rate(self) -> float | None:
        """Won of won and lost; None where nothing has ended."""
        ended = self.won + self.lost
        return self.won / ended if ended else None

    @property
    def value_rate(self) -> float | None:
        ended = self.won_value + self.lost_value
        return float(self.won_value / ended) if ended else None

    @property
    def median_days(self) -> float | None:
        return median(self.days) if self.days else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytics:
    total: Tally
    by_owner: Sequence[Tally]
    by_basis: Sequence[Tally]
    by_product: Sequence[Tally]
    by_size: Sequence[Tally]
    by_month: Sequence[Tally]
    by_discount: Sequence[Tally]
    lost_reasons: Sequence[tuple[str, int]]


def analytics_of(endings: Iterable[Ending]) -> Analytics:
    """All figures of the page; pure."""
    found = list(endings)
    reasons: dict[str, int] = {}
    total = Tally(key="")
    for ending in found:
        total.add(ending)
        if ending.outcome == LOST:
            reasons[ending.lost_reason] = reasons.get(ending.lost_reason, 0) + 1
    return Analytics(
        total=total,
        by_owner=_tallies(found, lambda ending: ending.owner),
        by_basis=_tallies(found, lambda ending: ending.basis),
        by_product=_tallies([ending for ending in found if ending.product], lambda ending: ending.product),
        by_size=_tallies(found, lambda ending: str(size_class(ending.gross))),
        by_month=_tallies(found, lambda ending: ending.month, newest_first=True),
        by_discount=_tallies(
            [ending for ending in found if ending.discount is not None],
            lambda ending: str(discount_class(ending.discount or Decimal(0))),
        ),
        lost_reasons=sorted(reasons.items(), key=lambda item: (-item[1], item[0])),
    )


def size_class(gross: Decimal) -> int:
    """Index into SIZE_CLASSES; one past its end for what is larger than all."""
    return next((index for index, limit in enumerate(SIZE_CLASSES) if gross < limit), len(SIZE_CLASSES))


def discount_class(discount: Decimal) -> int:
    """Index into DISCOUNT_CLASSES: 0 is no discount (or a price above the list)."""
    return next((index for index, limit in enumerate(DISCOUNT_CLASSES) if discount <= limit), len(DISCOUNT_CLASSES) - 1)


def _tallies(endings: Sequence[Ending], key: Callable[[Ending], str], *, newest_first: bool = False) -> Sequence[Tally]:
    groups: dict[str, Tally] = {}
    for ending in endings:
        name = key(ending)
        groups.setdefault(name, Tally(key=name)).add(ending)
    return [groups[name] for name in sorted(groups, reverse=newest_first)]


_FIELDS = (
    "state",
    "expires_at",
    "decided_at",
    "decision",
    "basis",
    "total_net",
    "total_gross",
    "quote__owner__username",
    "first_issued_at",
    "list_net",
    "main_product",
)


def endings_of(rows: QuerySet[QuoteRevision], *, now: datetime, zone: ZoneInfo) -> Iterable[Ending]:
    """What became of these revisions, each the newest issued one of its quote and all in one currency: one query."""
    annotated = rows.order_by("pk").annotate(
        first_issued_at=first_issue(), list_net=list_net(), main_product=main_product()
    )
    for values in annotated.values_list(*_FIELDS).iterator(chunk_size=2000):
        ending = _ending(dict(zip(_FIELDS, values, strict=True)), now, zone)
        if ending is not None:
            yield ending


def _ending(row: Mapping[str, Any], now: datetime, zone: ZoneInfo) -> Ending | None:
    outcome = _outcome(row["state"], row["expires_at"], now)
    if outcome is None:
        return None
    decided = row["decided_at"] if row["state"] in {State.ACCEPTED, State.DECLINED} else None
    reason = NO_ANSWER if row["state"] in LIVE_STATES else str(row["decision"].get("reason_code") or "other")
    return Ending(
        outcome=outcome,
        owner=row["quote__owner__username"],
        basis=row["basis"],
        gross=row["total_gross"],
        month=row["first_issued_at"].astimezone(zone).strftime("%Y-%m"),
        days=(decided - row["first_issued_at"]).total_seconds() / 86400 if decided else None,
        discount=1 - row["total_net"] / row["list_net"] if row["list_net"] else None,
        lost_reason=reason if outcome == LOST else "",
        product=row["main_product"] or "",
    )


def _outcome(state: str, expires_at: datetime | None, now: datetime) -> str | None:
    if state == State.ACCEPTED:
        return WON
    if state == State.DECLINED or is_lapsed(state, expires_at, now):
        return LOST
    return OPEN if state in LIVE_STATES else None

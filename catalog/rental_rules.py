"""Rental prices of the demonstration books, by rule. Pure.

Per GPU-hour, bare metal. Spot prices never enter, nor do rows dated before 2026. The winner, in this order:

1. the book's own currency before a converted one;
2. CNY: China, neocloud, hyperscaler, marketplace; USD: neocloud, hyperscaler, marketplace, China;
3. CNY: bare metal before virtualized or unknown;
4. dated before undated; on demand, one month, one year before three years;
5. of these, rows within 31 days of the newest: the median of the providers' medians.

A server-month is hours x GPUs x 730. The base is the 1-month price; an on-demand hour costs base / 0.95, other terms
base x factor. No source gives a clean ladder of terms, so every term but the one that was seen is `assumed`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from statistics import median

from catalog.price_observations import HOUR_DIGITS, RentalObservation, convert, round_to
from catalog.price_records import PriceRecord

FIRST_DAY = date(2026, 1, 1)
WINDOW_DAYS = 31
ON_DEMAND_DISCOUNT = Decimal("0.95")  # base = on-demand hour x 0.95
TERM_FACTORS: dict[int, Decimal] = {
    1: Decimal("1.00"),
    3: Decimal("0.97"),
    6: Decimal("0.93"),
    12: Decimal("0.85"),
    24: Decimal("0.78"),
    36: Decimal("0.70"),
}
CLASS_ORDER = {
    "CNY": ("china", "neocloud", "hyperscaler", "marketplace"),
    "USD": ("neocloud", "hyperscaler", "marketplace", "china"),
}
COMMITMENT_TERMS: dict[str, int | None] = {"on_demand": None, "1m": 1, "1y": 12, "3y": 36}
COMMITMENT_WORDS = {"on_demand": "on demand", "1m": "one month", "1y": "one year", "3y": "three years"}


def base_factor(commitment: str) -> Decimal:
    """What a price seen at a commitment is divided by to give the 1-month base."""
    term = COMMITMENT_TERMS[commitment]
    return 1 / ON_DEMAND_DISCOUNT if term is None else TERM_FACTORS[term]


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyPrice:
    """What the rule finds for one GPU and currency, unrounded."""

    found: Decimal  # as seen, before term factors
    base: Decimal  # the 1-month price that it means
    commitment: str  # empty when the winners mix several
    is_converted: bool
    winners: tuple[RentalObservation, ...]

    @property
    def as_of(self) -> date | None:
        return max((row.as_of for row in self.winners if row.as_of), default=None)

    @property
    def mark(self) -> str:
        return "converted" if self.is_converted else "median" if len(self.winners) > 1 else "source"


def hourly_price(observations: Iterable[RentalObservation], gpu_sku: str, currency: str) -> HourlyPrice | None:
    """The book price of one GPU-hour, or None when no price can be formed."""
    rows = [row for row in observations if row.gpu_sku == gpu_sku and _may_enter(row)]
    if not rows:
        return None
    best = min(_rank(row, currency) for row in rows)
    rows = [row for row in rows if _rank(row, currency) == best]
    newest = max((row.as_of for row in rows if row.as_of), default=None)
    if newest is not None:
        rows = [row for row in rows if row.as_of and (newest - row.as_of).days <= WINDOW_DAYS]
    commitments = {row.commitment for row in rows}
    return HourlyPrice(
        found=median_of_medians((row.provider, _in_book(row, currency)) for row in rows),
        base=median_of_medians((row.provider, _in_book(row, currency) / base_factor(row.commitment)) for row in rows),
        commitment=commitments.pop() if len(commitments) == 1 else "",
        is_converted=any(row.currency != currency for row in rows),
        winners=tuple(rows),
    )


def _may_enter(row: RentalObservation) -> bool:
    return row.commitment != "spot" and (row.as_of is None or row.as_of >= FIRST_DAY)


def _rank(row: RentalObservation, currency: str) -> tuple[bool, int, bool, bool, bool]:
    return (
        row.currency != currency,
        CLASS_ORDER[currency].index(row.provider_class),
        currency == "CNY" and row.bare_metal != "yes",
        row.as_of is None,
        row.commitment == "3y",
    )


def _in_book(row: RentalObservation, currency: str) -> Decimal:
    return convert(row.amount, row.currency, currency)


def median_of_medians(amounts: Iterable[tuple[str, Decimal]]) -> Decimal:
    """Every provider counts once, however many of its prices were seen."""
    by_provider: dict[str, list[Decimal]] = defaultdict(list)
    for provider, amount in amounts:
        by_provider[provider].append(amount)
    return median(median(values) for values in by_provider.values())


def rental_prices(
    observations: tuple[RentalObservation, ...], gpu_skus: Iterable[str], currency: str
) -> Iterator[PriceRecord]:
    """On-demand hour and every term of each GPU that has a price."""
    for sku in gpu_skus:
        price = hourly_price(observations, sku, currency)
        if price is not None:
            yield from _term_prices(sku, price)


def _term_prices(sku: str, price: HourlyPrice) -> Iterator[PriceRecord]:
    first = price.winners[0]
    providers = ", ".join(sorted({row.provider for row in price.winners}))
    commitment = COMMITMENT_WORDS.get(price.commitment, "mixed commitments")
    seen = f"{len(price.winners)} price{'s' * (len(price.winners) > 1)}, {commitment}: {providers}"
    terms: list[tuple[int | None, Decimal]] = [(None, 1 / ON_DEMAND_DISCOUNT), *TERM_FACTORS.items()]
    for term, factor in terms:
        was_seen = price.commitment != "" and COMMITMENT_TERMS[price.commitment] == term
        text = (
            seen if was_seen else f"{seen}; 1-month base x {round_to(factor, Decimal('0.001'))} (assumed term factor)"
        )
        amount = price.found if was_seen else price.base * factor
        yield PriceRecord(
            sku=sku,
            unit="gpu_hour",
            term_months=term,
            amount=round_to(amount, HOUR_DIGITS),
            origin_mark=price.mark if was_seen else "assumed",
            origin_text=text,
            as_of=price.as_of,
            source_title="; ".join(sorted({row.source_title for row in price.winners})),
            source_locator=first.source_locator,
        )

"""Published price books as exact decimals, and the rules between a row and a line.

Terms, months of 730 hours, complete servers by the book's own row or by the sum of their parts. The rows come from
`advisor.book_rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from advisor.parts import Parts
from advisor.server_build import ServerBuild
from catalog.money import round_money

HOURS_PER_MONTH = Decimal(730)  # the price files' own month; other indices count 720
INTEGRATION_FACTOR = Decimal("1.15")  # chassis, GPU board, supplies, integration, burn-in over the parts; assumed
TERMS = (1, 3, 6, 12, 24, 36)  # months on offer
LONG_TERM_MONTHS = 12
DEPOSIT_MONTHS, LONG_TERM_DEPOSIT_MONTHS = 1, 2  # one month down under 12 months, two from 12
EXACT_MARKS = frozenset({"source", "median"})
WEAK_MARKS = frozenset({"old", "converted"})
HOUR_UNIT, SERVER_MONTH_UNIT, EACH_UNIT, FRACTION_UNIT = "gpu_hour", "server_month", "each", "fraction"


@dataclass(frozen=True, slots=True, kw_only=True)
class BookPrice:
    """A row of a price book: net of tax, in the book's currency."""

    sku: str
    unit: str
    term_months: int | None
    condition: str
    amount: Decimal
    origin_mark: str
    origin_text: str
    as_of: date | None
    lead_time_days: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    key: str  # names these very rows: what is derived from them may be kept under it
    code: str
    name: str
    basis: str
    currency: str
    valid_from: date
    is_indicative: bool
    note: str
    exchange_rate: Decimal | None  # CNY per USD, what the book was converted with
    prices: Mapping[str, tuple[BookPrice, ...]]

    @property
    def as_of(self) -> date:
        """Newest date of its rows; the day it came into force where no row has a date."""
        dates = [row.as_of for rows in self.prices.values() for row in rows if row.as_of]
        return max(dates, default=self.valid_from)

    def find(self, sku: str, unit: str, condition: str = "") -> BookPrice | None:
        """The row of a SKU in a unit, without a term; `condition` is the GPU of a complete server, or nothing."""
        rows = self.prices.get(sku, ())
        return next(
            (row for row in rows if row.unit == unit and row.term_months is None and row.condition == condition), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPrice:
    """What one unit costs, and how we know."""

    amount: Decimal
    unit: str
    origin_mark: str
    as_of: date | None
    lead_time_days: int | None = None

    @property
    def is_indicative(self) -> bool:
        return self.origin_mark not in EXACT_MARKS


def term_covering(months: float) -> int:
    """The shortest term on offer that covers a run of this many months; the longest where none does."""
    return next((term for term in TERMS if term >= months), TERMS[-1])


def deposit_months(term_months: int) -> int:
    return LONG_TERM_DEPOSIT_MONTHS if term_months >= LONG_TERM_MONTHS else DEPOSIT_MONTHS


def hourly_price(book: Book, gpu_sku: str, term_months: int | None) -> PartPrice | None:
    """GPU-hour price of the longest term in the book that is not above the wanted one; None: the on-demand hour."""
    rows = [row for row in book.prices.get(gpu_sku, ()) if row.unit == HOUR_UNIT]
    if term_months is None:
        fitting = [row for row in rows if row.term_months is None]
    else:
        fitting = [row for row in rows if row.term_months is not None and row.term_months <= term_months]
        fitting = fitting or [row for row in rows if row.term_months is None]
    return _part_price(max(fitting, key=lambda row: row.term_months or 0)) if fitting else None


def server_month_price(book: Book, gpu_sku: str, gpu_count: int, term_months: int | None) -> PartPrice | None:
    """GPU-hour price x GPUs of a server x 730 hours, rounded once."""
    hourly = hourly_price(book, gpu_sku, term_months)
    if hourly is None:
        return None
    return replace(
        hourly,
        amount=round_money(hourly.amount * gpu_count * HOURS_PER_MONTH, book.currency),
        unit=SERVER_MONTH_UNIT,
    )


def server_price(book: Book, build: ServerBuild) -> PartPrice | None:
    """A complete server: the book's own or class price of this server with this GPU, then the sum of its parts.

    An old or converted row stands behind the sum of parts. None where neither can be formed.
    """
    row = book.find(build.server.sku, EACH_UNIT, build.gpu.sku)
    if row is not None and row.origin_mark not in WEAK_MARKS:
        return _part_price(row)
    summed = sum_of_parts(book, build_quantities(build))
    return summed or (_part_price(row) if row is not None else None)


def part_price(book: Book, sku: str) -> PartPrice | None:
    row = book.find(sku, EACH_UNIT)
    return _part_price(row) if row else None


def sum_of_parts(book: Book, quantities: Mapping[str, int]) -> PartPrice | None:
    """Parts x 1.15, None as soon as one part has no price."""
    total = Decimal(0)
    dates: list[date] = []
    for sku, quantity in quantities.items():
        price = part_price(book, sku)
        if price is None:
            return None
        total += price.amount * quantity
        if price.as_of:
            dates.append(price.as_of)
    return PartPrice(
        amount=round_money(total * INTEGRATION_FACTOR, book.currency),
        unit=EACH_UNIT,
        origin_mark="sum of parts",
        as_of=min(dates, default=None),
    )


def unpriced(book: Book, quantities: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sku for sku in quantities if part_price(book, sku) is None)


def _part_price(row: BookPrice) -> PartPrice:
    return PartPrice(
        amount=row.amount,
        unit=row.unit,
        origin_mark=row.origin_mark,
        as_of=row.as_of,
        lead_time_days=row.lead_time_days,
    )


def build_quantities(build: ServerBuild) -> dict[str, int]:
    """Parts inside one server by SKU."""
    quantities: dict[str, int] = {}
    for line in build.chosen:
        quantities[line.sku] = quantities.get(line.sku, 0) + line.quantity
    return quantities


def priced_part_skus(parts: Parts, book: Book | None) -> frozenset[str]:
    """Parts that go into a server and have a price; they break ties between parts that do equally well."""
    if book is None:
        return frozenset()
    inside = (*parts.cpus, *parts.memory, *parts.ssds, *parts.nics)
    return frozenset(sku for sku in inside if book.find(sku, EACH_UNIT))

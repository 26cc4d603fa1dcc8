"""Quote numbers without gaps or duplicates, taken at issue.

The number is printed in the PDF, the PDF must be stored in the transaction that takes the number, and no database lock
may be held while a PDF is made. So:

1. Hold: one UPDATE claims the series for this worker for `LEASE_SECONDS`, if nobody holds it. No lock remains.
2. The holder reads the next value and renders the PDF with it. Others wait for their turn.
3. Take: inside the issuing transaction one UPDATE raises the counter *where it still has this value and this holder*.
   Number, snapshot, PDF and state are committed together, or not at all.

A worker killed before the commit leaves nothing behind but its claim, which lapses; the next one gets the same number.
A worker that was so slow that its claim lapsed finds no row at step 3, rolls back and begins again.
"""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from quotes.models import NumberSeries, Quote, QuoteDocument, QuoteRevision

LEASE_SECONDS = 30.0
WAIT_SECONDS = 25.0  # less than a web server's own patience
_POLL_SECONDS = (0.01, 0.05)


class NumberLostError(Exception):
    """The claim on the series lapsed before the number was taken; nothing was written."""


class SeriesBusyError(Exception):
    """Others issued all the while; the quote is unchanged and may be issued again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldNumber:
    series: str
    value: int
    holder: uuid.UUID

    @property
    def number(self) -> str:
        return f"{self.series}-{self.value:06d}"


def series_for_year(year: int) -> str:
    return f"Q-{year}"


@contextmanager
def held_number(series: str) -> Iterator[HeldNumber]:
    """Hold the series' next number for the time of the block; it is given back unless `take` used it."""
    held = _hold(series)
    try:
        yield held
    finally:
        NumberSeries.objects.filter(code=series, holder=held.holder).update(holder=None, held_until=None)


def take(held: HeldNumber) -> None:
    """Use the number up; call it inside the transaction that stores what carries the number."""
    taken = NumberSeries.objects.filter(code=held.series, holder=held.holder, next_value=held.value).update(
        next_value=F("next_value") + 1, holder=None, held_until=None
    )
    if not taken:
        raise NumberLostError(held.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesReport:
    """What is in a series against what should be: 1, 2, 3, ... up to the counter, each once and with its document."""

    series: str
    issued_count: int
    next_value: int
    gaps: tuple[int, ...]
    duplicates: tuple[str, ...]
    beyond_counter: tuple[str, ...]
    without_document: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not (self.gaps or self.duplicates or self.beyond_counter or self.without_document)


def check_series() -> list[SeriesReport]:
    """Every series with its gaps and duplicates; there must be none."""
    numbers = [number for number in Quote.objects.values_list("number", flat=True) if number]
    documented = set(QuoteDocument.objects.values_list("revision__number", flat=True))
    revisions = {number for number in QuoteRevision.objects.values_list("number", flat=True) if number}
    undocumented = sorted(revisions - documented)
    by_series: dict[str, list[int]] = {code: [] for code in NumberSeries.objects.values_list("code", flat=True)}
    for number in numbers:
        series, _dash, value = number.rpartition("-")
        by_series.setdefault(series, []).append(int(value) if value.isdigit() else 0)
    counters = dict(NumberSeries.objects.values_list("code", "next_value"))
    return [
        _report(series, values, counters.get(series, 1), [n for n in undocumented if n.startswith(f"{series}-")])
        for series, values in sorted(by_series.items())
    ]


def _report(series: str, values: list[int], next_value: int, undocumented: list[str]) -> SeriesReport:
    counts = Counter(values)
    return SeriesReport(
        series=series,
        issued_count=len(values),
        next_value=next_value,
        gaps=tuple(value for value in range(1, next_value) if value not in counts),
        duplicates=tuple(f"{series}-{value:06d}" for value, count in sorted(counts.items()) if count > 1),
        beyond_counter=tuple(f"{series}-{value:06d}" for value in sorted(counts) if not 1 <= value < next_value),
        without_document=tuple(undocumented),
    )


def _hold(series: str) -> HeldNumber:
    holder = uuid.uuid4()
    give_up_at = time.monotonic() + WAIT_SECONDS
    _ensure_series(series)
    while True:
        now = timezone.now()
        free = NumberSeries.objects.filter(code=series).filter(Q(holder__isnull=True) | Q(held_until__lte=now))
        # look first: a waiting crowd that only reads does not queue for the write lock
        if free.exists() and free.update(holder=holder, held_until=now + timedelta(seconds=LEASE_SECONDS)):
            value = NumberSeries.objects.values_list("next_value", flat=True).get(code=series)
            return HeldNumber(series=series, value=value, holder=holder)
        if time.monotonic() > give_up_at:
            raise SeriesBusyError(series)
        time.sleep(random.uniform(*_POLL_SECONDS))  # noqa: S311  (spreads the waiting, no secret)


def _ensure_series(series: str) -> None:
    if NumberSeries.objects.filter(code=series).exists():
        return
    try:
        with transaction.atomic():
            NumberSeries.objects.create(code=series)
    except IntegrityError:
        pass  # another worker was first

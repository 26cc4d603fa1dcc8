"""How long a quotation takes as PDF: the first in a process, with one, thirty and five hundred lines."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from config.bench.measure import Figure, best_seconds, peak_memory_mib, seconds_of
from quotes import pdf, snapshot
from quotes.models import QuoteRevision
from quotes.snapshot import Snapshot


def sample() -> QuoteRevision:
    """A Chinese quote of the demo data with a sizing appendix, the newest."""
    revisions = QuoteRevision.objects.filter(language="zh-Hans").order_by("-pk")
    revision = revisions.exclude(sizing={}).first() or revisions.first()
    if revision is None:
        raise LookupError("There is no Chinese quote to draw; run ./dev seed.")
    return revision


def with_lines(revision: QuoteRevision, count: int) -> Snapshot:
    """The revision's snapshot with exactly `count` lines, its own repeated or cut, priced anew."""
    lines = list(revision.lines.order_by("position"))
    repeated = []
    for index in range(count):
        line = copy(lines[index % len(lines)])
        line.position = index + 1
        repeated.append(line)
    return snapshot.build(revision, repeated)


def figures() -> Iterator[Figure]:
    revision = sample()
    one, thirty, many = (with_lines(revision, count) for count in (1, 30, 500))
    cold = seconds_of(lambda: pdf.render(thirty))
    yield Figure(path=("pdf_seconds", "cold_30_lines"), label="PDF, 30 lines, the first", value=cold, unit="s")
    warm_one = best_seconds(lambda: pdf.render(one), 5)
    warm_thirty = best_seconds(lambda: pdf.render(thirty), 5)
    before = peak_memory_mib()
    warm_many = best_seconds(lambda: pdf.render(many), 1)
    after = peak_memory_mib()
    yield Figure(path=("pdf_seconds", "warm_1_line"), label="PDF, 1 line, warm", value=warm_one, unit="s")
    yield Figure(path=("pdf_seconds", "warm_30_lines"), label="PDF, 30 lines, warm", value=warm_thirty, unit="s")
    yield Figure(path=("pdf_ratio_30_to_1",), label="  30 lines to 1", value=warm_thirty / warm_one, unit="", limit=2.0)
    yield Figure(path=("pdf_seconds", "warm_500_lines"), label="PDF, 500 lines", value=warm_many, unit="s")
    yield Figure(
        path=("pdf_line_500_to_30",),
        label="  time a line, among 500 to among 30",
        value=(warm_many / 500) / (warm_thirty / 30),
        unit="",
        limit=1.0,
    )
    yield Figure(
        path=("pdf_memory_growth_mib",), label="  memory that 500 lines added", value=after - before, unit="MiB"
    )

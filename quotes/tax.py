"""Which tax rate holds for what, where and when: the table, and what of it a quote prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import Q

from quotes.models import Basis, QuoteLine, TaxRate


def rates_on(country: str, on: date) -> list[TaxRate]:
    """All rates of a country that hold on a day: from inclusive, until exclusive."""
    rows = TaxRate.objects.filter(
        Q(valid_until__isnull=True) | Q(valid_until__gt=on), country=country, valid_from__lte=on
    )
    return list(rows.order_by("category"))


def category_of(*, kind: str, basis: str, rate: Decimal) -> str:
    """The category of a line that states none: services, leased or sold goods; what bears no tax is zero-rated."""
    if not rate:
        return "zero_rated"
    if kind == "service":
        return "services"
    return "lease" if basis == Basis.RENTAL else "goods"


def line_category(line: QuoteLine, basis: str) -> str:
    return line.tax_category or category_of(kind=line.kind, basis=basis, rate=line.tax_rate)


def tax_basis(lines: Iterable[QuoteLine], *, basis: str, country: str, on: date) -> list[dict[str, Any]]:
    """Law and source of each rate in use, as a snapshot keeps them; what the table does not hold is left out."""
    table = {(row.category, row.rate): row for row in rates_on(country, on)}
    used = {(line_category(line, basis), line.tax_rate) for line in lines if not line.is_included}
    return [
        {
            "country": country,
            "category": category,
            "rate": f"{rate.normalize():f}",
            "legal_note": {"zh-Hans": row.legal_note_zh, "en": row.legal_note_en},
            "source": row.source_title,
            "source_url": row.source_url,
            "valid_from": row.valid_from.isoformat(),
        }
        for category, rate in sorted(used, key=lambda pair: (-pair[1], pair[0]))
        if (row := table.get((category, rate))) is not None
    ]


def lines_off_the_table(
    lines: Sequence[QuoteLine], *, basis: str, country: str, on: date
) -> list[tuple[QuoteLine, str, list[Decimal]]]:
    """Lines whose rate the table does not hold for their category that day, with the rates that it does."""
    allowed: dict[str, list[Decimal]] = {}
    for row in rates_on(country, on):
        allowed.setdefault(row.category, []).append(row.rate)
    found = []
    for line in lines:
        category = line_category(line, basis)
        rates = allowed.get(category, [])
        if not line.is_included and line.tax_rate not in rates:
            found.append((line, category, rates))
    return found

"""What the tests of the desk's pages share: an issue without the PDF, the editor as it stands, many quotes at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from quotes.models import Quote, QuoteLine, QuoteRevision


def fake_pdf(content: dict[str, Any]) -> bytes:
    return f"%PDF {content['number']}".encode()


def fill(owner: Any, draft: QuoteRevision, count: int, *, with_lines: bool = False) -> None:
    """`count` more drafts like this one, written at once; days and totals differ, and every tenth has a line."""
    names = ("basis", "currency", "pricing_date", "valid_through", "seller", "terms", "language", "paper", "tax_mode")
    content = {name: getattr(draft, name) for name in names}
    quotes = Quote.objects.bulk_create([Quote(owner=owner) for _ in range(count)])
    revisions = QuoteRevision.objects.bulk_create(
        [
            QuoteRevision(
                quote=quote,
                created_by=owner,
                customer_name=f"Customer {index}",
                project=f"Project {index % 97}",
                total_net=index,
                total_gross=index,
                **content | {"valid_through": draft.valid_through + timedelta(days=index % 60)},
            )
            for index, quote in enumerate(quotes)
        ]
    )
    if with_lines:
        (line,) = draft.lines.all()
        shared = {"kind": line.kind, "name_zh": line.name_zh, "name_en": line.name_en, "unit": line.unit}
        QuoteLine.objects.bulk_create(
            [
                QuoteLine(
                    revision=revision,
                    position=1,
                    sku=f"sku-{index}",
                    quantity=1,
                    unit_price=1,
                    tax_rate=line.tax_rate,
                    **shared,
                )
                for index, revision in list(enumerate(revisions))[::10]
            ]
        )

"""Drafts with literal lines, for tests of quotes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from quotes.access import Actor
from quotes.drafting import DraftLine
from quotes.models import QuoteRevision
from quotes.services import CustomerData, ProofFile, quote_create

PROOF = ProofFile(name="order.pdf", content=b"%PDF-1.7 signed")
CUSTOMER = CustomerData(customer_name="样例客户（演示）", customer_address="上海市样例区 1 号")

PRICE_BOOK = {
    "zh-Hans": {"code": "book-1", "name": "样例价目", "as_of": "2026-11-30"},
    "en": {"code": "book-1", "name": "Sample book", "as_of": "2026-11-30"},
}


def line(quantity: str, unit_price: Decimal | None, tax_rate: str, **changes: Any) -> DraftLine:
    values: dict[str, Any] = {
        "kind": "server",
        "sku": "sample-server",
        "name_zh": "样例服务器",
        "name_en": "Sample server",
        "unit": "each",
        "quantity": Decimal(quantity),
        "sized_quantity": Decimal(quantity),
        "unit_price": unit_price,
        "list_price": unit_price,
        "tax_rate": Decimal(tax_rate),
    }
    return DraftLine(**(values | changes))


def make_draft(
    actor: Actor,
    *,
    customer: CustomerData = CUSTOMER,
    lines: Sequence[tuple[str, Decimal | None, str] | DraftLine] = (("2", Decimal("1000.00"), "0.13"),),
    **content: Any,
) -> QuoteRevision:
    rows = [row if isinstance(row, DraftLine) else line(*row) for row in lines]
    values = {"basis": "purchase", "currency": "CNY", "price_book": PRICE_BOOK}
    names = customer.__dataclass_fields__
    values |= {name: getattr(customer, name) for name in names} | content
    return quote_create(actor=actor, lines=rows, content=values)

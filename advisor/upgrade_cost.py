"""What the added parts of an upgrade cost to buy, net of tax; what has no price is named and left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from advisor.bill_of_materials import Bill
from advisor.market_answers import UpgradeStepAnswer
from advisor.parts import Parts
from advisor.price_books import Book, PartPrice, part_price, server_price
from advisor.prices import hardware_price
from advisor.upgrade_steps import ADD, REPLACE
from catalog.money import round_money

_WHOLE_SERVERS = frozenset({"server", "spare_server"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedCost:
    amount: Decimal | None
    missing: tuple[str, ...]


def added_cost(parts: Parts, book: Book | None, target: Bill, steps: Iterable[UpgradeStepAnswer]) -> AddedCost:
    """None where there is no purchase book, or nothing that is added has a price."""
    if book is None:
        return AddedCost(amount=None, missing=())
    server = server_price(book, target.build)
    amounts: list[Decimal] = []
    missing: list[str] = []
    for step in steps:
        if step["action"] not in (ADD, REPLACE) or step["change"] <= 0:
            continue
        price = _price(parts, book, target, server, step)
        if price is None:
            missing.append(step["sku"] or step["name"])
        else:
            amounts.append(round_money(price.amount * step["change"], book.currency))
    if missing and not amounts:
        return AddedCost(amount=None, missing=tuple(missing))
    return AddedCost(amount=sum(amounts, Decimal(0)), missing=tuple(missing))


def _price(
    parts: Parts, book: Book, target: Bill, server: PartPrice | None, step: UpgradeStepAnswer
) -> PartPrice | None:
    if step["kind"] in _WHOLE_SERVERS:
        return server
    line = next((line for line in target.lines if (line["kind"], line["sku"]) == (step["kind"], step["sku"])), None)
    if line is not None and server is not None:
        return hardware_price(parts, line, book, server)
    return part_price(book, step["sku"]) if step["sku"] else None

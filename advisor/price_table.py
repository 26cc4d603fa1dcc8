"""Rental and purchase beside each other: one row an item, in the order of the bill of materials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """An item with its line in each price list; a line is None where that list does not sell the item."""

    sku: str
    kind: str
    name: str
    quantity: int
    reason: str
    part_of: str | None
    rental: Mapping[str, Any] | None
    purchase: Mapping[str, Any] | None


def price_rows(configuration: Mapping[str, Any]) -> list[PriceRow]:
    """Items of the bill of materials first, parts of a server under it; then what only a price list names."""
    rental = _lines(configuration["prices"]["rental"])
    purchase = _lines(configuration["prices"]["purchase"])
    items = {line["sku"]: line for line in configuration["bill_of_materials"]}
    for line in (*rental.values(), *purchase.values()):
        items.setdefault(line["sku"], line)
    return [
        PriceRow(
            sku=sku,
            kind=item["kind"],
            name=item["name"],
            quantity=item["quantity"],
            reason=item.get("reason") or "",
            part_of=item.get("part_of"),
            rental=rental.get(sku),
            purchase=purchase.get(sku),
        )
        for sku, item in items.items()
    ]


def missing_prices(configuration: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the totals leave out, of both lists, each said once."""
    books: Iterable[Mapping[str, Any] | None] = (
        configuration["prices"]["rental"],
        configuration["prices"]["purchase"],
    )
    said = {missing["message"]: missing for book in books if book for missing in book["missing"]}
    return list(said.values())


def _lines(book: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    return {line["sku"]: line for line in book["lines"]} if book else {}

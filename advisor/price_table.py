"""Rental and purchase beside each other: one row an item, in the order of the bill of materials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

BASES = ("rental", "purchase")
LEADING_ROWS = 5  # what the table shows before the fold


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceCell:
    """An item in one price list: its lines added up. `amount` None where any of them has no price."""

    quantity: int
    unit: str
    unit_price: Mapping[str, str] | None
    amount: Mapping[str, str] | None
    is_indicative: bool
    origin_mark: str
    as_of: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """An item with its cell in each price list; a cell is None where that list does not name the item."""

    sku: str
    kind: str
    name: str
    quantity: int
    reasons: tuple[str, ...]
    part_of: str | None
    rental: PriceCell | None
    purchase: PriceCell | None


def price_rows(configuration: Mapping[str, Any]) -> list[PriceRow]:
    """Lines of one item and kind become one row; items that only a price list names stand at the end."""
    bill = _grouped(configuration["bill_of_materials"])
    books = {basis: _grouped(_lines(configuration["prices"][basis])) for basis in ("rental", "purchase")}
    for lines in books.values():
        for key, group in lines.items():
            bill.setdefault(key, group)
    return [_row(lines, books["rental"].get(key), books["purchase"].get(key)) for key, lines in bill.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedRows:
    """What stands folded under the table of prices: its rows, and their sum in each list (None without any price)."""

    rows: list[PriceRow]
    line_count: int
    rental: dict[str, str] | None
    purchase: dict[str, str] | None


def leading_rows(rows: Sequence[PriceRow], count: int = LEADING_ROWS) -> tuple[list[PriceRow], FoldedRows | None]:
    """The dearest items, in the order of the bill, and the rest; nothing is folded where that would save no room.

    An item's place is that of its larger share, in whichever list it has it. Parts inside a server carry no amount of
    their own and go to the rest.
    """
    own = [row for row in rows if not row.part_of]
    if len(rows) <= count + 2:
        return list(rows), None
    shares: dict[str, Decimal] = {basis: _sum(own, basis) or Decimal(0) for basis in BASES}

    def weight(row: PriceRow) -> Decimal:
        amounts = ((_amount(row, basis) or Decimal(0), shares[basis]) for basis in BASES)
        return max(amount / total if total else Decimal(0) for amount, total in amounts)

    leading = {id(row) for row in sorted(own, key=weight, reverse=True)[:count]}
    shown = [row for row in rows if id(row) in leading]
    folded = [row for row in rows if id(row) not in leading]
    return shown, FoldedRows(
        rows=folded,
        line_count=len(folded),
        rental=_money(folded, "rental"),
        purchase=_money(folded, "purchase"),
    )


def _amount(row: PriceRow, basis: str) -> Decimal | None:
    cell: PriceCell | None = getattr(row, basis)
    return Decimal(cell.amount["amount"]) if cell and cell.amount else None


def _sum(rows: Iterable[PriceRow], basis: str) -> Decimal | None:
    amounts = [amount for row in rows if (amount := _amount(row, basis)) is not None]
    return sum(amounts, Decimal(0)) if amounts else None


def _money(rows: Sequence[PriceRow], basis: str) -> dict[str, str] | None:
    total = _sum(rows, basis)
    cells: Iterable[PriceCell | None] = (getattr(row, basis) for row in rows)
    currency = next((cell.amount["currency"] for cell in cells if cell and cell.amount), "")
    return None if total is None else {"amount": str(total), "currency": currency}


def missing_prices(configuration: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the totals leave out, of both lists, each said once."""
    books: Iterable[Mapping[str, Any] | None] = configuration["prices"].values()
    said = {missing["message"]: missing for book in books if book for missing in book["missing"]}
    return list(said.values())


def _lines(book: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    return book["lines"] if book else ()


def _grouped(lines: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["sku"], line["kind"]), []).append(line)
    return groups


def _row(
    lines: Sequence[Mapping[str, Any]],
    rental: Sequence[Mapping[str, Any]] | None,
    purchase: Sequence[Mapping[str, Any]] | None,
) -> PriceRow:
    first = lines[0]
    return PriceRow(
        sku=first["sku"],
        kind=first["kind"],
        name=first["name"],
        quantity=sum(line["quantity"] for line in lines),
        reasons=tuple(dict.fromkeys(line["reason"] for line in lines if line.get("reason"))),
        part_of=first.get("part_of"),
        rental=_cell(rental),
        purchase=_cell(purchase),
    )


def _cell(lines: Sequence[Mapping[str, Any]] | None) -> PriceCell | None:
    if not lines:
        return None
    first = lines[0]
    amounts = [line["amount"] for line in lines]
    amount: dict[str, str] | None = None
    if all(amounts):
        total = sum((Decimal(money["amount"]) for money in amounts), Decimal(0))
        amount = {"amount": str(total), "currency": amounts[0]["currency"]}
    return PriceCell(
        quantity=sum(line["quantity"] for line in lines),
        unit=first["unit"],
        unit_price=first["unit_price"] if all(line["unit_price"] == first["unit_price"] for line in lines) else None,
        amount=amount,
        is_indicative=any(line["is_indicative"] for line in lines),
        origin_mark=first["origin_mark"],
        as_of=first["as_of"],
    )

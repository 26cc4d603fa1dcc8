"""A seller's price list as a CSV file: read and checked, or written in the same columns. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from django.utils.translation import gettext as _

from catalog import cells, sheet_writing
from catalog.cell_habits import DecimalMark
from catalog.part_files import header_faults, mark_in, row_cells
from catalog.price_records import PriceRecord
from catalog.records import CatalogFileError, Fault, Record, parse_row
from catalog.sheet_reading import Sheet, SheetError, read_sheets
from catalog.sheet_writing import Table, csv_bytes
from catalog.tables import Column, FileTable, extra, may, must

MARKS = ("source", "median", "converted", "proxy", "old", "class price", "sum of parts", "assumed")
UNITS = ("gpu_hour", "server_month", "each", "fraction")
COLUMNS = (
    must("sku", parse=cells.sku),
    must("unit", parse=cells.choice(*UNITS)),
    may("term_months", parse=cells.count()),
    may("condition"),
    must("amount", parse=cells.money),
    extra("origin_mark", "origin_mark", cells.choice(*MARKS), empty="source"),
    extra("origin_text", "origin_text", cells.text, empty=""),
    extra("as_of", "as_of", cells.partial_day),
    extra("source_title", "source_title", cells.text, empty=""),
    extra("source_locator", "source_locator", cells.text, empty=""),
    extra("lead_time_days", "lead_time_days", cells.count(minimum=0)),
)
LARGEST_AMOUNT = Decimal(10) ** 12
LARGEST_COUNTS = {"term_months": 120, "lead_time_days": 3650}  # longer ones are slips of the keyboard
LONGEST_CONDITION = 80
HEADERS = tuple(column.header for column in COLUMNS)
# for those who may see them; a file without them leaves a book without them
COST_COLUMNS = (
    extra("floor_amount", "floor_amount", cells.money),
    extra("cost_amount", "cost_amount", cells.money),
)


class HasPriceFields(Protocol):
    """A row of a book or a PriceRecord."""

    @property
    def sku(self) -> Any: ...
    @property
    def unit(self) -> Any: ...
    @property
    def term_months(self) -> Any: ...
    @property
    def condition(self) -> Any: ...
    @property
    def amount(self) -> Any: ...


def read_prices(path: Path, *, known_skus: Collection[str]) -> tuple[PriceRecord, ...]:
    """Prices of a CSV or XLSX file, or CatalogFileError with everything that is wrong in it, by line."""
    try:
        sheets = read_sheets(path.read_bytes(), path.name)
    except (SheetError, OSError) as error:
        raise CatalogFileError((Fault(file_name=path.name, line=0, column="", message=str(error)),)) from None
    prices: list[PriceRecord] = []
    faults: list[Fault] = []
    for sheet in sheets:
        found, sheet_faults = prices_of_sheet(sheet, known_skus=known_skus)
        prices += found
        faults += sheet_faults
    if faults:
        raise CatalogFileError(tuple(sorted(faults)))
    return tuple(prices)


def price_faults(records: Iterable[Record], known_skus: Collection[str]) -> Iterable[Fault]:
    """A price names a part of the catalogue, once for each unit, term and condition."""
    seen: dict[tuple[Any, ...], Record] = {}
    for record in records:
        values = record.fields

        def fault(column: str, message: str, place: Record = record) -> Fault:
            return Fault(file_name=place.file_name, line=place.line, column=column, message=message)

        if values["sku"] not in known_skus:
            yield fault("sku", _("“%(sku)s” is not in the catalogue.") % {"sku": values["sku"]})
        if values["condition"] and values["unit"] == "each" and values["condition"] not in known_skus:
            yield fault("condition", _("“%(sku)s” is not in the catalogue.") % {"sku": values["condition"]})
        if values["term_months"] and values["unit"] not in ("gpu_hour", "server_month"):
            yield fault("term_months", _("Only rental units have a term."))
        first = seen.setdefault(tuple(values[name] for name in ("sku", "unit", "term_months", "condition")), record)
        if first is not record:
            yield fault("", _("The same price is already in line %(line)s.") % {"line": first.line})


PriceKey = tuple[str, str, int | None, str]


def price_key(price: HasPriceFields) -> PriceKey:
    """What names a price in its book."""
    return (price.sku, price.unit, price.term_months, price.condition)


def columns_for(*, has_costs: bool) -> tuple[Column, ...]:
    return COLUMNS + COST_COLUMNS if has_costs else COLUMNS


def prices_table(prices: Iterable[HasPriceFields], *, name: str = "prices", has_costs: bool = False) -> Table:
    """The rows of a book in the columns that reading takes; floor price and cost only where they may be seen."""
    columns = columns_for(has_costs=has_costs)
    rows = ([column.parse.write(getattr(price, column.field)) for column in columns] for price in prices)
    heads = [sheet_writing.Column(header=column.header, shape=column.parse.shape) for column in columns]
    return Table(name=name, columns=heads, rows=rows)


def prices_of_sheet(
    found: Sheet,
    *,
    known_skus: Collection[str],
    present: Mapping[PriceKey, HasPriceFields] | None = None,
    mark: DecimalMark | None = None,
) -> tuple[list[PriceRecord], list[Fault]]:
    """Prices of an uploaded table; a column that it leaves out keeps what the book's row says now (`present`)."""
    columns = {column.header: column for column in columns_for(has_costs=True)}
    faults = header_faults(found, columns.values(), key="sku")
    needed = [name for name in ("unit", "amount") if name not in found.headers]
    message = _("The column is missing.")
    faults += [Fault(file_name=found.place, line=found.header_line, column=name, message=message) for name in needed]
    if faults:
        return [], faults
    used_mark = mark_in(found, columns.values(), mark)
    table = FileTable(file_name=found.place, kind="Price", key="", columns=tuple(columns.values()))
    kept = [column for header, column in columns.items() if header not in found.headers]
    records: list[Record] = []
    prices: list[PriceRecord] = []
    for row in found.rows:
        texts, row_faults = row_cells(found, row, columns, used_mark)
        if not row_faults:
            record, row_faults = parse_row(texts, table, row.line)
            if record is not None:
                price = PriceRecord(**record.fields)  # type: ignore[arg-type]  # the columns are its fields
                known = (present or {}).get(price_key(price))
                if known is not None and kept:
                    price = replace(price, **{column.field: getattr(known, column.field) for column in kept})
                records.append(record)
                prices.append(price)
                row_faults = _amount_faults(record)
        faults += row_faults
    faults += price_faults(records, known_skus)
    if not found.rows:
        faults.append(Fault(file_name=found.place, line=0, column="", message=_("The file has no rows.")))
    return prices, sorted(faults)


def _amount_faults(record: Record) -> list[Fault]:
    """What the price's columns cannot hold."""
    faults = []
    for name in ("amount", "floor_amount", "cost_amount"):
        value = record.fields[name]
        if not isinstance(value, Decimal):
            continue
        exponent = value.as_tuple().exponent
        if abs(value) >= LARGEST_AMOUNT or (isinstance(exponent, int) and value != round(value, 6)):
            text = _("%(value)s has more than 12 digits before the point or 6 behind it.") % {"value": value}
            faults.append(Fault(file_name=record.file_name, line=record.line, column=name, message=text))
    for name, limit in LARGEST_COUNTS.items():
        count = record.fields[name]
        if isinstance(count, int) and count > limit:
            text = _("%(value)s is above %(limit)s.") % {"value": count, "limit": f"{limit:,}"}
            faults.append(Fault(file_name=record.file_name, line=record.line, column=name, message=text))
    if len(str(record.fields["condition"] or "")) > LONGEST_CONDITION:
        text = _("The text is longer than %(limit)s characters.") % {"limit": LONGEST_CONDITION}
        faults.append(Fault(file_name=record.file_name, line=record.line, column="condition", message=text))
    floor, amount = record.fields["floor_amount"], record.fields["amount"]
    if isinstance(floor, Decimal) and isinstance(amount, Decimal) and floor > amount:
        text = _("The floor price %(floor)s is above the price %(amount)s.") % {"floor": floor, "amount": amount}
        faults.append(Fault(file_name=record.file_name, line=record.line, column="floor_amount", message=text))
    return faults


def prices_csv(prices: Iterable[HasPriceFields], *, has_costs: bool = False) -> bytes:
    """The file that `read_prices` reads; it opens in a spreadsheet, so no cell starts a formula."""
    return csv_bytes(prices_table(prices, has_costs=has_costs))

"""A seller's price list as a CSV file: read and checked, or written in the same columns. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

from django.utils.translation import gettext as _

from catalog import cells
from catalog.price_records import PriceRecord
from catalog.records import CatalogFileError, Fault, Record, read_file
from catalog.tables import FileTable, extra, may, must

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
    def amount(self) -> Any: ...


def read_prices(path: Path, *, known_skus: Collection[str]) -> tuple[PriceRecord, ...]:
    """Prices of a file, or CatalogFileError with everything that is wrong in it, by line."""
    table = FileTable(file_name=path.name, kind="Price", key="", columns=COLUMNS)
    records, faults = read_file(path, table)
    faults += list(price_faults(records, known_skus))
    if faults:
        raise CatalogFileError(tuple(sorted(faults)))
    names = {field.name for field in fields(PriceRecord)}
    return tuple(PriceRecord(**{k: v for k, v in r.fields.items() if k in names}) for r in records)  # type: ignore[arg-type]


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


def prices_csv(prices: Iterable[HasPriceFields]) -> str:
    """The file that `read_prices` reads; it opens in a spreadsheet, so no cell starts a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(HEADERS)
    for price in prices:
        writer.writerow([_cell(getattr(price, name)) for name in HEADERS])
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    plain = f"{value.normalize():f}" if hasattr(value, "normalize") else str(value)
    return f"'{plain}" if plain[:1] in "=+-@" and plain[:1] else plain

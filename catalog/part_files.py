"""Parts as rows of a spreadsheet, in the datasheet's units: written so that reading gives the same values. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from catalog import cells, models, sheet_writing
from catalog.cell_habits import FIGURES, DecimalMark, decimal_mark_of, plain_text
from catalog.cells import Cell, CellError
from catalog.models import Part
from catalog.records import Fault, Record, parse_row
from catalog.sheet_reading import Sheet, SheetRow, excel_day
from catalog.tables import Column, FileTable, extra
from catalog.tables_guidance import PART_TABLES

Values = Mapping[str, Cell]
ACTIVE = extra("active", "is_active", cells.yes_no, empty=True)
# fields of a record that the tables hold under another name
RENAMED = {"supported_gpu_skus": "supported_gpus", "tier_sku": "tier"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSheet:
    """The spreadsheet of one kind: its name is the kind's code."""

    model: type[Part]
    table: FileTable

    @property
    def code(self) -> str:
        return self.model.kind_code

    @property
    def columns(self) -> tuple[Column, ...]:
        """One for each header; where a header fills several fields, the one that keeps its text stands for it."""
        first: dict[str, Column] = {}
        for column in self.table.columns:
            first.setdefault(column.header, column)
        return tuple(first.values())

    @property
    def file_stem(self) -> str:
        return self.table.file_name.removesuffix(".csv")


def part_sheet(table: FileTable) -> PartSheet:
    return PartSheet(model=getattr(models, table.kind), table=replace(table, columns=(*table.columns, ACTIVE)))


SHEETS: dict[str, PartSheet] = {
    sheet.code: sheet for sheet in sorted(map(part_sheet, PART_TABLES), key=lambda sheet: sheet.code)
}


# --- writing --------------------------------------------------------------------------------------------------------
def _label(field: str) -> Callable[[Values], str]:
    """`80 GB` stands in the file as 80."""
    return lambda values: str(values[field]).removesuffix(" GB")


def _dense_layers(values: Values) -> str:
    """A model in which every second layer has experts stands in the file as half of its layers dense."""
    layer_count = values["layer_count"]
    if values["moe_layer_interval"] == 2 and isinstance(layer_count, int):
        return str(layer_count // 2)
    return str(values["dense_layer_count"])


# (kind, header): cells that no single field fills
WRITTEN: dict[tuple[str, str], Callable[[Values], str]] = {
    ("Gpu", "memory_gb"): _label("memory_label"),
    ("Gpu", "link_type"): lambda values: str(values["link_type"] or "none"),
    ("Gpu", "sparsity_factor"): lambda values: "",  # both rates are kept
    ("MemoryModule", "capacity_gb"): _label("capacity_label"),
    ("ModelArchitecture", "dense_layer_count"): _dense_layers,
}


def row_texts(sheet: PartSheet, values: Values) -> dict[str, str]:
    """The row of a part, by header."""
    table = sheet.table
    headers = {column.field: column.header for column in table.columns}
    texts: dict[str, str] = {}
    for column in sheet.columns:
        if special := WRITTEN.get((table.kind, column.header)):
            texts[column.header] = special(values)
        elif column.field == "unverified_fields":
            fields = values["unverified_fields"]
            named = [headers.get(name, name) for name in fields] if isinstance(fields, list) else []
            texts[column.header] = column.parse.write(named)
        else:
            texts[column.header] = column.parse.write(values[RENAMED.get(column.field, column.field)])
    return texts


def part_values(part: Part) -> dict[str, Cell]:
    """A part's columns by name; relations as SKUs. Servers and builds come with their relations fetched."""
    values: dict[str, Any] = {
        field.name: getattr(part, field.name) for field in part._meta.concrete_fields if not field.is_relation
    }
    if isinstance(part, models.Server):
        values["supported_gpus"] = sorted(gpu.sku for gpu in part.supported_gpus.all())
    if isinstance(part, models.ReferenceBuild):
        values["tier"] = part.tier.sku
    return values


def written_table(sheet: PartSheet, parts: Iterable[Part]) -> sheet_writing.Table:
    columns = [sheet_writing.Column(header=column.header, shape=column.parse.shape) for column in sheet.columns]
    rows = (list(row_texts(sheet, part_values(part)).values()) for part in parts)
    return sheet_writing.Table(name=sheet.code, columns=columns, rows=rows)


# --- reading --------------------------------------------------------------------------------------------------------
def sheet_for(found: Sheet) -> PartSheet | None:
    """By the worksheet's or the file's name, else by the columns; None where no kind has such columns."""
    stem = found.file_name.rsplit(".", 1)[0].lower()
    for sheet in SHEETS.values():
        names = {sheet.code, sheet.file_stem}
        if (found.name.strip().lower() in names if found.name else stem in names) and _likeness(sheet, found) > 0.3:
            return sheet
    best = max(SHEETS.values(), key=lambda sheet: _likeness(sheet, found))
    return best if _likeness(best, found) > 0.6 else None


def _likeness(sheet: PartSheet, found: Sheet) -> float:
    """Share of the file's columns that the kind has; none without the column of its key."""
    known = {column.header for column in sheet.columns}
    if sheet.table.key and sheet.table.key not in found.headers:
        return 0.0
    return len(known & set(found.headers)) / max(1, len([name for name in found.headers if name]))


def header_faults(found: Sheet, columns: Iterable[Column], *, key: str) -> list[Fault]:
    def fault(message: str, column: str) -> Fault:
        return Fault(file_name=found.place, line=found.header_line, column=column, message=message)

    known = {column.header for column in columns}
    named = [header for header in found.headers if header]
    faults = [fault(_("Unknown column."), header) for header in sorted(set(named) - known)]
    faults += [fault(_("The column is there twice."), h) for h in sorted(set(named)) if named.count(h) > 1]
    if key and key not in named:
        faults.append(fault(_("The column is missing."), key))
    return faults


def mark_in(found: Sheet, columns: Iterable[Column], chosen: DecimalMark | None = None) -> DecimalMark | None:
    """The decimal mark as chosen, else as the figures show it, else as the separator of the CSV implies."""
    if chosen is not None:
        return chosen
    by_header = {column.header: column.parse.shape for column in columns if column.parse.shape in FIGURES}
    positions = [(index, by_header[name]) for index, name in enumerate(found.headers) if name in by_header]
    texts = (
        (value, shape)
        for row in found.rows
        for index, shape in positions
        if index < len(row.cells) and isinstance(value := row.cells[index], str)
    )
    mark, is_mixed = decimal_mark_of(texts)
    if mark is None and not is_mixed and found.separator == ",":
        return DecimalMark.POINT  # spreadsheet programs separate by semicolons where the comma marks decimals
    return mark


def row_cells(
    found: Sheet, row: SheetRow, columns: Mapping[str, Column], mark: DecimalMark | None
) -> tuple[dict[str, str], list[Fault]]:
    """Texts of one row by header, in the one way the catalogue reads."""
    faults: list[Fault] = []
    texts: dict[str, str] = {}
    surplus = [value for value in row.cells[len(found.headers) :] if value not in (None, "")]
    if surplus or (found.separator and len(row.cells) < len(found.headers)):
        counts = {"found": len(row.cells), "expected": len(found.headers)}
        message = _("The row has %(found)s cells, the header %(expected)s.") % counts
        return {}, [Fault(file_name=found.place, line=row.line, column="", message=message)]
    for header, value in zip(found.headers, row.cells, strict=False):
        column = columns.get(header)
        if column is None:
            continue
        shape = column.parse.shape
        if shape is cells.Shape.DATE and isinstance(value, (int, float)) and not isinstance(value, bool):
            value = excel_day(value) or value
        try:
            texts[header] = plain_text(value, shape, mark, is_key=column.parse is cells.sku)
        except CellError as error:
            faults.append(Fault(file_name=found.place, line=row.line, column=header, message=str(error)))
    return texts, faults


def read_part_sheet(
    found: Sheet,
    sheet: PartSheet,
    present: Callable[[str], Values | None],
    *,
    mark: DecimalMark | None = None,
) -> tuple[list[Record], list[Fault]]:
    """Rows of an uploaded table. A column that the file leaves out keeps what the row says now (`present`)."""
    key = sheet.table.key
    faults = header_faults(found, sheet.columns, key=key)
    if faults:
        return [], faults
    columns = {column.header: column for column in sheet.columns}
    used_mark = mark_in(found, sheet.columns, mark)
    table = replace(sheet.table, file_name=found.place)
    records: list[Record] = []
    for row in found.rows:
        texts, row_faults = row_cells(found, row, columns, used_mark)
        if not row_faults:
            known = present(texts[key]) if key and texts.get(key) else None
            texts = row_texts(sheet, known) | texts if known is not None else texts
            record, row_faults = parse_row(texts, table, row.line)
            if record is not None:
                records.append(replace(record, key=str(record.fields["sku"])))
        faults += row_faults
    if not found.rows:
        faults.append(Fault(file_name=found.place, line=0, column="", message=_("The file has no rows.")))
    return records, faults

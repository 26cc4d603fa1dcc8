"""Catalogue files -> checked frozen records. Pure: no database; all faults are listed, none stops the reading."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from django.utils.translation import gettext as _

from catalog.cells import Cell, CellError
from catalog.tables import FileTable
from catalog.tables_guidance import PART_TABLES, PRICE_TABLES, sku_references
from catalog.units import GIBI

MAX_FILE_BYTES = 16 * 2**20
BRIDGED_PAIR_SIZE = 2  # PCIe cards with NVLink: one bridge joins two (facts: H100 PCIe, pairs only)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fault:
    """What is wrong where. Line 0: the file as a whole."""

    file_name: str
    line: int
    column: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file_name}:{self.line}" if self.line else self.file_name
        return f"{place}: {self.column}: {self.message}" if self.column else f"{place}: {self.message}"


class CatalogFileError(ValueError):
    """Raised with every fault of a folder; nothing was read into the database."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One checked row: `fields` hold base units under the names of the model's fields."""

    kind: str
    key: str  # SKU or code; empty for price rows
    fields: Mapping[str, Cell]
    file_name: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRecords:
    by_kind: Mapping[str, tuple[Record, ...]]

    def of(self, kind: str) -> tuple[Record, ...]:
        return self.by_kind.get(kind, ())

    def keys(self) -> frozenset[str]:
        return frozenset(record.key for records in self.by_kind.values() for record in records if record.key)


def read_catalog(folder: Path) -> CatalogRecords:
    """All files of a folder, or CatalogFileError with everything that is wrong in them."""
    faults: list[Fault] = []
    by_kind: dict[str, tuple[Record, ...]] = {}
    for table in (*PART_TABLES, *PRICE_TABLES):
        records, table_faults = read_file(folder / table.file_name, table)
        by_kind[table.kind] = records
        faults += table_faults
    catalog = CatalogRecords(by_kind=MappingProxyType(by_kind))
    faults += duplicate_faults(catalog)
    faults += reference_faults(catalog)
    faults += tier_faults(catalog)
    if faults:
        raise CatalogFileError(tuple(sorted(faults)))
    return catalog


def read_file(path: Path, table: FileTable) -> tuple[tuple[Record, ...], list[Fault]]:
    def fault(message: str, line: int = 0, column: str = "") -> Fault:
        return Fault(file_name=table.file_name, line=line, column=column, message=message)

    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return (), [fault(_("The file is larger than 16 MiB."))]
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return (), [fault(_("The file is not UTF-8."))]
    except OSError as error:
        return (), [fault(_("The file cannot be read: %(reason)s.") % {"reason": error.strerror or error})]
    return parse_table(content, table)


def parse_table(content: str, table: FileTable) -> tuple[tuple[Record, ...], list[Fault]]:
    """Rows of one file's text; faults carry the line on which the row starts."""

    def fault(message: str, line: int = 0, column: str = "") -> Fault:
        return Fault(file_name=table.file_name, line=line, column=column, message=message)

    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    records: list[Record] = []
    faults: list[Fault] = []
    line = 1
    try:
        headers = next(reader, [])
        known = {column.header for column in table.columns}
        needed = {column.header for column in table.columns if not column.is_optional_header}
        faults += [fault(_("The column is missing."), 1, header) for header in sorted(needed - set(headers))]
        faults += [fault(_("Unknown column."), 1, header) for header in sorted(set(headers) - known)]
        faults += [fault(_("The column is there twice."), 1, h) for h in sorted(set(headers)) if headers.count(h) > 1]
        if faults:
            return (), faults
        line = reader.line_num + 1
        for values in reader:
            if len(values) != len(headers):
                message = _("The row has %(found)s cells, the header %(expected)s.")
                faults.append(fault(message % {"found": len(values), "expected": len(headers)}, line))
            else:
                record, row_faults = parse_row(dict(zip(headers, values, strict=True)), table, line)
                records += [record] if record else []
                faults += row_faults
            line = reader.line_num + 1
    except csv.Error as error:
        faults.append(fault(_("Not a CSV file: %(reason)s.") % {"reason": error}, line))
    if not records and not faults:
        faults.append(fault(_("The file has no rows.")))
    return tuple(records), faults


def parse_row(row: Mapping[str, str], table: FileTable, line: int) -> tuple[Record | None, list[Fault]]:
    fields: dict[str, Cell] = {}
    faults: list[Fault] = []
    for column in table.columns:
        raw = row.get(column.header, "").strip()
        if raw == "" and column.is_required:
            message = _("The cell may not be empty.")
        elif raw == "":
            fields[column.field] = column.empty
            continue
        else:
            try:
                fields[column.field] = column.parse(raw)
                continue
            except CellError as error:
                message = str(error)
        new = Fault(file_name=table.file_name, line=line, column=column.header, message=message)
        faults += [] if new in faults else [new]
    if faults:
        return None, faults
    renamed = {column.header: column.field for column in table.columns}
    if isinstance(unverified := fields.get("unverified_fields"), list):
        fields["unverified_fields"] = [renamed.get(name, name) for name in unverified]
    complete = COMPLETIONS.get(table.kind)
    try:
        fields = complete(fields) if complete else fields
    except CellError as error:
        return None, [Fault(file_name=table.file_name, line=line, column="", message=str(error))]
    key = str(fields["sku"]) if "sku" in fields and table in PART_TABLES else ""
    frozen = MappingProxyType(fields)
    return Record(kind=table.kind, key=key, fields=frozen, file_name=table.file_name, line=line), []


# --- what several cells of a row say together ---------------------------------------------------------------------
def complete_gpu(fields: dict[str, Cell]) -> dict[str, Cell]:
    """Label from the figure, size of the link domain, no link bandwidth without a link, dense against sparse."""
    done = {name: value for name, value in fields.items() if name != "sparsity_factor"}  # both rates are kept
    label = fields["memory_label"]
    done["memory_label"] = f"{label:g} GB"
    has_link = fields["link_type"] != "none" and fields["scale_up_bytes_per_second"] is not None
    done["link_type"] = fields["link_type"] if fields["link_type"] != "none" else ""
    if not has_link:
        done["scale_up_bytes_per_second"], done["scale_up_domain_size"] = None, 1
    elif fields["scale_up_domain_size"] is None:
        pair = BRIDGED_PAIR_SIZE if fields["form_factor"] == "PCIe" else 1
        done["scale_up_domain_size"] = fields["gpus_per_baseboard"] or pair
    for precision in ("tf32", "fp16", "bf16", "fp8", "fp4", "int8"):
        dense = fields[f"{precision}_dense_flops_per_second"]
        sparse = fields[f"{precision}_sparse_flops_per_second"]
        if isinstance(dense, float) and isinstance(sparse, float) and sparse < dense:
            message = _("The %(precision)s rate with sparsity is below the dense rate: the two look swapped.")
            raise CellError(message % {"precision": precision.upper()})
    if fields["is_sizeable"] and not (fields["bf16_dense_flops_per_second"] and fields["memory_bytes_per_second"]):
        raise CellError(_("A sizeable GPU needs a dense BF16 rate and a memory bandwidth."))
    if not fields["is_sizeable"] and not fields["not_sizeable_reason"]:
        raise CellError(_("Say why this GPU cannot be sized."))
    return done


def complete_memory(fields: dict[str, Cell]) -> dict[str, Cell]:
    return {**fields, "capacity_label": f"{fields['capacity_label']} GB"}


def complete_build(fields: dict[str, Cell]) -> dict[str, Cell]:
    gib = fields["host_memory_gib"]
    rest = {name: value for name, value in fields.items() if name != "host_memory_gib"}
    return {**rest, "host_memory_bytes": gib * GIBI if isinstance(gib, int) else None}


def complete_stack(fields: dict[str, Cell]) -> dict[str, Cell]:
    """These rows have no key of their own: architecture and compute capability make one."""
    words = re.findall(r"[a-z0-9.]+", f"{fields['architecture']} {fields['compute_capability']}".lower())
    name = f"{fields['architecture']} {fields['compute_capability']}".strip()
    return {**fields, "sku": "-".join(["stack", *words]), "name": name}


def complete_architecture(fields: dict[str, Cell]) -> dict[str, Cell]:
    """Half of the layers dense and "alternate" in the notes: every second layer has experts, none leads."""
    done = dict(fields)
    layer_count, dense_count = fields["layer_count"], fields["dense_layer_count"]
    done["moe_layer_interval"] = 1
    alternates = "alternate" in str(fields["notes"]).lower()
    if alternates and isinstance(dense_count, int) and dense_count and dense_count * 2 == layer_count:
        done["dense_layer_count"], done["moe_layer_interval"] = 0, 2
    if fields["ffn_size"] is None and not fields["expert_ffn_size"]:
        raise CellError(_("A model needs a feed-forward size or an expert size."))
    if fields["vocab_size"] is None and fields["kind"] != "vision":
        raise CellError(_("A language model needs a vocabulary."))
    return done


def complete_cloud_price(fields: dict[str, Cell]) -> dict[str, Cell]:
    low, median, high = (fields[f"{name}_amount"] for name in ("low", "median", "high"))
    if not low <= median <= high:  # type: ignore[operator]
        raise CellError(_("Lowest, median and highest are out of order."))
    return fields


COMPLETIONS: Mapping[str, Callable[[dict[str, Cell]], dict[str, Cell]]] = {
    "Gpu": complete_gpu,
    "MemoryModule": complete_memory,
    "ReferenceBuild": complete_build,
    "SoftwareStack": complete_stack,
    "ModelArchitecture": complete_architecture,
    "CloudPrice": complete_cloud_price,
}


# --- what rows say about each other ------------------------------------------------------------------------------
def record_fault(record: Record, column: str, message: str) -> Fault:
    return Fault(file_name=record.file_name, line=record.line, column=column, message=message)


def duplicate_faults(catalog: CatalogRecords) -> Iterator[Fault]:
    """One SKU, one part: across all part files; tiers and models have name spaces of their own."""
    seen: dict[tuple[str, str], Record] = {}
    for table in PART_TABLES:
        space = "parts" if table.has_shared_skus else table.kind
        for record in catalog.of(table.kind):
            first = seen.setdefault((space, record.key), record)
            if first is not record:
                place = {"sku": record.key, "file": first.file_name, "line": first.line}
                yield record_fault(record, table.key, _("“%(sku)s” is already in %(file)s:%(line)s.") % place)
    cloud: dict[tuple[Cell, ...], Record] = {}
    names = ("provider_class", "gpu_sku", "deployment", "commitment", "currency", "unit", "is_newest_only")
    for record in catalog.of("CloudPrice"):
        first = cloud.setdefault(tuple(record.fields[name] for name in names), record)
        if first is not record:
            place = {"file": first.file_name, "line": first.line}
            yield record_fault(record, "", _("The same price is already in %(file)s:%(line)s.") % place)


def reference_faults(catalog: CatalogRecords) -> Iterator[Fault]:
    """A SKU that a row names must exist, in one of the kinds that make sense there."""
    keys: dict[str, set[str]] = defaultdict(set)
    for kind, records in catalog.by_kind.items():
        keys[kind] |= {record.key for record in records}
    for kind, field, targets in sku_references():
        known = set().union(*(keys[target] for target in targets)) if targets else set(catalog.keys())
        for record in catalog.of(kind):
            value = record.fields[field]
            named = value if isinstance(value, list) else [value] if value else []
            for sku in named:
                if sku not in known:
                    yield record_fault(record, field, _("“%(sku)s” is not in the catalogue files.") % {"sku": sku})


def tier_faults(catalog: CatalogRecords) -> Iterator[Fault]:
    """Tiers must join without gap or overlap, from 0 to no upper bound."""
    tiers = sorted(catalog.of("Tier"), key=lambda record: str(record.fields["lower_parameter_count"]).zfill(20))
    expected: Cell = 0
    for record in tiers:
        lower = record.fields["lower_parameter_count"]
        if lower != expected:
            message = _("The tier starts at %(lower)s where %(expected)s was to follow.")
            yield record_fault(record, "lower_parameter_count", message % {"lower": lower, "expected": expected})
        expected = record.fields["upper_parameter_count"]
    if tiers and expected is not None:
        yield record_fault(tiers[-1], "upper_parameter_count", _("The last tier has no upper bound."))

"""What uploaded rows would change, compared with the catalogue as it is: nothing is written here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from catalog import models
from catalog.cell_habits import DecimalMark
from catalog.models import Part
from catalog.part_files import RENAMED, SHEETS, PartSheet, part_values, read_part_sheet, sheet_for
from catalog.records import CatalogRecords, Fault, Record, tier_faults
from catalog.revisions import PART_MODELS
from catalog.sheet_reading import Sheet
from catalog.tables_guidance import sku_references

CHECKED_ROW_COUNT = 300  # rows whose table constraints are asked one by one; beyond, the database answers at once
State = dict[str, dict[str, Any]]  # SKU -> fields


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """One row that would be added or changed; `before` and `after` hold the fields that differ."""

    kind: str
    key: str
    is_new: bool
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    rows: tuple[PlannedRow, ...] = ()
    unchanged_count: int = 0
    faults: tuple[Fault, ...] = ()
    readings: tuple[str, ...] = ()  # how each file was read: encoding, separator

    @property
    def new_count(self) -> int:
        return sum(1 for row in self.rows if row.is_new)

    @property
    def changed_count(self) -> int:
        return len(self.rows) - self.new_count


def kind_state(model: type[Part]) -> State:
    """Every row of a kind, retired ones too."""
    parts = model._default_manager.with_specs()  # type: ignore[attr-defined]  # a PartQuerySet of every kind
    return {part.sku: part_values(part) for part in parts}


def plan_of_sheets(found: Iterable[Sheet], *, kind: str = "", mark: DecimalMark | None = None) -> Plan:
    """The plan of an uploaded file: one kind that the editor names, or each sheet's own."""
    sheets = list(found)
    faults: list[Fault] = []
    records: dict[str, list[Record]] = {}
    states: dict[str, State] = {}
    for table in sheets:
        sheet = SHEETS.get(kind) if kind and len(sheets) == 1 else sheet_for(table)
        if sheet is None or (wrong := wrong_kind(table, sheet)) is not None:
            message = (
                wrong
                if sheet is not None
                else _("No kind of part has these columns: %(names)s. The exported table of a kind has its names.")
            )
            text = str(message) % {"names": ", ".join(table.headers[:8])} if sheet is None else str(message)
            faults.append(Fault(file_name=table.place, line=table.header_line, column="", message=text))
            continue
        state = states.setdefault(sheet.code, kind_state(sheet.model))
        rows, table_faults = read_part_sheet(table, sheet, state.get, mark=mark)
        records.setdefault(sheet.code, []).extend(rows)
        faults += table_faults
    readings = tuple(
        f"{table.place}: {table.encoding}, “{table.separator}”" if table.encoding else table.place for table in sheets
    )
    return _plan(records, states, faults, readings)


def wrong_kind(table: Sheet, sheet: PartSheet) -> str | None:
    """A sentence where the columns are those of another kind."""
    likely = sheet_for(table)
    known = {column.header for column in sheet.columns}
    unknown = [name for name in table.headers if name and name not in known]
    if likely is None or likely.code == sheet.code or not unknown:
        return None
    message = _("These are columns of %(found)s, not of %(asked)s.")
    return message % {"found": likely.code, "asked": sheet.code}


def _plan(
    records: Mapping[str, list[Record]], states: Mapping[str, State], faults: list[Fault], readings: tuple[str, ...]
) -> Plan:
    rows: list[PlannedRow] = []
    unchanged_count = 0
    for code, found in records.items():
        for record in found:
            values = {RENAMED.get(name, name): value for name, value in record.fields.items()}
            if "supported_gpus" in values:
                values["supported_gpus"] = sorted(set(values["supported_gpus"] or []))  # type: ignore[arg-type]
            row = planned_row(code, record.key, values, states[code].get(record.key), _place(record))
            if row is None:
                unchanged_count += 1
            else:
                rows.append(row)
    faults += [*_duplicate_faults(records), *_reference_faults(records), *_tier_faults(records)]
    by_place = {row.place: row for row in rows}
    for found in records.values():
        changed = [record for record in found if _place(record) in by_place]
        for index, record in enumerate(changed):
            state = states[SHEETS_BY_MODEL[record.kind]].get(record.key)
            faults += row_faults(record, by_place[_place(record)], state, is_thorough=index < CHECKED_ROW_COUNT)
    ordered = tuple(sorted(set(faults)))
    return Plan(rows=tuple(rows), unchanged_count=unchanged_count, faults=ordered, readings=readings)


SHEETS_BY_MODEL = {sheet.table.kind: sheet.code for sheet in SHEETS.values()}


def _place(record: Record) -> str:
    return f"{record.file_name}:{record.line}"


def planned_row(
    kind: str, key: str, values: Mapping[str, Any], present: Mapping[str, Any] | None, place: str = ""
) -> PlannedRow | None:
    """The fields that differ; None where nothing does."""
    if present is None:
        return PlannedRow(kind=kind, key=key, is_new=True, before={}, after=dict(values), place=place)
    names = [name for name, value in values.items() if present[name] != value]
    if not names:
        return None
    before, after = {n: present[n] for n in names}, {n: values[n] for n in names}
    return PlannedRow(kind=kind, key=key, is_new=False, before=before, after=after, place=place)


# --- faults that one row or all rows together have ------------------------------------------------------------------
def row_faults(record: Record, row: PlannedRow, present: Mapping[str, Any] | None, *, is_thorough: bool) -> list[Fault]:
    """What the table itself would refuse: too long, too many digits, out of range, its named constraints."""
    model: type[Part] = getattr(models, record.kind)
    values = {**(present or {}), **row.after}
    plain = {name: value for name, value in values.items() if name not in ("supported_gpus", "tier")}
    part = model(**plain)
    try:
        part.clean_fields(exclude=["tier"])
        if is_thorough:
            part.validate_constraints(exclude=["tier", "sku"])
    except ValidationError as error:
        return [
            Fault(file_name=record.file_name, line=record.line, column=_column(name), message=" ".join(messages))
            for name, messages in error.message_dict.items()
        ]
    return []


def _column(name: str) -> str:
    return "" if name == "__all__" else name


def _duplicate_faults(records: Mapping[str, list[Record]]) -> Iterable[Fault]:
    """One SKU, one row; new SKUs are new among all parts, not in their kind alone."""
    taken = {
        sku: model.kind_code
        for model in PART_MODELS
        if SHEETS[model.kind_code].table.has_shared_skus
        for sku in model._default_manager.values_list("sku", flat=True)
    }
    seen: dict[tuple[str, str], Record] = {}
    for code, found in records.items():
        is_shared = SHEETS[code].table.has_shared_skus
        for record in found:
            first = seen.setdefault(("" if is_shared else code, record.key), record)
            if first is not record:
                message = _("“%(sku)s” is already in %(file)s:%(line)s.")
                yield _fault(record, "sku", message % _first_place(record.key, first))
            elif is_shared and taken.get(record.key, code) != code:
                message = _("“%(sku)s” is already the SKU of another part, in %(kind)s.")
                yield _fault(record, "sku", message % {"sku": record.key, "kind": taken[record.key]})


def _first_place(sku: str, first: Record) -> dict[str, Any]:
    return {"sku": sku, "file": first.file_name, "line": first.line}


def _fault(record: Record, column: str, message: str) -> Fault:
    return Fault(file_name=record.file_name, line=record.line, column=column, message=message)


def _reference_faults(records: Mapping[str, list[Record]]) -> Iterable[Fault]:
    """A SKU that a row names is in the catalogue or in the same upload."""
    uploaded = {kind: {record.key for record in found} for kind, found in records.items()}
    known: dict[str, set[str]] = {}

    def skus(name: str) -> set[str]:
        model: type[Part] = getattr(models, name)
        if name not in known:
            known[name] = set(model._default_manager.values_list("sku", flat=True))
            known[name] |= uploaded.get(model.kind_code, set())
        return known[name]

    for kind, field, targets in sku_references():
        for record in records.get(SHEETS_BY_MODEL.get(kind, ""), []):
            value = record.fields[field]
            for sku in value if isinstance(value, list) else [value] if value else []:
                if not any(sku in skus(target) for target in targets):
                    yield _fault(record, field, _("“%(sku)s” is not in the catalogue.") % {"sku": sku})


def _tier_faults(records: Mapping[str, list[Record]]) -> Iterable[Fault]:
    """Tiers still join without gap or overlap once the upload is in."""
    changed = {record.key: record for record in records.get("tiers", [])}
    if not changed:
        return []
    names = ("sku", "lower_parameter_count", "upper_parameter_count")
    kept = [
        Record(kind="Tier", key=row["sku"], fields=row, file_name="tiers", line=0)
        for row in models.Tier.objects.filter(is_active=True).exclude(sku__in=changed).values(*names)
    ]
    active = [record for record in changed.values() if record.fields.get("is_active", True)]
    return tier_faults(CatalogRecords(by_kind=MappingProxyType({"Tier": (*kept, *active)})))

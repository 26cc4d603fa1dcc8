"""Writes and reads of the catalogue: loading it whole, its revision, and prices on a day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model

from catalog import models
from catalog.models import Part, Price, PriceBook
from catalog.price_books import (
    BookOutcome,
    PriceBookError,
    price_book_close,
    price_book_draft,
    price_book_import,
    price_book_publish,
    price_book_retire,
    price_books_write,
)
from catalog.price_rules import demo_books
from catalog.records import CatalogFileError, CatalogRecords, Fault, Record
from catalog.revisions import PART_MODELS, catalog_lock, content_hash, current_revision, revision_record

__all__ = [
    "LoadReport",
    "PriceBookError",
    "catalog_load",
    "current_revision",
    "known_skus",
    "price_book_close",
    "price_book_draft",
    "price_book_import",
    "price_book_on",
    "price_book_publish",
    "price_book_retire",
    "price_for",
    "prices_for",
    "revision_record",
]

# The order in which rows are written: what others point at comes first.
WRITE_ORDER: tuple[type[Part], ...] = tuple(
    sorted(PART_MODELS, key=lambda model: model in (models.Server, models.ReferenceBuild))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    kind: str
    created: int
    updated: int
    unchanged: int
    retired: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    counts: tuple[KindCount, ...]
    books: tuple[BookOutcome, ...]
    revision: str
    is_new_revision: bool
    is_dry_run: bool

    @property
    def changes_nothing(self) -> bool:
        return not self.is_new_revision


def catalog_load(
    *, records: CatalogRecords, is_dry_run: bool = False, is_reset: bool = False, reason: str = "load_catalog"
) -> LoadReport:
    """Brings the catalogue to what the files say, in one transaction; the same files twice change nothing.

    Rows are matched by SKU. A row is written when its file row is new or has changed since it was last written, so that
    what an editor changed here stays until the file says something new; `is_reset` writes every row that differs.
    A part that has gone from the files retires; parts that only an editor made are left alone. Demonstration price
    books are built last. CatalogFileError when a record does not fit the tables.
    """
    with transaction.atomic():
        catalog_lock()
        before = current_revision()
        parts = [_write_parts(model, records.of(model.__name__), is_reset=is_reset) for model in WRITE_ORDER]
        parts.append(_write_cloud_prices(records.of("CloudPrice")))
        books = price_books_write(demo_books(records))
        revision = revision_record(reason=reason)
        report = LoadReport(
            counts=tuple(parts),
            books=books,
            revision=revision,
            is_new_revision=revision != before,
            is_dry_run=is_dry_run,
        )
        if is_dry_run:
            transaction.set_rollback(True)
    return report


def _write_parts(model: type[Part], records: tuple[Record, ...], *, is_reset: bool) -> KindCount:
    rows = {row.sku: row for row in model._default_manager.select_for_update()}
    tier_ids = dict(models.Tier.objects.values_list("sku", "pk")) if model is models.ReferenceBuild else {}
    created: list[Part] = []
    updated: list[Part] = []
    faults: list[Fault] = []
    changed_fields: set[str] = {"is_active", "file_hash"}
    for record in records:
        file_hash = content_hash(dict(record.fields))
        row = rows.pop(record.key, None)
        if row is not None and row.file_hash == file_hash and not is_reset:
            continue
        values = _column_values(record, tier_ids) | {"file_hash": file_hash, "is_active": True}
        if row is None:
            row = model(**values)
            created.append(row)
        else:
            changes = {name: value for name, value in values.items() if getattr(row, name) != value}
            for name, value in changes.items():
                setattr(row, name, value)
            changed_fields |= set(changes)
            updated += [row] if changes else []
        faults += _field_faults(row, record)
    if faults:
        raise CatalogFileError(tuple(sorted(faults)))
    gone = [row for row in rows.values() if row.file_hash]
    for row in gone:
        row.is_active, row.file_hash = False, ""
    model._default_manager.bulk_create(created)
    model._default_manager.bulk_update([*updated, *gone], sorted(changed_fields), batch_size=100)
    changed = {row.sku for row in updated}
    if model is models.Server:
        written = changed | {row.sku for row in created}
        wanted = [record for record in records if is_reset or record.key in written]
        changed |= _write_supported_gpus(wanted) - {row.sku for row in created}
    return KindCount(
        kind=model.__name__,
        created=len(created),
        updated=len(changed),
        unchanged=len(records) - len(created) - len(changed),
        retired=len(gone),
    )


def _column_values(record: Record, tier_ids: Mapping[str, int]) -> dict[str, Any]:
    """The record's values under the model's column names; a tier by its row, GPUs of a server apart."""
    values = {name: value for name, value in record.fields.items() if name != "supported_gpu_skus"}
    if tier_ids:
        values["tier_id"] = tier_ids[str(values.pop("tier_sku"))]
    return values


def _field_faults(row: Model, record: Record) -> list[Fault]:
    """What the table itself refuses (too long, too many digits, out of range), told with file and line."""
    try:
        row.clean_fields()
    except ValidationError as error:
        return [
            Fault(file_name=record.file_name, line=record.line, column=name, message=" ".join(messages))
            for name, messages in error.message_dict.items()
        ]
    return []


def _write_supported_gpus(records: list[Record]) -> set[str]:
    """Which GPUs each server takes; gives the SKUs of the servers whose list changed."""
    through = models.Server.supported_gpus.through
    gpu_ids = dict(models.Gpu.objects.values_list("sku", "pk"))
    server_ids = dict(models.Server.objects.values_list("sku", "pk"))
    wanted = {
        (server_ids[record.key], gpu_ids[sku])
        for record in records
        for sku in record.fields["supported_gpu_skus"]  # type: ignore[union-attr]
    }
    ours = [server_ids[record.key] for record in records]
    present = set(through._default_manager.filter(server_id__in=ours).values_list("server_id", "gpu_id"))
    for server_id, gpu_id in present - wanted:
        through._default_manager.filter(server_id=server_id, gpu_id=gpu_id).delete()
    through._default_manager.bulk_create(
        through(server_id=server_id, gpu_id=gpu_id) for server_id, gpu_id in sorted(wanted - present)
    )
    changed = {server_id for server_id, _gpu_id in present ^ wanted}
    return {sku for sku, server_id in server_ids.items() if server_id in changed}


def _write_cloud_prices(records: tuple[Record, ...]) -> KindCount:
    """Published prices of others: nothing rests on a row, so changed rows are replaced."""
    gpu_ids = dict(models.Gpu.objects.values_list("sku", "pk"))
    wanted = []
    for record in records:
        values = dict(record.fields)
        wanted.append(models.CloudPrice(gpu_id=gpu_ids[str(values.pop("gpu_sku"))], **values))
    names = [field.attname for field in models.CloudPrice._meta.concrete_fields if not field.primary_key]

    def content(row: models.CloudPrice) -> tuple[str, ...]:
        values = (getattr(row, name) for name in names)
        return tuple(f"{value:.4f}" if isinstance(value, Decimal) else f"{value!r}" for value in values)

    for row, record in zip(wanted, records, strict=True):
        if faults := _field_faults(row, record):
            raise CatalogFileError(tuple(faults))
    present = {content(row): row for row in models.CloudPrice.objects.select_for_update()}
    new = [row for row in wanted if content(row) not in present]
    kept = {content(row) for row in wanted}
    stale = [row.pk for key, row in present.items() if key not in kept]
    models.CloudPrice.objects.filter(pk__in=stale).delete()
    models.CloudPrice.objects.bulk_create(new)
    return KindCount(
        kind="CloudPrice", created=len(new), updated=0, unchanged=len(wanted) - len(new), retired=len(stale)
    )


def known_skus() -> frozenset[str]:
    """Every SKU that a price may name, retired parts included."""
    return frozenset(sku for model in PART_MODELS for sku in model._default_manager.values_list("sku", flat=True))


def price_for(
    *,
    sku: str,
    basis: str,
    currency: str,
    unit: str,
    on: date,
    term_months: int | None = None,
    condition: str = "",
) -> Price | None:
    """The published price that holds on a day, with its book; None when there is none. One query."""
    prices = Price.objects.published().effective_on(on).with_specs()
    return prices.filter(
        book__basis=basis, book__currency=currency, sku=sku, unit=unit, term_months=term_months, condition=condition
    ).first()


def price_book_on(*, basis: str, currency: str, on: date) -> PriceBook | None:
    """The published book of a market on a day."""
    return PriceBook.objects.published().for_market(basis=basis, currency=currency).effective_on(on).first()


def prices_for(book: PriceBook, skus: Iterable[str]) -> Mapping[str, list[Price]]:
    """All prices of a book for many SKUs, by SKU; one query."""
    found: dict[str, list[Price]] = {}
    for price in Price.objects.filter(book=book).for_skus(skus):
        found.setdefault(price.sku, []).append(price)
    return found

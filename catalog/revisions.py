"""The catalogue's present state has a name, a hash over every row that an answer may rest on; each new one is logged.

`revision_record` compares every row with what it said in the newest revision, so that no change goes unlogged,
whichever door it came through: page, admin, file, loader, bulk write or shell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.db.models import Model

from catalog import models
from catalog.models import CatalogChange, CatalogRevision, RecordedRow

REVISION_LENGTH = 16  # hex digits of a SHA-256
NO_REVISION = "empty"
PART_MODELS: tuple[type[models.Part], ...] = (
    models.Gpu,
    models.Server,
    models.Cpu,
    models.MemoryModule,
    models.Ssd,
    models.StorageSystem,
    models.Nic,
    models.Switch,
    models.Cable,
    models.Rack,
    models.ManagementNode,
    models.Service,
    models.SoftwareStack,
    models.Tier,
    models.ReferenceBuild,
    models.ModelArchitecture,
)
PRICE_FIELDS: tuple[str, ...] = (
    "sku",
    "unit",
    "term_months",
    "condition",
    "amount",
    "origin_mark",
    "origin_text",
    "as_of",
)
PRICE_FIELDS += ("source_title", "source_locator", "lead_time_days", "floor_amount", "cost_amount")
BOOK_FIELDS: tuple[str, ...] = (
    "code",
    "version",
    "name_zh",
    "name_en",
    "basis",
    "currency",
    "valid_from",
    "valid_until",
)
BOOK_FIELDS += ("is_indicative", "exchange_rate", "exchange_rate_date", "note_zh", "note_en", "content_hash")


def current_revision() -> str:
    """Code of the newest revision; `empty` before the first load. One query, written once: every answer asks it."""
    with connection.cursor() as cursor:
        cursor.execute(_newest_revision())
        row = cursor.fetchone()
    return str(row[0]) if row else NO_REVISION


@cache
def _newest_revision() -> str:
    return str(models.CatalogRevision.objects.values_list("code", flat=True)[:1].query)


def content_hash(content: object) -> str:
    """SHA-256 of JSON-able content in a stable order; decimals by their digits, dates as ISO text."""
    text = json.dumps(content, cls=DjangoJSONEncoder, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def column_names(model: type[Model]) -> list[str]:
    """Columns without the database's own ids; relations by the SKU that they point at."""
    return [
        f"{field.name}__sku" if field.is_relation else field.name
        for field in model._meta.concrete_fields
        if not field.primary_key and field.name != "file_hash"
    ]


def revision_content() -> dict[str, list[Any]]:
    """Every row that an answer may rest on, by kind."""
    content: dict[str, list[Any]] = {}
    for model in PART_MODELS:
        content[model.__name__] = list(model._default_manager.order_by("sku").values(*column_names(model)))
    content["Server.supported_gpus"] = sorted(
        models.Server.supported_gpus.through._default_manager.values_list("server__sku", "gpu__sku")
    )
    cloud = models.CloudPrice.objects.values(*column_names(models.CloudPrice))
    content["CloudPrice"] = sorted(cloud, key=content_hash)
    books = models.PriceBook.objects.published().order_by("code", "version")
    content["PriceBook"] = list(books.values(*BOOK_FIELDS))
    return content


def row_counts(content: Mapping[str, list[Any]]) -> dict[str, int]:
    """How many rows of each kind are active."""
    counts = {model.__name__: sum(1 for row in content[model.__name__] if row["is_active"]) for model in PART_MODELS}
    return counts | {name: len(content[name]) for name in ("CloudPrice", "PriceBook")}


def catalog_lock() -> None:
    """Lets one writer at a time change the catalogue, until its transaction ends.

    The row that stands for the revision table exists from the first migration on; on SQLite the transaction itself
    holds the only write lock.
    """
    kind = ContentType.objects.get_for_model(models.CatalogRevision)
    ContentType.objects.select_for_update().get(pk=kind.pk)


def revision_record(*, reason: str, author: str = "") -> str:
    """Call after every change of the catalogue: adds a revision when the content differs from the newest one."""
    with transaction.atomic():
        catalog_lock()
        content = revision_content()
        code = content_hash(content)[:REVISION_LENGTH]
        newest = CatalogRevision.objects.first()
        if newest is None or newest.code != code:
            revision = CatalogRevision.objects.create(
                code=code, part_counts=row_counts(content), reason=reason[:500], author=author[:150]
            )
            _record_changes(revision, keyed_rows(content), is_first=newest is None)
    return code


# --- what a revision changed ----------------------------------------------------------------------------------------
CLOUD_KEY = ("gpu__sku", "provider_class", "deployment", "commitment", "currency", "is_newest_only")
BOOKS, CLOUD = "price-books", "cloud-prices"
RowKey = tuple[str, str]


def keyed_rows(content: Mapping[str, list[Any]]) -> dict[RowKey, dict[str, Any]]:
    """(kind, key) -> fields as JSON holds them; relations under the field's own name."""
    rows: dict[RowKey, dict[str, Any]] = {}
    for model in PART_MODELS:
        rows |= {(model.kind_code, row["sku"]): dict(row) for row in content[model.__name__]}
    for row in (row for (kind, _sku), row in rows.items() if kind == models.Server.kind_code):
        row["supported_gpus"] = []
    for server, gpu in content["Server.supported_gpus"]:
        rows[models.Server.kind_code, server]["supported_gpus"].append(gpu)
    for row in content["CloudPrice"]:
        rows[CLOUD, "/".join(str(row[name]) for name in CLOUD_KEY)] = dict(row)
    for row in content["PriceBook"]:
        rows[BOOKS, f"{row['code']} v{row['version']}"] = dict(row)
    plain: dict[RowKey, dict[str, Any]] = {}
    for key, row in rows.items():
        renamed = {name.removesuffix("__sku"): value for name, value in row.items()}
        plain[key] = json.loads(json.dumps(renamed, cls=DjangoJSONEncoder))
    return plain


def _record_changes(revision: CatalogRevision, rows: dict[RowKey, dict[str, Any]], *, is_first: bool) -> None:
    """Logs what differs from the recorded rows, and records the rows as they are now."""
    recorded = {(row.kind, row.key): row for row in RecordedRow.objects.all()}
    if not recorded and not is_first:  # a catalogue from before rows were recorded: nothing to compare with
        RecordedRow.objects.bulk_create(_recorded(rows), batch_size=500)
        return
    changes, stale = [], []
    for key, row in rows.items():
        known = recorded.pop(key, None)
        if known is None:
            changes.append(_change(revision, key, CatalogChange.Action.ADDED, {}, row))
        elif known.content != row:
            names = [name for name in {**known.content, **row} if known.content.get(name) != row.get(name)]
            before = {name: known.content.get(name) for name in names}
            after = {name: row.get(name) for name in names}
            is_retired = before.get("is_active") is True and after.get("is_active") is False
            action = CatalogChange.Action.RETIRED if is_retired else CatalogChange.Action.CHANGED
            changes.append(_change(revision, key, action, before, after))
            known.content = row
            stale.append(known)
    changes += [_change(revision, key, CatalogChange.Action.REMOVED, row.content, {}) for key, row in recorded.items()]
    RecordedRow.objects.filter(pk__in=[row.pk for row in recorded.values()]).delete()
    RecordedRow.objects.bulk_update(stale, ["content"], batch_size=200)
    new = {
        (change.kind, change.key): rows[change.kind, change.key]
        for change in changes
        if change.action == CatalogChange.Action.ADDED
    }
    RecordedRow.objects.bulk_create(_recorded(new), batch_size=500)
    CatalogChange.objects.bulk_create(changes, batch_size=500)


def _recorded(rows: Mapping[RowKey, dict[str, Any]]) -> Iterable[RecordedRow]:
    return [RecordedRow(kind=kind, key=key, content=row) for (kind, key), row in rows.items()]


def _change(
    revision: CatalogRevision, key: RowKey, action: str, before: dict[str, Any], after: dict[str, Any]
) -> CatalogChange:
    return CatalogChange(revision=revision, kind=key[0], key=key[1], action=action, before=before, after=after)

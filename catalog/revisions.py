"""The name of the catalogue's present state: a hash over every row that an answer may rest on."""

from __future__ import annotations

import hashlib
import json

from django.contrib.contenttypes.models import ContentType
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Model

from catalog import models

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
PRICE_FIELDS += ("source_title", "source_locator", "lead_time_days")
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
    """Code of the newest revision; `empty` before the first load. One query."""
    code = models.CatalogRevision.objects.values_list("code", flat=True).first()
    return code or NO_REVISION


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


def revision_code() -> tuple[str, dict[str, int]]:
    """Code of what the tables hold now, and how many rows of each kind are active."""
    content: dict[str, object] = {}
    counts: dict[str, int] = {}
    for model in PART_MODELS:
        rows = list(model._default_manager.order_by("sku").values(*column_names(model)))
        content[model.__name__] = rows
        counts[model.__name__] = sum(1 for row in rows if row["is_active"])
    content["Server.supported_gpus"] = sorted(
        models.Server.supported_gpus.through._default_manager.values_list("server__sku", "gpu__sku")
    )
    cloud = models.CloudPrice.objects.values(*column_names(models.CloudPrice))
    content["CloudPrice"] = sorted(cloud, key=content_hash)
    books = models.PriceBook.objects.published().order_by("code", "version")
    content["PriceBook"] = list(books.values(*BOOK_FIELDS))
    counts["CloudPrice"], counts["PriceBook"] = len(content["CloudPrice"]), len(content["PriceBook"])  # type: ignore[arg-type]
    return content_hash(content)[:REVISION_LENGTH], counts


def catalog_lock() -> None:
    """Lets one writer at a time change the catalogue, until its transaction ends.

    The row that stands for the revision table exists from the first migration on; on SQLite the transaction itself
    holds the only write lock.
    """
    kind = ContentType.objects.get_for_model(models.CatalogRevision)
    ContentType.objects.select_for_update().get(pk=kind.pk)


def revision_record(*, reason: str) -> str:
    """Call after every change of the catalogue: adds a revision when the content differs from the newest one."""
    with transaction.atomic():
        catalog_lock()
        code, counts = revision_code()
        if code != current_revision():
            models.CatalogRevision.objects.create(code=code, part_counts=counts, reason=reason[:200])
    return code

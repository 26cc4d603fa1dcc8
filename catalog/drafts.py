"""Life of a draft of changes: prepared by an editor or read from a file, then published whole as one revision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Field
from django.utils import timezone
from django.utils.translation import gettext as _

from catalog import models
from catalog.access import name_of
from catalog.change_plans import Plan, PlannedRow, State, kind_state
from catalog.models import CatalogDraft, CatalogRevision, DraftRow, Part
from catalog.part_files import SHEETS
from catalog.revisions import PART_MODELS, catalog_lock, revision_record

# The order in which rows are written: what others point at comes first.
WRITE_ORDER: tuple[type[Part], ...] = tuple(
    sorted(PART_MODELS, key=lambda model: model in (models.Server, models.ReferenceBuild))
)
LINKED = ("supported_gpus", "tier")  # fields that name other parts


class DraftError(ValueError):
    """Why a draft cannot be published or changed; the catalogue is as before."""


@transaction.atomic
def draft_create(*, plan: Plan, title: str, author: User) -> CatalogDraft:
    """A draft of an uploaded file's changes; a plan with faults or without changes makes none."""
    if plan.faults or not plan.rows:
        raise DraftError(_("There is nothing to keep: the file has faults, or says what the catalogue says."))
    draft = CatalogDraft.objects.create(title=title[:200], is_from_file=True, author=author)
    DraftRow.objects.bulk_create((_draft_row(draft, row) for row in plan.rows), batch_size=500)
    return draft


def _draft_row(draft: CatalogDraft, row: PlannedRow) -> DraftRow:
    return DraftRow(
        draft=draft,
        kind=row.kind,
        key=row.key,
        is_new=row.is_new,
        before=dict(row.before),
        after=dict(row.after),
        place=row.place[:300],
    )


@transaction.atomic
def draft_edit(*, rows: Iterable[PlannedRow], author: User, unchanged: Iterable[tuple[str, str]] = ()) -> CatalogDraft:
    """Puts changes into the author's one open draft of edits, each in place of what the draft said of that row.

    `unchanged` names rows, by kind and SKU, that shall stay as the catalogue has them: they leave the draft.
    """
    draft, _is_new = CatalogDraft.objects.select_for_update().get_or_create(
        author=author,
        status=CatalogDraft.Status.OPEN,
        is_from_file=False,
        defaults={"title": _("Edits by %(name)s") % {"name": name_of(author)}},
    )
    planned = list(rows)
    for kind, key in (*((row.kind, row.key) for row in planned), *unchanged):
        draft.rows.filter(kind=kind, key=key).delete()
    DraftRow.objects.bulk_create((_draft_row(draft, row) for row in planned), batch_size=500)
    return draft


def pending_row(*, kind: str, key: str, author: User) -> DraftRow | None:
    """What the author's open draft of edits says of a row."""
    found = DraftRow.objects.filter(
        draft__author=author, draft__status=CatalogDraft.Status.OPEN, draft__is_from_file=False, kind=kind, key=key
    )
    return found.first()


@transaction.atomic
def draft_discard(*, draft: CatalogDraft, author: User) -> None:
    fresh = _open_draft(draft)
    fresh.status, fresh.closed_at, fresh.closed_by = (
        CatalogDraft.Status.DISCARDED,
        timezone.now(),
        name_of(author),
    )
    fresh.save()


@transaction.atomic
def draft_publish(*, draft: CatalogDraft, reason: str, author: User) -> CatalogRevision:
    """Writes every row of the draft and records the revision, or nothing: a killed process leaves all as it was.

    DraftError when the catalogue has changed under the draft, or a table refuses a row.
    """
    if not reason.strip():
        raise DraftError(_("Say why: the reason stands in the history of every row."))
    catalog_lock()
    fresh = _open_draft(draft)
    rows = list(fresh.rows.all())
    if not rows:
        raise DraftError(_("The draft has no changes."))
    states = {kind: kind_state(SHEETS[kind].model) for kind in {row.kind for row in rows}}
    if found := conflicts(rows, states):
        raise DraftError(" ".join(found[:10]))
    try:
        with transaction.atomic():
            write_rows(rows)
    except IntegrityError as error:
        raise DraftError(_("The database refuses a row: %(reason)s") % {"reason": str(error)[:300]}) from None
    code = revision_record(reason=reason, author=name_of(author))
    fresh.status, fresh.closed_at, fresh.closed_by = (
        CatalogDraft.Status.PUBLISHED,
        timezone.now(),
        name_of(author),
    )
    revision = CatalogRevision.objects.filter(code=code)[0]  # the newest of that content
    fresh.revision = revision
    fresh.save()
    return revision


def _open_draft(draft: CatalogDraft) -> CatalogDraft:
    fresh = CatalogDraft.objects.select_for_update().get(pk=draft.pk)
    if fresh.status != CatalogDraft.Status.OPEN:
        raise DraftError(_("The draft is closed: %(status)s.") % {"status": fresh.get_status_display()})
    return fresh


def conflicts(rows: Iterable[DraftRow], states: Mapping[str, State]) -> list[str]:
    """Rows that somebody else has changed since the draft was made, in words."""
    found = []
    for row in rows:
        present = states[row.kind].get(row.key)
        if row.is_new:
            if present is not None:
                found.append(_("%(sku)s has been added by somebody else meanwhile.") % {"sku": row.key})
            continue
        if present is None:
            found.append(_("%(sku)s is no longer there.") % {"sku": row.key})
            continue
        model = SHEETS[row.kind].model
        before = python_values(model, row.before)
        names = [name for name, value in before.items() if present[name] != value]
        if names:
            message = _("%(sku)s has changed since the draft was made: %(names)s.")
            found.append(message % {"sku": row.key, "names": ", ".join(names)})
    return found


def python_values(model: type[Part], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored JSON as the values of the model's fields."""
    values: dict[str, Any] = {}
    for name, value in stored.items():
        field = None if name in LINKED else model._meta.get_field(name)
        values[name] = field.to_python(value) if isinstance(field, Field) else value
    return values


# --- writing --------------------------------------------------------------------------------------------------------
def write_rows(rows: Iterable[DraftRow]) -> None:
    """Adds and changes parts; call inside the transaction that holds the catalogue's lock."""
    by_kind: dict[str, list[DraftRow]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row)
    for model in WRITE_ORDER:
        if found := by_kind.get(model.kind_code):
            _write_kind(model, found)


def _write_kind(model: type[Part], rows: list[DraftRow]) -> None:
    tier_ids = dict(models.Tier.objects.values_list("sku", "pk")) if model is models.ReferenceBuild else {}
    manager = model._default_manager
    present = {part.sku: part for part in manager.filter(sku__in=[row.key for row in rows if not row.is_new])}
    created, updated, changed = [], [], set()
    links: dict[str, list[str]] = {}
    for row in rows:
        values = python_values(model, row.after)
        if "supported_gpus" in values:
            links[row.key] = values.pop("supported_gpus")
        if "tier" in values:
            values["tier_id"] = tier_ids[values.pop("tier")]
        if row.is_new:
            created.append(model(**values))
            continue
        part = present[row.key]
        for name, value in values.items():
            setattr(part, name, value)
        if values:
            changed |= {name.removesuffix("_id") if name == "tier_id" else name for name in values}
            updated.append(part)
    manager.bulk_create(created, batch_size=500)
    if changed:
        manager.bulk_update(updated, sorted(changed), batch_size=100)
    if links:
        _write_links(links)


def _write_links(links: Mapping[str, list[str]]) -> None:
    """Which GPUs each server takes."""
    gpus = dict(models.Gpu.objects.values_list("sku", "pk"))
    for server in models.Server.objects.filter(sku__in=list(links)):
        server.supported_gpus.set([gpus[sku] for sku in links[server.sku]])

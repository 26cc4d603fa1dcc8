"""How the catalogue changes: drafts that wait for publication, revisions, and what each revision changed."""

from __future__ import annotations

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.words import word


class CatalogRevision(models.Model):
    """A state of the catalogue, named by the hash of its content; the newest row is the present one."""

    code = models.CharField(_("code"), max_length=64)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    part_counts = models.JSONField(_("rows by kind"), default=dict)
    reason = models.CharField(_("reason"), max_length=500, blank=True, default="")
    author = models.CharField(_("author"), max_length=150, blank=True, default="")  # a name; empty: the loader

    class Meta:
        ordering = ["-id"]
        verbose_name = _("catalogue revision")
        verbose_name_plural = _("catalogue revisions")
        get_latest_by = "id"

    def __str__(self) -> str:
        return self.code

    def get_absolute_url(self) -> str:
        return reverse("catalog:revision", args=[self.pk])

    @property
    def reason_text(self) -> str:
        return word(self.reason)


class RecordedRow(models.Model):
    """What one row of the catalogue said in the newest revision: what the next revision is compared with."""

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=240)
    content = models.JSONField(encoder=DjangoJSONEncoder)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="catalog_recordedrow_unique")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class CatalogChange(models.Model):
    """One row that a revision changed, by whatever door: `before` and `after` hold the fields that differ."""

    class Action(models.TextChoices):
        ADDED = "added", pgettext_lazy("change", "added")
        CHANGED = "changed", pgettext_lazy("change", "changed")
        RETIRED = "retired", pgettext_lazy("change", "retired")
        REMOVED = "removed", pgettext_lazy("change", "removed")

    revision = models.ForeignKey(CatalogRevision, on_delete=models.PROTECT, related_name="changes")
    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=240)
    action = models.CharField(max_length=10, choices=Action.choices)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)

    class Meta:
        ordering = ["revision", "kind", "key"]
        indexes = [models.Index(fields=["kind", "key"], name="catalog_change_of_row")]
        constraints = [
            models.UniqueConstraint(fields=["revision", "kind", "key"], name="catalog_change_once_a_revision")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} {self.action}"


class CatalogDraft(models.Model):
    """Changes of parts that somebody prepared, in the admin or as a file; nothing holds until it is published."""

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("draft of changes", "open")
        PUBLISHED = "published", pgettext_lazy("draft of changes", "published")
        DISCARDED = "discarded", pgettext_lazy("draft of changes", "discarded")

    title = models.CharField(_("title"), max_length=200)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.OPEN)
    is_from_file = models.BooleanField(_("from a file"), default=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="catalog_drafts", verbose_name=_("author")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)
    closed_by = models.CharField(_("closed by"), max_length=150, blank=True, default="")
    revision = models.ForeignKey(
        CatalogRevision,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="drafts",
        verbose_name=_("revision"),
    )

    class Meta:
        ordering = ["-id"]
        verbose_name = _("draft of changes")
        verbose_name_plural = _("drafts of changes")
        constraints = [
            models.UniqueConstraint(
                fields=["author"],
                condition=Q(status="open", is_from_file=False),
                name="catalog_draft_one_of_edits_an_author",
            ),
            models.CheckConstraint(
                name="catalog_draft_closed_has_time",
                condition=Q(status="open") | Q(closed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("catalog:draft", args=[self.pk])


class DraftRow(models.Model):
    """One row that a draft adds or changes: the fields that differ, as they are and as they shall be."""

    draft = models.ForeignKey(CatalogDraft, on_delete=models.CASCADE, related_name="rows")
    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=80)
    is_new = models.BooleanField(default=False)
    before = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    after = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    place = models.CharField(max_length=300, blank=True, default="")  # file, sheet and line it was read from

    class Meta:
        ordering = ["kind", "key"]
        constraints = [models.UniqueConstraint(fields=["draft", "kind", "key"], name="catalog_draftrow_unique")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

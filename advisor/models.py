"""Scenarios that staff keep: the question as a link, and the answer as it was computed then."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

MAX_NAME = 120
MAX_NOTE = 2000
MAX_QUERY = 8000


class Scenario(models.Model):
    """`query` is the canonical query string of the sizing page; `answer` never changes after saving."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="scenarios", verbose_name=_("owner")
    )
    name = models.CharField(_("name"), max_length=MAX_NAME)
    tags = models.JSONField(_("tags"), default=list, blank=True)
    note = models.TextField(_("note"), max_length=MAX_NOTE, blank=True)
    query = models.TextField(max_length=MAX_QUERY)
    headline = models.CharField(max_length=300)
    answer = models.JSONField()
    engine_version = models.CharField(max_length=40)
    catalog_revision = models.CharField(max_length=80)
    is_archived = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-changed_at", "-id")
        verbose_name = _("saved scenario")
        verbose_name_plural = _("saved scenarios")
        indexes = (models.Index(fields=("owner", "is_archived"), name="scenario_owner"),)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("advisor:scenario", args=[self.public_id])

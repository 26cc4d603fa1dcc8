"""What programs of the staff come in with, and what they were answered."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    READ = "read", _("Read quotes and their PDF")
    DRAFT = "draft", _("Make drafts, submit, duplicate, revise")
    ISSUE = "issue", _("Issue, send, withdraw")
    APPROVE = "approve", _("Approve and reject")


class ApiToken(models.Model):
    """A key of one member of staff for programs, known by its SHA-256. It never allows more than its owner may do."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(_("name"), max_length=100)
    prefix = models.CharField(max_length=12)  # the first characters, to tell tokens apart
    token_sha256 = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["-created_at"]
        constraints = [models.CheckConstraint(condition=Q(token_sha256__gt=""), name="token_has_a_hash")]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}"

    def is_open(self, now: datetime) -> bool:
        return self.revoked_at is None and self.expires_at > now


class IdempotentCall(models.Model):
    """One POST of one token under its Idempotency-Key, with its answer once there is one; kept for a day."""

    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="calls")
    key = models.CharField(max_length=255)
    request_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    held_until = models.DateTimeField()  # whoever works on it is given up after this
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    body = models.TextField(blank=True)
    etag = models.CharField(max_length=80, blank=True)

    class Meta:
        verbose_name = _("idempotent call")
        verbose_name_plural = _("idempotent calls")
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="call_key_once_per_token")]
        indexes = [models.Index(fields=["created_at"], name="call_by_age")]

    def __str__(self) -> str:
        return self.key

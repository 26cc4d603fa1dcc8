"""The issued PDF, the customer's links, and the log of who did what."""

from __future__ import annotations

import hashlib
import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotes.models.frozen import AppendOnly, AppendOnlyQuerySet
from quotes.models.revisions import Quote, QuoteRevision


class QuoteDocument(AppendOnly):
    """The PDF of an issued revision, byte for byte as it was made."""

    revision = models.OneToOneField(QuoteRevision, on_delete=models.PROTECT, related_name="document")
    pdf = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AppendOnlyQuerySet["QuoteDocument"].as_manager()

    class Meta:
        verbose_name = _("quote document")
        verbose_name_plural = _("quote documents")
        constraints = [models.CheckConstraint(condition=Q(sha256__gt=""), name="document_has_a_hash")]

    def __str__(self) -> str:
        return self.sha256[:16]


def link_digest(token: str) -> str:
    """What is stored of a customer's link: its SHA-256; the token itself is shown once."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_link_token() -> str:
    """256 random bits, safe in an address."""
    return secrets.token_urlsafe(32)


class CustomerLink(models.Model):
    """A customer's way to the issued revision; revocable, known only by its hash."""

    revision = models.ForeignKey(QuoteRevision, on_delete=models.PROTECT, related_name="links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("customer link")
        verbose_name_plural = _("customer links")

    def __str__(self) -> str:
        return self.token_sha256[:8]


class AcceptanceProof(AppendOnly):
    """What proves an acceptance that a member of staff records: the scanned order, byte for byte."""

    revision = models.OneToOneField(QuoteRevision, on_delete=models.PROTECT, related_name="acceptance_proof")
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=50)
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AppendOnlyQuerySet["AcceptanceProof"].as_manager()

    class Meta:
        verbose_name = _("proof of acceptance")
        verbose_name_plural = _("proofs of acceptance")

    def __str__(self) -> str:
        return self.name


class AuditEntry(AppendOnly):
    """Who did what, when, to which quote; written in the transaction of the change."""

    created_at = models.DateTimeField(auto_now_add=True)
    quote = models.ForeignKey(Quote, on_delete=models.PROTECT, related_name="audit_entries")
    revision = models.ForeignKey(
        QuoteRevision, on_delete=models.PROTECT, null=True, blank=True, related_name="audit_entries"
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    actor_kind = models.CharField(
        max_length=10,
        choices=[(kind, kind) for kind in ("user", "token", "customer", "system")],
        default="user",
    )
    token_name = models.CharField(max_length=100, blank=True, default="")  # of the API token that acted for the user
    actor_text = models.CharField(max_length=200, blank=True)  # a customer's own statement of who they are
    action = models.CharField(max_length=30)
    before = models.JSONField(default=dict, blank=True)
    after = models.JSONField(default=dict, blank=True)
    reason = models.CharField(max_length=1000, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)

    objects = AppendOnlyQuerySet["AuditEntry"].as_manager()

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M} {self.action}"

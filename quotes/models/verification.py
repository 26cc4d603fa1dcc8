"""The code printed on an issued quotation, by which anyone who holds the paper can check it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotes.models.frozen import AppendOnly, AppendOnlyQuerySet
from quotes.models.revisions import QuoteRevision


class VerificationCode(AppendOnly):
    """One code an issued revision; it tells number, total and state, never a line."""

    revision = models.OneToOneField(QuoteRevision, on_delete=models.PROTECT, related_name="verification")
    code = models.CharField(max_length=20, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AppendOnlyQuerySet["VerificationCode"].as_manager()

    class Meta:
        verbose_name = _("verification code")
        verbose_name_plural = _("verification codes")
        constraints = [models.CheckConstraint(condition=Q(code__gt=""), name="verification_code_not_empty")]

    def __str__(self) -> str:
        return self.code

"""What a visitor asked for: contact, consent, and the sizing as it was answered at that moment."""

from __future__ import annotations

import secrets
import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.money import MINOR_UNITS
from quotes.models.choices import Basis
from quotes.models.revisions import Quote

REFERENCE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without I, O, 0 and 1, which are misread on the telephone


class RequestState(models.TextChoices):
    NEW = "new", pgettext_lazy("request state", "New")
    TAKEN = "taken", pgettext_lazy("request state", "Taken")
    QUOTED = "quoted", pgettext_lazy("request state", "Quoted")
    CLOSED = "closed", pgettext_lazy("request state", "Closed")


def new_reference() -> str:
    """`A-` and eight letters (40 random bits): to be read out, not to open anything."""
    return "A-" + "".join(secrets.choice(REFERENCE_LETTERS) for _letter in range(8))


class QuoteRequest(models.Model):
    """A lead. `answers` is the recommendation as computed when it was asked for, in both languages.

    The address of the sender is kept as a keyed hash only, to count requests. `fingerprint` folds the same request,
    sent twice on one day, into one row.
    """

    reference = models.CharField(_("reference"), max_length=10, unique=True, default=new_reference, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_sent_at = models.DateTimeField()
    sent_count = models.PositiveIntegerField(default=1)
    fingerprint = models.CharField(max_length=64, unique=True)
    address_hash = models.CharField(max_length=64, blank=True)

    state = models.CharField(_("state"), max_length=10, choices=RequestState.choices, default=RequestState.NEW)
    assigned_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="quote_requests"
    )
    closed_reason = models.CharField(max_length=300, blank=True)
    note = models.TextField(_("internal note"), max_length=5000, blank=True)
    quote = models.ForeignKey(Quote, on_delete=models.PROTECT, null=True, blank=True, related_name="requests")

    company = models.CharField(_("company"), max_length=200, blank=True)
    contact_name = models.CharField(_("your name"), max_length=100, blank=True)
    email = models.EmailField(_("e-mail"), blank=True)
    phone = models.CharField(_("telephone"), max_length=50, blank=True)
    destination = models.CharField(_("country and place of delivery"), max_length=200, blank=True)
    wanted_by = models.DateField(_("wanted by"), null=True, blank=True)
    message = models.TextField(_("message"), max_length=2000, blank=True)
    basis = models.CharField(_("basis"), max_length=10, choices=Basis.choices)
    language = models.CharField(max_length=12, default="zh-Hans")
    consent_version = models.CharField(max_length=20)
    consented_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True, blank=True)

    query = models.TextField()  # canonical query string of the sizing page
    answers = models.JSONField(default=dict)
    engine_version = models.CharField(max_length=40)
    catalog_revision = models.CharField(max_length=80)
    currency = models.CharField(max_length=3, blank=True)
    total_gross = models.DecimalField(max_digits=18, decimal_places=3, null=True, blank=True)

    class Meta:
        verbose_name = _("quote request")
        verbose_name_plural = _("quote requests")
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["state", "-created_at"], name="request_by_state"),
            models.Index(fields=["address_hash", "-last_sent_at"], name="request_by_address"),
            models.Index(fields=["email", "-last_sent_at"], name="request_by_email"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=RequestState.values), name="request_state_known"),
            models.CheckConstraint(condition=Q(basis__in=Basis.values), name="request_basis_known"),
            models.CheckConstraint(
                condition=Q(currency="") | Q(currency__in=list(MINOR_UNITS)), name="request_currency_known"
            ),
            models.CheckConstraint(
                condition=~Q(state=RequestState.QUOTED) | Q(quote__isnull=False), name="request_quoted_has_a_quote"
            ),
            models.CheckConstraint(
                condition=Q(erased_at__isnull=True) | Q(email="", contact_name="", phone="", message=""),
                name="request_erased_names_nobody",
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    def get_absolute_url(self) -> str:
        return reverse("request-detail", args=[self.reference])


def unguessable_fingerprint() -> str:
    """For a row that must fold with nothing any more."""
    return uuid.uuid4().hex + uuid.uuid4().hex

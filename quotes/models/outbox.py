"""Mail on its way: one row for each recipient, from the wish to send to the word of the server."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from quotes.models.requests import QuoteRequest
from quotes.models.revisions import QuoteRevision


class MailKind(models.TextChoices):
    QUOTE = "quote", _("Quotation to the customer")
    ACCEPTED = "accepted", _("Receipt of an acceptance")
    DECLINED = "declined", _("Receipt of a refusal")
    REQUEST = "request", _("New request")
    EXPIRY = "expiry", _("Reminder of an expiry")


class MailState(models.TextChoices):
    QUEUED = "queued", pgettext_lazy("mail state", "Waiting")
    ACCEPTED = "accepted", pgettext_lazy("mail state", "Accepted by the server")
    FAILED = "failed", pgettext_lazy("mail state", "Failed")


class OutboxMail(models.Model):
    """One mail to one recipient.

    A worker takes a due row by raising `tries` and setting `held_until`; if it dies, the row is due again when the hold
    ends. It may have died after the server took the mail: then the recipient gets that one mail twice, with the same
    Message-ID. `link_nonce` is what the customer's link in the mail is derived from together with the site's key, so
    that no stored row opens a quote.
    """

    message_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    kind = models.CharField(max_length=10, choices=MailKind.choices)
    once_key = models.CharField(max_length=120, null=True, blank=True, unique=True)  # a reminder is made once
    revision = models.ForeignKey(QuoteRevision, on_delete=models.PROTECT, null=True, blank=True, related_name="mails")
    request = models.ForeignKey(QuoteRequest, on_delete=models.PROTECT, null=True, blank=True, related_name="mails")

    recipient = models.EmailField()
    reply_to = models.EmailField(blank=True)
    subject = models.CharField(max_length=300)
    body = models.TextField()
    link_nonce = models.CharField(max_length=64, blank=True)
    has_document = models.BooleanField(default=False)  # the stored PDF goes with it

    state = models.CharField(max_length=10, choices=MailState.choices, default=MailState.QUEUED)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField()
    held_until = models.DateTimeField(null=True, blank=True)
    failure = models.CharField(max_length=500, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("mail")
        verbose_name_plural = _("mails")
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["state", "next_try_at"], name="mail_by_next_try")]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=MailState.values), name="mail_state_known"),
            models.CheckConstraint(condition=Q(kind__in=MailKind.values), name="mail_kind_known"),
            models.CheckConstraint(
                condition=Q(state=MailState.QUEUED, finished_at__isnull=True)
                | ~Q(state=MailState.QUEUED) & Q(finished_at__isnull=False),
                name="mail_finished_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state=MailState.FAILED) | Q(failure__gt=""), name="mail_failed_has_a_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.recipient}"

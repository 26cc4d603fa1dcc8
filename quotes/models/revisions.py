"""Quotes, their numbered revisions, and the counter that numbers them."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, ClassVar, NoReturn
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from catalog.money import MINOR_UNITS, TaxMode
from quotes.models.choices import (
    CURRENCIES,
    DISCOUNT_REASONS,
    ISSUED_STORED,
    STORED_STATES,
    TAX_MODES,
    Basis,
    Language,
    Paper,
)
from quotes.models.frozen import FrozenError
from quotes.models.parties import SellerEntity, Terms
from quotes.states import LIVE_STATES, State

FRACTION = [MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(1))]


class NumberSeries(models.Model):
    """The counter of one year's quotes. Who issues holds the series for the time of the rendering, not a database lock.

    See `quotes.numbers` for the protocol.
    """

    code = models.CharField(max_length=20, unique=True)
    next_value = models.PositiveIntegerField(default=1)
    holder = models.UUIDField(null=True, blank=True)
    held_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("number series")
        verbose_name_plural = _("number series")
        constraints = [
            models.CheckConstraint(condition=Q(next_value__gte=1), name="series_starts_at_one"),
            models.CheckConstraint(
                condition=Q(holder__isnull=True, held_until__isnull=True)
                | Q(holder__isnull=False, held_until__isnull=False),
                name="series_held_with_a_limit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.next_value}"


class Quote(models.Model):
    """One thread with a customer; its revisions carry the content. The number is NULL until the first issue."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    creation_key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)  # two equal POSTs make one quote
    number = models.CharField(_("number"), max_length=30, null=True, blank=True, unique=True, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="quotes", verbose_name=_("owner")
    )
    is_shared = models.BooleanField(_("shown to the other representatives"), default=False)
    # the saved scenario it was made from; whoever sees the quote need not see the scenario
    scenario = models.ForeignKey(
        "advisor.Scenario", on_delete=models.PROTECT, null=True, blank=True, editable=False, related_name="quotes"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("quote")
        verbose_name_plural = _("quotes")
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(condition=Q(number__isnull=True) | ~Q(number=""), name="quote_number_not_empty")
        ]

    def __str__(self) -> str:
        return self.number or str(self.public_id)

    def get_absolute_url(self) -> str:
        return reverse("quotes:detail", args=[self.public_id])


class RevisionQuerySet(models.QuerySet["QuoteRevision"]):
    """Speaks the domain, and refuses to change or delete issued content in bulk."""

    def current(self) -> RevisionQuerySet:
        """The newest revision of each quote: what lists show. One index look-up a row."""
        newer = QuoteRevision._base_manager.filter(
            quote_id=models.OuterRef("quote_id"), revision_index__gt=models.OuterRef("revision_index")
        )
        return self.filter(~models.Exists(newer))

    def live_until(self, now: datetime) -> RevisionQuerySet:
        """Issued and not yet past their validity."""
        return self.filter(state__in=LIVE_STATES, expires_at__gt=now)

    def lapsed_at(self, now: datetime) -> RevisionQuerySet:
        """Issued, never answered, and past their validity."""
        return self.filter(state__in=LIVE_STATES, expires_at__lte=now)

    def update(self, **changes: Any) -> int:
        if not changes.keys() <= QuoteRevision.LIFE_CYCLE_FIELDS and self.exclude(snapshot="").exists():
            raise FrozenError(f"Issued quotes do not change: {', '.join(sorted(changes))}.")
        return super().update(**changes)

    def delete(self) -> NoReturn:
        raise FrozenError("Quotes are cancelled or withdrawn, not deleted.")


class QuoteRevision(models.Model):
    """One version of a quote; once issued, its content is the snapshot and nothing else."""

    quote = models.ForeignKey(Quote, on_delete=models.PROTECT, related_name="revisions")
    revision_index = models.PositiveSmallIntegerField(default=1)
    revises = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="revised_by")
    state = models.CharField(_("state"), max_length=20, choices=STORED_STATES, default=State.DRAFT)
    content_version = models.PositiveIntegerField(default=1)  # raised by each edit; an older one is not saved over it

    basis = models.CharField(_("basis"), max_length=10, choices=Basis.choices)
    language = models.CharField(_("language"), max_length=12, choices=Language.choices, default=Language.CHINESE)
    paper = models.CharField(_("paper"), max_length=10, choices=Paper.choices, default=Paper.A4)
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCIES)
    tax_mode = models.CharField(_("tax rounded"), max_length=10, choices=TAX_MODES, default=TaxMode.PER_RATE)
    term_months = models.PositiveSmallIntegerField(_("term in months"), null=True, blank=True)
    pricing_date = models.DateField(_("prices of"))
    valid_through = models.DateField(_("valid through"))
    discount_fraction = models.DecimalField(
        _("discount on the whole"), max_digits=6, decimal_places=5, default=Decimal(0), validators=FRACTION
    )
    discount_amount = models.DecimalField(  # in the currency's units, beside the fraction; of the entered prices
        _("discount on the whole, as an amount"), max_digits=18, decimal_places=3, default=Decimal(0)
    )
    discount_reason = models.CharField(
        _("reason of the discount"), max_length=20, choices=DISCOUNT_REASONS, blank=True, default=""
    )
    prices_include_tax = models.BooleanField(_("unit prices include tax"), default=False)
    project = models.CharField(_("project"), max_length=200, blank=True)

    seller = models.ForeignKey(
        SellerEntity, on_delete=models.PROTECT, null=True, blank=True, verbose_name=_("seller"), related_name="+"
    )
    terms = models.ForeignKey(
        Terms, on_delete=models.PROTECT, null=True, blank=True, verbose_name=_("terms"), related_name="+"
    )
    customer_name = models.CharField(_("customer"), max_length=200, blank=True)
    customer_tax_id = models.CharField(_("customer's unified social credit code"), max_length=30, blank=True)
    customer_address = models.CharField(_("customer's address"), max_length=300, blank=True)
    contact_name = models.CharField(_("contact"), max_length=100, blank=True)
    contact_phone = models.CharField(_("telephone"), max_length=50, blank=True)
    contact_email = models.EmailField(_("e-mail"), blank=True)
    delivery_place = models.CharField(_("place of delivery"), max_length=200, blank=True)
    customer_note = models.TextField(_("note to the customer"), max_length=2000, blank=True)
    internal_note = models.TextField(_("internal note (never shown to the customer)"), max_length=2000, blank=True)

    deposit_months = models.DecimalField(
        _("deposit in months"), max_digits=4, decimal_places=1, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    # JSON with a schema of its own: quotes.payments, quotes.clauses, quotes.tax; checked by the services
    payment_schedule = models.JSONField(_("payment schedule"), default=list, blank=True)
    clauses = models.JSONField(_("clauses"), default=dict, blank=True)
    special_terms = models.TextField(_("terms beside the standard ones"), max_length=4000, blank=True, default="")
    tax_basis = models.JSONField(default=list, blank=True, editable=False)  # law and source of each rate in use
    exchange = models.JSONField(default=dict, blank=True, editable=False)  # rate, source, date of converted prices
    export_acknowledgement = models.JSONField(default=dict, blank=True, editable=False)
    price_book = models.JSONField(default=dict, blank=True)
    sizing = models.JSONField(default=dict, blank=True)  # the sizing basis, by language; empty for hand-made quotes

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    submitted_at = models.DateTimeField(null=True, blank=True, editable=False)
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )
    approved_at = models.DateTimeField(null=True, blank=True, editable=False)
    approved_sha256 = models.CharField(max_length=64, blank=True, default="", editable=False)  # of what was approved

    number = models.CharField(_("number"), max_length=30, null=True, blank=True, unique=True, editable=False)
    issued_at = models.DateTimeField(null=True, blank=True, editable=False)
    issued_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )
    expires_at = models.DateTimeField(null=True, blank=True, editable=False)  # first instant after the validity
    snapshot = models.TextField(blank=True, default="", editable=False)  # canonical JSON, the text that was hashed
    snapshot_sha256 = models.CharField(max_length=64, blank=True, default="", editable=False)
    pdf_sha256 = models.CharField(max_length=64, blank=True, default="", editable=False)
    # for lists, so that they need not open snapshots or sum lines
    total_net = models.DecimalField(max_digits=18, decimal_places=3, default=Decimal(0), editable=False)
    total_gross = models.DecimalField(max_digits=18, decimal_places=3, default=Decimal(0), editable=False)
    decided_at = models.DateTimeField(null=True, blank=True, editable=False)
    decision = models.JSONField(default=dict, blank=True, editable=False)

    objects = RevisionQuerySet.as_manager()

    LIFE_CYCLE_FIELDS: ClassVar[frozenset[str]] = frozenset(
        {"state", "internal_note", "decided_at", "decision", "updated_at"}
    )

    class Meta:
        verbose_name = _("quote revision")
        verbose_name_plural = _("quote revisions")
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["state", "expires_at"], name="revision_by_state"),
            models.Index(fields=["-created_at"], name="revision_by_creation"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["quote", "revision_index"], name="revision_index_once_per_quote"),
            models.UniqueConstraint(
                fields=["quote"],
                condition=Q(state__in=[State.DRAFT, State.PENDING_APPROVAL, State.APPROVED]),
                name="revision_one_open_per_quote",
                violation_error_message=_("This quote already has an open draft."),
            ),
            models.UniqueConstraint(
                fields=["quote"],
                condition=Q(state__in=[State.ISSUED, State.SENT, State.ACCEPTED]),
                name="revision_one_standing_per_quote",
                violation_error_message=_("This quote already has an issued revision."),
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=ISSUED_STORED,
                    number__isnull=False,
                    issued_at__isnull=False,
                    issued_by__isnull=False,
                    expires_at__isnull=False,
                )
                & ~Q(snapshot="")
                & Q(snapshot_sha256__gt="")
                & Q(pdf_sha256__gt="")
                | ~Q(state__in=ISSUED_STORED)
                & Q(number__isnull=True, issued_at__isnull=True, snapshot="", pdf_sha256=""),
                name="revision_issued_means_frozen",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[str(code) for code, _label in STORED_STATES]), name="revision_state_known"
            ),
            models.CheckConstraint(condition=Q(basis__in=Basis.values), name="revision_basis_known"),
            models.CheckConstraint(condition=Q(currency__in=list(MINOR_UNITS)), name="revision_currency_known"),
            models.CheckConstraint(
                condition=Q(discount_fraction__gte=0) & Q(discount_fraction__lte=1),
                name="revision_discount_is_a_fraction",
            ),
            models.CheckConstraint(
                condition=Q(discount_amount__gte=0),
                name="revision_discount_not_negative",
                violation_error_message=_("A discount is not negative."),
            ),
            models.CheckConstraint(
                condition=~Q(state=State.APPROVED) | ~Q(approved_sha256=""), name="revision_approved_has_a_hash"
            ),
            models.CheckConstraint(
                condition=Q(valid_through__gte=F("pricing_date")),
                name="revision_valid_after_pricing",
                violation_error_message=_("The validity ends before the day of the prices."),
            ),
        ]

    def __str__(self) -> str:
        return self.number or f"{self.quote_id}/{self.revision_index}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        update_fields = kwargs.get("update_fields")
        changed = None if update_fields is None else frozenset(update_fields)
        touches_content = changed is None or not changed <= self.LIFE_CYCLE_FIELDS
        if touches_content and not self._state.adding and self._is_stored_frozen():
            raise FrozenError(f"{self.number or self.pk} is issued; revise it instead of changing it.")
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        return reverse("quotes:revision", args=[self.quote.public_id, self.revision_index])

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise FrozenError("Quotes are cancelled or withdrawn, not deleted.")

    @property
    def is_frozen(self) -> bool:
        return bool(self.snapshot)

    def effective_state(self, now: datetime) -> State:
        """The stored state, or `expired` when the validity has run out unanswered."""
        state = State(self.state)
        if state in LIVE_STATES and self.expires_at is not None and self.expires_at <= now:
            return State.EXPIRED
        return state

    def _is_stored_frozen(self) -> bool:
        return type(self)._base_manager.filter(pk=self.pk).exclude(snapshot="").exists()


def end_of_day(day: date, time_zone: str) -> datetime:
    """The first instant after `day` at that place, in UTC."""
    return datetime.combine(day + timedelta(days=1), time.min, tzinfo=ZoneInfo(time_zone)).astimezone(UTC)

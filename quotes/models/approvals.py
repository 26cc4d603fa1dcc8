"""Who must agree to what before a quote goes out: rules and limits as data, and each request with its decision."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from quotes.models.choices import APPROVER_ROLES, CURRENCIES, LIMITED_ROLES, PRODUCT_GROUPS, Basis
from quotes.models.revisions import FRACTION, QuoteRevision


class Condition(models.TextChoices):
    """What a rule looks at. Discounts are effective ones: what the customer pays against the list price."""

    DISCOUNT = "discount", _("effective discount above the limit of the seller's role")
    BELOW_FLOOR = "below_floor", _("price below the floor price")
    MARGIN_BELOW = "margin_below", _("margin below a fraction of the net total")
    TOTAL_ABOVE = "total_above", _("net total above an amount")
    TERM_ABOVE = "term_above", _("term longer than a number of months")
    TERM_BELOW = "term_below", _("term shorter than a number of months")
    PAYMENT_DAYS_ABOVE = "payment_days_above", _("payment later than a number of days after its event")
    TERMS_CHANGED = "terms_changed", _("terms other than the standard ones")
    LIST_PRICE_MISSING = "list_price_missing", _("a price that no price book holds")
    VALIDITY_ABOVE = "validity_above", _("validity longer than a number of days")


# What the threshold of a condition is counted in; the others take none.
THRESHOLD_UNITS: dict[str, str] = {
    Condition.MARGIN_BELOW: "fraction",
    Condition.TOTAL_ABOVE: "money",
    Condition.TERM_ABOVE: "months",
    Condition.TERM_BELOW: "months",
    Condition.PAYMENT_DAYS_ABOVE: "days",
    Condition.VALIDITY_ABOVE: "days",
}


class ApprovalRule(models.Model):
    """One condition, who must agree when it is met, and the sentence that says so in both languages.

    `%(measured)s`, `%(limit)s` and `%(what)s` in the sentences stand for the figures of the quote.
    """

    code = models.SlugField(_("code"), unique=True, max_length=60)
    condition = models.CharField(_("condition"), max_length=30, choices=Condition.choices)
    threshold = models.DecimalField(_("threshold"), max_digits=18, decimal_places=4, null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCIES, blank=True, default="")
    basis = models.CharField(_("basis"), max_length=10, choices=Basis.choices, blank=True, default="")
    approver_role = models.CharField(_("approver"), max_length=20, choices=APPROVER_ROLES)
    message_zh = models.CharField(_("sentence (Chinese)"), max_length=300)
    message_en = models.CharField(_("sentence (English)"), max_length=300)
    is_active = models.BooleanField(_("in force"), default=True)

    class Meta:
        verbose_name = _("approval rule")
        verbose_name_plural = _("approval rules")
        ordering = ["code"]
        constraints = [
            models.CheckConstraint(
                condition=Q(condition__in=list(THRESHOLD_UNITS), threshold__isnull=False)
                | ~Q(condition__in=list(THRESHOLD_UNITS)) & Q(threshold__isnull=True),
                name="approval_rule_threshold_where_counted",
                violation_error_message=_("This condition needs a threshold, or takes none."),
            ),
            models.CheckConstraint(
                condition=~Q(condition="total_above") | ~Q(currency=""),
                name="approval_rule_amount_has_currency",
                violation_error_message=_("An amount needs its currency."),
            ),
        ]

    def __str__(self) -> str:
        return self.code


class DiscountLimit(models.Model):
    """The largest effective discount that a role gives alone in a group of products; a person's own row comes first."""

    role = models.CharField(_("role"), max_length=20, choices=LIMITED_ROLES)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("user"),
    )
    product_group = models.CharField(
        _("group of products"), max_length=20, choices=PRODUCT_GROUPS, blank=True, default=""
    )  # empty: every group without a row of its own
    max_fraction = models.DecimalField(
        _("largest discount as a fraction"), max_digits=6, decimal_places=5, validators=FRACTION
    )

    class Meta:
        verbose_name = _("discount limit")
        verbose_name_plural = _("discount limits")
        ordering = ["role", "user", "product_group"]
        constraints = [
            models.UniqueConstraint(
                fields=["role", "product_group"], condition=Q(user__isnull=True), name="discount_limit_once_per_role"
            ),
            models.UniqueConstraint(
                fields=["role", "user", "product_group"],
                condition=Q(user__isnull=False),
                name="discount_limit_once_per_user",
            ),
            models.CheckConstraint(
                condition=Q(max_fraction__gte=0) & Q(max_fraction__lte=1), name="discount_limit_is_a_fraction"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.role} {self.product_group or '*'} {self.max_fraction}"


class ApprovalRequest(models.Model):
    """One needed approval of one submission, and what was decided. Rows stay; a new submission makes new ones."""

    class Decision(models.TextChoices):
        PENDING = "pending", pgettext_lazy("approval", "Pending")
        APPROVED = "approved", pgettext_lazy("approval", "Approved")
        REJECTED = "rejected", pgettext_lazy("approval", "Rejected")
        RECALLED = "recalled", pgettext_lazy("approval", "Recalled")
        VOID = "void", pgettext_lazy("approval", "Void: the content changed")

    revision = models.ForeignKey(QuoteRevision, on_delete=models.PROTECT, related_name="approval_requests")
    rule_code = models.CharField(max_length=60)
    condition = models.CharField(max_length=30)
    product_group = models.CharField(max_length=20, blank=True)
    approver_role = models.CharField(max_length=20, choices=APPROVER_ROLES)
    measured = models.DecimalField(max_digits=20, decimal_places=6, null=True, blank=True)
    message_zh = models.CharField(max_length=500)
    message_en = models.CharField(max_length=500)
    content_sha256 = models.CharField(max_length=64)  # of the content that was submitted
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    decision = models.CharField(max_length=10, choices=Decision.choices, default=Decision.PENDING)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    comment = models.CharField(max_length=1000, blank=True)

    class Meta:
        verbose_name = _("approval request")
        verbose_name_plural = _("approval requests")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(decision="pending", decided_by__isnull=True, decided_at__isnull=True)
                | ~Q(decision="pending") & Q(decided_at__isnull=False),
                name="approval_decided_at_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(decision__in=["approved", "rejected"]) | Q(decided_by__isnull=False),
                name="approval_decided_by_someone",
            ),
            models.CheckConstraint(
                condition=~Q(decision="rejected") | ~Q(comment=""), name="approval_rejected_with_a_comment"
            ),
            models.CheckConstraint(
                condition=Q(decided_by__isnull=True)
                | ~Q(decided_by=models.F("requested_by"))
                | ~Q(decision="approved"),
                name="approval_never_by_the_requester",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule_code}: {self.decision}"

    @property
    def waited(self) -> timedelta | None:
        """Time to decision."""
        return None if self.decided_at is None else self.decided_at - self.requested_at

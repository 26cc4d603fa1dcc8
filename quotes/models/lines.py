"""The positions of a revision."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotes.models.choices import DISCOUNT_REASONS, TAX_CATEGORIES
from quotes.models.frozen import FrozenError
from quotes.models.revisions import FRACTION, QuoteRevision

MAX_LINES = 500
MAX_QUANTITY = Decimal(1_000_000)
MAX_UNIT_PRICE = Decimal(1_000_000_000)


class LineQuerySet(models.QuerySet["QuoteLine"]):
    def update(self, **changes: Any) -> int:
        self._refuse_frozen()
        return super().update(**changes)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._refuse_frozen()
        return super().delete()

    def bulk_create(self, objs: Iterable[QuoteLine], *args: Any, **kwargs: Any) -> list[QuoteLine]:
        lines = list(objs)
        refuse_frozen_lines({line.revision_id for line in lines})
        return super().bulk_create(lines, *args, **kwargs)

    def _refuse_frozen(self) -> None:
        if self.exclude(revision__snapshot="").exists():
            raise FrozenError("Lines of issued quotes do not change.")


def refuse_frozen_lines(revision_ids: Iterable[int]) -> None:
    """Raises `FrozenError` when one of the revisions is issued."""
    if QuoteRevision._base_manager.filter(pk__in=list(revision_ids)).exclude(snapshot="").exists():
        raise FrozenError("Lines of issued quotes do not change.")


class QuoteLine(models.Model):
    """One position: quantity x periods x unit price, net of tax. A price that is not known is NULL, never 0."""

    revision = models.ForeignKey(QuoteRevision, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=30)
    sku = models.CharField(max_length=100, blank=True)
    name_zh = models.CharField(_("name (Chinese)"), max_length=300)
    name_en = models.CharField(_("name (English)"), max_length=300)
    specification_zh = models.CharField(_("specification (Chinese)"), max_length=600, blank=True)
    specification_en = models.CharField(_("specification (English)"), max_length=600, blank=True)
    unit = models.CharField(
        max_length=30, validators=[RegexValidator(r"^[a-z0-9_]+$", _("A unit is a code such as each or month."))]
    )
    quantity = models.DecimalField(_("quantity"), max_digits=12, decimal_places=3)
    period_count = models.PositiveSmallIntegerField(_("periods"), default=1)
    list_price = models.DecimalField(max_digits=18, decimal_places=4, null=True, blank=True)  # of the book; NULL: none
    list_period_count = models.PositiveSmallIntegerField(null=True, blank=True)  # periods at list: shows free months
    floor_price = models.DecimalField(max_digits=18, decimal_places=4, null=True, blank=True)
    cost_price = models.DecimalField(max_digits=18, decimal_places=4, null=True, blank=True)  # never printed
    unit_price = models.DecimalField(_("unit price"), max_digits=18, decimal_places=4, null=True, blank=True)
    discount_fraction = models.DecimalField(
        _("discount"), max_digits=6, decimal_places=5, default=Decimal(0), validators=FRACTION
    )
    discount_amount = models.DecimalField(  # off the whole line, beside the fraction
        _("discount as an amount"), max_digits=18, decimal_places=3, default=Decimal(0)
    )
    discount_reason = models.CharField(
        _("reason of the discount"), max_length=20, choices=DISCOUNT_REASONS, blank=True, default=""
    )
    tax_category = models.CharField(_("tax category"), max_length=20, choices=TAX_CATEGORIES, blank=True, default="")
    tax_rate = models.DecimalField(_("tax rate"), max_digits=5, decimal_places=4, validators=FRACTION)
    is_included = models.BooleanField(default=False)  # a part of another line's price; shown without one of its own
    is_optional = models.BooleanField(default=False)  # printed apart, outside the totals
    sized_quantity = models.DecimalField(max_digits=12, decimal_places=3, null=True, blank=True)
    source_rule = models.TextField(blank=True)
    reason_zh = models.TextField(blank=True)
    reason_en = models.TextField(blank=True)
    change_reason = models.CharField(_("reason of the change"), max_length=300, blank=True)
    price_origin = models.CharField(max_length=30, blank=True)
    price_as_of = models.DateField(null=True, blank=True)
    is_indicative = models.BooleanField(default=False)
    export_note = models.TextField(blank=True, default="")  # why the part is controlled; empty: it is not known to be
    lead_time_days = models.PositiveSmallIntegerField(null=True, blank=True)

    objects = LineQuerySet.as_manager()

    class Meta:
        verbose_name = _("quote line")
        verbose_name_plural = _("quote lines")
        ordering = ["revision", "position"]
        constraints = [
            models.UniqueConstraint(fields=["revision", "position"], name="line_position_once_per_revision"),
            models.CheckConstraint(
                condition=Q(quantity__gt=0) & Q(quantity__lte=MAX_QUANTITY),
                name="line_quantity_in_range",
                violation_error_message=_("The quantity must be above 0 and at most 1,000,000."),
            ),
            models.CheckConstraint(
                condition=Q(unit_price__isnull=True) | Q(unit_price__gte=0) & Q(unit_price__lte=MAX_UNIT_PRICE),
                name="line_price_in_range",
                violation_error_message=_("The unit price must be from 0 to 1,000,000,000."),
            ),
            models.CheckConstraint(
                condition=Q(discount_fraction__gte=0) & Q(discount_fraction__lte=1),
                name="line_discount_is_a_fraction",
            ),
            models.CheckConstraint(
                condition=Q(tax_rate__gte=0) & Q(tax_rate__lte=1), name="line_tax_rate_is_a_fraction"
            ),
            models.CheckConstraint(
                condition=Q(is_included=False) | Q(unit_price__isnull=True), name="line_included_has_no_price"
            ),
            models.CheckConstraint(condition=Q(period_count__gte=1), name="line_periods_at_least_one"),
            models.CheckConstraint(
                condition=Q(discount_amount__gte=0),
                name="line_discount_not_negative",
                violation_error_message=_("A discount is not negative."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.position}. {self.name_en}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        refuse_frozen_lines({self.revision_id})
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        refuse_frozen_lines({self.revision_id})
        return super().delete(*args, **kwargs)

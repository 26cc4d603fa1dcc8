"""Who sells, and on which terms."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotes.models.choices import Basis


class SellerEntity(models.Model):
    """The firm that promises; its details are copied into each snapshot."""

    code = models.SlugField(_("code"), unique=True)
    name_zh = models.CharField(_("name (Chinese)"), max_length=200)
    name_en = models.CharField(_("name (English)"), max_length=200)
    address_zh = models.CharField(_("address (Chinese)"), max_length=300)
    address_en = models.CharField(_("address (English)"), max_length=300)
    phone = models.CharField(_("telephone"), max_length=50, blank=True)
    email = models.EmailField(_("e-mail"), blank=True)
    website = models.CharField(_("website"), max_length=200, blank=True)
    tax_id = models.CharField(_("unified social credit code"), max_length=30, blank=True)
    bank_name_zh = models.CharField(_("bank (Chinese)"), max_length=200, blank=True)
    bank_name_en = models.CharField(_("bank (English)"), max_length=200, blank=True)
    bank_account = models.CharField(_("account number"), max_length=50, blank=True)
    invoice_kind_zh = models.CharField(_("invoice kind (Chinese)"), max_length=100, blank=True)
    invoice_kind_en = models.CharField(_("invoice kind (English)"), max_length=100, blank=True)
    country = models.CharField(_("country (ISO 3166)"), max_length=2, default="CN")
    # rows of {"name": {"zh-Hans", "en"}, "number", "valid_until"}: business licence, telecom licences
    licences = models.JSONField(_("licences"), default=list, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=50, default="Asia/Shanghai")
    is_default = models.BooleanField(_("used for new quotes"), default=False)

    class Meta:
        verbose_name = _("seller")
        verbose_name_plural = _("sellers")
        ordering = ["code"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=Q(is_default=True),
                name="seller_one_default",
                violation_error_message=_("Another seller is already used for new quotes."),
            )
        ]

    def __str__(self) -> str:
        return self.name_zh

    def clean(self) -> None:
        try:
            ZoneInfo(self.time_zone)
        except (ValueError, OSError, ZoneInfoNotFoundError):
            raise ValidationError({"time_zone": _("Write a zone of the IANA list, such as Asia/Shanghai.")}) from None

    def today(self, now: datetime) -> date:
        """The calendar day at the seller's place."""
        return now.astimezone(ZoneInfo(self.time_zone)).date()


class Terms(models.Model):
    """Terms of sale or rental, one paragraph a line, by version; an issued quote carries its copy."""

    code = models.SlugField(_("code"))
    version = models.CharField(_("version"), max_length=20)
    basis = models.CharField(_("basis"), max_length=10, choices=Basis.choices)
    title_zh = models.CharField(_("title (Chinese)"), max_length=100)
    title_en = models.CharField(_("title (English)"), max_length=100)
    body_zh = models.TextField(_("paragraphs (Chinese)"))
    body_en = models.TextField(_("paragraphs (English)"))
    clauses = models.JSONField(_("clauses of new quotes"), default=dict, blank=True)
    payment_schedule = models.JSONField(_("payment schedule of new quotes"), default=list, blank=True)
    validity_days = models.PositiveSmallIntegerField(_("days of validity"), default=15)
    is_current = models.BooleanField(_("used for new quotes"), default=True)

    class Meta:
        verbose_name = _("terms")
        verbose_name_plural = _("terms")
        ordering = ["code", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["code", "version"], name="terms_one_version"),
            models.UniqueConstraint(
                fields=["basis"],
                condition=Q(is_current=True),
                name="terms_one_current_per_basis",
                violation_error_message=_("Other terms are already used for new quotes of this basis."),
            ),
            models.CheckConstraint(condition=Q(basis__in=Basis.values), name="terms_basis_known"),
            models.CheckConstraint(
                condition=Q(validity_days__gte=1) & Q(validity_days__lte=365), name="terms_validity_within_a_year"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.version}"

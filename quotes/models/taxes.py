"""Tax rates by country, category and date; and what is remembered of a customer's books."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from catalog.money import TaxMode
from quotes.models.choices import TAX_CATEGORIES, TAX_MODES, Language, Paper
from quotes.models.revisions import FRACTION


class TaxRate(models.Model):
    """One rate of one country's tax on sales, from the day it holds; `valid_until` is exclusive, NULL is open."""

    country = models.CharField(_("country (ISO 3166)"), max_length=2)
    category = models.CharField(_("category"), max_length=20, choices=TAX_CATEGORIES)
    rate = models.DecimalField(_("rate"), max_digits=5, decimal_places=4, validators=FRACTION)
    valid_from = models.DateField(_("valid from"))
    valid_until = models.DateField(_("valid until (exclusive)"), null=True, blank=True)
    legal_note_zh = models.CharField(_("legal note (Chinese)"), max_length=300)
    legal_note_en = models.CharField(_("legal note (English)"), max_length=300)
    source_title = models.CharField(_("source"), max_length=300)
    source_url = models.URLField(_("address of the source"), max_length=300, blank=True)

    class Meta:
        verbose_name = _("tax rate")
        verbose_name_plural = _("tax rates")
        ordering = ["country", "category", "-valid_from"]
        constraints = [
            models.UniqueConstraint(fields=["country", "category", "valid_from"], name="tax_rate_one_start"),
            models.UniqueConstraint(
                fields=["country", "category"], condition=Q(valid_until__isnull=True), name="tax_rate_one_open_end"
            ),
            models.CheckConstraint(
                condition=Q(valid_until__isnull=True) | Q(valid_until__gt=F("valid_from")),
                name="tax_rate_ends_after_it_starts",
            ),
            models.CheckConstraint(condition=Q(rate__gte=0) & Q(rate__lte=1), name="tax_rate_is_a_fraction"),
        ]

    def __str__(self) -> str:
        return f"{self.country} {self.category} {self.rate}"


class Customer(models.Model):
    """How a customer wants its papers: the rounding of its books, paper, language. Copied into each new draft."""

    name = models.CharField(_("customer"), max_length=200, unique=True)
    tax_id = models.CharField(_("customer's unified social credit code"), max_length=30, blank=True)
    country = models.CharField(_("country (ISO 3166)"), max_length=2, blank=True)
    tax_mode = models.CharField(_("tax rounded"), max_length=10, choices=TAX_MODES, default=TaxMode.PER_RATE)
    paper = models.CharField(_("paper"), max_length=10, choices=Paper.choices, default=Paper.A4)
    language = models.CharField(_("language"), max_length=12, choices=Language.choices, default=Language.CHINESE)

    class Meta:
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

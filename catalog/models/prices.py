"""Price books and their prices, and cloud prices for comparison."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from catalog.models.overlap import OnePublishedBookADay
from catalog.models.part import not_negative
from catalog.querysets import PriceBookQuerySet, PriceQuerySet


class PriceBook(models.Model):
    """A price list of one basis and one currency. Published books are frozen; a new price means a new version.

    `valid_from` is inclusive, `valid_until` exclusive; NULL means until another book takes its place. At most one
    published book of a basis and currency holds on any day: the database refuses a second one.
    """

    class Basis(models.TextChoices):
        RENTAL = "rental", _("rental")
        PURCHASE = "purchase", _("purchase")
        CLOUD = "cloud", _("cloud")

    class Status(models.TextChoices):
        DRAFT = "draft", _("draft")
        PUBLISHED = "published", _("published")
        RETIRED = "retired", _("retired")

    code = models.SlugField(_("code"), max_length=60)
    version = models.PositiveIntegerField(_("version"), default=1)
    name_zh = models.CharField(_("Chinese name"), max_length=120)
    name_en = models.CharField(_("English name"), max_length=120)
    basis = models.CharField(_("basis"), max_length=10, choices=Basis.choices)
    currency = models.CharField(_("currency"), max_length=3)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.DRAFT)
    valid_from = models.DateField(_("valid from"))
    valid_until = models.DateField(_("valid until (exclusive)"), null=True, blank=True)
    is_indicative = models.BooleanField(_("indicative"), default=False)
    exchange_rate = models.DecimalField(
        _("exchange rate, CNY per USD"), max_digits=12, decimal_places=6, null=True, blank=True
    )
    exchange_rate_source = models.TextField(_("source of the rate"), blank=True, default="")
    exchange_rate_date = models.DateField(_("date of the rate"), null=True, blank=True)
    note_zh = models.TextField(_("note in Chinese"), blank=True, default="")
    note_en = models.TextField(_("note"), blank=True, default="")
    content_hash = models.CharField(_("hash of its prices"), max_length=64, blank=True, default="", editable=False)
    published_at = models.DateTimeField(_("published at"), null=True, blank=True, editable=False)
    published_by = models.CharField(_("published by"), max_length=150, blank=True, default="", editable=False)
    reason = models.CharField(_("reason of the publication"), max_length=500, blank=True, default="", editable=False)
    based_on = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=_("copied from"),
    )

    objects = PriceBookQuerySet.as_manager()

    class Meta:
        ordering = ["basis", "currency", "-valid_from", "-version"]
        verbose_name = _("price book")
        verbose_name_plural = _("price books")
        constraints = [
            models.UniqueConstraint(
                fields=["code", "version"],
                name="catalog_pricebook_code_version_unique",
                violation_error_message=_("This book already has that version."),
            ),
            models.UniqueConstraint(
                fields=["basis", "currency", "valid_from"],
                condition=Q(status="published"),
                name="catalog_pricebook_one_published_start",
                violation_error_message=_("Another published book of this basis and currency starts on that day."),
            ),
            models.UniqueConstraint(
                fields=["basis", "currency"],
                condition=Q(status="published", valid_until__isnull=True),
                name="catalog_pricebook_one_open_ended",
                violation_error_message=_("Another published book of this basis and currency has no end."),
            ),
            OnePublishedBookADay(
                name="catalog_pricebook_one_a_day",
                violation_error_message=_("Another published book of this basis and currency holds on these days."),
            ),
            models.CheckConstraint(
                name="catalog_pricebook_valid_from_before_until",
                condition=Q(valid_until__isnull=True) | Q(valid_from__lt=F("valid_until")),
                violation_error_message=_("The book must end after it starts."),
            ),
            models.CheckConstraint(
                name="catalog_pricebook_exchange_rate_positive",
                condition=Q(exchange_rate__isnull=True) | Q(exchange_rate__gt=0),
                violation_error_message=_("The exchange rate must be above zero."),
            ),
            models.CheckConstraint(
                name="catalog_pricebook_status_known",
                condition=Q(status__in=["draft", "published", "retired"]),
                violation_error_message=_("The status is draft, published or retired."),
            ),
            models.CheckConstraint(
                name="catalog_pricebook_basis_known",
                condition=Q(basis__in=["rental", "purchase", "cloud"]),
                violation_error_message=_("The basis is rental, purchase or cloud."),
            ),
            models.CheckConstraint(
                name="catalog_pricebook_published_has_time",
                condition=~Q(status="published") | Q(published_at__isnull=False),
                violation_error_message=_("A published book carries the time of its publication."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.code} v{self.version})"

    @property
    def name(self) -> str:
        """In the active language."""
        return self.name_zh if (get_language() or "").startswith("zh") else self.name_en

    @property
    def note(self) -> str:
        return self.note_zh if (get_language() or "").startswith("zh") else self.note_en


class Price(models.Model):
    """One price of a book: amount of the book's currency, net of tax, with where it comes from.

    Rental: `sku` of the GPU, unit `gpu_hour`; `term_months` NULL is the on-demand hour, else 1, 3, 6, 12, 24, 36.
    Purchase: `sku` of a part or service, unit `each`; a complete server of a GPU: `sku` of the server and the GPU's
    SKU as `condition`. Services: unit `fraction`, the amount is a fraction of the base that `condition` names.
    """

    class Mark(models.TextChoices):
        SOURCE = "source", _("source")
        MEDIAN = "median", _("median")
        CONVERTED = "converted", _("converted")
        PROXY = "proxy", _("proxy")
        OLD = "old", _("old")
        CLASS_PRICE = "class price", _("class price")
        SUM_OF_PARTS = "sum of parts", _("sum of parts")
        ASSUMED = "assumed", _("assumed")

    book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="prices", verbose_name=_("price book"))
    sku = models.CharField(_("SKU"), max_length=80, db_index=True)
    unit = models.CharField(_("unit"), max_length=40)
    term_months = models.PositiveSmallIntegerField(_("term [months]"), null=True, blank=True)
    condition = models.CharField(_("condition"), max_length=80, blank=True, default="")
    amount = models.DecimalField(_("amount"), max_digits=18, decimal_places=6)
    origin_mark = models.CharField(_("mark"), max_length=20, choices=Mark.choices)
    origin_text = models.TextField(_("how it was formed"), blank=True, default="")
    as_of = models.DateField(_("as of"), null=True, blank=True)
    source_title = models.TextField(_("source"), blank=True, default="")
    source_locator = models.TextField(_("locator"), blank=True, default="")
    lead_time_days = models.PositiveIntegerField(_("lead time [days]"), null=True, blank=True)
    # for the eyes of `catalog.access.may_see_costs` alone
    floor_amount = models.DecimalField(_("floor price"), max_digits=18, decimal_places=6, null=True, blank=True)
    cost_amount = models.DecimalField(_("cost"), max_digits=18, decimal_places=6, null=True, blank=True)

    objects = PriceQuerySet.as_manager()

    class Meta:
        ordering = ["sku", "unit", "term_months", "condition"]
        verbose_name = _("price")
        verbose_name_plural = _("prices")
        constraints = [
            models.CheckConstraint(
                name="catalog_price_amount_not_negative",
                condition=Q(amount__gte=0),
                violation_error_message=_("A price cannot be negative."),
            ),
            *not_negative("price", "floor_amount", "cost_amount"),
            models.CheckConstraint(
                name="catalog_price_floor_not_above_amount",
                condition=Q(floor_amount__isnull=True) | Q(floor_amount__lte=F("amount")),
                violation_error_message=_("The floor price cannot be above the price."),
            ),
            models.UniqueConstraint(
                fields=["book", "sku", "unit", "term_months", "condition"],
                condition=Q(term_months__isnull=False),
                name="catalog_price_unique_with_term",
                violation_error_message=_("This book already has a price for that SKU, unit, term and condition."),
            ),
            models.UniqueConstraint(
                fields=["book", "sku", "unit", "condition"],
                condition=Q(term_months__isnull=True),
                name="catalog_price_unique_without_term",
                violation_error_message=_("This book already has a price for that SKU, unit and condition."),
            ),
            models.CheckConstraint(
                name="catalog_price_term_positive",
                condition=Q(term_months__isnull=True) | Q(term_months__gt=0),
                violation_error_message=_("A term has at least one month."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sku} {self.unit} {self.amount}"

    @property
    def is_indicative(self) -> bool:
        """Everything but a sourced price or a median of sourced prices is printed as indicative."""
        return self.origin_mark not in {"source", "median"}


class CloudPrice(models.Model):
    """Published price of a rented GPU-hour by provider class: the money of the virtualized side of a comparison."""

    provider_class = models.CharField(_("provider class"), max_length=40)
    gpu = models.ForeignKey("catalog.Gpu", on_delete=models.PROTECT, related_name="cloud_prices", verbose_name=_("GPU"))
    deployment = models.CharField(_("deployment"), max_length=40)  # bare_metal | virtualized | unknown
    commitment = models.CharField(_("commitment"), max_length=40)  # on_demand | 1m | 1y | 3y
    currency = models.CharField(_("currency"), max_length=3)
    unit = models.CharField(_("unit"), max_length=40)
    low_amount = models.DecimalField(_("lowest"), max_digits=14, decimal_places=4)
    median_amount = models.DecimalField(_("median"), max_digits=14, decimal_places=4)
    high_amount = models.DecimalField(_("highest"), max_digits=14, decimal_places=4)
    row_count = models.PositiveIntegerField(_("observations"))
    provider_count = models.PositiveIntegerField(_("providers"))
    providers = models.JSONField(_("provider names"), default=list)
    as_of_from = models.DateField(_("from"), null=True, blank=True)
    as_of_to = models.DateField(_("to"), null=True, blank=True)
    is_newest_only = models.BooleanField(_("newest prices only"))
    method = models.TextField(_("method"))
    checked_on = models.DateField(_("checked on"))
    notes = models.TextField(_("notes"), blank=True, default="")

    class Meta:
        ordering = ["gpu", "currency", "provider_class", "deployment", "commitment"]
        verbose_name = _("cloud price")
        verbose_name_plural = _("cloud prices")
        constraints = [
            *not_negative("cloudprice", "low_amount"),
            models.CheckConstraint(
                name="catalog_cloudprice_low_median_high",
                condition=Q(low_amount__lte=F("median_amount")) & Q(median_amount__lte=F("high_amount")),
                violation_error_message=_("Lowest, median and highest are out of order."),
            ),
            models.UniqueConstraint(
                fields=["provider_class", "gpu", "deployment", "commitment", "currency", "unit", "is_newest_only"],
                name="catalog_cloudprice_unique",
                violation_error_message=_("This cloud price is there already."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider_class} {self.gpu_id} {self.commitment} {self.median_amount} {self.currency}"

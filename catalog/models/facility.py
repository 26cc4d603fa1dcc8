"""Racks and power distribution, management servers, and services."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.part import Part, not_negative, positive
from catalog.querysets import PartQuerySet


class Rack(Part):
    """A rack class, or a power strip (`kind` pdu)."""

    kind_code = "racks"

    kind = models.CharField(_("kind"), max_length=20)  # rack | pdu
    rack_units = models.PositiveSmallIntegerField(_("rack units"), null=True, blank=True)
    width_millimetres = models.PositiveIntegerField(_("width [mm]"), null=True, blank=True)
    depth_millimetres = models.PositiveIntegerField(_("depth [mm]"), null=True, blank=True)
    cooling = models.CharField(_("cooling"), max_length=60, blank=True, default="")
    usable_watts = models.FloatField(_("usable power [W]"), null=True, blank=True)
    feed_count = models.PositiveSmallIntegerField(_("feeds"), null=True, blank=True)
    circuit = models.CharField(_("circuit"), max_length=80, blank=True, default="")
    circuit_watts = models.FloatField(_("circuit [W]"), null=True, blank=True)
    continuous_circuit_watts = models.FloatField(_("circuit at 80 % [W]"), null=True, blank=True)
    origin = models.CharField(_("origin"), max_length=80, blank=True, default="")

    objects = PartQuerySet["Rack"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("rack or power strip")
        verbose_name_plural = _("racks and power strips")
        constraints = positive("rack", "rack_units", "usable_watts", "circuit_watts", "continuous_circuit_watts")


class ManagementNode(Part):
    """A server without GPUs: control, login, monitoring, storage head, fabric manager."""

    kind_code = "management-nodes"

    name_zh = models.CharField(_("Chinese name"), max_length=200)
    role = models.CharField(_("role"), max_length=60)
    cpu_sku = models.CharField(_("CPU"), max_length=80, blank=True, default="")
    cpu_count = models.PositiveSmallIntegerField(_("CPUs"), null=True, blank=True)
    memory_sku = models.CharField(_("memory module"), max_length=80, blank=True, default="")
    memory_count = models.PositiveSmallIntegerField(_("memory modules"), null=True, blank=True)
    ssd_sku = models.CharField(_("SSD"), max_length=80, blank=True, default="")
    ssd_count = models.PositiveSmallIntegerField(_("SSDs"), null=True, blank=True)
    nic_sku = models.CharField(_("NIC"), max_length=80, blank=True, default="")
    nic_count = models.PositiveSmallIntegerField(_("NICs"), null=True, blank=True)
    rack_units = models.PositiveSmallIntegerField(_("rack units"), null=True, blank=True)
    power_watts = models.FloatField(_("power [W]"), null=True, blank=True)
    power_origin = models.TextField(_("origin of the power"), blank=True, default="")
    quantity_rule = models.TextField(_("how many"), blank=True, default="")
    origin = models.CharField(_("origin"), max_length=80, blank=True, default="")

    objects = PartQuerySet["ManagementNode"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("management server")
        verbose_name_plural = _("management servers")
        constraints = positive("managementnode", "rack_units", "power_watts")

    @property
    def name_en(self) -> str:
        return self.name


class Service(Part):
    """A service that is sold. Its demo price is a percentage of a base (`percent_of`), or a day rate of the seller."""

    kind_code = "services"

    name_zh = models.CharField(_("Chinese name"), max_length=200)
    category = models.CharField(_("category"), max_length=60)
    scope = models.TextField(_("scope"))
    scope_zh = models.TextField(_("scope in Chinese"))
    unit = models.CharField(_("unit"), max_length=40)  # one-time | month | year | engineer day | per spare server-month
    applies_to = models.JSONField(_("sold with"), default=list)  # rental, purchase
    list_price = models.DecimalField(_("list price"), max_digits=16, decimal_places=2, null=True, blank=True)
    list_price_currency = models.CharField(_("currency"), max_length=3, blank=True, default="")
    demo_fraction = models.DecimalField(
        _("demo price, fraction of its base"), max_digits=8, decimal_places=6, null=True, blank=True
    )
    percent_of = models.CharField(_("base of the fraction"), max_length=80, blank=True, default="")
    demo_price_origin = models.TextField(_("origin of the demo price"), blank=True, default="")
    availability_fraction = models.DecimalField(
        _("availability"), max_digits=7, decimal_places=6, null=True, blank=True
    )
    response_seconds = models.PositiveIntegerField(_("response [s]"), null=True, blank=True)
    replacement_seconds = models.PositiveIntegerField(_("replacement [s]"), null=True, blank=True)
    credit_rule = models.TextField(_("credit rule"), blank=True, default="")
    credit_rule_zh = models.TextField(_("credit rule in Chinese"), blank=True, default="")
    origin = models.CharField(_("origin"), max_length=80, blank=True, default="")

    objects = PartQuerySet["Service"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("service")
        verbose_name_plural = _("services")
        constraints = [
            *not_negative("service", "demo_fraction", "list_price"),
            models.CheckConstraint(
                name="catalog_service_availability_is_fraction",
                condition=models.Q(availability_fraction__isnull=True)
                | models.Q(availability_fraction__gt=0, availability_fraction__lte=1),
                violation_error_message=_("Availability lies between 0 and 1."),
            ),
        ]

    @property
    def name_en(self) -> str:
        return self.name

    @property
    def display_scope(self) -> str:
        return self.scope_zh if self.display_name == self.name_zh else self.scope

    @property
    def display_credit_rule(self) -> str:
        return self.credit_rule_zh if self.display_name == self.name_zh else self.credit_rule

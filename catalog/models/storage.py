"""Drives inside servers and storage systems beside them. Capacities are decimal, as drives are sold."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.part import Part, not_negative, positive
from catalog.querysets import PartQuerySet


class Ssd(Part):
    kind_code = "ssds"

    capacity_bytes = models.BigIntegerField(_("capacity [B]"))
    pcie_generation = models.PositiveSmallIntegerField(_("PCIe generation"))
    form_factor = models.CharField(_("form factor"), max_length=40)
    read_bytes_per_second = models.FloatField(_("sequential read [B/s]"), null=True, blank=True)
    write_bytes_per_second = models.FloatField(_("sequential write [B/s]"), null=True, blank=True)
    random_reads_per_second = models.FloatField(_("random reads [1/s]"), null=True, blank=True)
    random_writes_per_second = models.FloatField(_("random writes [1/s]"), null=True, blank=True)
    endurance_writes_per_day = models.FloatField(_("endurance [drive writes a day]"), null=True, blank=True)
    power_watts = models.FloatField(_("power [W]"), null=True, blank=True)
    typical_price_usd = models.DecimalField(
        _("typical price [USD]"), max_digits=12, decimal_places=2, null=True, blank=True
    )
    price_source = models.TextField(_("source of the price"), blank=True, default="")
    price_source_locator = models.TextField(_("locator of the price"), blank=True, default="")

    objects = PartQuerySet["Ssd"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("SSD")
        verbose_name_plural = _("SSDs")
        constraints = [
            *positive("ssd", "capacity_bytes", "read_bytes_per_second", "write_bytes_per_second"),
            *positive("ssd", "endurance_writes_per_day", "power_watts"),
            *not_negative("ssd", "typical_price_usd"),
        ]


class StorageSystem(Part):
    """A shared storage system as measured or specified; rates of one `unit`."""

    kind_code = "storage-systems"

    kind = models.CharField(_("kind"), max_length=120)
    unit = models.CharField(_("unit of the figures"), max_length=120, blank=True, default="")
    read_bytes_per_second = models.FloatField(_("read [B/s]"), null=True, blank=True)
    write_bytes_per_second = models.FloatField(_("write [B/s]"), null=True, blank=True)
    capacity_bytes = models.BigIntegerField(_("capacity [B]"), null=True, blank=True)
    rack_units = models.PositiveSmallIntegerField(_("rack units"), null=True, blank=True)
    power_watts = models.FloatField(_("power [W]"), null=True, blank=True)
    power_origin = models.TextField(_("origin of the power"), blank=True, default="")
    basis = models.TextField(_("basis of the figures"), blank=True, default="")

    objects = PartQuerySet["StorageSystem"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("storage system")
        verbose_name_plural = _("storage systems")
        constraints = positive(
            "storagesystem", "read_bytes_per_second", "write_bytes_per_second", "capacity_bytes", "power_watts"
        )

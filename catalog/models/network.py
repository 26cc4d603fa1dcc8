"""NICs, switches, optics and cables. Every rate is per direction."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.part import Part, not_negative, positive
from catalog.querysets import PartQuerySet


class Nic(Part):
    kind_code = "nics"

    protocol = models.CharField(_("protocol"), max_length=40)  # VPI: InfiniBand or Ethernet
    port_count = models.PositiveSmallIntegerField(_("ports"))
    port_bytes_per_second = models.FloatField(_("port rate per direction [B/s]"))
    ib_generation = models.CharField(_("InfiniBand generation"), max_length=20, blank=True, default="")
    rdma = models.CharField(_("RDMA"), max_length=80, blank=True, default="")
    pcie_generation = models.PositiveSmallIntegerField(_("PCIe generation"))
    pcie_lanes = models.PositiveSmallIntegerField(_("PCIe lanes"))
    power_watts = models.FloatField(_("power [W]"), null=True, blank=True)
    power_origin = models.TextField(_("origin of the power"), blank=True, default="")

    objects = PartQuerySet["Nic"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("NIC")
        verbose_name_plural = _("NICs")
        constraints = positive("nic", "port_count", "port_bytes_per_second", "pcie_lanes", "power_watts")


class Switch(Part):
    kind_code = "switches"

    protocol = models.CharField(_("protocol"), max_length=40)
    port_count = models.PositiveSmallIntegerField(_("ports"))
    port_bytes_per_second = models.FloatField(_("port rate per direction [B/s]"))
    ib_generation = models.CharField(_("InfiniBand generation"), max_length=20, blank=True, default="")
    throughput_bits_per_second_bidirectional = models.FloatField(
        _("throughput, both directions [bit/s]"), null=True, blank=True
    )
    port_count_800g = models.PositiveSmallIntegerField(_("800G ports"), null=True, blank=True)
    port_count_400g = models.PositiveSmallIntegerField(_("400G ports"), null=True, blank=True)
    port_count_200g = models.PositiveSmallIntegerField(_("200G ports"), null=True, blank=True)
    port_count_100g = models.PositiveSmallIntegerField(_("100G ports"), null=True, blank=True)
    breakout_options = models.JSONField(_("breakout"), default=list, blank=True)
    max_two_tier_endpoint_count = models.PositiveIntegerField(_("endpoints of two tiers"), null=True, blank=True)
    max_two_tier_endpoints_by_rate = models.JSONField(_("endpoints of two tiers by rate"), default=dict, blank=True)
    power_watts = models.FloatField(_("power with optics [W]"), null=True, blank=True)
    passive_power_watts = models.FloatField(_("power with passive cables [W]"), null=True, blank=True)
    power_origin = models.TextField(_("origin of the power"), blank=True, default="")
    management = models.CharField(_("management"), max_length=120, blank=True, default="")
    rack_units = models.PositiveSmallIntegerField(_("rack units"), null=True, blank=True)

    objects = PartQuerySet["Switch"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("switch")
        verbose_name_plural = _("switches")
        constraints = positive("switch", "port_count", "port_bytes_per_second", "power_watts", "rack_units")


class Cable(Part):
    """An optic or a cable. `link_count` links of `link_bytes_per_second` per direction run through one piece."""

    kind_code = "optics-cables"

    kind = models.CharField(_("kind"), max_length=40)  # transceiver | fibre | AOC | DAC | ... splitter | copper
    protocol = models.CharField(_("protocol"), max_length=40)
    ib_generation = models.CharField(_("InfiniBand generation"), max_length=20, blank=True, default="")
    bytes_per_second = models.FloatField(_("rate per direction [B/s]"))
    link_count = models.PositiveSmallIntegerField(_("links"))
    link_bytes_per_second = models.FloatField(_("link rate per direction [B/s]"))
    end_a = models.CharField(_("end A"), max_length=120)
    end_b = models.CharField(_("end B"), max_length=120)
    reach_metres = models.FloatField(_("reach [m]"), null=True, blank=True)
    ends_needed_count = models.PositiveSmallIntegerField(_("pieces a link"), default=1)
    power_watts = models.FloatField(_("power [W]"), null=True, blank=True)
    power_origin = models.TextField(_("origin of the power"), blank=True, default="")

    objects = PartQuerySet["Cable"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("optic or cable")
        verbose_name_plural = _("optics and cables")
        constraints = [
            *positive("cable", "bytes_per_second", "link_count", "link_bytes_per_second", "ends_needed_count"),
            *not_negative("cable", "reach_metres", "power_watts"),
        ]

"""GPUs, the servers that hold them, host processors and host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.models.part import Part, not_negative, positive
from catalog.querysets import GpuQuerySet, PartQuerySet, ServerQuerySet

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def rate(label: StrOrPromise) -> models.FloatField[float | None, float | None]:
    return models.FloatField(label, null=True, blank=True)


class Gpu(Part):
    """One GPU. `_dense_` rates size training; `_sparse_` rates (2:4 structured sparsity) are shown, never used."""

    kind_code = "gpus"

    architecture = models.CharField(_("architecture"), max_length=60)
    form_factor = models.CharField(_("form factor"), max_length=40)
    memory_label = models.CharField(_("memory label"), max_length=20)  # the vendor's name, not a measurement
    memory_bytes = models.BigIntegerField(_("visible memory [B]"))
    memory_note = models.TextField(_("note on the memory"), blank=True, default="")
    memory_bytes_source = models.TextField(_("source of the visible memory"), blank=True, default="")
    memory_type = models.CharField(_("memory type"), max_length=20)
    memory_bytes_per_second = models.FloatField(_("memory bandwidth [B/s]"), null=True, blank=True)
    fp64_flops_per_second = rate(_("FP64 [FLOP/s]"))
    fp32_dense_flops_per_second = rate(_("FP32 dense [FLOP/s]"))
    tf32_dense_flops_per_second = rate(_("TF32 dense [FLOP/s]"))
    fp16_dense_flops_per_second = rate(_("FP16 dense [FLOP/s]"))
    bf16_dense_flops_per_second = rate(_("BF16 dense [FLOP/s]"))
    fp8_dense_flops_per_second = rate(_("FP8 dense [FLOP/s]"))
    fp4_dense_flops_per_second = rate(_("FP4 dense [FLOP/s]"))
    int8_dense_flops_per_second = rate(_("INT8 dense [op/s]"))
    tf32_sparse_flops_per_second = rate(_("TF32 with sparsity [FLOP/s]"))
    fp16_sparse_flops_per_second = rate(_("FP16 with sparsity [FLOP/s]"))
    bf16_sparse_flops_per_second = rate(_("BF16 with sparsity [FLOP/s]"))
    fp8_sparse_flops_per_second = rate(_("FP8 with sparsity [FLOP/s]"))
    fp4_sparse_flops_per_second = rate(_("FP4 with sparsity [FLOP/s]"))
    int8_sparse_flops_per_second = rate(_("INT8 with sparsity [op/s]"))
    link_type = models.CharField(_("GPU link"), max_length=60, blank=True, default="")
    scale_up_bytes_per_second = models.FloatField(_("GPU link per direction [B/s]"), null=True, blank=True)
    scale_up_domain_size = models.PositiveIntegerField(_("GPUs in one link domain"), default=1)
    pcie_generation = models.PositiveSmallIntegerField(_("PCIe generation"), null=True, blank=True)
    pcie_lanes = models.PositiveSmallIntegerField(_("PCIe lanes"), null=True, blank=True)
    tdp_watts = models.FloatField(_("TDP [W]"), null=True, blank=True)
    gpus_per_baseboard = models.PositiveSmallIntegerField(_("GPUs per baseboard"), null=True, blank=True)
    compute_capability = models.CharField(_("compute capability"), max_length=20, blank=True, default="")
    min_cuda = models.CharField(_("lowest toolkit"), max_length=60, blank=True, default="")
    export_note = models.TextField(_("export control"), blank=True, default="")
    launch_date = models.DateField(_("launched"), null=True, blank=True)
    is_sizeable = models.BooleanField(_("can be sized"), default=True)
    not_sizeable_reason = models.TextField(_("why it cannot be sized"), blank=True, default="")
    cross_check = models.TextField(_("cross-check"), blank=True, default="")

    objects = GpuQuerySet.as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("GPU")
        verbose_name_plural = pgettext_lazy("kind", "GPUs")
        constraints = [
            *positive(
                "gpu",
                "memory_bytes",
                "memory_bytes_per_second",
                "fp64_flops_per_second",
                "fp32_dense_flops_per_second",
                "tf32_dense_flops_per_second",
                "fp16_dense_flops_per_second",
                "bf16_dense_flops_per_second",
                "fp8_dense_flops_per_second",
                "fp4_dense_flops_per_second",
                "int8_dense_flops_per_second",
                "scale_up_bytes_per_second",
                "scale_up_domain_size",
                "tdp_watts",
            ),
            models.CheckConstraint(
                name="catalog_gpu_sparse_not_below_dense",
                condition=models.Q(bf16_sparse_flops_per_second__isnull=True)
                | models.Q(bf16_sparse_flops_per_second__gte=models.F("bf16_dense_flops_per_second")),
                violation_error_message=_("A rate with sparsity cannot be below the dense rate: the two look swapped."),
            ),
            models.CheckConstraint(
                name="catalog_gpu_not_sizeable_has_reason",
                condition=models.Q(is_sizeable=True) | ~models.Q(not_sizeable_reason=""),
                violation_error_message=_("Say why this GPU cannot be sized."),
            ),
        ]


class Server(Part):
    """A server or a GPU baseboard. Power is the maximum at the wall of one chassis."""

    kind_code = "servers"

    kind = models.CharField(_("kind"), max_length=20, default="server")  # server | baseboard
    is_orderable = models.BooleanField(_("orderable"), default=True)
    gpu_baseboard = models.CharField(_("GPU board"), max_length=80, blank=True, default="")
    gpu_form_factor = models.CharField(_("GPU form factor"), max_length=40)
    gpu_slot_count = models.PositiveSmallIntegerField(_("GPU slots"))
    supported_gpus = models.ManyToManyField(
        Gpu, related_name="servers", blank=True, verbose_name=_("GPUs that it takes")
    )
    cpu_socket_count = models.PositiveSmallIntegerField(_("CPU sockets"), null=True, blank=True)
    cpu_families = models.TextField(_("CPU families"), blank=True, default="")
    cpu_family_codes = models.JSONField(_("CPU family codes"), default=list, blank=True)
    fixed_cpu_sku = models.CharField(_("built-in CPU"), max_length=80, blank=True, default="")
    cpu_socket_type = models.CharField(_("CPU socket"), max_length=40, blank=True, default="")
    memory_type = models.CharField(_("memory type"), max_length=20, blank=True, default="")
    memory_module = models.CharField(_("memory module"), max_length=20, blank=True, default="")
    dimm_slot_count = models.PositiveSmallIntegerField(_("DIMM slots"), null=True, blank=True)
    minimum_dimm_slot_count = models.PositiveSmallIntegerField(_("DIMM slots, at least"), null=True, blank=True)
    max_memory_bytes = models.BigIntegerField(_("largest memory [B]"), null=True, blank=True)
    memory_channels_per_socket = models.PositiveSmallIntegerField(_("memory channels a socket"), null=True, blank=True)
    pcie_generation = models.PositiveSmallIntegerField(_("PCIe generation"), null=True, blank=True)
    has_pcie_switch = models.BooleanField(_("PCIe switches"), null=True, blank=True)
    pcie_lanes_note = models.TextField(_("PCIe lanes"), blank=True, default="")
    nvme_bay_count = models.PositiveSmallIntegerField(_("NVMe bays"), null=True, blank=True)
    nvme_form_factor = models.CharField(_("NVMe form factor"), max_length=60, blank=True, default="")
    nic_slot_count = models.PositiveSmallIntegerField(_("NIC slots"), null=True, blank=True)
    nic_slot_count_derived = models.PositiveSmallIntegerField(_("NIC slots, derived"), null=True, blank=True)
    onboard_nic_sku = models.CharField(_("built-in NIC"), max_length=80, blank=True, default="")
    onboard_nic_count = models.PositiveSmallIntegerField(_("built-in NICs"), null=True, blank=True)
    rack_units = models.PositiveSmallIntegerField(_("rack units"), null=True, blank=True)
    psu_count = models.PositiveSmallIntegerField(_("power supplies"), null=True, blank=True)
    psu_watts = models.FloatField(_("power supply [W]"), null=True, blank=True)
    psu_redundancy = models.CharField(_("supply redundancy"), max_length=40, blank=True, default="")
    max_power_watts = models.FloatField(_("maximum power [W]"), null=True, blank=True)
    max_power_watts_derived = models.FloatField(_("maximum power, derived [W]"), null=True, blank=True)
    power_rule = models.TextField(_("rule of the derived power"), blank=True, default="")
    power_factor = models.FloatField(_("power factor of the rule"), null=True, blank=True)
    cooling = models.CharField(_("cooling"), max_length=40, blank=True, default="")

    objects = ServerQuerySet.as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("server")
        verbose_name_plural = _("servers")
        constraints = [
            *positive(
                "server",
                "gpu_slot_count",
                "cpu_socket_count",
                "dimm_slot_count",
                "max_memory_bytes",
                "rack_units",
                "psu_watts",
                "max_power_watts",
                "max_power_watts_derived",
                "power_factor",
            ),
            models.CheckConstraint(
                name="catalog_server_kind_known",
                condition=models.Q(kind__in=["server", "baseboard"]),
                violation_error_message=_("The kind is server or baseboard."),
            ),
        ]

    @property
    def power_watts(self) -> float | None:
        """The maker's maximum where published, else the derived one."""
        return self.max_power_watts if self.max_power_watts is not None else self.max_power_watts_derived

    @property
    def usable_nic_slot_count(self) -> int | None:
        return self.nic_slot_count if self.nic_slot_count is not None else self.nic_slot_count_derived

    @property
    def usable_dimm_slot_count(self) -> int | None:
        return self.dimm_slot_count if self.dimm_slot_count is not None else self.minimum_dimm_slot_count


class Cpu(Part):
    kind_code = "cpus"

    family = models.CharField(_("family"), max_length=80)
    cpu_family_code = models.CharField(_("family code"), max_length=60)
    socket = models.CharField(_("socket"), max_length=40)
    max_socket_count = models.PositiveSmallIntegerField(_("largest socket count"))
    core_count = models.PositiveIntegerField(_("cores"))
    thread_count = models.PositiveIntegerField(_("threads"))
    base_hertz = models.FloatField(_("base clock [Hz]"), null=True, blank=True)
    boost_hertz = models.FloatField(_("boost clock [Hz]"), null=True, blank=True)
    l3_cache_bytes = models.BigIntegerField(_("L3 cache [B]"), null=True, blank=True)
    memory_type = models.CharField(_("memory type"), max_length=20)
    memory_module = models.CharField(_("memory module"), max_length=20)
    memory_channel_count = models.PositiveSmallIntegerField(_("memory channels"))
    memory_transfers_per_second = models.FloatField(_("memory speed [transfers/s]"))
    max_memory_bytes = models.BigIntegerField(_("largest memory [B]"), null=True, blank=True)
    pcie_generation = models.PositiveSmallIntegerField(_("PCIe generation"))
    pcie_lanes = models.PositiveSmallIntegerField(_("PCIe lanes"))
    tdp_watts = models.FloatField(_("TDP [W]"))
    launch_date = models.DateField(_("launched"), null=True, blank=True)
    list_price_usd = models.DecimalField(_("list price [USD]"), max_digits=12, decimal_places=2, null=True, blank=True)

    objects = PartQuerySet["Cpu"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("CPU")
        verbose_name_plural = _("CPUs")
        constraints = [
            *positive("cpu", "max_socket_count", "core_count", "thread_count", "memory_channel_count", "pcie_lanes"),
            *positive("cpu", "memory_transfers_per_second", "tdp_watts"),
            *not_negative("cpu", "list_price_usd"),
        ]

    @property
    def memory_bytes_per_second(self) -> float:
        """Of one socket with every channel filled: a DDR4 or DDR5 channel moves 8 bytes a transfer."""
        return self.memory_channel_count * self.memory_transfers_per_second * 8


class MemoryModule(Part):
    """A DIMM. Its label counts in binary: a "64 GB" module holds 64 x 2**30 bytes."""

    kind_code = "memory-modules"

    memory_type = models.CharField(_("memory type"), max_length=20)
    memory_module = models.CharField(_("module type"), max_length=20)
    capacity_label = models.CharField(_("capacity label"), max_length=20)
    capacity_bytes = models.BigIntegerField(_("capacity [B]"))
    memory_transfers_per_second = models.FloatField(_("speed [transfers/s]"), null=True, blank=True)
    bytes_per_second = models.FloatField(_("bandwidth [B/s]"), null=True, blank=True)
    rank_count = models.PositiveSmallIntegerField(_("ranks"), null=True, blank=True)
    has_ecc = models.BooleanField(_("ECC"), default=True)
    is_registered = models.BooleanField(_("registered"), default=True)
    typical_price_usd = models.DecimalField(
        _("typical price [USD]"), max_digits=12, decimal_places=2, null=True, blank=True
    )
    price_source = models.TextField(_("source of the price"), blank=True, default="")
    price_source_locator = models.TextField(_("locator of the price"), blank=True, default="")

    objects = PartQuerySet["MemoryModule"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("memory module")
        verbose_name_plural = _("memory modules")
        constraints = [
            *positive("memorymodule", "capacity_bytes", "memory_transfers_per_second", "bytes_per_second"),
            *not_negative("memorymodule", "typical_price_usd"),
        ]

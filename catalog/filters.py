"""What a list can be narrowed and sorted by; page and API use the same sets."""

from __future__ import annotations

from typing import Any

import django_filters as filters
from django.db import models as django_models
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from catalog import models
from catalog.filter_fields import TEXT_LIMIT, AtLeast, AtMost, Claim, ordering, text


class PartFilter(filters.FilterSet):  # type: ignore[misc]  # the package has no types
    """What every kind has. `selects` are the text filters that the page offers as lists of the values in use."""

    selects: tuple[str, ...] = ("vendor",)

    search = filters.CharFilter(method="search_words", max_length=TEXT_LIMIT, label=_("Search"))
    sku = text(_("SKU"))
    vendor = text(_("vendor"))

    def search_words(self, queryset: QuerySet[Model], _name: str, value: str) -> QuerySet[Model]:
        """Each word somewhere in SKU, name or vendor."""
        for word in value.split()[:8]:
            found = Q(sku__icontains=word) | Q(name__icontains=word) | Q(vendor__icontains=word)
            if hasattr(queryset.model, "name_zh"):
                found |= Q(name_zh__icontains=word)
            queryset = queryset.filter(found)
        return queryset


class GpuFilter(PartFilter):
    selects = ("vendor", "architecture", "form_factor", "status")

    architecture = text(_("architecture"))
    form_factor = text(_("form factor"))
    memory_type = text(_("memory type"))
    status = text(_("status"))
    is_sizeable = Claim(label=_("can be sized"))
    min_memory_bytes = AtLeast("memory_bytes")
    min_memory_bytes_per_second = AtLeast("memory_bytes_per_second")
    min_bf16_dense_flops_per_second = AtLeast("bf16_dense_flops_per_second")
    ordering = ordering(
        "architecture",
        "form_factor",
        "memory_bytes",
        "memory_bytes_per_second",
        "bf16_dense_flops_per_second",
        "bf16_sparse_flops_per_second",
        "fp8_dense_flops_per_second",
        "scale_up_bytes_per_second",
        "tdp_watts",
        "status",
        "launch_date",
    )

    class Meta:
        model = models.Gpu
        fields: list[str] = []


class ServerFilter(PartFilter):
    selects = ("vendor", "gpu_form_factor", "memory_type", "cooling")

    kind = text(_("kind"))
    gpu = text(_("GPU"), "supported_gpus__sku")
    gpu_form_factor = text(_("GPU form factor"))
    memory_type = text(_("memory type"))
    cooling = text(_("cooling"))
    is_orderable = Claim(label=_("orderable"))
    min_gpu_slot_count = AtLeast("gpu_slot_count")
    ordering = ordering(
        "gpu_form_factor",
        "gpu_slot_count",
        "memory_type",
        "pcie_generation",
        "rack_units",
        "cooling",
        "status",
        usable_dimm_slot_count=Coalesce("dimm_slot_count", "minimum_dimm_slot_count"),
        usable_nic_slot_count=Coalesce("nic_slot_count", "nic_slot_count_derived"),
        power_watts=Coalesce("max_power_watts", "max_power_watts_derived"),
    )

    class Meta:
        model = models.Server
        fields: list[str] = []


class CpuFilter(PartFilter):
    selects = ("vendor", "family", "socket", "memory_type")

    family = text(_("family"))
    cpu_family_code = text(_("family code"))
    socket = text(_("socket"))
    memory_type = text(_("memory type"))
    min_core_count = AtLeast("core_count")
    min_pcie_lanes = AtLeast("pcie_lanes")
    ordering = ordering(
        "family",
        "socket",
        "core_count",
        "base_hertz",
        "boost_hertz",
        "memory_channel_count",
        "memory_transfers_per_second",
        "pcie_generation",
        "pcie_lanes",
        "tdp_watts",
        "list_price_usd",
    )

    class Meta:
        model = models.Cpu
        fields: list[str] = []


class MemoryModuleFilter(PartFilter):
    selects = ("vendor", "memory_type")

    memory_type = text(_("memory type"))
    min_capacity_bytes = AtLeast("capacity_bytes")
    ordering = ordering(
        "memory_type", "capacity_bytes", "memory_transfers_per_second", "bytes_per_second", "typical_price_usd"
    )

    class Meta:
        model = models.MemoryModule
        fields: list[str] = []


class SsdFilter(PartFilter):
    selects = ("vendor", "form_factor")

    form_factor = text(_("form factor"))
    min_capacity_bytes = AtLeast("capacity_bytes")
    min_pcie_generation = AtLeast("pcie_generation")
    ordering = ordering(
        "capacity_bytes",
        "pcie_generation",
        "form_factor",
        "read_bytes_per_second",
        "write_bytes_per_second",
        "endurance_writes_per_day",
        "typical_price_usd",
    )

    class Meta:
        model = models.Ssd
        fields: list[str] = []


class StorageSystemFilter(PartFilter):
    selects = ("vendor", "kind")

    kind = text(_("kind"))
    min_read_bytes_per_second = AtLeast("read_bytes_per_second")
    min_capacity_bytes = AtLeast("capacity_bytes")
    ordering = ordering(
        "kind", "unit", "read_bytes_per_second", "write_bytes_per_second", "capacity_bytes", "power_watts"
    )

    class Meta:
        model = models.StorageSystem
        fields: list[str] = []


class NicFilter(PartFilter):
    selects = ("vendor", "protocol")

    protocol = text(_("protocol"))
    ib_generation = text(_("InfiniBand generation"))
    min_port_bytes_per_second = AtLeast("port_bytes_per_second")
    ordering = ordering(
        "protocol",
        "port_count",
        "port_bytes_per_second",
        "ib_generation",
        "pcie_generation",
        "pcie_lanes",
        "power_watts",
    )

    class Meta:
        model = models.Nic
        fields: list[str] = []


class SwitchFilter(PartFilter):
    selects = ("vendor", "protocol")

    protocol = text(_("protocol"))
    ib_generation = text(_("InfiniBand generation"))
    min_port_count = AtLeast("port_count")
    min_port_bytes_per_second = AtLeast("port_bytes_per_second")
    ordering = ordering(
        "protocol",
        "port_count",
        "port_bytes_per_second",
        "ib_generation",
        "max_two_tier_endpoint_count",
        "power_watts",
        "rack_units",
    )

    class Meta:
        model = models.Switch
        fields: list[str] = []


class CableFilter(PartFilter):
    selects = ("kind", "protocol", "ib_generation")

    kind = text(_("kind"))
    protocol = text(_("protocol"))
    ib_generation = text(_("InfiniBand generation"))
    min_reach_metres = AtLeast("reach_metres")
    ordering = ordering("kind", "protocol", "link_bytes_per_second", "link_count", "reach_metres", "power_watts")

    class Meta:
        model = models.Cable
        fields: list[str] = []


class RackFilter(PartFilter):
    selects = ("kind", "cooling")

    kind = text(_("kind"))
    cooling = text(_("cooling"))
    min_usable_watts = AtLeast("usable_watts")
    ordering = ordering("kind", "rack_units", "cooling", "usable_watts", "feed_count", "continuous_circuit_watts")

    class Meta:
        model = models.Rack
        fields: list[str] = []


class ManagementNodeFilter(PartFilter):
    selects = ("role",)

    role = text(_("role"))
    ordering = ordering("role", "rack_units", "power_watts")

    class Meta:
        model = models.ManagementNode
        fields: list[str] = []


class ServiceFilter(PartFilter):
    selects = ("category",)

    category = text(_("category"))
    unit = text(_("unit"))
    ordering = ordering("category", "unit", "demo_fraction", "availability_fraction")

    class Meta:
        model = models.Service
        fields: list[str] = []


class SoftwareStackFilter(PartFilter):
    selects = ("vendor", "toolkit")

    architecture = text(_("architecture"))
    toolkit = text(_("toolkit"))
    ordering = ordering("architecture", "compute_capability", "toolkit")

    class Meta:
        model = models.SoftwareStack
        fields: list[str] = []


class TierFilter(PartFilter):
    selects = ()

    ordering = ordering("lower_parameter_count")

    class Meta:
        model = models.Tier
        fields: list[str] = []


class ReferenceBuildFilter(PartFilter):
    selects = ("kind",)

    kind = text(_("kind"))
    tier = text(_("tier"), "tier__sku")
    gpu_sku = text(_("GPU"))
    ordering = ordering("kind", "tier", "gpu_sku", "server_count", "host_memory_bytes")

    class Meta:
        model = models.ReferenceBuild
        fields: list[str] = []


class ModelArchitectureFilter(PartFilter):
    selects = ("family", "kind", "attention_kind")

    family = text(_("family"))
    kind = text(_("kind"))
    attention_kind = text(_("attention"))
    is_moe = Claim(method="has_experts", label=_("mixture of experts"))
    min_computed_parameter_count = AtLeast("computed_parameter_count")
    ordering = ordering(
        "family",
        "kind",
        "computed_parameter_count",
        "computed_active_parameter_count",
        "layer_count",
        "hidden_size",
        "head_count",
        "kv_head_count",
        "vocab_size",
        "expert_count",
        "max_sequence_length",
    )

    class Meta:
        model = models.ModelArchitecture
        fields: list[str] = []

    def has_experts(self, queryset: QuerySet[Model], _name: str, value: bool) -> QuerySet[Model]:
        return queryset.filter(expert_count__gt=0) if value else queryset.filter(expert_count=0)


FIGURE_COLUMNS = (django_models.IntegerField, django_models.FloatField, django_models.DecimalField)


def range_columns(filter_class: type[PartFilter]) -> dict[str, Coalesce | None]:
    """Columns of figures that the list sorts by: each can be narrowed to a range."""
    found: dict[str, Coalesce | None] = {}
    fields = {field.name: field for field in filter_class._meta.model._meta.concrete_fields}
    order = filter_class.base_filters["ordering"]
    for name, _label in order.extra["choices"]:
        computed = order.computed.get(name.lstrip("-"))
        if not name.startswith("-") and (computed is not None or isinstance(fields.get(name), FIGURE_COLUMNS)):
            found[name] = computed
    return found


def with_ranges(filter_class: type[PartFilter]) -> type[PartFilter]:
    """The kind's filters with `min_` and `max_` of every column of figures, in base units."""
    limits: dict[str, Any] = {}
    for name, column in range_columns(filter_class).items():
        limits |= {f"min_{name}": AtLeast(name, column), f"max_{name}": AtMost(name, column)}
    return type(filter_class.__name__, (filter_class,), limits)


FILTERS: dict[type[models.Part], type[PartFilter]] = {
    filter_class._meta.model: with_ranges(filter_class)
    for filter_class in (
        GpuFilter,
        ServerFilter,
        CpuFilter,
        MemoryModuleFilter,
        SsdFilter,
        StorageSystemFilter,
        NicFilter,
        SwitchFilter,
        CableFilter,
        RackFilter,
        ManagementNodeFilter,
        ServiceFilter,
        SoftwareStackFilter,
        TierFilter,
        ReferenceBuildFilter,
        ModelArchitectureFilter,
    )
}

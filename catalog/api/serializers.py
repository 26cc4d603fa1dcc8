"""Catalogue rows as JSON: base units under names that carry them, money as amount and currency, origins beside."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import Model
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from catalog import models


class MoneySerializer(serializers.Serializer[Any]):
    amount = serializers.CharField()
    currency = serializers.CharField()


class UsdField(serializers.Field[Decimal, Any, Any, Any]):
    """A column of US dollars as money."""

    def to_representation(self, value: Decimal) -> dict[str, str]:
        return {"amount": f"{value:.2f}", "currency": "USD"}


# the schema of the field, without which the document would call it a string
UsdField = extend_schema_field(MoneySerializer(allow_null=True))(UsdField)  # type: ignore[misc]


class PartSerializer(serializers.ModelSerializer[Any]):
    """`name` follows the language of the request; `unverified_fields` name figures that no opened source confirms."""

    name = serializers.CharField(source="display_name", read_only=True)
    unverified_fields = serializers.ListField(child=serializers.CharField(), read_only=True)

    def build_standard_field(self, field_name: str, model_field: Any) -> Any:
        """Decimals are strings of the digits stored; counts beyond 32 bits say so in the schema."""
        field_class, kwargs = super().build_standard_field(field_name, model_field)
        kwargs.pop("validators", None)
        return field_class, kwargs


HIDDEN = ["id", "is_active", "file_hash"]


class GpuSerializer(PartSerializer):
    class Meta:
        model = models.Gpu
        exclude = HIDDEN


class ServerSerializer(PartSerializer):
    supported_gpus = serializers.SlugRelatedField[Model](many=True, read_only=True, slug_field="sku")
    cpu_family_codes = serializers.ListField(child=serializers.CharField(), read_only=True)
    power_watts = serializers.FloatField(read_only=True, allow_null=True)

    class Meta:
        model = models.Server
        exclude = HIDDEN


class CpuSerializer(PartSerializer):
    list_price = UsdField(source="list_price_usd", read_only=True)
    memory_bytes_per_second = serializers.FloatField(read_only=True)

    class Meta:
        model = models.Cpu
        exclude = [*HIDDEN, "list_price_usd"]


class MemoryModuleSerializer(PartSerializer):
    typical_price = UsdField(source="typical_price_usd", read_only=True)

    class Meta:
        model = models.MemoryModule
        exclude = [*HIDDEN, "typical_price_usd"]


class SsdSerializer(PartSerializer):
    typical_price = UsdField(source="typical_price_usd", read_only=True)

    class Meta:
        model = models.Ssd
        exclude = [*HIDDEN, "typical_price_usd"]


class StorageSystemSerializer(PartSerializer):
    class Meta:
        model = models.StorageSystem
        exclude = HIDDEN


class NicSerializer(PartSerializer):
    class Meta:
        model = models.Nic
        exclude = HIDDEN


class SwitchSerializer(PartSerializer):
    breakout_options = serializers.ListField(child=serializers.CharField(), read_only=True)
    max_two_tier_endpoints_by_rate = serializers.DictField(child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = models.Switch
        exclude = HIDDEN


class CableSerializer(PartSerializer):
    class Meta:
        model = models.Cable
        exclude = HIDDEN


class RackSerializer(PartSerializer):
    class Meta:
        model = models.Rack
        exclude = HIDDEN


class ManagementNodeSerializer(PartSerializer):
    name_en = serializers.CharField(source="name", read_only=True)

    class Meta:
        model = models.ManagementNode
        exclude = HIDDEN


class ServiceSerializer(PartSerializer):
    name_en = serializers.CharField(source="name", read_only=True)
    scope = serializers.CharField(source="display_scope", read_only=True)
    scope_en = serializers.CharField(source="scope", read_only=True)
    credit_rule = serializers.CharField(source="display_credit_rule", read_only=True)
    credit_rule_en = serializers.CharField(source="credit_rule", read_only=True)
    applies_to = serializers.ListField(child=serializers.CharField(), read_only=True)
    list_price = serializers.SerializerMethodField()

    class Meta:
        model = models.Service
        exclude = [*HIDDEN, "list_price_currency"]

    @extend_schema_field(MoneySerializer(allow_null=True))
    def get_list_price(self, service: models.Service) -> dict[str, str] | None:
        if service.list_price is None:
            return None
        return {"amount": f"{service.list_price:.2f}", "currency": service.list_price_currency}


class SoftwareStackSerializer(PartSerializer):
    gpu_examples = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = models.SoftwareStack
        exclude = HIDDEN


class ReferenceBuildSerializer(PartSerializer):
    name_en = serializers.CharField(source="name", read_only=True)
    tier = serializers.SlugRelatedField[Model](read_only=True, slug_field="sku")
    conflict = serializers.CharField(source="display_conflict", read_only=True)
    conflict_en = serializers.CharField(source="conflict", read_only=True)

    class Meta:
        model = models.ReferenceBuild
        exclude = HIDDEN


class TierSerializer(PartSerializer):
    code = serializers.CharField(read_only=True)
    name_en = serializers.CharField(source="name", read_only=True)
    reference_builds = serializers.SlugRelatedField[Model](source="builds", many=True, read_only=True, slug_field="sku")

    class Meta:
        model = models.Tier
        exclude = HIDDEN


class ModelArchitectureSerializer(PartSerializer):
    preset = serializers.CharField(read_only=True)
    is_moe = serializers.BooleanField(read_only=True)

    class Meta:
        model = models.ModelArchitecture
        exclude = HIDDEN


SERIALIZERS: dict[type[models.Part], type[PartSerializer]] = {
    serializer.Meta.model: serializer
    for serializer in (
        GpuSerializer,
        ServerSerializer,
        CpuSerializer,
        MemoryModuleSerializer,
        SsdSerializer,
        StorageSystemSerializer,
        NicSerializer,
        SwitchSerializer,
        CableSerializer,
        RackSerializer,
        ManagementNodeSerializer,
        ServiceSerializer,
        SoftwareStackSerializer,
        TierSerializer,
        ReferenceBuildSerializer,
        ModelArchitectureSerializer,
    )
}

"""Kinds of filters and the order of a list: what the sets of `catalog.filters` are made of."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import django_filters as filters
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field

LARGEST_NUMBER = 2**53  # what JSON readers hold exactly
TEXT_LIMIT = 120


def text(label: Any, field_name: str | None = None) -> filters.CharFilter:
    """Exactly this text, in any case."""
    return filters.CharFilter(field_name=field_name, lookup_expr="iexact", max_length=TEXT_LIMIT, label=label)


@extend_schema_field(OpenApiTypes.BOOL)
class Claim(filters.TypedChoiceFilter):  # type: ignore[misc]  # the package has no types
    """`true` or `false`; anything else is an error, not silence."""

    def __init__(self, **options: Any) -> None:
        choices = (("true", _("yes")), ("false", _("no")))
        super().__init__(choices=choices, coerce=lambda raw: raw == "true", **options)


class Limit(filters.NumberFilter):  # type: ignore[misc]  # the package has no types
    """Published, and on the right side of the number given; `column` computes what no single column holds."""

    lookup = "gte"

    def __init__(self, field_name: str, column: Coalesce | None = None) -> None:
        self.column = column
        super().__init__(field_name=field_name, lookup_expr=self.lookup, validators=[MinValueValidator(Decimal(0))])

    def get_max_validator(self) -> MaxValueValidator:
        return MaxValueValidator(Decimal(LARGEST_NUMBER))

    def filter(self, queryset: QuerySet[Model], value: Decimal | None) -> QuerySet[Model]:
        if value is None:
            return queryset
        if self.column is None:
            return queryset.filter(**{f"{self.field_name}__{self.lookup}": value})
        name = f"limited_{self.field_name}"
        found: QuerySet[Model] = queryset.alias(**{name: self.column}).filter(**{f"{name}__{self.lookup}": value})
        return found


@extend_schema_field({"type": "number", "minimum": 0, "maximum": LARGEST_NUMBER})
class AtLeast(Limit):
    """Not below."""


@extend_schema_field({"type": "number", "minimum": 0, "maximum": LARGEST_NUMBER})
class AtMost(Limit):
    """Not above."""

    lookup = "lte"


class NullsLastOrdering(filters.OrderingFilter):  # type: ignore[misc]  # the package has no types
    """Sorts with unpublished figures last in both directions, on every database alike; ties by SKU."""

    def __init__(self, *names: str, **computed: Coalesce) -> None:
        self.computed = computed
        super().__init__(fields=[(name, name) for name in (*names, *computed)])

    def filter(self, queryset: QuerySet[Model], value: list[str] | None) -> QuerySet[Model]:
        if not value:
            return queryset
        columns = [(name, self.computed.get(name.lstrip("-"), F(name.lstrip("-")))) for name in value]
        return queryset.order_by(
            *(c.desc(nulls_last=True) if name.startswith("-") else c.asc(nulls_last=True) for name, c in columns), "sku"
        )


def ordering(*names: str, **computed: Coalesce) -> NullsLastOrdering:
    return NullsLastOrdering("sku", "vendor", "name", *names, **computed)

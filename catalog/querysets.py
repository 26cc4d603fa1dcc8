"""Reads of the catalogue that speak its words and chain."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    # the generic bases below name them in strings
    from catalog.models import Price, PriceBook, ReferenceBuild  # noqa: F401

PartT = TypeVar("PartT", bound=models.Model)


class PartQuerySet(models.QuerySet[PartT]):
    """Parts of one kind."""

    def active(self) -> Self:
        """What may still be chosen; retired rows stay for old quotes."""
        return self.filter(is_active=True)

    def with_specs(self) -> Self:
        """Everything a list or an adapter reads, in a fixed number of queries; kinds with relations override it."""
        return self


class GpuQuerySet(PartQuerySet[PartT]):
    def sizeable(self) -> Self:
        """GPUs for which the catalogue knows all that a sizing needs."""
        return self.active().filter(is_sizeable=True)


class ServerQuerySet(PartQuerySet[PartT]):
    def orderable(self) -> Self:
        """Complete servers that a customer can get; baseboards and listed-only models are left out."""
        return self.active().filter(is_orderable=True, kind="server")

    def with_specs(self) -> Self:
        return self.prefetch_related("supported_gpus")


class TierQuerySet(PartQuerySet[PartT]):
    def with_specs(self) -> Self:
        return self.prefetch_related("builds")


class ReferenceBuildQuerySet(PartQuerySet["ReferenceBuild"]):
    def with_specs(self) -> Self:
        return self.select_related("tier")


class PriceBookQuerySet(models.QuerySet["PriceBook"]):
    def published(self) -> Self:
        return self.filter(status="published")

    def effective_on(self, on: date) -> Self:
        """Books whose validity holds `on`: from inclusive, until exclusive, no until means open."""
        return self.filter(Q(valid_until__isnull=True) | Q(valid_until__gt=on), valid_from__lte=on)

    def overlapping(self, valid_from: date, valid_until: date | None) -> Self:
        """Books that share at least one day with [valid_from, valid_until)."""
        books = self.filter(Q(valid_until__isnull=True) | Q(valid_until__gt=valid_from))
        return books if valid_until is None else books.filter(valid_from__lt=valid_until)

    def for_market(self, *, basis: str, currency: str) -> Self:
        return self.filter(basis=basis, currency=currency)


class PriceQuerySet(models.QuerySet["Price"]):
    def published(self) -> Self:
        return self.filter(book__status="published")

    def effective_on(self, on: date) -> Self:
        return self.filter(
            Q(book__valid_until__isnull=True) | Q(book__valid_until__gt=on),
            book__valid_from__lte=on,
        )

    def with_specs(self) -> Self:
        return self.select_related("book")

    def for_skus(self, skus: Any) -> Self:
        return self.filter(sku__in=list(skus))

"""Sellers and terms are edited here; quotes, documents and the log are read only. The desk's services change quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from quotes.models import AuditEntry, NumberSeries, Quote, QuoteLine, QuoteRevision, SellerEntity, Terms

if TYPE_CHECKING:
    SellerAdminBase = admin.ModelAdmin[SellerEntity]
    TermsAdminBase = admin.ModelAdmin[Terms]
    ReadOnlyBase = admin.ModelAdmin[Any]
    LineInlineBase = admin.TabularInline[QuoteLine, QuoteRevision]
else:
    SellerAdminBase = TermsAdminBase = ReadOnlyBase = admin.ModelAdmin
    LineInlineBase = admin.TabularInline


@admin.register(SellerEntity)
class SellerAdmin(SellerAdminBase):
    list_display = ["code", "name_zh", "name_en", "is_default"]
    search_fields = ["code", "name_zh", "name_en", "tax_id"]


@admin.register(Terms)
class TermsAdmin(TermsAdminBase):
    list_display = ["code", "version", "basis", "title_en", "is_current"]
    list_filter = ["basis", "is_current"]
    search_fields = ["code", "version", "title_zh", "title_en"]


class LookOnly:
    """Nothing is added, changed or deleted through the admin."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class LineInline(LookOnly, LineInlineBase):
    model = QuoteLine
    fields = ["position", "sku", "name_en", "quantity", "period_count", "unit_price", "discount_fraction", "tax_rate"]
    extra = 0


@admin.register(QuoteRevision)
class QuoteRevisionAdmin(LookOnly, ReadOnlyBase):
    list_display = ["__str__", "state", "customer_name", "total_gross", "currency", "valid_through", "created_at"]
    list_filter = ["state", "basis", "currency"]
    list_select_related = ["quote"]
    search_fields = ["number", "customer_name", "project"]
    exclude = ["snapshot", "sizing"]
    inlines = [LineInline]


@admin.register(Quote)
class QuoteAdmin(LookOnly, ReadOnlyBase):
    list_display = ["__str__", "owner", "created_at"]
    list_select_related = ["owner"]
    search_fields = ["number"]


@admin.register(AuditEntry)
class AuditEntryAdmin(LookOnly, ReadOnlyBase):
    list_display = ["created_at", "action", "quote", "actor", "actor_text", "request_id"]
    list_filter = ["action"]
    list_select_related = ["quote", "actor"]
    search_fields = ["quote__number", "request_id", "reason"]


@admin.register(NumberSeries)
class NumberSeriesAdmin(LookOnly, ReadOnlyBase):
    list_display = ["code", "next_value", "held_until"]

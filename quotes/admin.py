"""Sellers, terms, taxes and approval policy are edited here; quotes, documents and the log are read only.

The desk's services change quotes, for administrators too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from quotes.clauses import clean_clauses
from quotes.models import (
    ApprovalRequest,
    ApprovalRule,
    AuditEntry,
    Customer,
    DiscountLimit,
    NumberSeries,
    Quote,
    QuoteLine,
    QuoteRevision,
    SellerEntity,
    TaxRate,
    Terms,
)
from quotes.payments import clean_schedule

if TYPE_CHECKING:
    SellerAdminBase = admin.ModelAdmin[SellerEntity]
    TermsAdminBase = admin.ModelAdmin[Terms]
    TermsFormBase = forms.ModelForm[Terms]
    RuleAdminBase = admin.ModelAdmin[ApprovalRule]
    LimitAdminBase = admin.ModelAdmin[DiscountLimit]
    TaxRateAdminBase = admin.ModelAdmin[TaxRate]
    CustomerAdminBase = admin.ModelAdmin[Customer]
    ReadOnlyBase = admin.ModelAdmin[Any]
    LineInlineBase = admin.TabularInline[QuoteLine, QuoteRevision]
else:
    SellerAdminBase = TermsAdminBase = ReadOnlyBase = admin.ModelAdmin
    RuleAdminBase = LimitAdminBase = TaxRateAdminBase = CustomerAdminBase = admin.ModelAdmin
    TermsFormBase = forms.ModelForm
    LineInlineBase = admin.TabularInline


@admin.register(SellerEntity)
class SellerAdmin(SellerAdminBase):
    list_display = ["code", "name_zh", "name_en", "is_default"]
    search_fields = ["code", "name_zh", "name_en", "tax_id"]


class TermsForm(TermsFormBase):
    """Clauses and payments are checked by the same rules as those of a quote."""

    class Meta:
        model = Terms
        fields = "__all__"

    def clean_clauses(self) -> dict[str, Any]:
        return clean_clauses(self.cleaned_data["clauses"] or {})

    def clean_payment_schedule(self) -> list[dict[str, Any]]:
        return clean_schedule(self.cleaned_data["payment_schedule"] or [])


@admin.register(ApprovalRule)
class ApprovalRuleAdmin(RuleAdminBase):
    list_display = ["code", "condition", "threshold", "currency", "basis", "approver_role", "is_active"]
    list_filter = ["condition", "approver_role", "is_active"]


@admin.register(DiscountLimit)
class DiscountLimitAdmin(LimitAdminBase):
    list_display = ["role", "user", "product_group", "max_fraction"]
    list_filter = ["role", "product_group"]
    list_select_related = ["user"]


@admin.register(TaxRate)
class TaxRateAdmin(TaxRateAdminBase):
    list_display = ["country", "category", "rate", "valid_from", "valid_until", "source_title"]
    list_filter = ["country", "category"]


@admin.register(Customer)
class CustomerAdmin(CustomerAdminBase):
    list_display = ["name", "tax_id", "country", "tax_mode", "paper", "language"]
    search_fields = ["name", "tax_id"]


@admin.register(Terms)
class TermsAdmin(TermsAdminBase):
    form = TermsForm
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


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(LookOnly, ReadOnlyBase):
    list_display = ["revision", "rule_code", "approver_role", "decision", "requested_by", "decided_by", "decided_at"]
    list_filter = ["decision", "rule_code"]
    list_select_related = ["revision", "requested_by", "decided_by"]


@admin.register(NumberSeries)
class NumberSeriesAdmin(LookOnly, ReadOnlyBase):
    list_display = ["code", "next_value", "held_until"]

"""The catalogue's editor. Rows retire, they are not deleted; published price books are read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from catalog import models
from catalog.filters import FILTERS
from catalog.kinds import KINDS_BY_CODE
from catalog.models import CatalogRevision, CloudPrice, Part, Price, PriceBook
from catalog.revisions import PART_MODELS
from catalog.services import (
    PriceBookError,
    price_book_draft,
    price_book_publish,
    price_book_retire,
    revision_record,
)

if TYPE_CHECKING:
    PartAdminBase = admin.ModelAdmin[Part]
    PriceBookAdminBase = admin.ModelAdmin[PriceBook]
    PriceAdminBase = admin.ModelAdmin[Price]
    ReadOnlyAdminBase = admin.ModelAdmin[Model]
else:
    PartAdminBase = PriceBookAdminBase = PriceAdminBase = ReadOnlyAdminBase = admin.ModelAdmin


class PartAdmin(PartAdminBase):
    """Every kind of part; columns and filters are those of its page."""

    list_per_page = 50
    actions = ["retire", "bring_back"]

    def has_delete_permission(self, request: HttpRequest, obj: Part | None = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Part | None = None) -> tuple[str, ...]:
        """The SKU is what quotes and prices name: it never changes."""
        return ("sku",) if obj else ()

    def save_related(self, request: HttpRequest, form: ModelForm[Part], formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        revision_record(reason=f"edited {form.instance.sku}")

    @admin.action(description=_("Retire the chosen rows"))
    def retire(self, request: HttpRequest, queryset: QuerySet[Part]) -> None:
        self.set_active(request, queryset, is_active=False)

    @admin.action(description=_("Bring the chosen rows back"))
    def bring_back(self, request: HttpRequest, queryset: QuerySet[Part]) -> None:
        self.set_active(request, queryset, is_active=True)

    def set_active(self, request: HttpRequest, queryset: QuerySet[Part], *, is_active: bool) -> None:
        count = queryset.update(is_active=is_active)
        revision_record(reason=f"{'brought back' if is_active else 'retired'} {count} of {self.model.__name__}")
        text = ngettext("%(count)d row changed.", "%(count)d rows changed.", count) % {"count": count}
        self.message_user(request, text, messages.SUCCESS)


def register_part(model: type[Part]) -> None:
    """An admin for one kind: the columns of its page, its text filters as list filters."""
    kind = KINDS_BY_CODE[model.kind_code]
    columns = [name for name in kind.columns if not name.endswith("_sku")][:7]
    selects = [name for name in FILTERS[model].selects if name != "tier"]
    options: dict[str, Any] = {
        "list_display": ["sku", "name", *columns, "is_active"],
        "list_filter": ["is_active", *selects, "checked_on"],
        "search_fields": ["sku", "name", "vendor", "notes"],
    }
    if model is models.Server:
        options["filter_horizontal"] = ["supported_gpus"]
    if model is models.ReferenceBuild:
        options["list_select_related"] = ["tier"]
    admin.site.register(model, type(f"{model.__name__}Admin", (PartAdmin,), options))


for part_model in PART_MODELS:
    register_part(part_model)


@admin.register(PriceBook)
class PriceBookAdmin(PriceBookAdminBase):
    list_display = ["__str__", "basis", "currency", "status", "valid_from", "valid_until", "is_indicative"]
    list_filter = ["status", "basis", "currency", "is_indicative"]
    search_fields = ["code", "name_zh", "name_en"]
    readonly_fields = ("status", "content_hash", "published_at")
    actions = ["publish", "retire", "draft_copy"]

    def has_change_permission(self, request: HttpRequest, obj: PriceBook | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or obj.status == PriceBook.Status.DRAFT)

    def has_delete_permission(self, request: HttpRequest, obj: PriceBook | None = None) -> bool:
        """Nothing is deleted from the list; a draft may be thrown away on its own page once it is empty."""
        return super().has_delete_permission(request, obj) and obj is not None and obj.status == PriceBook.Status.DRAFT

    @admin.action(description=_("Publish the chosen drafts"), permissions=["publish"])
    def publish(self, request: HttpRequest, queryset: QuerySet[PriceBook]) -> None:
        self.each(request, queryset, lambda book: price_book_publish(book=book), _("published"))

    @admin.action(description=_("Retire the chosen books"), permissions=["publish"])
    def retire(self, request: HttpRequest, queryset: QuerySet[PriceBook]) -> None:
        self.each(request, queryset, lambda book: price_book_retire(book=book), _("retired"))

    @admin.action(description=_("Copy into a new draft"), permissions=["publish"])
    def draft_copy(self, request: HttpRequest, queryset: QuerySet[PriceBook]) -> None:
        self.each(request, queryset, lambda book: price_book_draft(book=book), _("copied"))

    def has_publish_permission(self, request: HttpRequest) -> bool:
        """Who may change books at all may publish them."""
        return super().has_change_permission(request)

    def each(self, request: HttpRequest, queryset: QuerySet[PriceBook], act: Any, done: Any) -> None:
        for book in queryset:
            try:
                act(book)
            except PriceBookError as error:
                self.message_user(request, f"{book}: {error}", messages.ERROR)
            else:
                self.message_user(request, f"{book}: {done}", messages.SUCCESS)


@admin.register(Price)
class PriceAdmin(PriceAdminBase):
    """Prices of drafts can be written; those of published and retired books are frozen."""

    list_display = ["sku", "unit", "term_months", "condition", "amount", "book", "origin_mark", "as_of"]
    list_filter = ["book", "unit", "origin_mark", "term_months"]
    list_select_related = ["book"]
    search_fields = ["sku", "condition", "origin_text"]

    def has_change_permission(self, request: HttpRequest, obj: Price | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or is_draft(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Price | None = None) -> bool:
        return super().has_delete_permission(request, obj) and obj is not None and is_draft(obj)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A price can only be put into a draft."""
        if db_field.name == "book":
            kwargs["queryset"] = PriceBook.objects.filter(status=PriceBook.Status.DRAFT)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


def is_draft(price: Price) -> bool:
    return price.book.status == PriceBook.Status.DRAFT


class ReadOnlyAdmin(ReadOnlyAdminBase):
    """Written by the loader alone."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(CloudPrice)
class CloudPriceAdmin(ReadOnlyAdmin):
    list_display = ["gpu", "provider_class", "deployment", "commitment", "currency", "median_amount", "as_of_to"]
    list_filter = ["provider_class", "deployment", "commitment", "currency", "is_newest_only"]
    list_select_related = ["gpu"]
    search_fields = ["gpu__sku", "gpu__name"]


@admin.register(CatalogRevision)
class CatalogRevisionAdmin(ReadOnlyAdmin):
    list_display = ["code", "created_at", "reason"]
    list_filter = ["created_at"]

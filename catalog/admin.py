"""The catalogue's editor. Edits of parts gather in a draft; rows retire, they are not deleted; published price books
are read-only. Who may what is answered by `catalog.access`, not by Django's table of permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from catalog import models
from catalog.access import may_edit, may_publish, may_see_desk, name_of
from catalog.change_plans import PlannedRow, planned_row
from catalog.drafts import draft_edit, pending_row, python_values
from catalog.filters import FILTERS
from catalog.kinds import KINDS_BY_CODE
from catalog.models import CatalogDraft, CatalogRevision, CloudPrice, Part, Price, PriceBook
from catalog.part_files import part_values
from catalog.revisions import PART_MODELS
from catalog.services import PriceBookError, price_book_draft, price_book_publish, price_book_retire

if TYPE_CHECKING:
    PartAdminBase = admin.ModelAdmin[Part]
    PriceBookAdminBase = admin.ModelAdmin[PriceBook]
    PriceAdminBase = admin.ModelAdmin[Price]
    ReadOnlyAdminBase = admin.ModelAdmin[Model]
else:
    PartAdminBase = PriceBookAdminBase = PriceAdminBase = ReadOnlyAdminBase = admin.ModelAdmin


def editor(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


class DeskRights:
    """Keepers see; editors add and change."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may_see_desk(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_see_desk(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may_edit(request.user)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_edit(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class PartAdmin(DeskRights, PartAdminBase):
    """Every kind of part; columns and filters are those of its page. Saving writes into the editor's open draft."""

    list_per_page = 50
    actions = ["retire", "bring_back"]

    def get_readonly_fields(self, request: HttpRequest, obj: Part | None = None) -> tuple[str, ...]:
        """The SKU is what quotes and prices name: it never changes."""
        return ("sku",) if obj else ()

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Part | None:
        """The row as the editor's own draft has it, so that one goes on where one stopped."""
        part = super().get_object(request, object_id, from_field)
        if part is None or not may_edit(request.user):
            return part
        pending = pending_row(kind=part.kind_code, key=part.sku, author=editor(request))
        if pending is not None:
            values = python_values(type(part), pending.after)
            gpus, tier = values.pop("supported_gpus", None), values.pop("tier", None)
            for name, value in values.items():
                setattr(part, name, value)
            if tier is not None and isinstance(part, models.ReferenceBuild):
                part.tier = models.Tier.objects.get(sku=tier)
            if gpus is not None:  # what the form takes for the present links
                cached = list(models.Gpu.objects.filter(sku__in=gpus))
                part._prefetched_objects_cache = {"supported_gpus": cached}  # type: ignore[attr-defined]
        return part

    def save_model(self, request: HttpRequest, obj: Part, form: ModelForm[Part], change: bool) -> None:
        """Into the draft; the table of parts changes when the draft is published."""
        fields = {field.name for field in type(obj)._meta.concrete_fields if not field.is_relation} - {
            "id",
            "file_hash",
        }
        values: dict[str, Any] = {name: getattr(obj, name) for name in fields}
        if "supported_gpus" in form.cleaned_data:
            values["supported_gpus"] = sorted(gpu.sku for gpu in form.cleaned_data["supported_gpus"])
        if isinstance(obj, models.ReferenceBuild):
            values["tier"] = obj.tier.sku
        present = part_values(type(obj)._default_manager.get(pk=obj.pk)) if change else None
        row = planned_row(obj.kind_code, obj.sku, values, present)
        rows, unchanged = ([row], []) if row is not None else ([], [(obj.kind_code, obj.sku)])
        draft = draft_edit(rows=rows, unchanged=unchanged, author=editor(request))
        request.session["drafted"] = draft.pk

    def save_related(self, request: HttpRequest, form: ModelForm[Part], formsets: Any, change: bool) -> None:
        """The links are in the draft too."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """The history is the catalogue's own: it is written when the draft is published."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """As above."""

    def response_add(self, request: HttpRequest, obj: Part, post_url_continue: str | None = None) -> HttpResponse:
        return self.to_draft(request)

    def response_change(self, request: HttpRequest, obj: Part) -> HttpResponse:
        return self.to_draft(request)

    def to_draft(self, request: HttpRequest) -> HttpResponse:
        draft = CatalogDraft.objects.get(pk=request.session.pop("drafted"))
        self.message_user(request, _("Kept in your draft; it holds once it is published."), messages.SUCCESS)
        return redirect(draft)

    @admin.action(description=_("Retire the chosen rows"), permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[Part]) -> None:
        self.set_active(request, queryset, is_active=False)

    @admin.action(description=_("Bring the chosen rows back"), permissions=["change"])
    def bring_back(self, request: HttpRequest, queryset: QuerySet[Part]) -> None:
        self.set_active(request, queryset, is_active=True)

    def set_active(self, request: HttpRequest, queryset: QuerySet[Part], *, is_active: bool) -> None:
        rows = []
        for part in queryset.exclude(is_active=is_active):
            pending = pending_row(kind=part.kind_code, key=part.sku, author=editor(request))
            before, after = (dict(pending.before), dict(pending.after)) if pending else ({}, {})
            before["is_active"], after["is_active"] = not is_active, is_active
            rows.append(
                PlannedRow(kind=part.kind_code, key=part.sku, is_new=False, before=before, after=after, place="")
            )
        draft = draft_edit(rows=rows, author=editor(request))
        count = len(rows)
        text = ngettext("%(count)d row is in your draft.", "%(count)d rows are in your draft.", count) % {
            "count": count
        }
        link = format_html('{} <a href="{}">{}</a>', text, draft.get_absolute_url(), draft.title)
        self.message_user(request, link, messages.SUCCESS)


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
class PriceBookAdmin(DeskRights, PriceBookAdminBase):
    list_display = ["__str__", "basis", "currency", "status", "valid_from", "valid_until", "is_indicative"]
    list_filter = ["status", "basis", "currency", "is_indicative"]
    search_fields = ["code", "name_zh", "name_en"]
    readonly_fields = ("status", "content_hash", "published_at", "published_by", "reason")
    actions = ["publish", "retire", "draft_copy"]

    def has_change_permission(self, request: HttpRequest, obj: PriceBook | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or obj.status == PriceBook.Status.DRAFT)

    def has_delete_permission(self, request: HttpRequest, obj: PriceBook | None = None) -> bool:
        """Nothing is deleted from the list; a draft may be thrown away on its own page once it is empty."""
        return may_edit(request.user) and obj is not None and obj.status == PriceBook.Status.DRAFT

    @admin.action(description=_("Publish the chosen drafts"), permissions=["publish"])
    def publish(self, request: HttpRequest, queryset: QuerySet[PriceBook]) -> None:
        author = name_of(request.user)
        self.each(request, queryset, lambda book: price_book_publish(book=book, author=author), _("published"))

    @admin.action(description=_("Retire the chosen books"), permissions=["publish"])
    def retire(self, request: HttpRequest, queryset: QuerySet[PriceBook]) -> None:
        author = name_of(request.user)
        self.each(request, queryset, lambda book: price_book_retire(book=book, author=author), _("retired"))

    @admin.action(description=_("Copy into a new draft"), permissions=["add"])
    def draft_copy(self, request: HttpRequest, queryset: QuerySet[PriceBook]) -> None:
        self.each(request, queryset, lambda book: price_book_draft(book=book), _("copied"))

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return may_publish(request.user)

    def each(self, request: HttpRequest, queryset: QuerySet[PriceBook], act: Any, done: Any) -> None:
        for book in queryset:
            try:
                act(book)
            except PriceBookError as error:
                self.message_user(request, f"{book}: {error}", messages.ERROR)
            else:
                self.message_user(request, f"{book}: {done}", messages.SUCCESS)


@admin.register(Price)
class PriceAdmin(DeskRights, PriceAdminBase):
    """Prices of drafts can be written; those of published and retired books are frozen."""

    list_display = ["sku", "unit", "term_months", "condition", "amount", "book", "origin_mark", "as_of"]
    list_filter = ["book", "unit", "origin_mark", "term_months"]
    list_select_related = ["book"]
    search_fields = ["sku", "condition", "origin_text"]

    def has_change_permission(self, request: HttpRequest, obj: Price | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or is_draft(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Price | None = None) -> bool:
        return may_edit(request.user) and obj is not None and is_draft(obj)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A price can only be put into a draft."""
        if db_field.name == "book":
            kwargs["queryset"] = PriceBook.objects.filter(status=PriceBook.Status.DRAFT)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


def is_draft(price: Price) -> bool:
    return price.book.status == PriceBook.Status.DRAFT


class ReadOnlyAdmin(DeskRights, ReadOnlyAdminBase):
    """Written by the loader alone."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(CloudPrice)
class CloudPriceAdmin(ReadOnlyAdmin):
    list_display = ["gpu", "provider_class", "deployment", "commitment", "currency", "median_amount", "as_of_to"]
    list_filter = ["provider_class", "deployment", "commitment", "currency", "is_newest_only"]
    list_select_related = ["gpu"]
    search_fields = ["gpu__sku", "gpu__name"]


@admin.register(CatalogRevision)
class CatalogRevisionAdmin(ReadOnlyAdmin):
    list_display = ["code", "created_at", "author", "reason"]
    list_filter = ["created_at"]

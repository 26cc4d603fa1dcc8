"""Price books at the desk: every version, what it changes, its prices out and in by file, publication and roll-back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from catalog.access import may_edit, may_publish, may_see_costs, name_of
from catalog.desk_views import LIMITS, UploadForm, fault_context, for_those_who, person
from catalog.models import Price, PriceBook
from catalog.part_page import price_rows
from catalog.price_books import (
    PriceBookError,
    book_before,
    price_book_draft,
    price_book_publish,
    price_book_refill,
    price_book_retire,
    price_book_roll_back,
    publication_effects,
)
from catalog.price_diffs import book_diff, price_diff
from catalog.price_files import price_key, prices_of_sheet, prices_table
from catalog.price_words import diff_rows
from catalog.records import Fault
from catalog.services import known_skus
from catalog.sheet_reading import SheetError
from catalog.sheet_writing import CSV_TYPE, XLSX_TYPE, csv_bytes, xlsx_bytes

ROWS_PER_PAGE = 200


class PricesUploadForm(UploadForm):
    scope = forms.ChoiceField(
        label=gettext_lazy("What the file is"),
        choices=[
            ("whole", gettext_lazy("the whole list: what it leaves out goes")),
            ("part", gettext_lazy("some rows: the others stay")),
        ],
        widget=forms.RadioSelect,
        initial="whole",
    )
    check_only = forms.BooleanField(label=gettext_lazy("Only check, keep no draft"), required=False)


@require_GET
@for_those_who()
def books(request: HttpRequest) -> HttpResponse:
    """Every version of every book, newest first in its market."""
    found = PriceBook.objects.annotate(price_count=Count("prices")).order_by("basis", "currency", "-pk")
    return render(request, "catalog/books.html", {"books": found, "today": timezone.localdate()})


def book_of(code: str, version: int) -> PriceBook:
    return get_object_or_404(PriceBook.objects.select_related("based_on"), code=code, version=version)


@require_GET
@for_those_who()
def book(request: HttpRequest, code: str, version: int) -> HttpResponse:
    return book_page(request, book_of(code, version))


def book_page(
    request: HttpRequest,
    found: PriceBook,
    *,
    form: PricesUploadForm | None = None,
    extra: dict[str, Any] | None = None,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    """One version: what it changes against the book in force or the one before, and what can be done with it."""
    is_draft = found.status == PriceBook.Status.DRAFT
    effects, obstacle = [], ""
    if is_draft:
        try:
            effects = publication_effects(found)
        except PriceBookError as refusal:
            obstacle = str(refusal)
    rival = (effects[0].book if effects else found.based_on) if is_draft else book_before(found)
    diff = book_diff(rival, found) if rival is not None else None
    prices = Paginator(Price.objects.filter(book=found), ROWS_PER_PAGE).get_page(request.GET.get("page"))
    is_published = found.status == PriceBook.Status.PUBLISHED
    context = {
        "book": found,
        "page": prices,
        "rows": price_rows(list(prices), found),
        "has_costs": may_see_costs(request.user),
        "price_count": prices.paginator.count,
        "rival": rival,
        "diff": diff,
        "diff_rows": diff_rows(diff.rows[:ROWS_PER_PAGE]) if diff else [],
        "effects": effects,
        "obstacle": obstacle,
        "previous": book_before(found) if is_published else None,
        "form": form or PricesUploadForm(),
        "limits": LIMITS,
        "error": error,
        "may_edit": may_edit(request.user),
        "may_publish": may_publish(request.user),
        "is_draft": is_draft,
        "is_published": is_published,
        "reason": request.POST.get("reason", "")[:500],
    }
    return render(request, "catalog/book.html", context | (extra or {}), status=422 if error else status)


@require_GET
@for_those_who()
def book_file(request: HttpRequest, code: str, version: int, suffix: str) -> HttpResponse:
    """Any version's prices as the file that the upload takes; floor prices and cost for those who may see them."""
    found = book_of(code, version)
    return prices_answer(found, suffix, has_costs=may_see_costs(request.user))


def prices_answer(found: PriceBook, suffix: str, *, has_costs: bool) -> HttpResponse:
    table = prices_table(Price.objects.filter(book=found), has_costs=has_costs)
    content, kind = (xlsx_bytes([table]), XLSX_TYPE) if suffix == "xlsx" else (csv_bytes(table), CSV_TYPE)
    answer = HttpResponse(content, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{found.code}-v{found.version}.{suffix}"'
    return answer


@require_POST
@for_those_who(may_edit)
def upload_prices(request: HttpRequest, code: str, version: int) -> HttpResponse:
    """A file's prices: into the draft itself, or from a published book into its next version. All or nothing."""
    found = book_of(code, version)
    form = PricesUploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return book_page(request, found, form=form, status=422)
    present = {price_key(price): price for price in found.prices.all()}
    try:
        sheets = form.sheets()
    except SheetError as error:
        form.add_error("file", str(error))
        return book_page(request, found, form=form, status=422)
    records, faults = [], list[Fault]()
    for sheet in sheets:
        read, sheet_faults = prices_of_sheet(sheet, known_skus=known_skus(), present=present, mark=form.mark)
        records += read
        faults += sheet_faults
    if faults:
        return book_page(request, found, form=form, extra=fault_context(faults), status=422)
    after: dict[Any, Any] = present if form.cleaned_data["scope"] == "part" else {}
    after = {**after, **{price_key(price): price for price in records}}
    diff = price_diff(present.values(), after.values())
    if diff.is_empty or form.cleaned_data["check_only"]:
        shown = diff_rows(diff.rows[:ROWS_PER_PAGE])
        return book_page(request, found, form=form, extra={"checked": diff, "checked_rows": shown})
    try:
        if found.status == PriceBook.Status.DRAFT:
            target = price_book_refill(book=found, records=after.values())
        else:
            target = price_book_draft(book=found, records=after.values())
    except PriceBookError as refusal:
        return book_page(request, found, form=form, error=str(refusal))
    messages.success(request, _("The file is in the draft; nothing holds until it is published."))
    return redirect(desk_url(target))


def desk_url(found: PriceBook) -> str:
    return reverse("catalog:book", args=[found.code, found.version])


@require_POST
@for_those_who(may_publish)
def publish_book(request: HttpRequest, code: str, version: int) -> HttpResponse:
    found = book_of(code, version)
    if not (reason := request.POST.get("reason", "").strip()):
        return book_page(request, found, error=_("Say why: the reason stands in the history."))
    try:
        done = price_book_publish(book=found, is_replacing=True, reason=reason, author=name_of(person(request)))
    except PriceBookError as refusal:
        return book_page(request, found, error=str(refusal))
    messages.success(request, _("%(book)s is published.") % {"book": done})
    return redirect(desk_url(done))


@require_POST
@for_those_who(may_publish)
def retire_book(request: HttpRequest, code: str, version: int) -> HttpResponse:
    found = book_of(code, version)
    if not (reason := request.POST.get("reason", "").strip()):
        return book_page(request, found, error=_("Say why: the reason stands in the history."))
    try:
        done = price_book_retire(book=found, reason=reason, author=name_of(person(request)))
    except PriceBookError as refusal:
        return book_page(request, found, error=str(refusal))
    messages.success(request, _("%(book)s is retired; quotes that rest on it keep it.") % {"book": done})
    return redirect(desk_url(done))


@require_POST
@for_those_who(may_publish)
def roll_back_book(request: HttpRequest, code: str, version: int) -> HttpResponse:
    """From today on the prices of the book before hold again."""
    found = book_of(code, version)
    if not (reason := request.POST.get("reason", "").strip()):
        return book_page(request, found, error=_("Say why: the reason stands in the history."))
    try:
        done = price_book_roll_back(book=found, on=timezone.localdate(), reason=reason, author=name_of(person(request)))
    except PriceBookError as refusal:
        return book_page(request, found, error=str(refusal))
    messages.success(request, _("%(book)s is in force again, with the earlier prices.") % {"book": done})
    return redirect(desk_url(done))


@require_POST
@for_those_who(may_edit)
def copy_book(request: HttpRequest, code: str, version: int) -> HttpResponse:
    return redirect(desk_url(price_book_draft(book=book_of(code, version))))

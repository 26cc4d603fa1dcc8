"""Pages of the catalogue: index, tables that sort and filter by the address, parts with their sources and prices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from catalog.filters import PartFilter
from catalog.kinds import KINDS, KINDS_BY_CODE, Kind
from catalog.models import CatalogRevision, Part, Price, PriceBook
from catalog.part_page import part_context, price_rows
from catalog.presentation import Cell, cell, label_of, unit_for
from catalog.price_files import prices_csv
from catalog.words import word

ROWS_PER_PAGE = 50
PAGE_PARAMETERS = {"page", "lang"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A column's head: its name, unit, and where a click on it leads."""

    label: str
    unit: str
    is_number: bool
    url: str  # empty: cannot be sorted by
    direction: str  # ascending | descending | none


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """What the catalogue holds and which price books are in force today. The revision carries the counts."""
    revision = CatalogRevision.objects.first()
    counts = revision.part_counts if revision else {}
    kinds = [{"kind": kind, "count": counts.get(kind.model.__name__, 0)} for kind in KINDS]
    books = PriceBook.objects.published().effective_on(timezone.localdate()).annotate(price_count=Count("prices"))
    return render(request, "catalog/index.html", {"kinds": kinds, "books": books})


@require_GET
@vary_on_headers("HX-Request")
def kind_list(request: HttpRequest, code: str) -> HttpResponse:
    """The table of one kind; the address holds filters, order and page, so that it can be shared."""
    kind = find_kind(code)
    parts = kind.model._default_manager.filter(is_active=True)
    found = kind.filter_class(request.GET or None, queryset=parts)
    form = found.form
    offer_selects(form, found, parts)
    is_valid = form.is_valid() if found.is_bound else True
    rows = found.qs if found.is_bound and is_valid else parts
    page = Paginator(rows, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    heads = [head(request, kind, found, name) for name in ("name", *kind.columns)]
    context = {
        "kind": kind,
        "form": form,
        "shown_fields": [form[name] for name in ("search", *found.selects)],
        "heads": heads,
        "rows": [(part, table_cells(part, kind.columns, heads[1:])) for part in page],
        "page": page,
        "is_filtered": any(request.GET.get(name) for name in ("search", *found.selects)),
        "ordering": request.GET.get("ordering", ""),
        "api_query": api_query(request),
        "is_fragment": bool(request.htmx),  # type: ignore[attr-defined]
    }
    template = "catalog/list.html"
    if context["is_fragment"]:
        template += "#rows"
    return render(request, template, context, status=200 if is_valid else 422)


@require_GET
def part(request: HttpRequest, code: str, sku: str) -> HttpResponse:
    """One part with every figure, its sources, what is unverified, and its prices in force today. Retired ones too."""
    kind = find_kind(code)
    row = get_object_or_404(kind.model._default_manager.all(), sku=sku)
    return render(request, "catalog/part.html", {"kind": kind, "part": row, **part_context(kind, row)})


@require_GET
def price_book(request: HttpRequest, code: str) -> HttpResponse:
    """A published book, as it holds today: every price with its mark, origin and date."""
    books = PriceBook.objects.published().effective_on(timezone.localdate())
    book = get_object_or_404(books, code=code)
    prices = Paginator(Price.objects.filter(book=book), 100).get_page(request.GET.get("page"))
    rows = price_rows(list(prices), book)
    return render(request, "catalog/price_book.html", {"book": book, "page": prices, "rows": rows})


@require_GET
def price_book_csv(request: HttpRequest, code: str) -> HttpResponse:
    """The book's prices as the CSV that `load_price_book` reads: to change in a spreadsheet and bring back."""
    books = PriceBook.objects.published().effective_on(timezone.localdate())
    book = get_object_or_404(books, code=code)
    answer = HttpResponse(prices_csv(Price.objects.filter(book=book)), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{book.code}-v{book.version}.csv"'
    return answer


def find_kind(code: str) -> Kind:
    try:
        return KINDS_BY_CODE[code]
    except KeyError:
        raise Http404 from None


def offer_selects(form: forms.Form, found: PartFilter, parts: Any) -> None:
    """Text filters become lists of the values in use; each costs one query."""
    for name in found.selects:
        column = found.filters[name].field_name
        values = parts.order_by(column).values_list(column, flat=True).distinct()
        choices = [("", _("all")), *((value, word(value)) for value in values if value)]
        form.fields[name].widget = forms.Select(choices=choices)
        label = str(form.fields[name].label)
        form.fields[name].label = label[:1].upper() + label[1:]


def head(request: HttpRequest, kind: Kind, found: PartFilter, name: str) -> Head:
    query = request.GET.copy()
    query.pop("page", None)
    present = query.get("ordering", "")
    is_sortable = name in dict(found.base_filters["ordering"].extra["choices"])
    direction = {name: "ascending", f"-{name}": "descending"}.get(present, "none")
    query["ordering"] = f"-{name}" if present == name else name
    measure = unit_for(kind.code, name)
    sample = None if measure else kind.model._meta.get_field(name) if has_column(kind.model, name) else None
    is_number = measure is not None or getattr(sample, "get_internal_type", str)() in NUMBER_COLUMNS or "_count" in name
    return Head(
        label=label_of(kind.model, name),
        unit=measure.symbol if measure else "",
        is_number=is_number,
        url=f"?{query.urlencode()}" if is_sortable else "",
        direction=direction,
    )


NUMBER_COLUMNS = {"IntegerField", "PositiveIntegerField", "PositiveSmallIntegerField", "BigIntegerField", "FloatField"}


def has_column(model: type[Part], name: str) -> bool:
    return name in {field.name for field in model._meta.concrete_fields}


def table_cells(part: Part, columns: tuple[str, ...], heads: list[Head]) -> list[Cell]:
    """The row's cells; a dash in a column of figures stands where the figures stand."""
    return [replace(cell(part, name), is_number=head.is_number) for name, head in zip(columns, heads, strict=True)]


def api_query(request: HttpRequest) -> str:
    """The same rows from the API."""
    query = request.GET.copy()
    for name in [*PAGE_PARAMETERS, *(name for name, value in request.GET.items() if not value)]:
        query.pop(name, None)
    return f"?{query.urlencode()}" if query else ""

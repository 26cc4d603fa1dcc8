"""Pages of the catalogue: index, tables that sort and filter by the address, parts with their sources and prices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from catalog.access import may_edit, may_see_desk
from catalog.book_views import prices_answer
from catalog.comparison import MAX_PART_COUNT, compared_groups, compared_table
from catalog.filters import PartFilter
from catalog.kinds import KINDS, KINDS_BY_CODE, Kind
from catalog.models import CatalogRevision, Part, Price, PriceBook
from catalog.part_files import SHEETS, written_table
from catalog.part_page import part_context, part_history, price_rows
from catalog.presentation import Cell, cell, label_of, unit_for
from catalog.ranges import Range, ranges_of, with_limits
from catalog.sheet_writing import CSV_TYPE, XLSX_TYPE, Table, csv_bytes, xlsx_bytes
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
    context = {
        "kinds": kinds,
        "books": books,
        "revision": revision,
        "is_desk": may_see_desk(request.user),
        "may_edit": may_edit(request.user),
    }
    return render(request, "catalog/index.html", context)


@require_GET
@vary_on_headers("HX-Request")
def kind_list(request: HttpRequest, code: str) -> HttpResponse:
    """The table of one kind; the address holds filters, order and page, so that it can be shared."""
    kind = find_kind(code)
    narrowed = narrowed_parts(request, kind)
    page = Paginator(narrowed.rows, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    heads = [head(request, kind, narrowed.found, name) for name in ("name", *kind.columns)]
    names = ("search", *narrowed.found.selects)
    context = {
        "kind": kind,
        "form": narrowed.form,
        "shown_fields": [narrowed.form[name] for name in names],
        "ranges": narrowed.ranges,
        "has_ranges": any(limit.is_set for limit in narrowed.ranges),
        "range_errors": [limit for limit in narrowed.ranges if limit.error],
        "heads": heads,
        "rows": [(part, table_cells(part, kind.columns, heads[1:])) for part in page],
        "page": page,
        "is_filtered": any(request.GET.get(name) for name in names) or any(r.is_set for r in narrowed.ranges),
        "ordering": request.GET.get("ordering", ""),
        "api_query": api_query(narrowed.query),
        "file_query": api_query(request.GET),
        "is_fragment": bool(request.htmx),  # type: ignore[attr-defined]
    }
    template = "catalog/list.html"
    if context["is_fragment"]:
        template += "#rows"
    return render(request, template, context, status=200 if narrowed.is_valid else 422)


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """A kind's active parts as the address narrows and sorts them."""

    found: PartFilter
    form: forms.Form
    ranges: list[Range]
    query: QueryDict  # as the API takes it
    rows: Any
    is_valid: bool


def narrowed_parts(request: HttpRequest, kind: Kind) -> Narrowed:
    parts = kind.model._default_manager.filter(is_active=True)
    ranges, limits = ranges_of(kind, request.GET)
    query = with_limits(request.GET, limits)
    found = kind.filter_class(query or None, queryset=parts)
    form = found.form
    offer_selects(form, found, parts)
    is_valid = (form.is_valid() if found.is_bound else True) and not any(limit.error for limit in ranges)
    rows = found.qs if found.is_bound and form.is_valid() else parts
    return Narrowed(found=found, form=form, ranges=ranges, query=query, rows=rows, is_valid=is_valid)


@require_GET
def kind_file(request: HttpRequest, code: str, suffix: str) -> HttpResponse:
    """The narrowed and sorted table as a file, in the columns and units that the import takes."""
    kind = find_kind(code)
    narrowed = narrowed_parts(request, kind)
    if not narrowed.is_valid:
        return kind_list(request, code)
    table = written_table(SHEETS[kind.code], narrowed.rows.with_specs())
    return table_answer(table, kind.code, suffix)


def table_answer(table: Table, name: str, suffix: str) -> HttpResponse:
    content, kind = (xlsx_bytes([table]), XLSX_TYPE) if suffix == "xlsx" else (csv_bytes(table), CSV_TYPE)
    answer = HttpResponse(content, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{name}.{suffix}"'
    return answer


@require_GET
def compare(request: HttpRequest, code: str, suffix: str = "") -> HttpResponse:
    """Up to four parts side by side, `?sku=` once for each; `only=differences` leaves the rest out."""
    kind = find_kind(code)
    skus = list(dict.fromkeys(sku for sku in request.GET.getlist("sku") if sku))
    found = {part.sku: part for part in kind.model._default_manager.filter(sku__in=skus[:MAX_PART_COUNT])}
    parts = [found[sku] for sku in skus if sku in found]
    only = request.GET.get("only") == "differences"
    problems = [
        _("“%(sku)s” is not in the catalogue.") % {"sku": sku} for sku in skus[:MAX_PART_COUNT] if sku not in found
    ]
    if len(skus) > MAX_PART_COUNT:
        problems.append(
            _("At most %(limit)s parts stand side by side; the first ones are shown.") % {"limit": MAX_PART_COUNT}
        )
    if suffix:
        return table_answer(compared_table(kind, parts, only_differences=only), f"{kind.code}-comparison", suffix)
    others = kind.model._default_manager.filter(is_active=True).exclude(sku__in=found).order_by("sku")
    context = {
        "kind": kind,
        "parts": [(part, without(request, part.sku)) for part in parts],
        "groups": compared_groups(kind, parts, only_differences=only) if parts else [],
        "column_count": len(parts) + 1,
        "only": only,
        "others": others.values_list("sku", "name") if len(parts) < MAX_PART_COUNT else [],
        "problems": problems,
        "query": api_query(request.GET),
        "is_single": len(parts) < 2,
    }
    return render(request, "catalog/compare.html", context, status=422 if problems else 200)


def without(request: HttpRequest, sku: str) -> str:
    """The same comparison without one part."""
    query = request.GET.copy()
    query.setlist("sku", [name for name in query.getlist("sku") if name != sku])
    return f"?{query.urlencode()}"


@require_GET
def part(request: HttpRequest, code: str, sku: str) -> HttpResponse:
    """One part with every figure, its sources, what is unverified, and its prices in force today. Retired ones too."""
    kind = find_kind(code)
    row = get_object_or_404(kind.model._default_manager.all(), sku=sku)
    context = {
        "kind": kind,
        "part": row,
        **part_context(kind, row),
        "history": part_history(row),
        "shows_authors": may_see_desk(request.user),
    }
    return render(request, "catalog/part.html", context)


@require_GET
def price_book(request: HttpRequest, code: str) -> HttpResponse:
    """A published book, as it holds today: every price with its mark, origin and date."""
    books = PriceBook.objects.published().effective_on(timezone.localdate())
    book = get_object_or_404(books, code=code)
    prices = Paginator(Price.objects.filter(book=book), 100).get_page(request.GET.get("page"))
    rows = price_rows(list(prices), book)
    return render(request, "catalog/price_book.html", {"book": book, "page": prices, "rows": rows})


@require_GET
def price_book_file(request: HttpRequest, code: str, suffix: str) -> HttpResponse:
    """The prices of the book in force as the file that the import reads; never floor prices or cost."""
    books = PriceBook.objects.published().effective_on(timezone.localdate())
    return prices_answer(get_object_or_404(books, code=code), suffix, has_costs=False)


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


def api_query(query: QueryDict) -> str:
    """The same rows elsewhere: without the page, the language and what is empty."""
    plain = query.copy()
    for name in [*PAGE_PARAMETERS, *(name for name in query if not any(query.getlist(name)))]:
        plain.pop(name, None)
    return f"?{plain.urlencode()}" if plain else ""

"""The desk's list of quotes, its spreadsheet, and the figures of how quotes end."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from quotes import access, listing
from quotes.analytics import SIZE_CLASSES, analytics_of, endings_of
from quotes.export import csv_lines
from quotes.filter_forms import PAGE_SIZES, AnalyticsFilterForm, ListFilterForm
from quotes.models import QuoteRevision
from quotes.views.guards import desk

if TYPE_CHECKING:
    RevisionPaginator = Paginator[QuoteRevision]
else:
    RevisionPaginator = Paginator


class CountedPaginator(RevisionPaginator):
    """Pages of rows whose number is known already, so that they are not counted twice."""

    def __init__(self, rows: Any, size: int, count: int) -> None:
        super().__init__(rows, size)
        self.known_count = count

    @property
    def count(self) -> int:
        return self.known_count


def _narrowed(request: HttpRequest, now: datetime) -> tuple[ListFilterForm, Any, str]:
    visible = access.visible_revisions(request.user)
    form = ListFilterForm(request.GET, owners=listing.owners_of(visible))
    filters = form.filters()
    return form, listing.filtered_revisions(visible, filters, now), filters.get("sort") or listing.DEFAULT_ORDER


@desk
@require_safe
def quote_list(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    form, rows, order = _narrowed(request, now)
    totals = listing.totals_by_currency(rows)
    size = form.cleaned_data.get("size") or PAGE_SIZES[0]
    paginator = CountedPaginator(listing.ordered(rows, order), size, sum(total.count for total in totals))
    page = paginator.get_page(request.GET.get("page"))
    context = {
        "form": form,
        "page": page,
        "rows": [(revision, revision.effective_state(now)) for revision in page],
        "totals": totals,
        "order": order,
        "is_filtered": any(form.cleaned_data.get(name) not in (None, "", False) for name in _NARROWING),
        "may_create": access.may_create(request.user),
    }
    return render(request, "quotes/list.html", context)


_NARROWING = frozenset(ListFilterForm.base_fields) - {"sort", "size", "dated"}


@desk
@require_safe
def quote_export(request: HttpRequest) -> StreamingHttpResponse:
    """What the list shows, all pages of it, as CSV."""
    now = timezone.now()
    _form, rows, order = _narrowed(request, now)
    zone = listing.desk_zone()
    lines = csv_lines(listing.export_rows(listing.ordered(rows, order)), now, zone)
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    day = now.astimezone(zone).date().isoformat()
    response["Content-Disposition"] = f'attachment; filename="quotes-{day}.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@desk
@require_safe
def quote_analytics(request: HttpRequest) -> HttpResponse:
    now, zone = timezone.now(), listing.desk_zone()
    visible = access.visible_revisions(request.user)
    form = AnalyticsFilterForm(request.GET or None)
    filters = form.filters() if form.is_bound else {}
    currency = filters.get("currency") or _usual_currency(visible)
    since, until = filters.get("since"), filters.get("until")
    common = {"currency": currency, "dated": "issued", "since": since, "until": until}
    rows = listing.filtered_revisions(visible, common | {"outcome": listing.ANY}, now)
    figures = analytics_of(endings_of(rows, now=now, zone=zone))
    common = {name: value for name, value in common.items() if value}
    if not form.is_bound:
        form = AnalyticsFilterForm(initial={"currency": currency})
    context = {
        "form": form,
        "figures": figures,
        "currency": currency,
        "since": since,
        "until": until,
        "link": f"{reverse('quotes:list')}?{urlencode(common)}",
        "size_classes": SIZE_CLASSES,
        "discount_classes": listing.DISCOUNT_CLASSES,
    }
    return render(request, "quotes/analytics.html", context)


def _usual_currency(visible: Any) -> str:
    """That of most quotes."""
    totals = listing.totals_by_currency(listing.newest_issued(visible))
    return max(totals, key=lambda total: total.count).currency if totals else "CNY"

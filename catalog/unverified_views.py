"""`/catalog/unverified/`: what is not confirmed, by kind, and what would settle it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.views.decorators.http import require_GET

from catalog.kinds import KINDS, KINDS_BY_CODE
from catalog.presentation import field_label
from catalog.revisions import current_revision
from catalog.unverified import DERIVED, UNVERIFIED, Doubt, doubts
from catalog.words import word

ROWS_PER_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    code: str
    title: str | Promise
    unverified: int
    derived: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    doubt: Doubt
    name: str
    label: str
    detail: str


@require_GET
def unverified(request: HttpRequest) -> HttpResponse:
    """Counts of every kind, and the figures of the one asked for; of all kinds where none is."""
    code = request.GET.get("kind", "")
    if code and code not in KINDS_BY_CODE:
        raise Http404
    found = doubts(current_revision())
    counts = Counter((doubt.kind_code, doubt.state) for doubt in found)
    kinds = [
        KindCount(
            code=kind.code,
            title=kind.title,
            unverified=counts[kind.code, UNVERIFIED],
            derived=counts[kind.code, DERIVED],
        )
        for kind in KINDS
    ]
    shown = [doubt for doubt in found if not code or doubt.kind_code == code]
    page = Paginator(shown, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [
        Row(
            doubt=doubt,
            name=word(doubt.name),
            label=field_label(KINDS_BY_CODE[doubt.kind_code].model, doubt.field),
            detail=word(doubt.detail),
        )
        for doubt in page
    ]
    context = {
        "kinds": [row for row in kinds if row.unverified or row.derived],
        "kind": KINDS_BY_CODE.get(code),
        "rows": rows,
        "page": page,
        "unverified_count": sum(row.unverified for row in kinds),
        "derived_count": sum(row.derived for row in kinds),
    }
    return render(request, "catalog/unverified.html", context)

"""Staff's saved scenarios, and up to four scenarios side by side for everybody."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from advisor.comparison_files import WRITERS, ComparisonSource, comparison_file
from advisor.inputs import InputError
from advisor.models import MAX_NAME, Scenario
from advisor.pdf_rendering import PdfUnavailableError
from advisor.result_page import quote_links
from advisor.scenario_compare import MAX_SCENARIOS, ScenarioComparison, compared, query_of
from advisor.scenarios import (
    clean_tags,
    may_save,
    scenario_archive,
    scenario_changes,
    scenario_duplicate,
    scenario_edit,
    scenario_for,
    scenario_save,
    scenarios_of,
)

PER_PAGE = 20
View = Callable[..., HttpResponse]


def staff_page(view: View) -> View:
    """Visitors are sent to the login; those who are no staff find nothing."""

    @wraps(view)
    def guarded(request: HttpRequest, *arguments: Any, **options: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect(f"{reverse('login')}?{urlencode({'next': request.get_full_path()})}")
        if not may_save(request.user):
            raise Http404("No such page.")
        response = view(request, *arguments, **options)
        response["Cache-Control"] = "private, no-store"
        return response

    return guarded


@staff_page
@require_GET
def scenario_list(request: HttpRequest) -> HttpResponse:
    is_archived = request.GET.get("archived") == "1"
    tag = request.GET.get("tag", "")[:40]
    found = scenarios_of(request.user).filter(is_archived=is_archived).defer("answer")
    tags = sorted({word for words in found.values_list("tags", flat=True) for word in words})
    if tag:
        # a JSON list is searched alike on both databases only in Python; the list is one user's own
        names = [pk for pk, words in found.values_list("pk", "tags") if tag in words]
        found = found.filter(pk__in=names)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "scenarios/list.html",
        {"page": page, "tags": tags, "tag": tag, "is_archived": is_archived, "max_compared": MAX_SCENARIOS},
    )


@staff_page
@require_POST
def save(request: HttpRequest) -> HttpResponse:
    query = query_of(request.POST.get("query", ""))
    try:
        scenario = scenario_save(owner=cast(User, request.user), name=request.POST.get("name", ""), query=query)
    except InputError:
        messages.error(request, _("This case has no answer to keep; the form says what to change."))
        return redirect(f"{reverse('advisor:sizing')}?{query}")
    messages.success(request, _("“%(name)s” is saved.") % {"name": scenario.name})
    return redirect(scenario)


@staff_page
@require_http_methods(["GET", "POST"])
def scenario(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """The answer of then beside the answer of now; name, tags and note can be changed."""
    found = scenario_for(request.user, public_id)
    if request.method == "POST":
        name = request.POST.get("name", "").strip()
        if not name or len(name) > MAX_NAME:
            context = _page(found) | {
                "name_fault": _("Give a name of 1 to %(limit)s characters.") % {"limit": MAX_NAME}
            }
            return render(request, "scenarios/detail.html", context, status=422)
        scenario_edit(
            scenario=found,
            name=name,
            tags=clean_tags(request.POST.get("tags", "")),
            note=request.POST.get("note", "").strip(),
        )
        messages.success(request, _("“%(name)s” is saved.") % {"name": found.name})
        return redirect(found)
    return render(request, "scenarios/detail.html", _page(found))


def _page(found: Scenario) -> dict[str, Any]:
    best = found.answer["recommended"]
    return {
        "scenario": found,
        "best": best,
        "changes": scenario_changes(found),
        "sizing_url": f"{reverse('advisor:sizing')}?{found.query}",
        "compare_url": f"{reverse('advisor:compare')}?{urlencode({'s': found.query})}",
        "quote_links": quote_links(found.query, scenario=str(found.public_id)) if best else [],
    }


@staff_page
@vary_on_headers("HX-Request")
@require_GET
def price_change(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """For the list, which asks for it row by row: by how much cost and days moved since then."""
    found = scenario_for(request.user, public_id)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(found)
    return render(request, "scenarios/price_change.html", {"changes": scenario_changes(found)})


@staff_page
@require_POST
def scenario_step(request: HttpRequest, public_id: uuid.UUID, step: str) -> HttpResponse:
    found = scenario_for(request.user, public_id)
    if step == "duplicate":
        name = _("Copy of %(name)s") % {"name": found.name}
        return redirect(scenario_duplicate(scenario=found, owner=cast(User, request.user), name=name))
    scenario_archive(scenario=found, is_archived=step == "archive")
    words = _("“%(name)s” is in the archive.") if step == "archive" else _("“%(name)s” is back in the list.")
    messages.success(request, words % {"name": found.name})
    return redirect("advisor:scenarios")


@require_GET
def compare_scenarios(request: HttpRequest) -> HttpResponse:
    """Each `s` is the query string of a scenario, `add` a link to take in, `format` a file instead of the page."""
    queries = [query for query in map(query_of, request.GET.getlist("s")) if query][:MAX_SCENARIOS]
    if request.GET.get("add", "").strip():
        return redirect(_address([*queries, query_of(request.GET["add"])][:MAX_SCENARIOS]))
    found = compared(queries)
    if request.GET.get("format") in WRITERS and any(column.answer for column in found.columns):
        return _file(request, found, _address(queries), request.GET["format"])
    only = request.GET.get("only") == "1"
    context = {
        "found": found,
        "columns": [(column, _column_links(queries, index, only)) for index, column in enumerate(found.columns)],
        "sections": [
            (title, [row for row in rows if row.differs or not only])
            for title, rows in ((_("Inputs"), found.inputs), (_("Results"), found.results))
        ],
        "only": only,
        "queries": queries,
        "is_full": len(queries) >= MAX_SCENARIOS,
        "page_url": _address(queries),
        "toggle_url": _address(queries, only=not only),
        "files": [(kind.upper(), f"{_address(queries)}&format={kind}") for kind in WRITERS],
        "max_compared": MAX_SCENARIOS,
    }
    return render(request, "scenarios/compare.html", context)


def _file(request: HttpRequest, found: ScenarioComparison, page: str, kind: str) -> HttpResponse:
    origin = f"{request.scheme}://{request.get_host()}"
    source = ComparisonSource(found=found, url=f"{origin}{page}", sizing_url=f"{origin}{reverse('advisor:sizing')}")
    try:
        file = comparison_file(source, kind)
    except PdfUnavailableError as error:
        return render(request, "advisor/download_unavailable.html", {"message": str(error), "page": page}, status=503)
    response = HttpResponse(file.content, content_type=file.content_type)
    response["Content-Disposition"] = content_disposition_header(True, file.name) or "attachment"
    return response


def _address(queries: list[str], *, only: bool = False) -> str:
    pairs = [("s", query) for query in queries] + ([("only", "1")] if only else [])
    return f"{reverse('advisor:compare')}?{urlencode(pairs)}"


def _column_links(queries: list[str], index: int, only: bool) -> dict[str, str]:
    rest = [query for place, query in enumerate(queries) if place != index]
    return {
        "sizing": f"{reverse('advisor:sizing')}?{queries[index]}",
        "drop": _address(rest, only=only),
        "first": _address([queries[index], *rest], only=only) if index else "",
    }

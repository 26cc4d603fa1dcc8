"""The desk: a draft from a recommendation, one quote, its issue, its PDF."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from advisor.answers import RecommendationAnswer
from advisor.inputs import InputError, body_from_query, parse_recommendation_request, query_from_body
from advisor.services import scenario_search
from quotes import access, files, numbers, pdf, snapshot
from quotes.drafting import NothingToQuoteError
from quotes.forms import EditableLine, NewQuoteForm, RevisionForm, line_forms
from quotes.models import Basis, QuoteRevision
from quotes.paper import DJANGO_LANGUAGES, line_numbers, paper_of
from quotes.services import (
    IssueRefusedError,
    StaleEditError,
    issue_faults,
    quote_create_from_recommendation,
    quote_edit,
    quote_issue,
)
from quotes.states import Action, State, TransitionError
from quotes.views.guards import actor, desk


@desk
@require_http_methods(["GET", "POST"])
def quote_new(request: HttpRequest) -> HttpResponse:
    """The draft of a sizing: the query string is that of the sizing page, with `basis`."""
    if not access.may_create(request.user):
        raise Http404("No such page.")
    basis = request.GET.get("basis", "")
    if basis not in Basis.values:
        basis = Basis.RENTAL
    try:
        answers, query = _answers(request)
    except InputError as error:
        return render(
            request, "quotes/new_refused.html", {"reasons": [str(f.message) for f in error.errors]}, status=422
        )
    language = request.LANGUAGE_CODE if request.LANGUAGE_CODE == "en" else "zh-Hans"
    answer = answers["en" if language == "en" else "zh-Hans"]
    form = NewQuoteForm(request.POST or None, initial={"language": language})
    if request.method == "POST" and form.is_valid():
        try:
            revision = quote_create_from_recommendation(
                actor=actor(request),
                answers=answers,
                basis=basis,
                language=form.cleaned_data["language"],
                customer=form.customer(),
                project=form.cleaned_data["project"],
                query=query,
                creation_key=form.cleaned_data["creation_key"],
            )
        except NothingToQuoteError as error:
            return render(request, "quotes/new_refused.html", {"reasons": error.reasons, "query": query}, status=422)
        messages.success(request, _("Draft made. Check lines and customer, then issue it."))
        return redirect(revision.quote)
    configuration = answer["recommended"]
    prices = configuration["prices"][basis] if configuration else None  # type: ignore[literal-required]
    if configuration is None or prices is None:
        source = answer["problems"] if configuration is None else configuration["price_problems"]
        reasons = [problem["message"] for problem in source]
        return render(request, "quotes/new_refused.html", {"reasons": reasons, "query": query}, status=422)
    context = {"form": form, "configuration": configuration, "prices": prices, "basis": basis, "query": query}
    return render(request, "quotes/new.html", context, status=422 if form.errors else 200)


@desk
@require_safe
def quote_detail(request: HttpRequest, public_id: uuid.UUID, revision_index: int | None = None) -> HttpResponse:
    revision = access.revision_for(request.user, public_id, revision_index)
    return _detail(request, revision)


@desk
@require_POST
def quote_save(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Save the editor; invalid input comes back with everything that was typed."""
    revision = access.revision_for(request.user, public_id)
    form = RevisionForm(request.POST, instance=revision)
    lines = line_forms(list(revision.lines.all()), request.POST)
    wrong_lines = [row for row in lines if row.form and not row.form.is_valid()]
    if form.is_valid() and not wrong_lines:
        try:
            quote_edit(
                actor=actor(request),
                revision=revision,
                expected_version=form.cleaned_data["expected_version"],
                fields=form.edits(),
                lines=[row.form.edit() for row in lines if row.form],
            )
        except StaleEditError:
            form.add_error(None, _("Someone else saved this draft meanwhile. Open it again and repeat your change."))
            return _detail(request, revision, form=form, lines=lines, status=409)
        except ValidationError as error:
            form.add_error(None, error.messages)
            return _detail(request, revision, form=form, lines=lines, status=422)
        messages.success(request, _("Saved."))
        return redirect(revision.quote)
    return _detail(request, revision, form=form, lines=lines, status=422)


@desk
@require_http_methods(["GET", "POST"])
def quote_issue_page(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """What issuing will do, in numbers, or what stands against it; POST does it."""
    revision = access.revision_for(request.user, public_id)
    state = revision.effective_state(timezone.now())
    if request.method == "POST" and state in {State.ISSUED, State.SENT}:  # the second click of a double click
        return redirect(revision)
    if (Action.ISSUE not in access.open_actions(cast(User, request.user), revision)) and request.method == "GET":
        raise TransitionError(state, Action.ISSUE)
    lines = list(revision.lines.all())
    faults = issue_faults(revision, lines, timezone.now())
    context = {"revision": revision, "faults": faults, "paper": paper_of(snapshot.build(revision, lines))}
    if request.method == "GET":
        return render(request, "quotes/issue.html", context)
    version = request.POST.get("expected_version", "")
    try:
        issued = quote_issue(
            actor=actor(request),
            revision=revision,
            expected_version=int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0,
        )
    except IssueRefusedError as error:
        return render(request, "quotes/issue.html", context | {"faults": error.faults}, status=422)
    except StaleEditError:
        stale = _("The draft was changed since this page was opened. Read it again, then issue it.")
        return render(request, "quotes/issue.html", context | {"stale": stale}, status=409)
    except pdf.PdfUnavailableError as error:
        return render(request, "quotes/issue.html", context | {"stale": str(error)}, status=503)
    except (numbers.SeriesBusyError, numbers.NumberLostError):
        busy = _("Other quotes are being issued right now. Nothing was changed; issue it again in a moment.")
        response = render(request, "quotes/issue.html", context | {"stale": busy}, status=503)
        response["Retry-After"] = "10"
        return response
    messages.success(request, _("Issued as %(number)s.") % {"number": issued.number})
    return redirect(issued)


@desk
@require_safe
def quote_pdf(request: HttpRequest, public_id: uuid.UUID, revision_index: int) -> HttpResponse:
    """The stored bytes of an issued quote; a draft is made on the spot, with its watermark."""
    revision = access.revision_for(request.user, public_id, revision_index)
    try:
        return files.pdf_response(revision)
    except pdf.PdfUnavailableError as error:
        return render(request, "quotes/pdf_unavailable.html", {"message": str(error)}, status=503)


def _answers(request: HttpRequest) -> tuple[dict[str, RecommendationAnswer], str]:
    """The recommendation of the query string in both languages, and its canonical query."""
    body = body_from_query(request.GET)
    checked = parse_recommendation_request(body)
    answers = {}
    for language, code in DJANGO_LANGUAGES.items():
        with translation.override(code):
            answers[language] = scenario_search(checked=checked)
    return answers, query_from_body(body)


def _line_errors(editor: Sequence[tuple[int | None, EditableLine]]) -> list[dict[str, Any]]:
    """What is wrong in the lines, for the summary above the form."""
    return [
        {"number": number, "name": row.line.sku or row.line.name_en, "field": field, "error": error}
        for number, row in editor
        if row.form
        for field in row.form
        for error in field.errors
    ]


def _detail(
    request: HttpRequest,
    revision: QuoteRevision,
    *,
    form: RevisionForm | None = None,
    lines: list[EditableLine] | None = None,
    status: int = 200,
) -> HttpResponse:
    actions = access.open_actions(cast(User, request.user), revision)
    is_editable = Action.EDIT in actions
    rows = list(revision.lines.all())
    content = snapshot.parse(revision.snapshot) if revision.is_frozen else snapshot.build(revision, rows)
    paper = paper_of(content)
    shown = "en" if request.LANGUAGE_CODE == "en" else "zh-Hans"
    now = timezone.now()
    printed = line_numbers(content)
    editor = [(printed.get(row.line.position), row) for row in lines or line_forms(rows)] if is_editable else []
    wrong = _line_errors(editor) if status != 200 else []
    context = {
        "revision": revision,
        "quote": revision.quote,
        "state": revision.effective_state(now),
        "actions": actions,
        "paper": paper,
        "languages": (shown,),
        "form": form or (RevisionForm(instance=revision) if is_editable else None),
        "lines": editor or None,
        "line_errors": wrong,
        "error_count": len(wrong) + (len(form.errors) if form else 0),
        "faults": issue_faults(revision, rows, now) if is_editable else (),
        "revisions": revision.quote.revisions.only("revision_index", "number", "state", "quote", "expires_at"),
        "timeline": revision.quote.audit_entries.select_related("actor", "revision"),
        "query": content["sizing"].get("query", ""),
        "links": revision.links.filter(revoked_at__isnull=True) if revision.is_frozen else (),
    }
    return render(request, "quotes/detail.html", context, status=status)

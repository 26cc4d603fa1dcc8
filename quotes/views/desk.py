"""The desk: a draft from a recommendation or by hand, its issue, its PDF, two revisions compared."""

from __future__ import annotations

import uuid
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone, translation
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from advisor.answers import RecommendationAnswer
from advisor.inputs import InputError, body_from_query, parse_recommendation_request, query_from_body
from advisor.models import Scenario
from advisor.scenarios import scenario_asking
from advisor.services import scenario_search
from catalog.services import price_book_on
from quotes import access, files, numbers, pdf, snapshot
from quotes.comparing import compared
from quotes.drafting import NothingToQuoteError
from quotes.forms import HandQuoteForm, NewQuoteForm
from quotes.models import AcceptanceProof, Basis
from quotes.paper import paper_of
from quotes.price_choices import price_book_json
from quotes.services import (
    IssueRefusedError,
    StaleEditError,
    approvals_needed,
    issue_faults,
    quote_create,
    quote_create_from_recommendation,
    quote_issue,
)
from quotes.states import Action, State, TransitionError
from quotes.step_effects import effects_of
from quotes.views.guards import actor, desk
from quotes.wording import DJANGO_LANGUAGES

SCENARIO = "scenario"  # name in the query string


@desk
@require_http_methods(["GET", "POST"])
def quote_new(request: HttpRequest) -> HttpResponse:
    """The draft of a sizing: the query string is that of the sizing page, with `basis` and its saved `scenario`."""
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
    scenario = _scenario(request)
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
                scenario=scenario,
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
    context["scenario"] = scenario
    return render(request, "quotes/new.html", context, status=422 if form.errors else 200)


@desk
@require_http_methods(["GET", "POST"])
def quote_new_by_hand(request: HttpRequest) -> HttpResponse:
    """A draft without a sizing: its lines are made in the editor."""
    if not access.may_create(request.user):
        raise Http404("No such page.")
    language = request.LANGUAGE_CODE if request.LANGUAGE_CODE == "en" else "zh-Hans"
    form = HandQuoteForm(request.POST or None, initial={"language": language})
    if request.method == "POST" and form.is_valid():
        try:
            revision = quote_create(
                actor=actor(request),
                lines=(),
                content=form.content() | {"price_book": _book_in_force(form.cleaned_data)},
                creation_key=form.cleaned_data["creation_key"],
            )
        except ValidationError as error:
            form.add_error(None, error.messages)
        else:
            messages.success(request, _("Draft made. Add its lines."))
            return redirect(revision.quote)
    return render(request, "quotes/new_by_hand.html", {"form": form}, status=422 if form.errors else 200)


def _book_in_force(choice: dict[str, Any]) -> dict[str, Any]:
    book = price_book_on(basis=choice["basis"], currency=choice["currency"], on=timezone.localdate())
    return price_book_json(book) if book else {}


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
    context = {
        "revision": revision,
        "faults": faults,
        "needs": approvals_needed(revision, lines) if state is State.DRAFT else (),
        "effects": effects_of(Action.ISSUE, revision, lines, timezone.now()),
        "paper": paper_of(snapshot.build(revision, lines)),
    }
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
def quote_comparison(request: HttpRequest, public_id: uuid.UUID, revision_index: int, other_index: int) -> HttpResponse:
    """Two revisions of one quote: what came, went and changed."""
    pair = [access.revision_for(request.user, public_id, index) for index in sorted({revision_index, other_index})]
    if len(pair) < 2:
        raise Http404("A revision is compared with another one.")
    contents = [
        snapshot.parse(row.snapshot) if row.is_frozen else snapshot.build(row, list(row.lines.all())) for row in pair
    ]
    context = {"before": pair[0], "after": pair[1], "comparison": compared(*contents), "quote": pair[0].quote}
    return render(request, "quotes/comparison.html", context)


@desk
@require_safe
def quote_proof(request: HttpRequest, public_id: uuid.UUID, revision_index: int) -> HttpResponse:
    """The paper that proves a recorded acceptance, as it was uploaded; always a download."""
    revision = access.revision_for(request.user, public_id, revision_index)
    proof = get_object_or_404(AcceptanceProof, revision=revision)
    response = HttpResponse(bytes(proof.content), content_type=proof.media_type)
    response["Content-Disposition"] = content_disposition_header(True, proof.name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    return response


@desk
@require_safe
def quote_pdf(request: HttpRequest, public_id: uuid.UUID, revision_index: int) -> HttpResponse:
    """The stored bytes of an issued quote; a draft is made on the spot, with its watermark."""
    revision = access.revision_for(request.user, public_id, revision_index)
    try:
        return files.pdf_response(revision)
    except pdf.PdfUnavailableError as error:
        return render(request, "quotes/pdf_unavailable.html", {"message": str(error)}, status=503)


def _scenario(request: HttpRequest) -> Scenario | None:
    """The saved scenario named in the link, when it is the user's and asks this very question."""
    return scenario_asking(request.user, request.GET.get(SCENARIO, ""), request.GET)


def _answers(request: HttpRequest) -> tuple[dict[str, RecommendationAnswer], str]:
    """The recommendation of the query string in both languages, and its canonical query."""
    body = body_from_query(request.GET, ignored=(SCENARIO,))
    checked = parse_recommendation_request(body)
    answers = {}
    for language, code in DJANGO_LANGUAGES.items():
        with translation.override(code):
            answers[language] = scenario_search(checked=checked)
    return answers, query_from_body(body)

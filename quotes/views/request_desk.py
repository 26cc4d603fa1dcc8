"""Requests at the desk: list, one request, its steps."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from advisor.inputs import InputError
from quotes import access
from quotes.carried_inputs import carried_inputs
from quotes.drafting import NothingToQuoteError
from quotes.models import QuoteRequest, RequestState
from quotes.request_access import request_for, visible_requests
from quotes.request_forms import RequestAssignForm, RequestCloseForm, RequestDraftForm, RequestNoteForm
from quotes.request_words import answer_sentence
from quotes.services import requests as services
from quotes.sizing_basis import answers_of_query, reasons_against_draft
from quotes.states import Role
from quotes.views.guards import actor, desk

PAGE_SIZE = 25


@desk
@require_safe
def request_list(request: HttpRequest) -> HttpResponse:
    """The newest first; `?state=` narrows it."""
    if not access.may_create(request.user):
        raise Http404("No such page.")
    rows = visible_requests(request.user).defer("answers", "message", "note")
    state = request.GET.get("state", "")
    if state in RequestState.values:
        rows = rows.filter(state=state)
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    states = [("", _("All")), *RequestState.choices]
    return render(request, "requests/list.html", {"page": page, "state": state, "states": states})


@desk
@require_safe
def request_detail(request: HttpRequest, reference: str) -> HttpResponse:
    return _detail(request, request_for(request.user, reference))


@desk
@require_POST
def request_take_step(request: HttpRequest, reference: str) -> HttpResponse:
    found = request_for(request.user, reference)
    try:
        services.request_take(actor=actor(request), request=found)
    except services.RequestClosedError:
        return _detail(request, found, refused=_("Someone else took this request meanwhile."), status=409)
    messages.success(request, _("The request is yours."))
    return redirect(found)


@desk
@require_POST
def request_assign_step(request: HttpRequest, reference: str) -> HttpResponse:
    found = request_for(request.user, reference)
    form = RequestAssignForm(request.POST)
    if not form.is_valid():
        return _detail(request, found, forms={"assign_form": form}, status=422)
    assignee = form.cleaned_data["assignee"]
    services.request_take(actor=actor(request), request=found, assignee=assignee)
    messages.success(request, _("Given to %(name)s.") % {"name": assignee.get_username()})
    return redirect(found)


@desk
@require_POST
def request_note_step(request: HttpRequest, reference: str) -> HttpResponse:
    found = request_for(request.user, reference)
    form = RequestNoteForm(request.POST)
    if not form.is_valid():
        return _detail(request, found, forms={"note_form": form}, status=422)
    services.request_note(actor=actor(request), request=found, note=form.cleaned_data["note"])
    messages.success(request, _("Saved."))
    return redirect(found)


@desk
@require_POST
def request_close_step(request: HttpRequest, reference: str) -> HttpResponse:
    found = request_for(request.user, reference)
    form = RequestCloseForm(request.POST)
    if not form.is_valid():
        return _detail(request, found, forms={"close_form": form}, status=422)
    services.request_close(actor=actor(request), request=found, reason=form.cleaned_data["reason"])
    messages.success(request, _("The request is closed."))
    return redirect(found)


@desk
@require_POST
def request_draft_step(request: HttpRequest, reference: str) -> HttpResponse:
    """The draft with everything carried over, from today's figures or from those that the customer saw."""
    found = request_for(request.user, reference)
    form = RequestDraftForm(request.POST)
    if not form.is_valid():
        return _detail(request, found, forms={"draft_form": form}, status=422)
    try:
        answers = found.answers if form.cleaned_data["figures"] == "then" else answers_of_query(found.query)[0]
        revision = services.request_draft(
            actor=actor(request),
            request=found,
            answers=answers,
            creation_key=form.cleaned_data["creation_key"],
        )
    except NothingToQuoteError:
        reasons = reasons_against_draft(answers[_language(request)], found.basis)
        return _detail(request, found, refused=" ".join(reasons), status=422)
    except InputError as error:
        return _detail(request, found, refused=" ".join(str(fault.message) for fault in error.errors), status=422)
    messages.success(request, _("Draft made. Check lines and customer, then issue it."))
    return redirect(revision.quote)


def _detail(
    request: HttpRequest,
    found: QuoteRequest,
    *,
    forms: dict[str, forms.Form] | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    found = visible_requests(request.user).get(pk=found.pk)
    shown = _language(request)
    context: dict[str, Any] = {
        "found": found,
        "sentence": answer_sentence(found.answers, shown),
        "answer": found.answers[shown],
        "inputs": carried_inputs(parse_qsl(found.query)),
        "refused": refused,
        "mails": found.mails.all(),
        "note_form": RequestNoteForm(initial={"note": found.note}, auto_id="id_note_%s"),
        "close_form": RequestCloseForm(auto_id="id_close_%s"),
        "draft_form": RequestDraftForm(auto_id="id_draft_%s"),
        "can_assign": Role.SALES_MANAGER in access.roles_of(request.user),
        "assign_form": RequestAssignForm(auto_id="id_assign_%s"),
        "today": _today(found, shown),
        **(forms or {}),
    }
    return render(request, "requests/detail.html", context, status=status)


def _language(request: HttpRequest) -> str:
    return "en" if getattr(request, "LANGUAGE_CODE", "") == "en" else "zh-Hans"


def _today(found: QuoteRequest, language: str) -> dict[str, Any] | None:
    """What the same question is answered today, where that may differ from then."""
    if found.quote_id or found.erased_at:
        return None
    try:
        answers, _query = answers_of_query(found.query)
    except InputError:
        return None
    answer = answers["en" if language == "en" else "zh-Hans"]
    configuration = answer["recommended"]
    block = configuration["prices"][found.basis] if configuration else None  # type: ignore[literal-required]
    return {
        "sentence": answer_sentence(answers, language),
        "total": block["total"] if block else None,
        "engine_version": answer["engine_version"],
        "catalog_revision": answer["catalog_revision"],
    }

"""The page on which a visitor asks for a quote. The sizing comes with the address, the contact with the form."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from advisor.inputs import InputError
from config.visitors import client_address
from quotes.carried_inputs import carried_inputs
from quotes.models import Basis, QuoteRequest
from quotes.request_forms import RequestForm
from quotes.request_words import answer_sentence
from quotes.services.requests import TooManyRequestsError, request_receive
from quotes.sizing_basis import answers_of_query
from quotes.views.guards import private

MAX_BODY_BYTES = 65_536


@private
@require_http_methods(["GET", "HEAD", "POST"])
def quote_request(request: HttpRequest) -> HttpResponse:
    """`/request-quote/?<the sizing page's own query string>`."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        return _refused(request, [_("The request is over 64 KiB. Write a shorter message.")], status=413)
    try:
        answers, query = answers_of_query(request.GET.urlencode())
    except InputError as error:
        return _refused(request, [str(fault.message) for fault in error.errors], status=422)
    language = "en" if getattr(request, "LANGUAGE_CODE", "") == "en" else "zh-Hans"
    basis = request.GET.get("basis", "")
    form = RequestForm(
        request.POST if request.method == "POST" else None,
        basis=basis if basis in Basis.values else Basis.RENTAL,
    )
    context: dict[str, Any] = {
        "form": form,
        "query": query,
        "sentence": answer_sentence(answers, language),
        "answer": answers[language],
        "inputs": carried_inputs(parse_qsl(query)),
    }
    if request.method != "POST":
        return render(request, "requests/request.html", context)
    if not form.is_valid():
        return render(request, "requests/request.html", context, status=422)
    try:
        stored = request_receive(
            data=form.request_data(language), answers=answers, query=query, address=client_address(request)
        )
    except TooManyRequestsError as error:
        form.add_error(None, _("Too many requests came from here. Nothing is lost: send it again in an hour."))
        response = render(request, "requests/request.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
        response["Retry-After"] = str(int(error.retry_after.total_seconds()))
        return response
    return redirect("request-thanks", reference=stored.reference)


@private
@require_safe
def request_thanks(request: HttpRequest, reference: str) -> HttpResponse:
    """The reference, and what happens next; nothing of what was written."""
    stored = QuoteRequest.objects.filter(reference=reference).only("reference", "query").first()
    if stored is None:
        raise Http404("No such request.")
    return render(request, "requests/thanks.html", {"reference": stored.reference, "query": stored.query})


def _refused(request: HttpRequest, reasons: list[str], *, status: int) -> HttpResponse:
    return render(request, "requests/refused.html", {"reasons": reasons}, status=status)

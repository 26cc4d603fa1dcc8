"""The customer's copy behind a secret link: read, download, accept, decline. GET and HEAD change nothing.

The link lives as long as the revision can be answered or looked back at; a replaced or withdrawn one shows no prices.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from config.visitors import client_address
from quotes import access, files, snapshot
from quotes.forms import AcceptForm, DeclineForm
from quotes.models import CustomerLink, QuoteRevision, link_digest
from quotes.paper import paper_of
from quotes.services import quote_answer_by_customer
from quotes.states import LIVE_STATES, Action, State, TransitionError
from quotes.views.guards import private

CLOSED_STATES = frozenset({State.SUPERSEDED, State.WITHDRAWN})


def _revision(token: str) -> QuoteRevision:
    """The revision of an open link; guessed, revoked and mistyped ones are all the same 404."""
    links = CustomerLink.objects.select_related("revision__quote", "revision__seller")
    link = get_object_or_404(links, token_sha256=link_digest(token), revoked_at__isnull=True)
    return link.revision


@private
@require_safe
def customer_quote(request: HttpRequest, token: str) -> HttpResponse:
    return _page(request, token, _revision(token))


@private
@require_safe
def customer_pdf(request: HttpRequest, token: str) -> HttpResponse:
    revision = _revision(token)
    if revision.effective_state(timezone.now()) in CLOSED_STATES:
        return _page(request, token, revision)
    return files.pdf_response(revision)


@private
@require_POST
def customer_accept(request: HttpRequest, token: str) -> HttpResponse:
    form = AcceptForm(request.POST)
    return _answer(request, token, Action.ACCEPT, form)


@private
@require_POST
def customer_decline(request: HttpRequest, token: str) -> HttpResponse:
    form = DeclineForm(request.POST)
    return _answer(request, token, Action.DECLINE, form)


def _answer(request: HttpRequest, token: str, action: Action, form: AcceptForm | DeclineForm) -> HttpResponse:
    revision = _revision(token)
    shown = {"accept_form": form} if action is Action.ACCEPT else {"decline_form": form}
    if not form.is_valid():
        return _page(request, token, revision, forms=shown, status=422)
    statement = form.statement()
    actor = access.Actor(
        text=str(statement["name"])[:200],
        request_id=getattr(request, "request_id", ""),
        address=client_address(request) or None,
    )
    evidence = {
        **statement,
        "at": timezone.now().isoformat(),
        "address": actor.address or "",
        "user_agent": request.headers.get("User-Agent", "")[:300],
        "link": link_digest(token)[:16],
    }
    try:
        quote_answer_by_customer(
            actor=actor,
            revision=revision,
            action=action,
            pdf_sha256=form.cleaned_data["pdf_sha256"],
            statement=evidence,
        )
    except TransitionError:
        refused = _("This quotation can no longer be answered here. Please read its state above.")
        return _page(request, token, _revision(token), refused=refused, status=409)
    return redirect("customer:quote", token=token)


def _page(
    request: HttpRequest,
    token: str,
    revision: QuoteRevision,
    *,
    forms: dict[str, AcceptForm | DeclineForm] | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    state = revision.effective_state(timezone.now())
    if state not in LIVE_STATES | {State.ACCEPTED, State.DECLINED, State.EXPIRED, *CLOSED_STATES}:
        raise Http404("No such quote.")
    content = snapshot.parse(revision.snapshot)
    language = "en" if getattr(request, "LANGUAGE_CODE", "") == "en" else "zh-Hans"
    initial = {"pdf_sha256": revision.pdf_sha256}
    context = {
        "token": token,
        "revision": revision,
        "state": state,
        "is_closed": state in CLOSED_STATES,
        "can_answer": state in LIVE_STATES,
        "paper": paper_of(content),
        "languages": (language,),
        "refused": refused,
        "accept_form": AcceptForm(initial=initial, auto_id="id_accept_%s"),
        "decline_form": DeclineForm(initial=initial, auto_id="id_decline_%s"),
        **(forms or {}),
    }
    if state in CLOSED_STATES:
        status = 410
    response = render(request, "quotes/customer.html", context, status=status)
    # the secret address goes to no other site; `no-referrer` would make browsers post `Origin: null`, which is refused
    response["Referrer-Policy"] = "same-origin"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response

"""Steps in a quote's life that the desk takes: one page that says what will happen, one POST that does it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from quotes import access, services
from quotes.forms import NoReasonForm, ReasonForm
from quotes.models import QuoteRevision
from quotes.states import Action
from quotes.views.guards import actor, desk


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the desk; `run` returns the revision to show afterwards."""

    title: Promise
    effect: Promise
    button: Promise
    needs_reason: bool
    run: Callable[[access.Actor, QuoteRevision, str], QuoteRevision]


STEPS: dict[Action, Step] = {
    Action.CANCEL: Step(
        title=gettext_lazy("Cancel the draft"),
        effect=gettext_lazy("The draft can no longer be edited or issued. It stays readable."),
        button=gettext_lazy("Cancel the draft"),
        needs_reason=False,
        run=lambda actor, revision, reason: services.quote_cancel(actor=actor, revision=revision, reason=reason),
    ),
    Action.MARK_SENT: Step(
        title=gettext_lazy("Record the hand-over"),
        effect=gettext_lazy("The quote counts as sent. Say to whom and by which way it went."),
        button=gettext_lazy("Record as sent"),
        needs_reason=True,
        run=lambda actor, revision, reason: services.quote_mark_sent(actor=actor, revision=revision, reason=reason),
    ),
    Action.ACCEPT: Step(
        title=gettext_lazy("Record the acceptance"),
        effect=gettext_lazy("The quote counts as accepted and can no longer be revised. Say what proves it."),
        button=gettext_lazy("Record as accepted"),
        needs_reason=True,
        run=lambda actor, revision, reason: services.quote_accept(actor=actor, revision=revision, reason=reason),
    ),
    Action.DECLINE: Step(
        title=gettext_lazy("Record the refusal"),
        effect=gettext_lazy("The quote counts as declined. Give the customer's reason."),
        button=gettext_lazy("Record as declined"),
        needs_reason=True,
        run=lambda actor, revision, reason: services.quote_decline(actor=actor, revision=revision, reason=reason),
    ),
    Action.WITHDRAW: Step(
        title=gettext_lazy("Withdraw the quote"),
        effect=gettext_lazy("The customer's links close and nobody can accept it any more. The number stays used."),
        button=gettext_lazy("Withdraw"),
        needs_reason=True,
        run=lambda actor, revision, reason: services.quote_withdraw(actor=actor, revision=revision, reason=reason),
    ),
    Action.REVISE: Step(
        title=gettext_lazy("Make a revision"),
        effect=gettext_lazy("A draft with the same lines and prices. This revision stands until the draft is issued."),
        button=gettext_lazy("Make the draft"),
        needs_reason=False,
        run=lambda actor, revision, reason: services.quote_revise(actor=actor, revision=revision),
    ),
    Action.DUPLICATE: Step(
        title=gettext_lazy("Duplicate the quote"),
        effect=gettext_lazy("A new draft with the same customer, lines and prices, with today's terms and validity."),
        button=gettext_lazy("Make the draft"),
        needs_reason=False,
        run=lambda actor, revision, reason: services.quote_duplicate(actor=actor, revision=revision),
    ),
}


@desk
@require_http_methods(["GET", "POST"])
def quote_step(request: HttpRequest, public_id: uuid.UUID, action: str) -> HttpResponse:
    step = STEPS.get(Action(action)) if action in set(Action) else None
    if step is None:
        raise Http404("No such step.")
    revision = access.revision_for(request.user, public_id)
    services.require_open(actor(request), Action(action), revision)
    form: forms.Form = (ReasonForm if step.needs_reason else NoReasonForm)(request.POST or None)
    if request.method == "POST" and (form.is_valid() or not step.needs_reason):
        reason = form.cleaned_data.get("reason", "") if step.needs_reason else ""
        after = step.run(actor(request), revision, reason)
        messages.success(request, _("Done."))
        return redirect(after.quote if after.pk != revision.pk else after)
    status = 422 if form.errors else 200
    return render(request, "quotes/step.html", {"step": step, "revision": revision, "form": form}, status=status)


@desk
@require_POST
def quote_share_link(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """A link for the customer; its address is shown this once."""
    revision = access.revision_for(request.user, public_id)
    token = services.quote_share(actor=actor(request), revision=revision)
    address = request.build_absolute_uri(reverse("customer:quote", args=[token]))
    context = {"revision": revision, "address": address, "now": timezone.now()}
    return render(request, "quotes/shared.html", context)


@desk
@require_POST
def quote_unshare_links(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    revision = access.revision_for(request.user, public_id)
    closed = services.quote_unshare(actor=actor(request), revision=revision)
    messages.success(request, _("%(count)d links closed.") % {"count": closed})
    return redirect(revision)

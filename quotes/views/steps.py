"""Steps of the desk in a quote's life: a page that says in numbers what will happen, and a POST that does it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from quotes import access, services, step_forms
from quotes.models import QuoteRevision
from quotes.states import Action, State
from quotes.step_effects import Effect, effects_of
from quotes.views.guards import actor, desk

Run = Callable[[access.Actor, QuoteRevision, Mapping[str, Any]], QuoteRevision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the desk; `run` takes what the form holds and returns the revision to show afterwards."""

    title: Promise
    effect: Promise
    button: Promise
    form: type[forms.Form]
    run: Run


def _with_reason(service: Callable[..., QuoteRevision]) -> Run:
    return lambda actor, revision, data: service(actor=actor, revision=revision, reason=data["reason"])


def _accept(actor: access.Actor, revision: QuoteRevision, data: Mapping[str, Any]) -> QuoteRevision:
    return services.quote_accept(actor=actor, revision=revision, reason=data["reason"], proof=data["proof"])


def _decline(actor: access.Actor, revision: QuoteRevision, data: Mapping[str, Any]) -> QuoteRevision:
    code = data["reason_code"]
    return services.quote_decline(actor=actor, revision=revision, reason=data["reason"], reason_code=code)


def _approve(actor: access.Actor, revision: QuoteRevision, data: Mapping[str, Any]) -> QuoteRevision:
    return services.quote_approve(
        actor=actor, revision=revision, comment=data["comment"], expected_sha256=data["expected_sha256"]
    )


STEPS: dict[Action, Step] = {
    Action.SUBMIT: Step(
        title=gettext_lazy("Ask for approval"),
        effect=gettext_lazy(
            "The draft goes to those who must agree. A change of price, term, tax or validity voids it."
        ),
        button=gettext_lazy("Ask for approval"),
        form=step_forms.YesForm,
        run=lambda actor, revision, data: services.quote_submit(actor=actor, revision=revision),
    ),
    Action.RECALL: Step(
        title=gettext_lazy("Take the draft back"),
        effect=gettext_lazy("Open approvals close and the quote is a draft again."),
        button=gettext_lazy("Take it back"),
        form=step_forms.OptionalReasonForm,
        run=_with_reason(services.quote_recall),
    ),
    Action.APPROVE: Step(
        title=gettext_lazy("Approve the quote"),
        effect=gettext_lazy("You agree to exactly what is listed here. When nobody else is asked, it can be issued."),
        button=gettext_lazy("Approve"),
        form=step_forms.ApproveForm,
        run=_approve,
    ),
    Action.REJECT: Step(
        title=gettext_lazy("Reject the quote"),
        effect=gettext_lazy("The quote goes back to its author as a draft, with your comment."),
        button=gettext_lazy("Reject"),
        form=step_forms.RejectForm,
        run=lambda actor, revision, data: services.quote_reject(
            actor=actor, revision=revision, comment=data["comment"]
        ),
    ),
    Action.CANCEL: Step(
        title=gettext_lazy("Cancel the draft"),
        effect=gettext_lazy("The draft can no longer be edited or issued. It stays readable."),
        button=gettext_lazy("Cancel the draft"),
        form=step_forms.OptionalReasonForm,
        run=_with_reason(services.quote_cancel),
    ),
    Action.MARK_SENT: Step(
        title=gettext_lazy("Record the hand-over"),
        effect=gettext_lazy("The quote counts as sent. Say to whom and by which way it went."),
        button=gettext_lazy("Record as sent"),
        form=step_forms.ReasonForm,
        run=_with_reason(services.quote_mark_sent),
    ),
    Action.ACCEPT: Step(
        title=gettext_lazy("Record the acceptance"),
        effect=gettext_lazy("The quote counts as accepted and can no longer be revised. Say what proves it."),
        button=gettext_lazy("Record as accepted"),
        form=step_forms.AcceptedForm,
        run=_accept,
    ),
    Action.DECLINE: Step(
        title=gettext_lazy("Record the refusal"),
        effect=gettext_lazy("The quote counts as declined. Give the customer's reason."),
        button=gettext_lazy("Record as declined"),
        form=step_forms.DeclinedForm,
        run=_decline,
    ),
    Action.WITHDRAW: Step(
        title=gettext_lazy("Withdraw the quote"),
        effect=gettext_lazy("The customer's links close and nobody can accept it any more. The number stays used."),
        button=gettext_lazy("Withdraw"),
        form=step_forms.ReasonForm,
        run=_with_reason(services.quote_withdraw),
    ),
    Action.REVISE: Step(
        title=gettext_lazy("Make a revision"),
        effect=gettext_lazy("A draft with the same lines and prices. This revision stands until the draft is issued."),
        button=gettext_lazy("Make the draft"),
        form=step_forms.YesForm,
        run=lambda actor, revision, data: services.quote_revise(actor=actor, revision=revision),
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
    form = step.form(request.POST or None, request.FILES or None, initial=_initial(Action(action), revision))
    faults: tuple[services.Fault, ...] = ()
    status = 200
    if request.method == "POST":
        form = step.form(request.POST, request.FILES)
        status = 422
        if form.is_valid():
            try:
                after = step.run(actor(request), revision, form.cleaned_data)
            except ValidationError as error:
                form.add_error(None, error.messages)
            except services.IssueRefusedError as error:
                faults = error.faults
            except services.StaleEditError:
                form.add_error(None, _("The draft changed since this page was opened. Read it again, then decide."))
                status = 409
            else:
                messages.success(request, _done(Action(action), after))
                return redirect(after.quote if after.pk != revision.pk else after)
    return _page(request, step, Action(action), revision, form, faults=faults, status=status)


@desk
@require_http_methods(["GET", "POST"])
def quote_duplicate_page(request: HttpRequest, public_id: uuid.UUID, revision_index: int) -> HttpResponse:
    """A copy as a new quote, at today's prices or at the old ones; both are shown line by line before."""
    revision = access.revision_for(request.user, public_id, revision_index)
    services.require_open(actor(request), Action.DUPLICATE, revision)
    form = step_forms.DuplicateForm(request.POST or None, initial={"creation_key": uuid.uuid4()})
    if request.method == "POST" and form.is_valid():
        draft = services.quote_duplicate(
            actor=actor(request),
            revision=revision,
            creation_key=form.cleaned_data["creation_key"],
            reprice=form.cleaned_data["prices"] == "today",
            manual_positions=_ticked(request),
        )
        messages.success(request, _("Draft made from %(origin)s.") % {"origin": revision.number or _("the draft")})
        return redirect(draft.quote)
    context = {"revision": revision, "form": form, "changes": services.reprice_preview(revision)}
    return render(request, "quotes/duplicate.html", context, status=422 if form.errors else 200)


@desk
@require_http_methods(["GET", "POST"])
def quote_reprice_page(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Today's prices for a draft, shown beside its own before anything changes."""
    revision = access.revision_for(request.user, public_id)
    services.require_open(actor(request), Action.EDIT, revision)
    stale = ""
    if request.method == "POST":
        version = request.POST.get("expected_version", "")
        try:
            services.quote_reprice(
                actor=actor(request),
                revision=revision,
                expected_version=int(version) if version.isdecimal() and len(version) < 10 else 0,
                manual_positions=_ticked(request),
            )
        except services.StaleEditError:
            stale = _("The draft was changed since this page was opened. Look at the prices again.")
        else:
            messages.success(request, _("The draft has today's prices."))
            return redirect(revision.quote)
    context = {"revision": revision, "changes": services.reprice_preview(revision), "stale": stale}
    return render(request, "quotes/reprice.html", context, status=409 if stale else 200)


@desk
@require_http_methods(["GET", "POST"])
def quote_export_check(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """The statement about controlled parts, without which no such quote is issued."""
    revision = access.revision_for(request.user, public_id)
    services.require_open(actor(request), Action.EDIT, revision)
    form = step_forms.ExportForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.quote_acknowledge_export(
            actor=actor(request), revision=revision, statement=form.cleaned_data["statement"]
        )
        messages.success(request, _("The export check is recorded."))
        return redirect(revision.quote)
    lines = [line for line in revision.lines.all() if line.export_note]
    context = {"revision": revision, "form": form, "lines": lines}
    return render(request, "quotes/export_check.html", context, status=422 if form.errors else 200)


@desk
@require_http_methods(["GET", "POST"])
def quote_share_link(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """A link for the customer; its address is shown this once."""
    revision = access.revision_for(request.user, public_id)
    services.require_open(actor(request), Action.SHARE, revision)
    if request.method == "GET":
        return render(request, "quotes/share.html", {"revision": revision, "effects": _effects(Action.SHARE, revision)})
    token = services.quote_share(actor=actor(request), revision=revision)
    address = settings.PUBLIC_URL.rstrip("/") + reverse("customer:quote", args=[token])
    return render(request, "quotes/shared.html", {"revision": revision, "address": address})


@desk
@require_POST
def quote_unshare_links(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    revision = access.revision_for(request.user, public_id)
    closed = services.quote_unshare(actor=actor(request), revision=revision)
    messages.success(request, _("%(count)d links closed.") % {"count": closed})
    return redirect(revision)


@desk
@require_POST
def quote_shown_to_others(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Whether the other representatives may read this quote."""
    revision = access.revision_for(request.user, public_id)
    is_shared = request.POST.get("is_shared") == "on"
    services.quote_set_shared(actor=actor(request), revision=revision, is_shared=is_shared)
    shown, hidden = _("The other representatives can read this quote."), _("Only you and the managers can read it.")
    messages.success(request, shown if is_shared else hidden)
    return redirect(revision)


def _ticked(request: HttpRequest) -> list[int]:
    """Positions whose price was set by hand and is to be today's all the same."""
    return [int(text) for text in request.POST.getlist("manual") if text.isdecimal() and len(text) < 6]


def _initial(action: Action, revision: QuoteRevision) -> dict[str, Any]:
    if action is Action.APPROVE:
        return {"expected_sha256": services.content_sha256(revision, list(revision.lines.all()))}
    return {}


def _effects(action: Action, revision: QuoteRevision) -> list[Effect]:
    return effects_of(action, revision, list(revision.lines.all()), timezone.now())


def _done(action: Action, revision: QuoteRevision) -> str:
    """What was done, naming the quote."""
    if action is Action.SUBMIT:
        if revision.state == State.APPROVED:
            return _("Nothing needs approval: the quote can be issued.")
        return _("Sent to those who must agree.")
    if action is Action.APPROVE and revision.state == State.PENDING_APPROVAL:
        return _("Your approval is recorded. Others are still asked.")
    return _("Done: %(quote)s.") % {"quote": revision.number or revision.customer_name or _("the draft")}


def _page(
    request: HttpRequest,
    step: Step,
    action: Action,
    revision: QuoteRevision,
    form: forms.Form,
    *,
    faults: tuple[services.Fault, ...],
    status: int,
) -> HttpResponse:
    user = cast(User, request.user)
    context: dict[str, Any] = {
        "step": step,
        "revision": revision,
        "form": form,
        "faults": faults,
        "effects": _effects(action, revision),
    }
    if action is Action.SUBMIT:
        context["needs"] = services.approvals_needed(revision)
    if action in {Action.APPROVE, Action.REJECT}:
        context["requests"] = services.open_requests_for(user, revision)
    return render(request, "quotes/step.html", context, status=status)

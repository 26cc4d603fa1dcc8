"""Outgoing mail at the desk: what waits, went or failed, and sending a quote."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from quotes import access, services
from quotes.models import MailState
from quotes.request_access import visible_mails
from quotes.request_forms import MailQuoteForm
from quotes.services.mails import quote_mail
from quotes.services.sending import mail_retry
from quotes.states import Action
from quotes.views.guards import actor, desk

PAGE_SIZE = 50


@desk
@require_safe
def mail_list(request: HttpRequest) -> HttpResponse:
    if not access.may_create(request.user):
        raise Http404("No such page.")
    rows = visible_mails(request.user)
    state = request.GET.get("state", "")
    if state in MailState.values:
        rows = rows.filter(state=state)
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    states = [("", _("All")), *MailState.choices]
    return render(request, "requests/mails.html", {"page": page, "state": state, "states": states})


@desk
@require_POST
def mail_retry_step(request: HttpRequest, pk: int) -> HttpResponse:
    mail = get_object_or_404(visible_mails(request.user), pk=pk)
    mail_retry(actor=actor(request), mail=mail)
    mail.refresh_from_db()
    if mail.state == MailState.ACCEPTED:
        messages.success(request, _("The mail to %(recipient)s was sent.") % {"recipient": mail.recipient})
    else:
        messages.warning(request, _("The mail to %(recipient)s still did not go.") % {"recipient": mail.recipient})
    return redirect("mails")


@desk
@require_http_methods(["GET", "POST"])
def quote_mail_page(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """To whom the quote goes and what goes with it; POST sends it."""
    revision = access.revision_for(request.user, public_id)
    services.require_open(actor(request), Action.SHARE, revision)
    form = MailQuoteForm(request.POST or None, initial={"recipients": revision.contact_email})
    if request.method == "POST" and form.is_valid():
        mails = quote_mail(
            actor=actor(request),
            revision=revision,
            recipients=form.cleaned_data["recipients"],
            message=form.cleaned_data["message"],
        )
        for mail in mails:
            mail.refresh_from_db()
        accepted = sum(mail.state == MailState.ACCEPTED for mail in mails)
        if accepted == len(mails):
            text = ngettext("Sent to %(count)d recipient.", "Sent to %(count)d recipients.", accepted)
            messages.success(request, text % {"count": accepted})
        else:
            messages.warning(
                request,
                _("%(accepted)d of %(count)d mails went; the outbox says what happens to the others.")
                % {"accepted": accepted, "count": len(mails)},
            )
        return redirect(revision)
    status = 422 if form.errors else 200
    return render(request, "requests/mail_quote.html", {"form": form, "revision": revision}, status=status)

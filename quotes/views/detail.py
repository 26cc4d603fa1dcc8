"""One quote: its editor while it is a draft, its document, what stands before it, and what happened to it."""

from __future__ import annotations

import uuid
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.scenarios import scenarios_of
from quotes import access, snapshot
from quotes.comparing import sizing_differences
from quotes.editor import Editor
from quotes.models import QuoteLine, QuoteRevision
from quotes.paper import line_numbers, paper_of
from quotes.services import (
    ApprovalNeed,
    approvals_needed,
    content_sha256,
    controlled_skus,
    issue_faults,
    open_requests_for,
)
from quotes.states import OPEN_STATES, Action, State
from quotes.views.guards import desk


@desk
@require_safe
def quote_detail(request: HttpRequest, public_id: uuid.UUID, revision_index: int | None = None) -> HttpResponse:
    revision = access.revision_for(request.user, public_id, revision_index)
    return detail_page(request, revision)


def live_context(revision: QuoteRevision, lines: list[QuoteLine]) -> dict[str, Any]:
    """What a draft comes to, and what it needs before it goes out: of the stored draft, or of one in memory."""
    content = snapshot.build(revision, lines)
    return {
        "revision": revision,
        "paper": paper_of(content),
        "payments": content["payments"],
        "needs": _open_needs(revision, lines),
        "faults": issue_faults(revision, lines, timezone.now()),
    }


def _open_needs(revision: QuoteRevision, lines: list[QuoteLine]) -> tuple[ApprovalNeed, ...]:
    """What is still to be asked, and of what was asked already that which nobody can answer any more."""
    if not _is_asked_already(revision, lines):
        return approvals_needed(revision, lines)
    if revision.state != State.PENDING_APPROVAL:
        return ()
    return tuple(need for need in approvals_needed(revision, lines) if need.obstacle)


def _is_asked_already(revision: QuoteRevision, lines: list[QuoteLine]) -> bool:
    """Whether this very content waits for approval or has it; the page lists those requests apart."""
    if revision.state == State.APPROVED:
        return revision.approved_sha256 == content_sha256(revision, lines)
    if revision.state == State.PENDING_APPROVAL:
        newest = revision.approval_requests.filter(decision="pending").last()
        return newest is not None and newest.content_sha256 == content_sha256(revision, lines)
    return False


def detail_page(
    request: HttpRequest,
    revision: QuoteRevision,
    *,
    editor: Editor | None = None,
    extra: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    user = cast(User, request.user)
    actions = access.open_actions(user, revision)
    is_editable = Action.EDIT in actions
    rows = list(revision.lines.all())
    content = snapshot.parse(revision.snapshot) if revision.is_frozen else snapshot.build(revision, rows)
    if is_editable and editor is None:
        editor = Editor(revision, rows)
    printed = line_numbers(content)
    for row in editor.lines if editor else ():
        row.number = printed.get(row.line.position) if row.line is not None else None
    errors = editor.errors() if editor and status in {409, 422} else []
    context: dict[str, Any] = {
        "revision": revision,
        "quote": revision.quote,
        "state": revision.effective_state(timezone.now()),
        "actions": actions,
        "paper": paper_of(content),
        "languages": ("en" if request.LANGUAGE_CODE == "en" else "zh-Hans",),
        "editor": editor,
        "errors": errors,
        "differences": sizing_differences(rows, printed),
        "revisions": list(revision.quote.revisions.only("revision_index", "number", "state", "quote", "expires_at")),
        "timeline": revision.quote.audit_entries.select_related("actor", "revision"),
        "query": content["sizing"].get("query", ""),
        "scenario": scenarios_of(user).filter(pk=revision.quote.scenario_id).defer("answer").first()
        if revision.quote.scenario_id
        else None,
        "leads": revision.quote.requests.only("reference", "quote"),
        "links": revision.links.filter(revoked_at__isnull=True) if revision.is_frozen else (),
        "requests": revision.approval_requests.select_related("requested_by", "decided_by"),
        "may_decide": bool(open_requests_for(user, revision)) if Action.APPROVE in actions else False,
        "may_share_in_team": Action.VIEW in actions and access.may_create(user) and revision.quote.owner_id == user.pk,
        "controlled": controlled_skus(rows) if is_editable else (),
    }
    if revision.state in OPEN_STATES:
        context["live"] = live_context(revision, rows)
    return render(request, "quotes/detail.html", context | (extra or {}), status=status)

"""The editor's two answers: what the draft would be, and the saved draft."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from quotes import access
from quotes.editor import Editor
from quotes.merging import merged, with_choices
from quotes.models import QuoteRevision
from quotes.services import StaleEditError, quote_edit, require_open
from quotes.states import Action
from quotes.views.detail import detail_page, live_context
from quotes.views.guards import actor, desk


@desk
@require_POST
def quote_preview(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Totals and needed approvals of what is in the editor; adds and moves lines. Nothing is saved."""
    revision = access.revision_for(request.user, public_id)
    require_open(actor(request), Action.EDIT, revision)
    editor = Editor(revision, list(revision.lines.all()), request.POST, do=request.POST.get("do", ""))
    is_valid = editor.is_valid()
    live = {"live": live_context(*editor.drafted())} if is_valid else {}
    if request.htmx:  # type: ignore[attr-defined]
        context = {**live, "is_unsaved": True, "errors": editor.errors()}
        return render(request, "quotes/_live.html", context, status=200 if is_valid else 422)
    # a line that was only just added is not wrong yet
    is_pressed = editor.do.startswith(("add:", "up:", "down:", "drop:"))
    status = 200 if is_valid or is_pressed else 422
    return detail_page(request, revision, editor=editor, extra={**live, "is_unsaved": True}, status=status)


@desk
@require_POST
def quote_save(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Save the editor; what is wrong, or was changed by someone else meanwhile, comes back with all that was typed."""
    revision = access.revision_for(request.user, public_id)
    require_open(actor(request), Action.EDIT, revision)
    rows = list(revision.lines.all())
    editor = Editor(revision, rows, with_choices(request.POST, revision, rows))
    if not editor.is_valid():
        return detail_page(request, revision, editor=editor, extra={"is_unsaved": True}, status=422)
    if editor.expected_version != revision.content_version:
        return _merge_page(request, revision, editor)
    try:
        quote_edit(
            actor=actor(request),
            revision=revision,
            expected_version=editor.expected_version,
            fields=editor.fields(),
            lines=editor.edits(),
            added=editor.added(),
            order=editor.positions(),
        )
    except StaleEditError:  # saved by someone between our reading and our lock
        return _merge_page(request, access.revision_for(request.user, public_id), editor)
    except ValidationError as error:
        editor.form.add_error(None, error.messages)
        return detail_page(request, revision, editor=editor, extra={"is_unsaved": True}, status=422)
    messages.success(request, _("Saved."))
    return redirect(revision.quote)


def _merge_page(request: HttpRequest, revision: QuoteRevision, editor: Editor) -> HttpResponse:
    """Both versions joined: nothing saved yet, nothing lost."""
    rows = list(revision.lines.all())
    merge = merged(editor, revision, rows)
    joined = Editor(revision, rows, merge.data)
    is_valid = joined.is_valid()
    live = {"live": live_context(*joined.drafted())} if is_valid else {}
    extra = {**live, "merge": merge, "is_unsaved": True}
    return detail_page(request, revision, editor=joined, extra=extra, status=409)

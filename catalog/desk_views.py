"""The editors' pages: files in and out, drafts of changes, and the history of revisions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from catalog.access import may_edit, may_publish, may_see_desk
from catalog.cell_habits import DecimalMark
from catalog.change_plans import Plan, kind_state, plan_of_sheets
from catalog.change_words import changed_row, logged_rows
from catalog.drafts import DraftError, conflicts, draft_create, draft_discard, draft_publish
from catalog.kinds import KINDS
from catalog.models import CatalogChange, CatalogDraft, CatalogRevision
from catalog.part_files import SHEETS, written_table
from catalog.records import Fault
from catalog.sheet_reading import ENCODINGS, MAX_FILE_BYTES, MAX_ROW_COUNT, Sheet, SheetError, read_sheets
from catalog.sheet_writing import XLSX_TYPE, xlsx_bytes

View = Callable[..., HttpResponse]
ROWS_PER_PAGE = 100
FAULTS_SHOWN = 500


def for_those_who(*rights: Callable[[Any], bool]) -> Callable[[View], View]:
    """Others do not learn that the page exists; those who are not logged in are asked to."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not may_see_desk(request.user):
                raise Http404
            if not all(right(request.user) for right in rights):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


class UploadForm(forms.Form):
    """A file and how to read it; what is left open is found out and shown."""

    file = forms.FileField(label=gettext_lazy("File"))
    decimal_mark = forms.ChoiceField(
        label=gettext_lazy("Decimal mark"),
        required=False,
        choices=[
            ("", gettext_lazy("find out")),
            (".", gettext_lazy("point, 1,234.5")),
            (",", gettext_lazy("comma, 1.234,5")),
        ],
    )
    encoding = forms.ChoiceField(
        label=gettext_lazy("Encoding of a CSV file"),
        required=False,
        choices=[("", gettext_lazy("find out")), *((name, name.upper()) for name in ENCODINGS)],
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE_BYTES:
            raise forms.ValidationError(
                _("The file has %(size)s MB; at most %(limit)s MB pass.")
                % {"size": round(file.size / 1e6, 1), "limit": MAX_FILE_BYTES // 1_000_000}
            )
        return file

    def sheets(self) -> tuple[Sheet, ...]:
        """SheetError when the file cannot be read."""
        file = self.cleaned_data["file"]
        return read_sheets(file.read(), file.name, encoding=self.cleaned_data["encoding"])

    @property
    def mark(self) -> DecimalMark | None:
        chosen = self.cleaned_data["decimal_mark"]
        return DecimalMark(chosen) if chosen else None


class PartsUploadForm(UploadForm):
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind of part"),
        required=False,
        choices=[
            ("", gettext_lazy("by the names of sheet, file or columns")),
            *((kind.code, kind.title) for kind in KINDS),
        ],
    )
    check_only = forms.BooleanField(label=gettext_lazy("Only check, keep no draft"), required=False)
    field_order = ("file", "kind", "decimal_mark", "encoding", "check_only")


LIMITS = {"megabytes": MAX_FILE_BYTES // 1_000_000, "rows": f"{MAX_ROW_COUNT:,}"}


@require_http_methods(["GET", "HEAD", "POST"])
@for_those_who(may_edit)
def import_parts(request: HttpRequest) -> HttpResponse:
    """Upload -> difference -> draft. A file with a single fault leaves nothing behind."""
    form = PartsUploadForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form, "limits": LIMITS}
    if request.method != "POST":
        return render(request, "catalog/import.html", context)
    if not form.is_valid():
        return render(request, "catalog/import.html", context, status=422)
    try:
        plan = plan_of_sheets(form.sheets(), kind=form.cleaned_data["kind"], mark=form.mark)
    except SheetError as error:
        form.add_error("file", str(error))
        return render(request, "catalog/import.html", context, status=422)
    if plan.faults:
        return render(request, "catalog/import.html", context | fault_context(plan.faults), status=422)
    if plan.rows and not form.cleaned_data["check_only"]:
        draft = draft_create(plan=plan, title=form.cleaned_data["file"].name, author=person(request))
        return redirect(draft)
    return render(request, "catalog/import.html", context | {"plan": plan, "rows": planned_rows(plan)[:ROWS_PER_PAGE]})


def fault_context(faults: tuple[Fault, ...] | list[Fault]) -> dict[str, Any]:
    return {"faults": faults[:FAULTS_SHOWN], "fault_count": len(faults)}


def planned_rows(plan: Plan) -> list[Any]:
    return [
        changed_row(
            kind=row.kind,
            key=row.key,
            action=str(ACTIONS[row.is_new]),
            before=row.before,
            after=row.after,
            place=row.place,
        )
        for row in plan.rows[:ROWS_PER_PAGE]
    ]


ACTIONS = {True: pgettext_lazy("change", "added"), False: pgettext_lazy("change", "changed")}


@require_GET
def workbook(request: HttpRequest) -> HttpResponse:
    """Every active part, one worksheet a kind: to change in a spreadsheet program and bring back."""
    tables = [
        written_table(sheet, sheet.model._default_manager.active().with_specs())  # type: ignore[attr-defined]
        for sheet in SHEETS.values()
    ]
    answer = HttpResponse(xlsx_bytes(tables), content_type=XLSX_TYPE)
    answer["Content-Disposition"] = 'attachment; filename="catalog.xlsx"'
    return answer


# --- drafts ---------------------------------------------------------------------------------------------------------
@require_GET
@for_those_who()
def drafts(request: HttpRequest) -> HttpResponse:
    found = CatalogDraft.objects.select_related("author", "revision").annotate(row_count=Count("rows")).order_by("-pk")
    page = Paginator(found, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "catalog/drafts.html", {"page": page, "may_edit": may_edit(request.user)})


@require_GET
@for_those_who()
def draft(request: HttpRequest, pk: int) -> HttpResponse:
    return draft_page(request, get_object_or_404(CatalogDraft.objects.select_related("author", "revision"), pk=pk))


def draft_page(request: HttpRequest, found: CatalogDraft, *, error: str = "", reason: str = "") -> HttpResponse:
    """Every change of the draft; whether it can be published as it is; in numbers what that would do."""
    page = Paginator(found.rows.all(), ROWS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [
        changed_row(
            kind=row.kind,
            key=row.key,
            action=str(ACTIONS[row.is_new]),
            before=row.before,
            after=row.after,
            place=row.place,
        )
        for row in page
    ]
    is_open = found.status == CatalogDraft.Status.OPEN
    every_row = list(found.rows.all()) if is_open else []
    states = {kind: kind_state(SHEETS[kind].model) for kind in {row.kind for row in every_row}}
    counts = {
        "added": sum(1 for row in every_row if row.is_new),
        "changed": sum(1 for row in every_row if not row.is_new),
    }
    context = {
        "draft": found,
        "page": page,
        "rows": rows,
        "counts": counts,
        "conflicts": conflicts(every_row, states),
        "error": error,
        "reason": reason,
        "may_publish": is_open and may_publish(request.user),
        "may_discard": is_open and (may_edit(request.user) or may_publish(request.user)),
    }
    return render(request, "catalog/draft.html", context, status=422 if error else 200)


@require_POST
@for_those_who(may_publish)
def publish_draft(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(CatalogDraft, pk=pk)
    reason = request.POST.get("reason", "")[:500]
    try:
        revision = draft_publish(draft=found, reason=reason, author=person(request))
    except DraftError as error:
        return draft_page(request, found, error=str(error), reason=reason)
    messages.success(request, _("Published as catalogue revision %(code)s.") % {"code": revision.code})
    return redirect(revision)


@require_POST
@for_those_who()
def discard_draft(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(CatalogDraft, pk=pk)
    if not (may_edit(request.user) or may_publish(request.user)):
        raise PermissionDenied
    try:
        draft_discard(draft=found, author=person(request))
    except DraftError as error:
        return draft_page(request, found, error=str(error))
    messages.success(request, _("The draft is discarded; the catalogue is as before."))
    return redirect("catalog:drafts")


# --- revisions ------------------------------------------------------------------------------------------------------
@require_GET
def revisions(request: HttpRequest) -> HttpResponse:
    """Every state the catalogue had; who made it is for staff."""
    found = CatalogRevision.objects.annotate(change_count=Count("changes")).order_by("-pk")
    page = Paginator(found, 50).get_page(request.GET.get("page"))
    return render(request, "catalog/revisions.html", {"page": page, "shows_authors": may_see_desk(request.user)})


@require_GET
def revision(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(CatalogRevision, pk=pk)
    page = Paginator(CatalogChange.objects.filter(revision=found), ROWS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "revision": found,
        "page": page,
        "rows": logged_rows(page),
        "shows_authors": may_see_desk(request.user),
    }
    return render(request, "catalog/revision.html", context)

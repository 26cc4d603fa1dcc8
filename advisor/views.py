"""The public pages: parse by form, call one service, render."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from advisor import method_text
from advisor.answer_changes import changes, key_figures, read_token
from advisor.compare_page import comparison
from advisor.config_page import (
    CONFIG_FILE,
    CONFIG_TEXT,
    MAX_QUERY_LENGTH,
    config_part,
    entries_with_config,
    query_as_typed,
    query_without_config,
)
from advisor.form_page import expert_groups, is_asked, page_form
from advisor.forms import ScenarioForm
from advisor.glossary import CHAPTERS
from advisor.input_config import link_too_long
from advisor.inputs import InputError
from advisor.method_page import constants, sections
from advisor.result_page import EXAMPLE_QUERY, EXAMPLES, asked_parameter_count, result_context
from advisor.scenario_views import compare_scenarios
from advisor.services import scenario_search
from advisor.validation_page import validation as stored_validation

RUNS_PER_PAGE = 50
# the part of a live answer that follows on its own, so that its first figures arrive in half the bytes
REST_TARGET = "result-rest"
THEMES = ("light", "dark")
THEME_COOKIE_SECONDS = 31_536_000


@require_GET
@vary_on_headers("HX-Request", "HX-Target")
def sizing(request: HttpRequest) -> HttpResponse:
    """The form, and the answer to the case in the query string; a fragment of the same for htmx."""
    if request.GET.get(CONFIG_TEXT, "").strip():  # the form's own button was pressed instead of that of its part
        return _with_config(request, request.GET)
    return _sized(request, page_form(request.GET if is_asked(request.GET) else None))


@require_http_methods(["GET", "HEAD", "POST"])
def model_config(request: HttpRequest) -> HttpResponse:
    """The form with a config.json that was pasted or uploaded: on to its link, or back with what is wrong."""
    if request.method != "POST":  # the address of a refusal, opened again
        return HttpResponseRedirect(reverse("advisor:sizing"))
    return _with_config(request, request.POST)


def _with_config(request: HttpRequest, fields: QueryDict) -> HttpResponse:
    entries, typed = entries_with_config(fields, request.FILES.get(CONFIG_FILE))
    form = page_form(entries)
    query = form.query if form.is_valid() else query_as_typed(entries)
    if typed is None and len(query) > MAX_QUERY_LENGTH:
        form.add_faults(link_too_long(len(query), MAX_QUERY_LENGTH))
    elif typed is None:
        return HttpResponseRedirect(f"{reverse('advisor:sizing')}?{query}", status=303)
    return _sized(request, form, typed)


def _sized(request: HttpRequest, form: ScenarioForm, typed: str | None = None) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "example_query": EXAMPLE_QUERY, "examples": EXAMPLES}
    context["config_part"] = config_part(form.submitted, typed)
    context["query_without_config"] = query_without_config(form.submitted)
    if form.is_bound and not form.errors and form.checked is not None:
        try:
            answer = scenario_search(checked=form.checked)
        except InputError as error:
            form.add_faults(error)
        else:
            origin = f"{request.scheme}://{request.get_host()}"
            context |= result_context(answer, checked=form.checked, query=form.query, origin=origin)
            if seen := read_token(request.GET.get("seen", "")):
                context["changes"] = changes(seen, key_figures(answer))
    context["form_groups"] = expert_groups(form)
    is_refused = form.is_bound and bool(form.errors)
    htmx = request.htmx  # type: ignore[attr-defined]
    is_fragment = bool(htmx) and not htmx.history_restore_request
    template = "advisor/sizing.html"
    is_rest = is_fragment and not is_refused and htmx.target == REST_TARGET and bool(context["answer"]["recommended"])
    if is_rest:
        template = "advisor/result/rest.html"
    elif is_fragment:
        context["is_fragment"] = True
        template += "#form" if is_refused else "#result"
    response = render(request, template, context, status=422 if is_refused else 200)
    if is_fragment and is_refused:
        response["HX-Retarget"], response["HX-Reswap"] = "#sizing-form", "outerHTML"
    elif is_fragment and not is_rest:
        response["HX-Push-Url"] = f"{reverse('advisor:sizing')}?{form.query}"
    return response


@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """Scenarios (`s`) beside each other, or one case on several GPUs."""
    return compare_scenarios(request) if "s" in request.GET else compare_gpus(request)


def compare_gpus(request: HttpRequest) -> HttpResponse:
    """The case of the query string on each of its GPUs, or on those that its answer ranks first."""
    form = page_form(request.GET if is_asked(request.GET) else None)
    context: dict[str, Any] = {"form": form, "example_query": EXAMPLE_QUERY, "raw_query": request.GET.urlencode()}
    if form.is_bound and form.is_valid() and form.checked is not None:
        try:
            context["compared"] = scenario_search(checked=form.checked)
            context["comparison"] = comparison(form.checked, form.query)
        except InputError as error:
            form.add_faults(error)
        else:
            context["deadline_seconds"] = form.checked.deadline_seconds
            context["asked_parameter_count"] = asked_parameter_count(form.checked, context["compared"])
            context["gpu_choices"] = form["gpu"].field.widget.choices
            context["shown_gpus"] = {column.gpu for column in context["comparison"].columns}
            context["kept_pairs"] = [pair for pair in parse_qsl(form.query) if pair[0] != "gpu"]
    is_refused = form.is_bound and bool(form.errors)
    return render(request, "advisor/compare.html", context, status=422 if is_refused else 200)


@require_GET
def method(request: HttpRequest) -> HttpResponse:
    context = {
        "sections": sections(),
        "symbols": method_text.SYMBOLS,
        "limits": method_text.LIMITS,
        "constants": constants(),
    }
    return render(request, "advisor/method.html", context)


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "advisor/glossary.html", {"chapters": CHAPTERS})


@require_GET
def validation(request: HttpRequest) -> HttpResponse:
    """Errors by slice, and the runs themselves by page; an unknown generation shows none of them."""
    found = stored_validation()
    generation = request.GET.get("generation", "")
    lines = [line for line in found.lines if not generation or line.generation == generation]
    titles = {"generation": _("GPU generation"), "model_kind": _("Model kind"), "precision": _("Precision")}
    context = {
        "validation": found,
        "slice_tables": [(title, found.slices[name]) for name, title in titles.items()],
        "memory_measures": list(found.memory["by_measure"].items()),
        "generations": sorted({line.generation for line in found.lines}),
        "generation": generation,
        "page": Paginator(lines, RUNS_PER_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "advisor/validation.html", context)


@require_POST
@csrf_exempt  # a colour preference: nothing to gain by forging it, and pages stay the same for every visitor
def theme(request: HttpRequest) -> HttpResponse:
    """Remembers light or dark in a cookie, or forgets it ("system"), and goes back to the page asked from."""
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        target = "/"
    response = HttpResponseRedirect(target)
    choice = request.POST.get("theme", "")
    if choice in THEMES:
        response.set_cookie(
            "theme", choice, max_age=THEME_COOKIE_SECONDS, samesite="Lax", secure=settings.HTTPS, httponly=True
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


@require_GET
@cache_control(max_age=86_400, public=True)
def favicon(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect(static("img/favicon.svg"))

"""`/upgrade`: what to add to a present cluster, what stays, and what cannot grow."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from advisor.hardware import load_parts
from advisor.input_types import InputError
from advisor.offer_page import job_of_link
from advisor.upgrade import cluster_upgrade
from advisor.upgrade_page import EXAMPLE, UpgradeForm
from catalog.models import ModelArchitecture

_ASKED_BY = ("present_gpu", "present_gpu_count")


@require_GET
def upgrade(request: HttpRequest) -> HttpResponse:
    """The form, and the answer where the address states a present cluster; so it can be shared."""
    presets = list(ModelArchitecture.objects.active().order_by("family", "name").values_list("sku", "name"))
    is_asked = any(name in request.GET for name in _ASKED_BY)
    given = request.GET.dict() | job_of_link(request.GET)
    form = UpgradeForm(given, presets=presets) if is_asked else UpgradeForm(initial=given, presets=presets)
    context: dict[str, Any] = {"form": form, "example_query": urlencode(EXAMPLE), "servers": _servers()}
    if is_asked and form.is_valid() and form.checked is not None:
        try:
            context["answer"] = cluster_upgrade(checked=form.checked)
        except InputError as error:
            form.add_faults(error)
    is_refused = is_asked and bool(form.errors)
    return render(request, "advisor/upgrade.html", context, status=422 if is_refused else 200)


def _servers() -> list[tuple[str, str]]:
    return sorted((server.sku, server.name) for server in load_parts().servers.values() if server.gpu_skus)

"""`/offers`: rival offers by the cost of a finished run."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from advisor.input_types import InputError
from advisor.offer_page import OfferForm, example_offers, job_of_link
from advisor.rival_offer import offers_compare
from catalog.models import ModelArchitecture


@require_http_methods(["GET", "HEAD", "POST"])
def offers(request: HttpRequest) -> HttpResponse:
    """GET shows the form, with the job of a link; POST answers, so that a rival's text stays out of addresses."""
    presets = list(ModelArchitecture.objects.active().order_by("family", "name").values_list("sku", "name"))
    if request.method != "POST":
        given = job_of_link(request.GET)
        if request.GET.get("currency"):
            given["currency"] = request.GET["currency"]
        initial = example_offers() if "example" in request.GET else given
        return render(request, "advisor/offers.html", {"form": OfferForm(initial=initial, presets=presets)})
    form = OfferForm(request.POST, presets=presets)
    context: dict[str, Any] = {"form": form}
    if form.is_valid() and form.checked is not None:
        try:
            context["answer"] = offers_compare(checked=form.checked)
        except InputError as error:
            form.add_faults(error)
    return render(request, "advisor/offers.html", context, status=422 if form.errors else 200)

"""Comparison page: a column a GPU, each the best that the service finds for that GPU alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import translation

from advisor.form_page import page_form
from advisor.services import scenario_search
from tests.advisor.test_views import Page

pytestmark = pytest.mark.django_db
H100, A100 = "nvidia-h100-sxm5-80gb", "nvidia-a100-sxm4-80gb"


def get(client: Client, *gpus: str, **changes: Any) -> Any:
    query = {"v": "1", "parameters": "7B", "tokens": "100B", "deadline_days": "30", "lang": "en"} | changes
    return client.get("/compare", {**query, "gpu": list(gpus)})


def best_of(gpu: str) -> Any:
    form = page_form(QueryDict(f"v=1&parameters=7B&tokens=100B&deadline_days=30&gpu={gpu}"))
    assert form.is_valid()
    assert form.checked is not None
    with translation.override("en"):
        return scenario_search(checked=form.checked)["recommended"]


def test_each_column_is_the_answer_for_its_gpu_alone(client: Client, catalog: None) -> None:
    content = get(client, H100, A100).content.decode()
    for gpu in (H100, A100):
        best = best_of(gpu)
        assert best["gpu_name"] in content
        assert f'<data value="{best["estimate"]["time"]["training_seconds"]}">' in content
        assert f'<data value="{best["gpu_count"]}">' in content


def test_without_named_gpus_those_of_the_answer_stand_side_by_side(client: Client, catalog: None) -> None:
    page = Page(get(client))
    heads = [a for a in page.all("a") if "gpu=" in a.get("href", "")]
    assert 2 <= len(heads) <= 4


def test_a_fifth_gpu_is_said_to_be_left_out(client: Client, catalog: None) -> None:
    page = Page(get(client, H100, A100, "nvidia-h200-sxm5-141gb", "nvidia-b200-sxm-180gb", "nvidia-l40s-48gb"))
    assert "1 more GPU is named and not shown" in page.text


def test_a_gpu_that_cannot_do_it_says_why(client: Client, catalog: None) -> None:
    response = get(client, H100, "nvidia-l4-24gb", parameters="70B", tokens="15T", max_gpu_count="512")
    assert response.status_code == 200
    assert "L4" in Page(response).text


def test_untouched_page_says_what_to_do(client: Client, catalog: None) -> None:
    page = Page(client.get("/compare", {"lang": "en"}))
    assert "Size a job first" in page.text
    assert page.all("a", href="/")


def test_a_fault_is_said_and_links_back_with_what_was_typed(client: Client, catalog: None) -> None:
    response = get(client, H100, parameters="8x7B")
    page = Page(response)
    assert response.status_code == 422
    assert any("parameters=8x7B" in a["href"] for a in page.all("a") if a.get("href", "").startswith("/?"))

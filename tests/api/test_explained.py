"""`explain=true` gives the rows that the page opens."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.advisor.test_views import case

pytestmark = pytest.mark.django_db
BODY = {
    "model": {"parameters": "7B"},
    "training": {"tokens": "100B"},
    "cluster": {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 16},
}


def test_the_link_gives_the_calculation_of_the_page(client: Client, catalog: None) -> None:
    plain = client.get("/api/v1/recommendations", case(lang="en"))
    explained = client.get("/api/v1/recommendations", case(lang="en", explain="true"))
    page = client.get("/", case(lang="en")).context["calculation"]
    assert "calculation" not in plain.json()
    assert explained.json() == plain.json() | {"calculation": page}
    assert explained["ETag"] != plain["ETag"]


def test_an_estimate_is_explained_too(client: Client, catalog: None) -> None:
    found = client.post("/api/v1/estimates?explain=true", BODY, content_type="application/json").json()
    rows = {row["code"]: row["value"] for row in found["calculation"]}
    assert rows["mfu"] == found["time"]["mfu"]
    assert rows["total_bytes"] == found["memory_per_gpu"]["total_bytes"]
    assert "calculation" not in client.post("/api/v1/estimates", BODY, content_type="application/json").json()


def test_anything_but_true_and_false_is_refused(client: Client, catalog: None) -> None:
    response = client.get("/api/v1/recommendations", case(lang="en", explain="perhaps"))
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "/explain"

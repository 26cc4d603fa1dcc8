"""Consumer cards are sized only for those who name them."""

from __future__ import annotations

import pytest

from advisor.inputs import parse_recommendation_request
from advisor.services import scenario_search

pytestmark = pytest.mark.django_db
JOB = {"model": {"parameters": "1B"}, "training": {"tokens": "20B"}, "target": {"deadline_days": 30}}


def answer(**changes):
    return scenario_search(checked=parse_recommendation_request(JOB | changes))


def test_geforce_is_not_offered_unasked_and_says_why(catalog):
    found = answer()
    offered = [found["recommended"]["gpu"], *(item["gpu"] for item in found["alternatives"])]
    reasons = {item["gpu"]: item["code"] for item in found["rejected"]}
    assert not any("rtx4090" in sku or "rtx5090" in sku for sku in offered)
    assert reasons["nvidia-rtx4090-24gb"] == reasons["nvidia-rtx5090-32gb"] == "consumer_card"


def test_geforce_is_sized_when_named(catalog):
    assert answer(hardware={"gpus": ["nvidia-rtx4090-24gb"]})["recommended"]["gpu"] == "nvidia-rtx4090-24gb"

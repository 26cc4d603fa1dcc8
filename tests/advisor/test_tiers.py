"""Tiers by total parameters and whether their reference builds do the job."""

from __future__ import annotations

import pytest
from django.utils import translation

from advisor.hardware import load_parts
from advisor.tiers import tier_for

pytestmark = pytest.mark.usefixtures("catalog")


@pytest.mark.parametrize(
    ("count", "code"),
    # the boundary belongs to the upper tier; under 0.1 B is still the first
    [
        (5e7, "billion"),
        (9.99e9, "billion"),
        (1e10, "tens_of_billions"),
        (7e10, "tens_of_billions"),
        (1e11, "hundreds_of_billions"),
        (1.8e12, "hundreds_of_billions"),
    ],
)
def test_tier_by_total_parameters(count, code):
    tier = tier_for(load_parts(), count)
    assert tier is not None
    assert tier.code == code


def test_a_claimed_build_names_what_is_wrong_with_it():
    build = load_parts().builds["claim-t3-h100-160"]
    assert "H100 160GB" in build.conflict
    assert "HDR" in build.conflict


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_range_of_gpus_is_judged_by_its_best_case(language):
    with translation.override(language):
        assert load_parts().builds["claim-t1-a100-40"].gpus_per_server == 8

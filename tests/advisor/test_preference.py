"""Near-equal candidates: fewer servers win, the cheapest keeps its label."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine.search_types import Rejection, Requirement, SearchResult
from advisor.engine.specs import Candidate, FabricSpec, HardwareOption
from advisor.preference import preferred
from tests.advisor.jobs import H100, h100_estimate


def _candidate(sku, gpus, cost, *labels):
    base = h100_estimate()
    option = HardwareOption(
        gpu=replace(H100, sku=sku),
        gpus_per_server=8,
        fabric=FabricSpec(scale_out_bytes_per_second_per_gpu=50e9),
        cost_per_gpu_hour=1.0,
    )
    cluster = replace(base.scenario.cluster, gpu=option.gpu, gpu_count=gpus)
    return Candidate(
        option=option,
        estimate=replace(base, scenario=replace(base.scenario, cluster=cluster)),
        cost=cost,
        labels=labels,
    )


def _result(*candidates):
    requirement = Requirement(
        model_state_bytes=1e12,
        total_model_flops=None,
        sustained_flops_per_second=None,
        dense_peak_flops_per_second=None,
        minimum_gpu_count_for_memory=None,
        binding_constraint="time",
    )
    return SearchResult(
        requirement=requirement,
        recommended=candidates[0] if candidates else None,
        alternatives=candidates[1:],
        rejected=(),
        scaling=(),
        pareto=(),
        relaxations=(),
        evaluated_layout_count=1,
        view_of={
            item.option.gpu.sku: lambda sku=item.option.gpu.sku: (replace(requirement, binding_constraint=sku), ())
            for item in candidates
        },
    )


def _preferred(*candidates):
    return preferred(_result(*candidates))


def test_within_a_quarter_of_the_cost_fewer_servers_win():
    result = _preferred(
        _candidate("many", 800, 100.0, "recommended", "cheapest"), _candidate("few", 80, 124.0, "fewest_servers")
    )
    assert result.recommended is not None
    assert result.recommended.option.gpu.sku == "few"
    assert result.requirement.binding_constraint == "few"  # its own, not that of the cheapest
    assert result.recommended.labels == ("recommended", "fewest_servers")
    assert result.alternatives[0].labels == ("cheapest",)


def test_once_another_leads_ratios_are_to_its_cost_and_what_is_cheaper_names_its_servers():
    """100 and 300 against 120: the first is cheaper, so its servers speak; the other costs 300 / 120 = 2.5 times."""
    result = _result(
        _candidate("many", 800, 100.0, "recommended"),
        _candidate("few", 80, 120.0),
        _candidate("wide", 400, 110.0),
        _candidate("dear", 80, 300.0),
    )
    ratios = {"few": 1.2, "wide": 1.1, "dear": 3.0}
    rejected = [
        Rejection(gpu_sku=sku, code="dearer", params={"gpu": sku, "cost_ratio": ratio}) for sku, ratio in ratios.items()
    ]
    other = Rejection(gpu_sku="small", code="does_not_fit", params={"gpu": "small"})
    found = {item.gpu_sku: item for item in preferred(replace(result, rejected=(*rejected, other))).rejected}
    assert set(found) == {"many", "wide", "dear", "small"}  # nothing speaks against the one that leads
    assert (found["many"].code, found["many"].params["server_count"]) == ("more_servers", 100)
    assert (found["wide"].code, found["wide"].params["server_count"]) == ("more_servers", 50)
    assert found["wide"].params["recommended_count"] == 10
    assert found["dear"].params["cost_ratio"] == pytest.approx(2.5)
    assert found["small"] == other


def test_beyond_a_quarter_the_cheapest_stays():
    result = _preferred(_candidate("many", 800, 100.0, "recommended", "cheapest"), _candidate("few", 80, 126.0))
    assert result.recommended is not None
    assert result.recommended.option.gpu.sku == "many"


def test_a_candidate_without_a_price_is_not_preferred():
    result = _preferred(_candidate("many", 800, 100.0, "recommended"), _candidate("few", 80, None))
    assert result.recommended is not None
    assert result.recommended.option.gpu.sku == "many"


def test_nothing_stays_nothing():
    assert _preferred().recommended is None

"""The published run beside an answer."""

from __future__ import annotations

from dataclasses import replace

from advisor.nearest_run import nearest_run
from tests.advisor.jobs import h100_estimate


def test_a_7b_job_on_h100_finds_a_run_on_h100_of_about_its_size():
    run = nearest_run(h100_estimate())
    assert run is not None
    assert run["gpu"] == "nvidia-h100-sxm5-80gb"
    assert 3e9 <= run["parameter_count"] <= 14e9
    assert run["published_tokens_per_second_per_gpu"] > 0
    assert run["source"]


def test_a_gpu_without_published_runs_has_none():
    # nobody has published a training run on H20
    estimate = h100_estimate()
    scenario = estimate.scenario
    h20 = replace(scenario.cluster.gpu, sku="nvidia-h20-96gb")
    moved = replace(estimate, scenario=replace(scenario, cluster=replace(scenario.cluster, gpu=h20)))
    assert nearest_run(moved) is None

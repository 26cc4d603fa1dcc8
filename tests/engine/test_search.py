"""Search: the choice rule, pruning against the exhaustive evaluation, reasons and relaxations."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from advisor.calibration_data import current_calibration
from advisor.engine.estimate import best_index, estimate
from advisor.engine.evaluate import evaluate, evaluate_fitting
from advisor.engine.fitting import available_bytes
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import machine
from advisor.engine.search import cluster_sizes, search
from advisor.engine.specs import (
    DeploymentProfile,
    FabricSpec,
    HardwareOption,
    LayoutRequest,
    Precision,
    Recomputation,
    Scenario,
    Target,
)
from advisor.engine.units import SECONDS_PER_DAY, bytes_per_second_from_gbit
from advisor.engine.workload import workload
from tests.engine.cases import A100, GPT3_175B, H100, LLAMA2_7B, LLAMA3_70B, MIXTRAL_8X7B, cluster, plan

CALIBRATION = current_calibration()


def option(gpu=H100, gbit=400.0, price=None) -> HardwareOption:
    fabric = FabricSpec(scale_out_bytes_per_second_per_gpu=bytes_per_second_from_gbit(gbit))
    return HardwareOption(gpu=gpu, gpus_per_server=8, fabric=fabric, cost_per_gpu_hour=price)


def find(model=LLAMA3_70B, job=None, options=None, **target):
    return search(
        model=model,
        plan=job or plan(),
        target=Target(**target),
        options=options or (option(H100, 400, 14.9), option(A100, 200, 4.28)),
        calibration=CALIBRATION,
    )


def test_sizes_are_whole_servers_and_at_most_64():
    for most in (8, 100, 4096, 16384):
        sizes = cluster_sizes(8, Target(max_gpu_count=most))
        assert len(sizes) <= 64
        assert sizes == sorted(set(sizes))
        assert all(size % 8 == 0 and size <= most for size in sizes)
    assert cluster_sizes(8, Target(max_gpu_count=16384))[-1] == 16384


def test_recommended_meets_the_deadline_and_every_other_option_has_a_reason():
    result = find(deadline_seconds=30 * SECONDS_PER_DAY)
    assert result.recommended is not None
    assert result.recommended.estimate.time.training_seconds <= 30 * SECONDS_PER_DAY
    assert result.recommended.estimate.memory.fits
    chosen = result.recommended.option.gpu.sku
    assert {rejection.gpu_sku for rejection in result.rejected} == {H100.sku, A100.sku} - {chosen}
    assert all(rejection.params for rejection in result.rejected)


def test_the_choice_is_within_five_percent_of_the_cheapest_size():
    result = find(options=(option(H100, 400, 14.9),), deadline_seconds=30 * SECONDS_PER_DAY)
    costs = []
    for size in cluster_sizes(8, Target()):
        only = find(options=(option(H100, 400, 14.9),), gpu_count=size)
        if only.recommended and only.recommended.estimate.time.training_seconds <= 30 * SECONDS_PER_DAY:
            costs.append(only.recommended.cost)
    assert result.recommended.cost <= 1.05 * min(costs) * (1 + 1e-12)


@pytest.mark.parametrize("gpu_count", [8, 24, 64, 256])
@pytest.mark.parametrize(
    "model",
    [LLAMA2_7B, LLAMA3_70B, GPT3_175B, MIXTRAL_8X7B, replace(LLAMA3_70B, layer_count=61)],
    ids=["7b", "70b", "gpt3", "mixtral", "odd"],
)
def test_pruned_equals_exhaustive(model, gpu_count):
    job, on = plan(global_batch_size=512), cluster(gpu_count=gpu_count)
    work, budget = workload(model, job), available_bytes(on.gpu, plan())
    rates = machine(on.gpu, 8, on.fabric, job, on.deployment, CALIBRATION)
    everything = enumerate_layouts(model, job, LayoutRequest(), [gpu_count], 8)
    evaluated = evaluate(work, job, everything, rates, CALIBRATION, budget)
    index = best_index(evaluated, everything, budget)
    base = enumerate_layouts(model, job, LayoutRequest(recomputation=Recomputation.NONE), [gpu_count], 8)
    pruned = evaluate_fitting(work, job, base, rates, CALIBRATION, budget)
    fits = evaluated.memory.total_bytes[index] <= budget
    assert (pruned is not None) == bool(fits)
    if pruned is not None:
        candidates, values = pruned
        best = np.min(values.time.step_seconds / candidates.global_batch_size)
        assert best == evaluated.time.step_seconds[index] / everything.global_batch_size[index]


def test_search_and_estimate_give_one_number():
    result = find(options=(option(H100, 400, 14.9),), gpu_count=256)
    scenario = Scenario(model=LLAMA3_70B, plan=plan(), cluster=cluster(gpu_count=256))
    alone = estimate(scenario, calibration=CALIBRATION)
    assert result.recommended.estimate.time.step_seconds == alone.time.step_seconds
    assert result.recommended.estimate.layout == alone.layout


def test_an_impossible_deadline_names_the_smallest_relaxation():
    result = find(deadline_seconds=0.1 * SECONDS_PER_DAY, max_gpu_count=64)
    assert result.recommended is None
    assert result.rejected
    (relaxation,) = [problem for problem in result.relaxations if problem.code == "relax_deadline"]
    seconds = relaxation.params["training_seconds"]
    eased = find(deadline_seconds=seconds * 1.0001, max_gpu_count=64)
    assert eased.recommended is not None


def test_a_model_too_large_for_the_limit_names_the_size_that_fits():
    result = find(GPT3_175B, plan(global_batch_size=512), max_gpu_count=8)
    assert result.recommended is None
    (relaxation,) = [problem for problem in result.relaxations if problem.code == "relax_max_gpu_count"]
    assert find(GPT3_175B, plan(global_batch_size=512), max_gpu_count=relaxation.params["gpu_count"]).recommended


def test_a_precision_the_hardware_lacks_is_a_reason():
    result = find(job=plan(precision=Precision.FP8), deadline_seconds=60 * SECONDS_PER_DAY)
    assert {r.gpu_sku: r.code for r in result.rejected}[A100.sku] == "unsupported_precision"


def test_scaling_marks_one_knee_and_longer_clusters_are_faster_but_less_efficient():
    curve = find(options=(option(H100, 400, 14.9),), deadline_seconds=30 * SECONDS_PER_DAY).scaling
    assert sum(point.is_knee for point in curve) == 1
    assert curve[-1].training_seconds < curve[0].training_seconds
    assert curve[-1].mfu < max(point.mfu for point in curve)


def test_no_point_of_the_front_is_beaten():
    front = find(deadline_seconds=30 * SECONDS_PER_DAY).pareto
    points = [(c.estimate.time.training_seconds, c.cost) for c in front]
    assert points == sorted(points)
    assert all(later[1] < earlier[1] for earlier, later in pairwise(points))


def test_a_virtualized_profile_only_stretches_time():
    bare = find(options=(option(H100, 400, 14.9),), gpu_count=256)
    lossy = search(
        model=LLAMA3_70B,
        plan=plan(),
        target=Target(gpu_count=256),
        options=(option(H100, 400, 14.9),),
        calibration=CALIBRATION,
        deployment=DeploymentProfile(throughput_loss_fraction=0.2),
    )
    ratio = lossy.recommended.estimate.time.training_seconds / bare.recommended.estimate.time.training_seconds
    assert ratio == pytest.approx(1.25, rel=1e-12)

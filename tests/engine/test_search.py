"""Search: the choice rule, pruning against the exhaustive evaluation, reasons and relaxations."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from advisor.calibration_data import current_calibration
from advisor.engine.estimate import best_candidate, best_index, estimate
from advisor.engine.evaluate import evaluate
from advisor.engine.fitting import available_bytes
from advisor.engine.layout_pool import Kind, LayoutPool, best_layouts
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import machine
from advisor.engine.search import cluster_sizes, is_round, search
from advisor.engine.specs import (
    AttentionKernel,
    DeploymentProfile,
    FabricSpec,
    HardwareOption,
    LayoutRequest,
    Pilot,
    Precision,
    Recipe,
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
    pool = LayoutPool(work, job, base, CALIBRATION, tries_shares=True)
    (pruned,) = best_layouts(pool, [Kind(rates=rates, budget_bytes=budget, sizes=(gpu_count,))])
    fits = evaluated.memory.total_bytes[index] <= budget
    assert (pruned is not None) == bool(fits)
    if pruned is not None:
        (best,) = pruned.evaluated.time.step_seconds / pruned.candidates.global_batch_size
        assert best == evaluated.time.step_seconds[index] / everything.global_batch_size[index]


@pytest.mark.parametrize(("model", "gpu_count"), [(GPT3_175B, 256), (LLAMA3_70B, 32)], ids=["gpt3", "70b"])
def test_unfused_attention_drops_its_scores_before_whole_layers(model, gpu_count):
    job = plan(global_batch_size=512, sequence_length=2048, recipe=Recipe.DEEPSPEED, attention=AttentionKernel.EAGER)
    scenario = Scenario(model=model, plan=job, cluster=cluster(gpu=A100, gpu_count=gpu_count))
    free = estimate(scenario, calibration=CALIBRATION)
    for kind in Recomputation:
        stated = estimate(replace(scenario, layout=LayoutRequest(recomputation=kind)), calibration=CALIBRATION)
        if stated.memory.fits:
            assert free.time.tokens_per_second >= stated.time.tokens_per_second, kind


@pytest.mark.parametrize("budget", [1e9, 40e9, 70e9])
def test_best_candidate_of_blocks_is_the_best_of_all(budget, monkeypatch):
    job, on = plan(global_batch_size=512), cluster(gpu_count=64)
    work, rates = workload(LLAMA3_70B, job), machine(on.gpu, 8, on.fabric, job, on.deployment, CALIBRATION)
    everything = enumerate_layouts(LLAMA3_70B, job, LayoutRequest(), [64], 8)
    whole = evaluate(work, job, everything, rates, CALIBRATION, budget)
    monkeypatch.setattr("advisor.engine.estimate.BLOCK_SIZE", 97)
    index, values = best_candidate(work, job, everything, rates, CALIBRATION, budget)
    assert index == best_index(whole, everything, budget)
    assert values.time.step_seconds[0] == whole.time.step_seconds[index]
    assert values.memory.total_bytes[0] == whole.memory.total_bytes[index]
    assert bool(values.memory.total_bytes[0] <= budget) == (budget > 1e9)


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


def test_a_deadline_that_is_met_is_not_asked_to_move():
    free = find(max_gpu_count=64)
    refused = find(max_gpu_count=64, deadline_seconds=1000 * SECONDS_PER_DAY, max_cost=1.0)
    assert (free.recommended is None, refused.recommended) == (False, None)
    assert [problem.code for problem in refused.relaxations] == ["relax_budget"]


def test_a_later_deadline_is_one_that_the_budget_pays():
    paid = find(max_gpu_count=64).recommended
    refused = find(
        max_gpu_count=64,
        deadline_seconds=0.1 * SECONDS_PER_DAY,
        max_cost=1.01 * float(paid.cost),
    )
    (relaxation,) = [problem for problem in refused.relaxations if problem.code == "relax_deadline"]
    seconds = relaxation.params["training_seconds"]
    eased = find(max_gpu_count=64, deadline_seconds=seconds * 1.0001, max_cost=1.01 * float(paid.cost))
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
    points = [(point.training_seconds, point.cost) for point in front]
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


def h100(price=14.9):
    return (option(H100, 400, price),)


def test_a_deadline_that_is_met_to_the_second_is_met():
    only = find(options=h100(), gpu_count=256)
    seconds = only.recommended.estimate.time.training_seconds
    assert find(options=h100(), gpu_count=256, deadline_seconds=seconds).recommended is not None
    assert find(options=h100(), gpu_count=256, deadline_seconds=seconds * (1 - 1e-9)).recommended is None


def test_cost_is_gpu_hours_times_price():
    chosen = find(options=h100(2.0), gpu_count=256).recommended
    assert chosen.cost == pytest.approx(256 * chosen.estimate.time.training_seconds / 3600 * 2.0, rel=1e-12)


def test_a_budget_is_a_limit_and_the_reason_names_what_is_needed():
    cost = find(options=h100(), gpu_count=256).recommended.cost
    assert find(options=h100(), gpu_count=256, max_cost=cost).recommended is not None
    over = find(options=h100(), gpu_count=256, max_cost=cost * 0.999)
    assert over.recommended is None
    assert [(r.code, r.params["cost"]) for r in over.rejected] == [("over_budget", pytest.approx(cost))]
    assert [(p.code, p.params["cost"]) for p in over.relaxations] == [("relax_budget", pytest.approx(cost))]


def test_the_dearer_kind_says_how_many_times_dearer():
    result = find(gpu_count=256, options=(option(H100, 400, 14.9), option(A100, 200, 14.9)))
    assert result.recommended.option.gpu.sku == H100.sku
    (other,) = result.alternatives
    (reason,) = result.rejected
    assert reason.code == "dearer"
    assert reason.params["cost_ratio"] == pytest.approx(other.cost / result.recommended.cost)
    assert reason.params["cost_ratio"] > 1


def test_more_interruptions_cost_time_in_search_as_in_an_estimate():
    shaky = DeploymentProfile(interruption_rate_factor=100.0)
    arguments = {"model": LLAMA3_70B, "plan": plan(), "target": Target(gpu_count=256), "calibration": CALIBRATION}
    calm = search(**arguments, options=h100())
    result = search(**arguments, options=h100(), deployment=shaky)
    scenario = Scenario(model=LLAMA3_70B, plan=plan(), cluster=cluster(gpu_count=256, deployment=shaky))
    alone = estimate(scenario, calibration=CALIBRATION)
    assert alone.time.goodput < calm.recommended.estimate.time.goodput
    hours = 256 * alone.time.training_seconds / 3600
    assert result.recommended.cost == pytest.approx(hours * 14.9, rel=1e-12)


def test_equal_points_stand_on_the_front_once():
    twin = replace(H100, sku="nvidia-h100-twin")
    once = find(options=h100()).pareto
    twice = find(options=(option(H100, 400, 14.9), option(twin, 400, 14.9))).pareto
    assert len(twice) == len(once)


def test_what_a_deadline_requires_of_any_cluster():
    deadline = 30 * SECONDS_PER_DAY
    result = find(options=h100(), deadline_seconds=deadline)
    needed, chosen = result.requirement, result.recommended
    assert needed.sustained_flops_per_second == pytest.approx(chosen.estimate.flops.total_model_flops / deadline)
    # the same sustained rate at the share of the peak that the recommended cluster reaches, goodput included
    share = chosen.estimate.time.mfu * chosen.estimate.time.goodput
    assert needed.dense_peak_flops_per_second == pytest.approx(needed.sustained_flops_per_second / share, rel=1e-3)


def test_search_takes_whole_servers_and_says_so():
    # two cards hold 7 B, but no server of eight is smaller than eight
    result = find(LLAMA2_7B, options=h100(), max_gpu_count=4)
    assert result.recommended is None
    assert [r.params["smallest_gpu_count"] for r in result.rejected] == [8]
    assert [p.params["gpu_count"] for p in result.relaxations] == [8]


def test_a_size_beside_the_fastest_coarse_one_can_meet_the_deadline():
    # every size alone against one search over all of them: the least time that any has must be found
    sizes = cluster_sizes(8, Target(max_gpu_count=160))
    alone = [find(options=h100(), gpu_count=size, max_gpu_count=160).recommended for size in sizes]
    best = min(one.estimate.time.training_seconds for one in alone if one)
    assert find(options=h100(), max_gpu_count=160, deadline_seconds=best).recommended is not None


def test_nothing_left_of_the_memory_is_no_division_by_zero():
    result = find(job=plan(memory_headroom_fraction=1.0))
    assert result.recommended is None
    assert {r.code for r in result.rejected} == {"does_not_fit"}


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_parts_of_the_layers_are_recomputed_where_that_is_what_fits(share):
    # a card whose memory is just what this share needs: less recomputation does not fit, more is slower
    job, on = plan(global_batch_size=512), cluster(gpu_count=64)
    stated = LayoutRequest(
        tensor_parallel=8, pipeline_parallel=4, context_parallel=1, expert_parallel=1, virtual_stage_count=1,
        micro_batch_size=2, zero_stage=1, recomputation=Recomputation.FULL, recomputed_layer_fraction=share,
    )  # fmt: skip
    exact = estimate(Scenario(model=LLAMA3_70B, plan=job, cluster=on, layout=stated), calibration=CALIBRATION)
    candidates = enumerate_layouts(
        LLAMA3_70B, job, replace(stated, recomputation=Recomputation.NONE, recomputed_layer_fraction=None), [64], 8
    )
    rates = machine(on.gpu, 8, on.fabric, job, on.deployment, CALIBRATION)
    budget = exact.memory.total_bytes
    pool = LayoutPool(workload(LLAMA3_70B, job), job, candidates, CALIBRATION, tries_shares=True)
    (found,) = best_layouts(pool, [Kind(rates=rates, budget_bytes=budget, sizes=(64,))])
    assert found is not None
    assert found.candidates.recomputed_fraction[0] <= share
    assert found.evaluated.time.step_seconds[0] <= exact.time.step_seconds


def test_round_sizes_are_powers_of_two_and_three_times_them():
    assert [count for count in range(1, 50) if is_round(count)] == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]


@pytest.mark.parametrize("loss", [0.0, 0.2])
@pytest.mark.parametrize("measured", [None, 0.5])
def test_the_curve_has_the_recommended_time_of_its_own_size(loss, measured):
    pilot = Pilot(measured_tokens_per_second_per_gpu=measured, predicted_tokens_per_second_per_gpu=1.0, gpu_count=8)
    given = replace(option(H100, 400, 14.9), pilot=pilot if measured else None)
    deployment = DeploymentProfile(code="virtualized_shared" if loss else "bare_metal", throughput_loss_fraction=loss)
    result = search(
        model=LLAMA3_70B,
        plan=plan(),
        target=Target(gpu_count=256),
        options=(given,),
        calibration=CALIBRATION,
        deployment=deployment,
    )
    (point,) = result.scaling
    assert point.training_seconds == result.recommended.estimate.time.training_seconds
    # a measured half of the rate and a fifth lost each stretch the step by exactly that
    plain = find(options=h100(), gpu_count=256).scaling[0]
    assert point.step_seconds == pytest.approx(plain.step_seconds / (1 - loss) / (measured or 1.0))


def test_a_budget_that_a_relaxation_names_meets_the_deadline_too():
    job = {"options": h100(), "deadline_seconds": 20 * SECONDS_PER_DAY}
    refused = find(max_cost=1.0, **job)
    (relaxed,) = [item for item in refused.relaxations if item.code == "relax_budget"]
    assert find(max_cost=relaxed.params["cost"], **job).recommended is not None
    assert find(max_cost=0.99 * relaxed.params["cost"], **job).recommended is None


def test_any_option_that_meets_the_target_can_lead_with_its_own_curve():
    result = find(deadline_seconds=60 * SECONDS_PER_DAY)
    for item in (result.recommended, *result.alternatives):
        requirement, scaling = result.view_of[item.option.gpu.sku]()
        sizes = {point.gpu_count: point.training_seconds for point in scaling}
        assert sizes[item.estimate.scenario.cluster.gpu_count] == item.estimate.time.training_seconds
        assert requirement.sustained_flops_per_second == result.requirement.sustained_flops_per_second


def test_a_part_of_a_server_is_no_round_size():
    assert [count for count in range(17) if is_round(count)] == [1, 2, 3, 4, 6, 8, 12, 16]

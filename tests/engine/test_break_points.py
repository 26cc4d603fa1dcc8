"""Where an answer turns over: found by section, held against estimates on both sides of each point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from advisor.calibration_data import current_calibration
from advisor.engine import break_points as subject
from advisor.engine.estimate import estimate
from advisor.engine.parameters import parameter_count
from advisor.engine.scenario_stack import stacked
from advisor.engine.search_types import ScalingPoint
from advisor.engine.sensitivity import base_case, with_layer_count
from advisor.engine.specs import (
    ClusterSpec,
    DeploymentProfile,
    FabricSpec,
    LayoutRequest,
    Recomputation,
    RecomputedPart,
    Scenario,
    TrainingPlan,
)
from advisor.engine.units import SECONDS_PER_DAY
from tests.engine.cases import A100, H100, LLAMA2_7B, LLAMA3_70B, MIXTRAL_8X7B

CALIBRATION = current_calibration()


def run(model=LLAMA3_70B, gpu=H100, gpu_count=64, batch=1024, layout=None, deployment=None, parts=()):
    if parts:
        layout = replace(layout or LayoutRequest(), recomputation=Recomputation.SELECTIVE)
    return estimate(
        Scenario(
            model=model,
            plan=TrainingPlan(tokens=1e11, sequence_length=4096, global_batch_size=batch, recomputed_parts=parts),
            cluster=ClusterSpec(
                gpu=gpu,
                gpu_count=gpu_count,
                gpus_per_server=8,
                fabric=FabricSpec(scale_out_bytes_per_second_per_gpu=50e9),
                deployment=deployment or DeploymentProfile(),
            ),
            layout=layout or LayoutRequest(),
        ),
        calibration=CALIBRATION,
    )


def points(answer, **more):
    base = base_case(answer, CALIBRATION)
    return {point.code: point for point in subject.break_points(answer, base, calibration=CALIBRATION, **more)}


def fits(answer, parameters, widest=None):
    """Whether some layout holds the model at the depth with that many parameters."""
    base = base_case(answer, CALIBRATION)
    layers = next(
        layers for layers in range(1, 2000) if parameter_count(with_layer_count(base, layers).model) == parameters
    )
    widths = [widest] if widest else [1, 2, 4, 8]
    for depth, expected in ((layers - 1, True), (layers, False)):
        deep = with_layer_count(base, depth).model
        scenario = replace(answer.scenario, model=deep)
        holds = any(
            estimate(replace(scenario, layout=LayoutRequest(tensor_parallel=t)), calibration=CALIBRATION).memory.fits
            for t in widths
        )
        assert holds is expected, (depth, expected)


@pytest.mark.parametrize(
    ("model", "gpu", "gpu_count"), [(LLAMA3_70B, H100, 64), (LLAMA2_7B, A100, 8), (MIXTRAL_8X7B, H100, 64)]
)
def test_one_layer_less_than_the_memory_point_fits_and_the_point_does_not(model, gpu, gpu_count):
    answer = run(model, gpu, gpu_count)
    point = points(answer)["break_memory"]
    assert point.params["gpu_count"] == gpu_count
    assert point.params["parameter_count"] > parameter_count(model)
    fits(answer, point.params["parameter_count"])


@pytest.mark.parametrize("model", [LLAMA3_70B, MIXTRAL_8X7B], ids=["dense", "experts"])
def test_parts_that_are_computed_again_leave_the_memory_point_where_it_is(model):
    # the point is sought with full recomputation, beside which no part is computed again
    usual, stated = run(model), run(model, parts=(RecomputedPart.LAYERNORM,))
    assert points(stated)["break_memory"].params == points(usual)["break_memory"].params


def test_narrower_tensor_groups_hold_one_layer_less_than_the_tensor_point():
    answer = run(LLAMA3_70B, H100, 64)
    point = points(answer)["break_tensor_parallel"]
    assert point.params["tensor_parallel"] == 2 * point.params["narrower"]
    fits(answer, point.params["parameter_count"], widest=point.params["narrower"])


def test_a_cluster_that_holds_eight_times_the_model_has_no_memory_point():
    assert "break_memory" not in points(run(LLAMA2_7B, H100, 512))


def test_depths_side_by_side_need_what_they_need_alone():
    base = base_case(run(MIXTRAL_8X7B), CALIBRATION)
    layers = np.array([8, 32, 40, 64])
    together = subject._deeper(base, layers.astype(float))
    alone = stacked([with_layer_count(base, int(count)).work for count in layers], np.arange(4))
    assert np.array_equal(together.layer_count, alone.layer_count)
    assert np.array_equal(np.broadcast_to(together.moe_share, 4), np.broadcast_to(alone.moe_share, 4))


def test_the_batch_ends_at_one_sequence_for_each_group():
    layout = LayoutRequest(tensor_parallel=8, pipeline_parallel=2, context_parallel=1)
    assert points(run(layout=layout))["break_batch"].params == {"gpu_count": 1024 * 16, "global_batch_size": 1024}


def test_tokens_and_losses_that_the_deadline_bears():
    answer = run(gpu_count=256)
    seconds = answer.time.training_seconds
    found = points(answer, deadline_seconds=2 * seconds)
    # twice the time: twice the tokens (whole steps), or half the rate
    assert found["break_deadline_tokens"].params["tokens"] == pytest.approx(2e11, rel=1e-3)
    assert found["break_deadline_loss"].params["loss_fraction"] == pytest.approx(0.5)
    most = found["break_deadline_tokens"].params["tokens"]
    step = answer.global_batch_size * 4096

    def days_of(tokens):
        plan = replace(answer.scenario.plan, tokens=tokens)
        return estimate(replace(answer.scenario, plan=plan), calibration=CALIBRATION).time.training_seconds

    assert days_of(most) <= 2 * seconds < days_of(most + step)


def test_a_loss_already_there_counts():
    answer = run(gpu_count=256, deployment=DeploymentProfile(code="virtualized_shared", throughput_loss_fraction=0.2))
    found = points(answer, deadline_seconds=1.25 * answer.time.training_seconds)
    assert found["break_deadline_loss"].params["loss_fraction"] == pytest.approx(1 - 0.8 / 1.25)


def test_a_missed_deadline_bears_nothing():
    answer = run(gpu_count=256)
    assert "break_deadline_tokens" not in points(answer, deadline_seconds=SECONDS_PER_DAY)


@pytest.mark.parametrize(("knee_at", "is_told"), [(0, True), (1, False)])
def test_the_knee_is_told_unless_it_is_the_end_of_the_curve(knee_at, is_told):
    curve = [
        ScalingPoint(
            gpu_count=count,
            training_seconds=1.0,
            mfu=0.4,
            tokens_per_second=1.0,
            step_seconds=1.0,
            global_batch_size=8,
            goodput=1.0,
            is_knee=index == knee_at,
        )
        for index, count in enumerate((64, 128))
    ]
    found = points(run(), scaling=curve)
    assert ("break_knee" in found) is is_told
    if is_told:
        assert found["break_knee"].params["gpu_count"] == 64


def test_a_pipeline_as_long_as_the_model_grows_to_the_last_depth_that_fits():
    # the search starts below the pipeline's own length, where memory alone must keep it going
    layout = LayoutRequest(tensor_parallel=1, pipeline_parallel=8)
    answer = run(model=replace(LLAMA3_70B, layer_count=8), gpu_count=8, batch=64, layout=layout)
    found = points(answer)["break_memory"].params["parameter_count"]
    base = base_case(answer, CALIBRATION)
    depth = next(depth for depth in range(8, 65) if parameter_count(with_layer_count(base, depth).model) == found)

    def holds(layer_count):
        deep = replace(answer.scenario, model=with_layer_count(base, layer_count).model)
        return estimate(deep, calibration=CALIBRATION).memory.fits

    assert holds(depth - 1)
    assert not holds(depth)

"""How an answer moves with its inputs: base, directions, and each end against an estimate of its own."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.calibration_data import current_calibration
from advisor.engine import sensitivity as subject
from advisor.engine.estimate import estimate
from advisor.engine.scenario_stack import evaluate_cases, stacked
from advisor.engine.specs import (
    ClusterSpec,
    DeploymentProfile,
    FabricSpec,
    LayoutRequest,
    Recomputation,
    Scenario,
    TrainingPlan,
)
from advisor.engine.workload import workload
from tests.engine.cases import H100, LLAMA2_7B, LLAMA3_70B, MIXTRAL_8X7B

CALIBRATION = current_calibration()
LOSS = DeploymentProfile(code="virtualized_dedicated", throughput_loss_fraction=0.2)
STATED = LayoutRequest(
    tensor_parallel=8,
    pipeline_parallel=4,
    context_parallel=1,
    expert_parallel=1,
    virtual_stage_count=1,
    micro_batch_size=1,
    zero_stage=1,
    recomputation=Recomputation.NONE,
)
# what more of an input does to the days: 1 longer, -1 shorter
DIRECTIONS = {
    "parameters": 1,
    "training_tokens": 1,
    "sequence_length": 1,
    "gemm_efficiency": -1,
    "memory_efficiency": -1,
    "scale_out_gbit_per_second_per_gpu": -1,
    "interruptions_per_1000_gpu_days": 1,
    "throughput_loss": 1,
}


def run(model=LLAMA3_70B, gpu_count=256, batch=1024, length=4096, layout=None, deployment=None, gbit=400):
    scenario = Scenario(
        model=model,
        plan=TrainingPlan(tokens=1.4e12, sequence_length=length, global_batch_size=batch),
        cluster=ClusterSpec(
            gpu=H100,
            gpu_count=gpu_count,
            gpus_per_server=8,
            fabric=FabricSpec(scale_out_bytes_per_second_per_gpu=gbit * 1e9 / 8),
            deployment=deployment or DeploymentProfile(),
        ),
        layout=layout or LayoutRequest(),
    )
    return estimate(scenario, calibration=CALIBRATION)


def moved(answer):
    found = subject.sensitivity(answer, calibration=CALIBRATION)
    assert found is not None
    return found


@pytest.fixture
def every_input(monkeypatch):
    monkeypatch.setattr(subject, "STRONGEST_COUNT", 20)


@pytest.mark.parametrize(
    ("model", "gpu_count", "layout"),
    [(LLAMA2_7B, 8, None), (LLAMA3_70B, 256, None), (LLAMA3_70B, 256, STATED), (MIXTRAL_8X7B, 64, None)],
)
def test_the_base_is_the_answer_to_the_last_bit(model, gpu_count, layout, every_input):
    answer = run(model, gpu_count, layout=layout)
    found = moved(answer)
    assert {item.training_seconds[1] for item in found.inputs} == {answer.time.training_seconds}
    table = found.tokens_by_gpu_count
    row = table.training_seconds[table.tokens.index(1.4e12)]
    assert row[table.gpu_counts.index(gpu_count)] == answer.time.training_seconds


@settings(max_examples=20)
@given(
    st.sampled_from([(LLAMA2_7B, 32), (LLAMA2_7B, 8), (LLAMA3_70B, 256), (LLAMA3_70B, 1024), (MIXTRAL_8X7B, 64)]),
    st.sampled_from([512, 1024, 1536]),
    st.sampled_from([2048, 4096, 8192]),
    st.sampled_from([100, 400]),
    st.sampled_from([None, LOSS]),
)
def test_each_input_moves_the_days_the_way_it_must(job, batch, length, gbit, deployment):
    model, gpu_count = job
    found = moved(run(model, gpu_count, batch=batch, length=length, gbit=gbit, deployment=deployment))
    for item in found.inputs:
        assert item.values[0] < item.values[1] < item.values[2]
        low, base, high = item.training_seconds
        if item.name in DIRECTIONS:
            assert low is None or DIRECTIONS[item.name] * (base - low) >= 0, item.name
            assert high is None or DIRECTIONS[item.name] * (high - base) >= 0, item.name


def test_strongest_first_and_at_most_six():
    spreads = [item.spread_seconds for item in moved(run()).inputs]
    assert spreads == sorted(spreads, reverse=True)
    assert len(spreads) == 6
    assert spreads[-1] > 0


def test_ends_are_what_an_estimate_with_that_input_says(every_input):
    """Layout stated, so that nothing adapts: each end is one estimate of the same engine."""
    answer = run(layout=STATED)
    found = {item.name: item for item in moved(answer).inputs}
    scenario = answer.scenario

    def seconds(**changes):
        return estimate(replace(scenario, **changes), calibration=CALIBRATION).time.training_seconds

    deeper = replace(LLAMA3_70B, layer_count=96)
    assert found["parameters"].training_seconds[2] == seconds(model=deeper)
    longer = replace(scenario.plan, sequence_length=8192, global_batch_size=512)
    assert found["sequence_length"].training_seconds[2] == seconds(plan=longer)
    fewer = replace(scenario.plan, tokens=1.4e12 * 0.8)
    assert found["training_tokens"].training_seconds[0] == seconds(plan=fewer)
    half = replace(scenario.cluster, fabric=FabricSpec(scale_out_bytes_per_second_per_gpu=25e9))
    assert found["scale_out_gbit_per_second_per_gpu"].training_seconds[0] == pytest.approx(seconds(cluster=half))
    thrice = replace(scenario.cluster, deployment=DeploymentProfile(interruption_rate_factor=3.0))
    assert found["interruptions_per_1000_gpu_days"].training_seconds[2] == pytest.approx(seconds(cluster=thrice))


def test_the_published_rate_of_interruptions_is_shown_per_thousand_gpu_days(every_input):
    # Llama 3: 419 in 54 days on 16 384 GPUs
    item = {item.name: item for item in moved(run()).inputs}["interruptions_per_1000_gpu_days"]
    assert item.values[1] == pytest.approx(1000 * 419 / 54 / 16384)
    assert item.values[2] / item.values[0] == pytest.approx(9)


def test_a_loss_of_a_fifth_goes_from_none_to_thirty_percent(every_input):
    item = {item.name: item for item in moved(run(deployment=LOSS)).inputs}["throughput_loss"]
    assert item.values == pytest.approx((0.0, 0.2, 0.3))
    # steps divided by exactly 1 - loss, whatever the goodput
    assert item.training_seconds[1] / item.training_seconds[0] == pytest.approx(1 / 0.8)
    assert item.training_seconds[2] / item.training_seconds[0] == pytest.approx(1 / 0.7)


def test_on_bare_metal_there_is_no_loss_to_vary(every_input):
    assert "throughput_loss" not in {item.name for item in moved(run()).inputs}


def test_what_does_not_fit_is_unknown_and_counts_as_strongest():
    # 70 B on 16 GPUs of 80 GB: states of 18 bytes a parameter are 1.27 TB of 1.37 TB; a fifth more layers do not fit
    found = moved(run(gpu_count=16))
    strongest = found.inputs[0]
    assert strongest.name == "parameters"
    assert strongest.training_seconds[0] is not None
    assert strongest.training_seconds[2] is None


def test_without_tokens_or_room_there_is_nothing_to_vary():
    answer = run()
    without = replace(answer.scenario, plan=replace(answer.scenario.plan, tokens=None))
    assert subject.sensitivity(estimate(without, calibration=CALIBRATION), calibration=CALIBRATION) is None
    assert subject.sensitivity(run(gpu_count=8), calibration=CALIBRATION) is None


def test_twice_the_tokens_take_twice_the_time_and_more_gpus_less():
    table = moved(run()).tokens_by_gpu_count
    whole = np.array(table.training_seconds, dtype=float)
    assert np.allclose(whole[1:] / whole[:-1], 2.0, rtol=1e-4)  # last steps are partly filled
    assert np.all(np.diff(whole, axis=1) < 0)
    assert table.gpu_counts == (64, 128, 256, 512, 1024)


def test_sizes_that_a_search_has_evaluated_are_used_as_they_are():
    sizes = [
        subject.SizeTimes(gpu_count=count, step_seconds=1000.0 / count, global_batch_size=1000, goodput=0.5)
        for count in (64, 96, 128, 256, 512, 1024)
    ]
    chosen = subject.sizes_around(256, sizes)
    assert [size.gpu_count for size in chosen] == [64, 128, 256, 512, 1024]
    table = subject.tokens_table(run().scenario.plan, chosen)
    # 1.4e12 tokens in steps of 1000 x 4096: 341 797 steps of 1000/256 s at goodput 1/2
    assert table.training_seconds[2][2] == pytest.approx(341_797 * 1000 / 256 / 0.5)


def test_a_stack_refuses_jobs_of_two_kinds_and_keeps_what_is_the_same():
    plan = TrainingPlan(tokens=None, sequence_length=4096, global_batch_size=8)
    small, large = workload(LLAMA2_7B, plan), workload(LLAMA3_70B, plan)
    together = stacked([small, large], np.array([0, 1, 1]))
    assert together.layer_count.tolist() == [32, 80, 80]
    assert together.sequence_length == 4096
    eager = replace(small, is_eager=True)
    with pytest.raises(ValueError, match="is_eager"):
        stacked([small, eager], np.array([0, 1]))
    assert {item.name for item in fields(together)} == {item.name for item in fields(small)}


def test_a_case_never_takes_another_batch_than_asked():
    answer = run(LLAMA2_7B, 64, batch=96)
    base = subject.base_case(answer, CALIBRATION)
    asked = [96, 48, 36, 72, 192]
    cases = [replace(base, plan=replace(base.plan, global_batch_size=batch)) for batch in asked]
    used = evaluate_cases(answer, cases, CALIBRATION).global_batch_size
    known = np.isfinite(used)
    assert known[0]
    assert np.all(np.abs(used - asked)[known] <= 0.02 * np.array(asked)[known])

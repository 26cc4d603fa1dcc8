"""The composition: published runs, exactness of the array path, and what must hold for every estimate."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.calibration_data import current_calibration
from advisor.engine.candidates import concatenate
from advisor.engine.estimate import ScenarioError, error_band_fraction, estimate
from advisor.engine.evaluate import evaluate
from advisor.engine.fitting import available_bytes
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import domain_size, machine
from advisor.engine.specs import (
    AttentionKernel,
    DeploymentProfile,
    LayoutRequest,
    Precision,
    Recipe,
    Recomputation,
    Scenario,
)
from advisor.engine.workload import workload
from tests.engine.cases import (
    A100,
    BLOOM_176B,
    GPT3_175B,
    H100,
    LLAMA2_7B,
    LLAMA3_70B,
    LLAMA31_405B,
    MIXTRAL_8X7B,
    cluster,
    plan,
)

CALIBRATION = current_calibration()
STATED = LayoutRequest(
    tensor_parallel=8,
    pipeline_parallel=4,
    context_parallel=1,
    expert_parallel=1,
    virtual_stage_count=1,
    micro_batch_size=1,
    zero_stage=1,
    recomputation=Recomputation.SELECTIVE,
)


def run(model=LLAMA3_70B, job=None, on=None, layout=STATED):
    scenario = Scenario(model=model, plan=job or plan(), cluster=on or cluster(), layout=layout)
    return estimate(scenario, calibration=CALIBRATION)


def test_llama_405b_on_16384_h100():
    # arXiv:2407.21783, Table 4: TP 8, PP 16, DP 128, 16M tokens a step: 43 % MFU and 430 TFLOP/s with 8 192-GPU rows,
    # 41 % and 400 TFLOP/s on 16 384 GPUs, which is 158 tokens/s per GPU
    answer = run(
        LLAMA31_405B,
        plan(sequence_length=8192, global_batch_size=2048),
        cluster(H100, 16384, 400),
        LayoutRequest(tensor_parallel=8, pipeline_parallel=16, context_parallel=1, micro_batch_size=1),
    )
    assert answer.layout.data_parallel == 128
    assert answer.time.tokens_per_second_per_gpu == pytest.approx(158, rel=0.15)


def test_bloom_176b_on_384_a100():
    # arXiv:2211.05100 section 3.4.3 and the training chronicles: TP 4, PP 12, DP 8, micro-batch 2, 2 048 sequences of
    # 2 048, full recomputation, 105 s a step: 109 tokens/s per GPU; 4 x 100 Gb/s Omni-Path per server of 8
    answer = run(
        BLOOM_176B,
        plan(sequence_length=2048, global_batch_size=2048, attention=AttentionKernel.EAGER, recipe=Recipe.DEEPSPEED),
        cluster(A100, 384, 50),
        LayoutRequest(
            tensor_parallel=4,
            pipeline_parallel=12,
            context_parallel=1,
            expert_parallel=1,
            virtual_stage_count=1,
            micro_batch_size=2,
            zero_stage=1,
            recomputation=Recomputation.FULL,
            uses_sequence_parallel=False,
        ),
    )
    assert answer.time.tokens_per_second_per_gpu == pytest.approx(109, rel=0.15)


def test_gpt3_on_1024_a100_with_the_software_of_2021():
    # arXiv:2104.04473, section 5.1: 140 TFLOP/s executed per GPU on 1 024 A100 with full recomputation, 100 tokens/s.
    # The layout is unpublished: best found among those of that time (unfused attention, no sequence parallelism, no
    # sharded optimizer; arXiv:2205.05198 and flash attention came later)
    answer = run(
        GPT3_175B,
        plan(sequence_length=2048, global_batch_size=1536, attention=AttentionKernel.EAGER),
        cluster(A100, 1024, 200),
        LayoutRequest(recomputation=Recomputation.FULL, uses_sequence_parallel=False, zero_stage=0),
    )
    assert answer.time.tokens_per_second_per_gpu == pytest.approx(100, rel=0.15)


def test_llama_65b_days():
    # arXiv:2302.13971, section 2.4: 65 B on 2 048 A100-80GB at 380 tokens/s per GPU, 1.4 T tokens in about 21 days
    llama_65b = replace(LLAMA2_7B, layer_count=80, hidden_size=8192, ffn_size=22016, head_count=64, kv_head_count=64)
    answer = run(
        llama_65b,
        plan(sequence_length=2048, global_batch_size=2048),
        cluster(A100, 2048, 200),
        LayoutRequest(),
    )
    assert answer.time.training_seconds is not None
    assert answer.time.training_seconds / 86400 == pytest.approx(21, rel=0.15)


def test_70b_does_not_fit_on_eight_a100():
    # 16 bytes x 70.6 B parameters = 1.13 TB of states at least, against 640 GB
    answer = run(LLAMA3_70B, plan(recipe=Recipe.DEEPSPEED), cluster(A100, 8, 200), LayoutRequest())
    assert not answer.memory.fits
    (problem,) = [problem for problem in answer.problems if problem.code == "does_not_fit"]
    assert problem.params["model_state_bytes"] == pytest.approx(1.13e12, rel=0.01)
    assert problem.params["cluster_bytes"] < 700e9
    smallest = problem.params["smallest_gpu_count"]
    assert smallest % 8 == 0
    assert run(LLAMA3_70B, plan(recipe=Recipe.DEEPSPEED), cluster(A100, smallest, 200), LayoutRequest()).memory.fits


def test_one_billion_fits_on_four_a100_40gb():
    small = replace(
        LLAMA2_7B, layer_count=16, hidden_size=2048, ffn_size=8192, head_count=32, kv_head_count=8, head_size=64
    )
    card = replace(A100, memory_bytes=40_960 * 2**20)
    answer = run(small, plan(global_batch_size=128), cluster(card, 4, 200), LayoutRequest())
    assert answer.memory.fits


def test_ten_days_at_twenty_percent_loss_are_twelve_and_a_half():
    bare = run()
    lossy = run(on=cluster(deployment=DeploymentProfile(code="virtualized_dedicated", throughput_loss_fraction=0.2)))
    assert lossy.time.step_seconds == pytest.approx(bare.time.step_seconds / 0.8, rel=1e-12)
    assert lossy.time.goodput == bare.time.goodput
    assert lossy.time.training_seconds / bare.time.training_seconds == pytest.approx(1.25, rel=1e-12)


def test_a_precision_the_gpu_lacks_is_refused():
    with pytest.raises(ScenarioError) as caught:
        run(job=plan(precision=Precision.FP8), on=cluster(A100))
    assert [problem.code for problem in caught.value.problems] == ["unsupported_precision"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"tensor_parallel": 7}, "layout_not_divisible"),
        ({"pipeline_parallel": 128}, "more_stages_than_layers"),
        ({"expert_parallel": 8}, "experts_not_divisible"),
    ],
)
def test_contradictions_are_named(changes, code):
    with pytest.raises(ScenarioError) as caught:
        run(layout=replace(STATED, **changes))
    assert code in [problem.code for problem in caught.value.problems]


def test_scalar_equals_array_to_the_last_bit():
    job, on = plan(global_batch_size=512), cluster(gpu_count=64)
    work = workload(MIXTRAL_8X7B, job)
    domain = domain_size(on.gpu, on.gpus_per_server)
    candidates = enumerate_layouts(MIXTRAL_8X7B, job, LayoutRequest(), [64], domain)
    rates = machine(on.gpu, 8, on.fabric, job, on.deployment, CALIBRATION)
    budget = available_bytes(on.gpu, job)
    many = evaluate(work, job, candidates, rates, CALIBRATION, budget)
    rng = np.random.default_rng(7)
    for index in rng.choice(len(candidates), 40, replace=False):
        one = evaluate(work, job, candidates.take(slice(index, index + 1)), rates, CALIBRATION, budget)
        assert one.time.step_seconds[0] == pytest.approx(many.time.step_seconds[index], rel=2.3e-16)
        assert one.memory.total_bytes[0] == pytest.approx(many.memory.total_bytes[index], rel=2.3e-16)


def test_blocks_do_not_change_a_value():
    job, on = plan(), cluster(gpu_count=512)
    candidates = enumerate_layouts(LLAMA3_70B, job, LayoutRequest(), [512], 8)
    long = concatenate([candidates] * (40_000 // len(candidates) + 1))
    rates = machine(on.gpu, 8, on.fabric, job, on.deployment, CALIBRATION)
    many = evaluate(workload(LLAMA3_70B, job), job, long, rates, CALIBRATION)
    assert np.array_equal(many.time.step_seconds[: len(candidates)], many.time.step_seconds[-len(candidates) :])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(list(Recomputation)),
    st.sampled_from([0, 1, 2, 3]),
)
def test_what_holds_for_every_estimate(t, p, b, recomputation, zero_stage):
    answer = run(
        layout=replace(
            STATED,
            tensor_parallel=t,
            pipeline_parallel=p,
            micro_batch_size=b,
            recomputation=recomputation,
            zero_stage=zero_stage,
        )
    )
    time = answer.time
    parts = time.compute_seconds + time.exposed_communication_seconds + time.bubble_seconds + time.optimizer_seconds
    assert parts == pytest.approx(time.step_seconds, rel=1e-9)
    assert 0 < time.mfu <= time.hfu < 1
    assert (time.bubble_seconds == 0) == (p == 1)
    assert 0 < time.goodput <= 1
    assert time.training_seconds == pytest.approx(time.step_count * time.step_seconds / time.goodput, rel=1e-12)
    assert time.training_seconds_low < time.training_seconds < time.training_seconds_high
    assert answer.flops.model_flops_per_token == run().flops.model_flops_per_token
    assert answer.layout.gpu_count == 512


def test_faster_links_and_memory_never_slow_a_step():
    base = run(layout=replace(STATED, pipeline_parallel=8)).time.step_seconds
    assert run(on=cluster(gbit_per_second=800), layout=replace(STATED, pipeline_parallel=8)).time.step_seconds <= base
    quick = replace(H100, memory_bytes_per_second=2 * H100.memory_bytes_per_second)
    assert run(on=cluster(quick), layout=replace(STATED, pipeline_parallel=8)).time.step_seconds < base


def test_steps_are_whole_and_the_last_one_is_partly_filled():
    # 1 024 sequences of 4 096: 4 194 304 tokens a step
    assert run(job=plan(tokens=4_194_304.0)).time.step_count == 1
    assert run(job=plan(tokens=4_194_305.0)).time.step_count == 2
    assert run(job=plan(tokens=None)).time.training_seconds is None


def test_interruptions_grow_with_the_gpus_and_the_profile():
    bare, shaky = run(), run(on=cluster(deployment=DeploymentProfile(interruption_rate_factor=10.0)))
    # arXiv:2407.21783, Table 5: 419 unexpected interruptions in 54 days on 16 384 H100, about 2e-5 a GPU-hour
    hours = 512 * bare.time.training_seconds / 3600
    assert bare.time.interruptions_expected / hours == pytest.approx(2e-5, rel=0.1)
    assert shaky.time.interruptions_expected / shaky.time.training_seconds == pytest.approx(
        10 * bare.time.interruptions_expected / bare.time.training_seconds, rel=1e-12
    )
    assert shaky.time.goodput < bare.time.goodput


def test_the_range_is_the_band_of_the_nearest_kind_of_run_and_the_luck_with_interruptions():
    time = run().time
    band = CALIBRATION.error_band_fraction["Hopper/dense"]
    assert time.training_seconds_low < time.training_seconds * (1 - band)
    assert time.training_seconds_high > time.training_seconds * (1 + band)
    # some fifty interruptions of a quarter of an hour each cannot move a month by a per cent
    assert time.training_seconds_low == pytest.approx(time.training_seconds * (1 - band), rel=0.01)
    assert time.training_seconds_high == pytest.approx(time.training_seconds * (1 + band), rel=0.01)


def test_a_younger_part_of_a_family_takes_the_family_s_band():
    # no dense Blackwell Ultra row of its own: that of Blackwell, not of all runs
    bands = {"other": 0.5, "Blackwell/dense": 0.1, "Blackwell Ultra/moe": 0.3}
    calibration = replace(CALIBRATION, error_band_fraction=bands)
    younger = cluster(replace(H100, architecture="Blackwell Ultra"))
    assert error_band_fraction(younger, LLAMA3_70B, calibration) == 0.1
    assert error_band_fraction(younger, MIXTRAL_8X7B, calibration) == 0.3
    assert error_band_fraction(cluster(replace(H100, architecture="Volta")), LLAMA3_70B, calibration) == 0.5


def test_without_a_count_the_smallest_cluster_that_fits_is_taken():
    answer = run(LLAMA2_7B, plan(global_batch_size=64), cluster(gpu_count=0), LayoutRequest())
    assert answer.memory.fits
    assert answer.layout.gpu_count == answer.scenario.cluster.gpu_count == 2
    assert not run(LLAMA2_7B, plan(global_batch_size=64), cluster(gpu_count=1), LayoutRequest()).memory.fits


def test_a_share_of_recomputed_layers_executes_that_share():
    none, half, full = (
        run(layout=replace(STATED, recomputation=kind, recomputed_layer_fraction=share)).flops
        for kind, share in [(Recomputation.NONE, None), (Recomputation.FULL, 0.5), (Recomputation.FULL, 1.0)]
    )
    extra = full.hardware_flops_per_token - none.hardware_flops_per_token
    assert half.hardware_flops_per_token - none.hardware_flops_per_token == pytest.approx(extra / 2)


TINY = replace(
    LLAMA2_7B, layer_count=1, hidden_size=1, ffn_size=1, head_count=1, kv_head_count=1, head_size=1, vocab_size=1
)
HUGE = replace(
    LLAMA2_7B, layer_count=1000, hidden_size=262_144, ffn_size=1_048_576, head_count=2048, kv_head_count=2048
)


@pytest.mark.parametrize("model", [TINY, HUGE, LLAMA2_7B, MIXTRAL_8X7B], ids=["tiny", "1e15", "7b", "mixture"])
@pytest.mark.parametrize("sequence_length", [1, 1_000_000])
@pytest.mark.parametrize("gpu_count", [1, 8, 72])
@pytest.mark.parametrize("rate", [0.0, 400.0])
def test_absurd_jobs_have_finite_answers(model, sequence_length, gpu_count, rate):
    job = plan(sequence_length=sequence_length, global_batch_size=72)
    with np.errstate(all="raise", under="ignore"):
        answer = run(model, job, cluster(gpu_count=gpu_count, gbit_per_second=rate), LayoutRequest())
    values = [*asdict(answer.time).values(), *asdict(answer.memory).values(), *asdict(answer.flops).values()]
    assert np.all(np.isfinite([float(value) for value in values]))
    assert 0 < answer.time.mfu <= answer.time.hfu <= 1


@pytest.mark.parametrize(("gpus", "per_server", "domain"), [(12, 4, 4), (40, 10, 1), (144, 72, 72)])
def test_servers_of_other_sizes(gpus, per_server, domain):
    gpu = replace(H100, scale_up_domain_size=domain, scale_up_bytes_per_second=450e9 if domain > 1 else 0.0)
    on = replace(cluster(gpu, gpus), gpus_per_server=per_server)
    answer = run(LLAMA2_7B, plan(global_batch_size=1440), on, LayoutRequest())
    assert answer.memory.fits
    assert answer.layout.gpu_count == gpus
    assert max(domain, per_server) % answer.layout.tensor_parallel == 0

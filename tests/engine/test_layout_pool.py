"""Floors stay below what they stand for, and pruning by them changes no winner, for kinds side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from advisor.calibration_data import current_calibration
from advisor.engine.evaluate import evaluate
from advisor.engine.fitting import available_bytes
from advisor.engine.layout_pool import Kind, LayoutPool, best_layouts
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import machine
from advisor.engine.memory import least_total_bytes, memory_per_gpu
from advisor.engine.specs import DeploymentProfile, FabricSpec, LayoutRequest, Recipe, Recomputation
from advisor.engine.timing import step_time
from advisor.engine.workload import workload
from tests.engine.cases import A100, GPT3_175B, H100, LLAMA2_7B, LLAMA3_70B, MIXTRAL_8X7B, plan

CALIBRATION = current_calibration()
SIZES = [8, 32, 96, 256]
SMALL = replace(H100, sku="small", memory_bytes=48 * 2**30, scale_up_bytes_per_second=0.0)
JOBS = {
    "7b": (LLAMA2_7B, {}),
    "70b": (LLAMA3_70B, {}),
    "70b-long": (LLAMA3_70B, {"sequence_length": 32768, "global_batch_size": 128}),
    "70b-fsdp": (LLAMA3_70B, {"recipe": Recipe.FSDP}),
    "gpt3": (GPT3_175B, {}),
    "mixtral": (MIXTRAL_8X7B, {}),
    "mixtral-odd": (replace(MIXTRAL_8X7B, layer_count=29, dense_layer_count=2), {"recipe": Recipe.DEEPSPEED}),
}


def pool_of(model, changes):
    job = plan(**{"global_batch_size": 512} | changes)
    layout = LayoutRequest(recomputation=Recomputation.NONE)
    candidates = enumerate_layouts(model, job, layout, SIZES, 8)
    return LayoutPool(workload(model, job), job, candidates, CALIBRATION, tries_shares=True)


def kind_of(pool, gpu, gbit=400.0, sizes=SIZES):
    fabric = FabricSpec(scale_out_bytes_per_second_per_gpu=gbit * 1e9 / 8)
    rates = machine(gpu, 8, fabric, pool.plan, DeploymentProfile(), CALIBRATION)
    return Kind(rates=rates, budget_bytes=available_bytes(gpu, pool.plan), sizes=tuple(sizes))


@pytest.mark.parametrize("job", JOBS)
def test_no_step_is_faster_than_its_floor(job):
    pool = pool_of(*JOBS[job])
    kinds = [kind_of(pool, H100), kind_of(pool, A100, 100), kind_of(pool, SMALL, 50)]
    rows = np.arange(len(pool.candidates))
    for kind, (least, more) in zip(kinds, pool.time_floors(kinds), strict=True):
        for place, share in enumerate(pool.shares):
            cand = pool.with_shares(rows, np.full(rows.size, place))
            memory = memory_per_gpu(pool.work, pool.plan, cand, CALIBRATION)
            step = step_time(pool.work, pool.plan, cand, kind.rates, memory, CALIBRATION).step_seconds
            assert np.all(least + share * more <= step / cand.global_batch_size)
        assert np.all(more >= 0)


@pytest.mark.parametrize("job", JOBS)
def test_no_layout_needs_less_than_its_memory_floor(job):
    pool = pool_of(*JOBS[job])
    whole, least = pool.memory_floors()
    rows = np.arange(len(pool.candidates))
    for place in range(len(pool.shares)):
        cand = pool.with_shares(rows, np.full(rows.size, place))
        need = least_total_bytes(memory_per_gpu(pool.work, pool.plan, cand, CALIBRATION))
        assert np.all(need >= (whole if place == 0 else least) * (1 - 1e-12))


@pytest.mark.parametrize("job", JOBS)
def test_kinds_side_by_side_find_what_each_finds_by_trying_everything(job):
    pool = pool_of(*JOBS[job])
    kinds = [kind_of(pool, H100), kind_of(pool, A100, 100, SIZES[1:]), kind_of(pool, SMALL, 50)]
    found = best_layouts(pool, kinds)
    for kind, best in zip(kinds, found, strict=True):
        expected = {}
        for size in kind.sizes:
            everything = enumerate_layouts(
                JOBS[job][0], pool.plan, LayoutRequest(), [size], int(kind.rates.domain_size)
            )
            values = evaluate(pool.work, pool.plan, everything, kind.rates, CALIBRATION, kind.budget_bytes)
            fits = values.memory.total_bytes <= kind.budget_bytes
            if np.any(fits):
                per_sequence = values.time.step_seconds / everything.global_batch_size
                expected[float(size)] = np.min(per_sequence[fits])
        got = {}
        if best is not None:
            per_sequence = best.evaluated.time.step_seconds / best.candidates.global_batch_size
            got = dict(zip(best.candidates.gpu_count.tolist(), per_sequence.tolist(), strict=True))
            assert np.all(best.evaluated.memory.total_bytes <= kind.budget_bytes)
        assert got == expected


def test_an_empty_pool_has_no_winner():
    pool = pool_of(LLAMA2_7B, {})
    empty = LayoutPool(pool.work, pool.plan, pool.candidates.take(slice(0, 0)), CALIBRATION, tries_shares=True)
    assert best_layouts(empty, [kind_of(empty, H100)]) == [None]


def test_memory_that_is_known_is_not_computed_again(monkeypatch):
    pool = pool_of(LLAMA2_7B, {})
    kinds = [kind_of(pool, H100)]
    first = best_layouts(pool, kinds)
    monkeypatch.setattr(pool, "_evaluate_memory", lambda rows, share: pytest.fail("evaluated again"))
    again = best_layouts(pool, kinds)
    assert first[0].candidates.layout(0) == again[0].candidates.layout(0)

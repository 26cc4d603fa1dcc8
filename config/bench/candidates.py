"""How many candidate layouts the engine evaluates in a second, and one very large search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from advisor.calibration_data import current_calibration
from advisor.engine.calibration import Calibration
from advisor.engine.candidates import Candidates
from advisor.engine.estimate import best_candidate
from advisor.engine.fitting import available_bytes
from advisor.engine.layouts import enumerate_layouts
from advisor.engine.machine import Machine, domain_size, machine
from advisor.engine.specs import DeploymentProfile, GpuSpec, LayoutRequest, ModelSpec, TrainingPlan
from advisor.engine.workload import Workload, workload
from advisor.hardware import hardware_options, load_parts
from advisor.training_plan import preset_model
from config.bench.measure import Figure, best_core_seconds

SIZES = (10_000, 100_000, 1_000_000)
LARGE_SEARCH = 3_200_000  # the size of the best-known peer's space for GPT-3 175B on 64 x A100-80GB
MODEL, GPU = "gpt3-175b", "nvidia-a100-sxm4-80gb"
GPU_COUNTS = [8 * step for step in range(1, 2049)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """GPT-3 175B on A100-80GB: 300 B tokens, 1536 sequences of 2048 a step (arXiv:2104.04473, section 5.1)."""

    model: ModelSpec
    plan: TrainingPlan
    work: Workload
    gpu: GpuSpec
    rates: Machine
    gpus_per_server: int
    calibration: Calibration

    def candidates(self, gpu_counts: list[int]) -> Candidates:
        domain = domain_size(self.gpu, self.gpus_per_server)
        return enumerate_layouts(self.model, self.plan, LayoutRequest(), gpu_counts, domain)

    def best(self, candidates: Candidates) -> int:
        """Memory and step time of every candidate, and the index of the fastest that fits."""
        budget = available_bytes(self.gpu, self.plan)
        index, _values = best_candidate(self.work, self.plan, candidates, self.rates, self.calibration, budget)
        return index


def gpt3_on_a100() -> Job:
    parts, calibration = load_parts(), current_calibration()
    option = max(hardware_options(parts, [parts.gpus[GPU]]), key=lambda item: item.gpus_per_server)
    model = preset_model(MODEL)
    plan = TrainingPlan(tokens=300e9, sequence_length=2048, global_batch_size=1536)
    return Job(
        model=model,
        plan=plan,
        work=workload(model, plan),
        gpu=option.gpu,
        rates=machine(option.gpu, option.gpus_per_server, option.fabric, plan, DeploymentProfile(), calibration),
        gpus_per_server=option.gpus_per_server,
        calibration=calibration,
    )


def resized(candidates: Candidates, size: int) -> Candidates:
    """Exactly `size` admissible candidates, by repeating or cutting the list."""
    return candidates.take(np.resize(np.arange(len(candidates), dtype=np.int64), size))


def rates() -> Iterator[Figure]:
    job = gpt3_on_a100()
    pool = job.candidates(GPU_COUNTS)
    yield Figure(path=("candidate_pool",), label="different candidates in the pool", value=len(pool), unit="")
    for size in SIZES:
        sample = resized(pool, size)
        seconds = best_core_seconds(lambda sample=sample: job.best(sample), 5 if size < 1_000_000 else 3)  # type: ignore[misc]
        yield Figure(
            path=("candidates_per_second", str(size)),
            label=f"candidates per second of one core, {size:,} at once",
            value=size / seconds,
            unit="/s",
            limit=1e6,
            is_floor=True,
        )


def large_search() -> Iterator[Figure]:
    job = gpt3_on_a100()
    sample = resized(job.candidates(GPU_COUNTS), LARGE_SEARCH)
    yield Figure(
        path=("large_search_seconds",),
        label=f"{LARGE_SEARCH:,} candidates of one job, one core",
        value=best_core_seconds(lambda: job.best(sample), 2),
        unit="s",
        limit=5.0,
    )


def own_space() -> Iterator[Figure]:
    job = gpt3_on_a100()
    size = len(job.candidates([64]))
    yield Figure(
        path=("own_space_seconds",),
        label=f"GPT-3 175B on 64 A100, all {size:,} layouts",
        value=best_core_seconds(lambda: job.best(job.candidates([64])), 5),
        unit="s",
        limit=0.2,
    )

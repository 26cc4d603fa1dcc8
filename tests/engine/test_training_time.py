"""Days of a run from steps, goodput and chance: against hand sums and against sampled interruptions."""

from __future__ import annotations

import numpy as np
import pytest

from advisor.engine import training_time
from advisor.engine.specs import TrainingPlan
from advisor.engine.training_time import Availability
from advisor.engine.workload import workload
from tests.engine.cases import LLAMA3_70B

DAY = 86_400.0


def run(*, mean_between, interval=1800.0, stall=0.0, restart=600.0):
    return Availability(
        goodput=np.float64(1.0),
        checkpoint_interval_seconds=np.float64(interval),
        checkpoint_stall_seconds=np.float64(stall),
        restart_seconds=restart,
        mean_seconds_between_interruptions=np.float64(mean_between),
    )


@pytest.mark.parametrize("mean_between", [DAY / 3, 2 * DAY])
def test_the_spread_is_what_sampled_interruptions_show(mean_between):
    wall, interval, restart = 60 * DAY, 1800.0, 600.0
    chance = np.random.default_rng(7)
    counts = chance.poisson(wall / mean_between, size=20_000)
    losses = np.array([np.sum(restart + interval * chance.random(count)) for count in counts])
    low, high = np.quantile(losses, [0.1, 0.9])
    spread = training_time.interruption_spread_fraction(wall, run(mean_between=mean_between)) * wall
    assert spread == pytest.approx((high - low) / 2, rel=0.05)


def test_two_independent_bands_add_in_squares():
    # 100 interruptions in 100 days that cost an hour each, none of it repeated work: 1.28 x 10 hours of 2400
    steady = run(mean_between=DAY, interval=0.0, restart=3600.0)
    wall = 100 * DAY
    low, high = training_time.range_seconds(wall, 0.03, steady)
    half = wall * (0.03**2 + (1.2815515655446004 * 10 / 2400) ** 2) ** 0.5
    assert low == pytest.approx(wall - half)
    assert high == pytest.approx(wall + half)


def test_a_cluster_that_hardly_trains_still_has_a_positive_low_end():
    low, high = training_time.range_seconds(1e6, 1.5, run(mean_between=DAY))
    assert 0 < low < 1e6 < high


def test_steps_are_whole():
    assert training_time.step_counts(np.array([10.0, 10.1, 9.9]), 5.0).tolist() == [2, 3, 2]


def test_arrays_of_sizes_are_the_scalars():
    plan = TrainingPlan(tokens=1e12, sequence_length=4096, global_batch_size=1024)
    work = workload(LLAMA3_70B, plan)
    together = training_time.availability(plan, work, np.array([64.0, 512.0]), 1e-8)
    for index, count in enumerate((64, 512)):
        alone = training_time.availability(plan, work, count, 1e-8)
        assert float(alone.goodput) == together.goodput[index]
        assert float(alone.checkpoint_interval_seconds) == together.checkpoint_interval_seconds[index]

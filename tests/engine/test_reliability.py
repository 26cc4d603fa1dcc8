from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.reliability import (
    ReliabilityInputs,
    checkpoint_stall_seconds,
    goodput_fraction,
    is_young_daly_valid,
    poisson_quantile,
    reliability_plan,
    young_daly_interval_seconds,
)

LLAMA3_RATE = 419 / (54 * 86400 * 16384)  # arXiv:2407.21783, Table 5


def _inputs(**changes) -> ReliabilityInputs:
    values = {
        "gpu_count": 16384,
        "gpus_per_server": 8,
        "training_seconds_without_loss": 54 * 86400 * 0.9,
        "checkpoint_bytes": 405e9 * 14,
        "write_bytes_per_second": 2e12,  # arXiv:2407.21783 section 3.3.1: 2 TB/s sustained
        "interruptions_per_gpu_second": LLAMA3_RATE,
    }
    return ReliabilityInputs(**(values | changes))


class TestPublishedRuns:
    def test_llama_3_run_is_met(self):
        # Llama 3 405B: 419 interruptions in 54 days, more than 90 % effective; one every 3.09 h
        plan = reliability_plan(_inputs())
        assert plan.mean_seconds_between_interruptions / 3600 == pytest.approx(3.09, abs=0.01)
        assert 0.88 < plan.goodput < 0.96
        assert plan.interruptions_expected == pytest.approx(419, rel=0.05)
        assert plan.interruptions_low < plan.interruptions_expected < plan.interruptions_high

    def test_byterobust_dense_job_is_met(self):
        # arXiv:2509.16293 abstract: 97 % effective over three months on 9 600 GPUs
        plan = reliability_plan(_inputs(gpu_count=9600, checkpoint_bytes=70e9 * 14))
        assert plan.goodput == pytest.approx(0.97, abs=0.02)


class TestYoungDaly:
    def test_worked_case(self):
        # sqrt(2 x 50 s x 10 000 s) = 1 000 s
        assert young_daly_interval_seconds(50.0, 10_000.0) == pytest.approx(1000.0)

    def test_at_most_the_mean_time(self):
        assert young_daly_interval_seconds(900.0, 1000.0) == 1000.0
        assert not is_young_daly_valid(900.0, 1000.0)
        assert is_young_daly_valid(499.0, 1000.0)

    def test_free_checkpoint_or_no_failure(self):
        assert young_daly_interval_seconds(0.0, math.inf) == 0.0
        assert young_daly_interval_seconds(10.0, math.inf) == math.inf

    @pytest.mark.parametrize(("delta", "mean"), [(-1.0, 10.0), (1.0, 0.0), (1.0, -5.0), (1.0, math.nan)])
    def test_nonsense_is_refused(self, delta, mean):
        with pytest.raises(ValueError, match="must"):
            young_daly_interval_seconds(delta, mean)

    @given(st.floats(0.1, 100.0), st.floats(20_000.0, 1e7))
    def test_close_to_the_best_interval_where_valid(self, delta, mean):
        rate = 1.0 / mean
        at_root = goodput_fraction(1, delta, 0.0, rate)
        taus = young_daly_interval_seconds(delta, mean) * np.geomspace(0.2, 5.0, 201)
        best = goodput_fraction(1, delta, 0.0, rate, taus).max()
        assert at_root >= best * (1 - 1e-3)


class TestGoodput:
    def test_first_order_loss_by_hand(self):
        # M = 1e6 s, delta = 2 s, tau = sqrt(2 x 2 x 1e6) = 2000 s: delta/tau + tau/2M + R/M = 0.001 + 0.001 + 0.0005
        assert goodput_fraction(1000, 2.0, 500.0, 1e-9) == pytest.approx(1 - 0.0025, abs=1e-5)

    def test_without_failures_only_the_given_interval_costs(self):
        assert goodput_fraction(1000, 10.0, 600.0, 0.0, 990.0) == pytest.approx(0.99)
        assert goodput_fraction(1000, 10.0, 600.0, 0.0) == 1.0

    def test_monte_carlo_agrees(self):
        # an independent check of the closed form: play the failures
        generator = np.random.default_rng(7)
        mean, tau, delta, restart, segments = 3000.0, 500.0, 40.0, 300.0, 4000
        wall = 0.0
        for _ in range(segments):
            while True:
                failure = generator.exponential(mean)
                if failure >= tau + delta:
                    wall += tau + delta
                    break
                wall += failure
                while (second := generator.exponential(mean)) < restart:
                    wall += second
                wall += restart
        assert goodput_fraction(1, delta, restart, 1 / mean, tau) == pytest.approx(segments * tau / wall, rel=0.02)

    def test_a_negative_interval_is_refused(self):
        with pytest.raises(ValueError, match="negative"):
            goodput_fraction(8, 1.0, 1.0, 1e-9, -1.0)

    def test_an_interval_without_end_finishes_only_without_failures(self):
        assert goodput_fraction(8, 1.0, 1.0, 0.0, math.inf) == 1.0
        assert goodput_fraction(8, 1.0, 1.0, 1e-9, math.inf) == 0.0

    def test_scalar_equals_array(self):
        counts = np.array([8, 512, 16384, 100_000])
        together = goodput_fraction(counts, 5.0, 600.0, LLAMA3_RATE)
        assert together.shape == (4,)
        assert [float(goodput_fraction(int(n), 5.0, 600.0, LLAMA3_RATE)) for n in counts] == together.tolist()

    @given(st.integers(1, 200_000), st.floats(0, 1e4), st.floats(0, 1e5), st.floats(0, 1e-3))
    def test_between_0_and_1_and_never_nan(self, count, delta, restart, rate):
        assert 0.0 <= goodput_fraction(count, delta, restart, rate) <= 1.0

    @given(st.integers(1, 100_000), st.floats(0, 1000), st.floats(0, 5000), st.floats(1e-12, 1e-6))
    def test_falls_with_gpus_and_restart(self, count, delta, restart, rate):
        here = goodput_fraction(count, delta, restart, rate)
        assert goodput_fraction(2 * count, delta, restart, rate) <= here * (1 + 1e-12)
        assert goodput_fraction(count, delta, restart + 60, rate) <= here

    @pytest.mark.parametrize("arguments", [(0, 1, 1, 1e-9), (8, -1, 1, 1e-9), (8, 1, -1, 1e-9), (8, 1, 1, -1e-9)])
    def test_nonsense_is_refused(self, arguments):
        with pytest.raises(ValueError, match="negative"):
            goodput_fraction(*arguments)


class TestCheckpointStall:
    def test_asynchronous_pays_the_copy_only(self):
        # 2 s fixed; 1 TB over 8 GPUs at 25 GB/s each: 5 s; written at 50 GB/s: 20 s more when synchronous
        assert checkpoint_stall_seconds(1e12, 8, 50e9, True, 25e9) == pytest.approx(7.0)
        assert checkpoint_stall_seconds(1e12, 8, 50e9, False, 25e9) == pytest.approx(27.0)

    def test_a_small_checkpoint_still_stops_everyone(self):
        # so that a run of hundreds of GPUs saves every quarter of an hour to hour, and not every few minutes
        stall = checkpoint_stall_seconds(70e9 * 14, 512, 50e9)
        interval = young_daly_interval_seconds(stall, 1 / (512 * LLAMA3_RATE))
        assert 900 < interval < 3600

    def test_refuses_a_zero_rate(self):
        with pytest.raises(ValueError, match="positive"):
            checkpoint_stall_seconds(1e12, 8, 0.0)


class TestPoissonQuantile:
    @pytest.mark.parametrize(
        ("mean", "probability", "expected"),
        [
            # cumulative Poisson tables: mean 1: .3679 .7358 .9197 .9810 .9963; mean 2: ... 5: .9834, 6: .9955
            (1.0, 0.95, 3),
            (1.0, 0.99, 4),
            (2.0, 0.99, 6),
            (0.5, 0.9, 1),
            # mean 10: P(X <= 18) = .9928, P(X <= 17) = .9857
            (10.0, 0.99, 18),
            (0.0, 0.99, 0),
            (0.005, 0.99, 0),
        ],
    )
    def test_tables(self, mean, probability, expected):
        assert poisson_quantile(mean, probability) == expected

    def test_large_mean_does_not_underflow(self):
        # normal limit: mean + 2.326 sqrt(mean) + (2.326^2 - 1) / 6 (Cornish-Fisher)
        assert poisson_quantile(1e6, 0.99) == pytest.approx(1e6 + 2326.3 + 0.7, abs=2)

    @given(st.floats(0, 300), st.floats(0, 0.999))
    def test_is_the_smallest_count_that_reaches_the_probability(self, mean, probability):
        count = poisson_quantile(mean, probability)
        below = (
            math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(count)) if count else 0.0
        )
        assert below < probability + 1e-9 or count == 0
        if count and mean > 0:
            here = below + math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
            assert here >= probability - 1e-9

    @pytest.mark.parametrize(("mean", "probability"), [(-1.0, 0.5), (math.inf, 0.5), (1.0, 1.0), (1.0, -0.1)])
    def test_nonsense_is_refused(self, mean, probability):
        with pytest.raises(ValueError, match="mean"):
            poisson_quantile(mean, probability)


class TestPlan:
    def test_nonsense_is_refused(self):
        with pytest.raises(ValueError, match="gpus_per_server"):
            reliability_plan(_inputs(gpus_per_server=0))

    def test_one_server_needs_no_spare(self):
        assert reliability_plan(_inputs(gpu_count=8)).spare_server_count == 0

    def test_spares_by_hand(self):
        # mean in repair = 512 x 2e-5/h x 0.78 x 48 h = 0.383; P(X <= 1) = 0.943, P(X <= 2) = 0.993
        plan = reliability_plan(_inputs(gpu_count=512, interruptions_per_gpu_second=2e-5 / 3600))
        assert plan.spare_server_count == 2

    def test_interval_is_not_shorter_than_one_write(self):
        plan = reliability_plan(_inputs(write_bytes_per_second=1e9))
        assert plan.checkpoint_interval_seconds == pytest.approx(405 * 14)
        assert plan.goodput < reliability_plan(_inputs()).goodput

    def test_lost_time_is_what_goodput_says(self):
        plan = reliability_plan(_inputs())
        assert plan.training_seconds * plan.goodput == pytest.approx(54 * 86400 * 0.9)
        assert plan.lost_seconds == pytest.approx(plan.training_seconds * (1 - plan.goodput))

    def test_range_is_the_spread_of_interruptions(self):
        plan = reliability_plan(_inputs())
        assert plan.training_seconds_low < plan.training_seconds < plan.training_seconds_high
        # by hand: restart 600 s and half an interval lost each time, to first order
        each = 600 + (plan.checkpoint_interval_seconds + plan.checkpoint_seconds) / 2
        spread = (plan.interruptions_high - plan.interruptions_low) * each
        assert plan.training_seconds_high - plan.training_seconds_low == pytest.approx(spread, rel=0.05)

    def test_no_failures_no_loss(self):
        plan = reliability_plan(_inputs(interruptions_per_gpu_second=0.0))
        assert (plan.interruptions_expected, plan.goodput, plan.spare_server_count) == (0.0, 1.0, 0)

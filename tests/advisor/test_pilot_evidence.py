"""Large published runs predicted from the small ones of their source: the error falls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from advisor.calibration_data import current_calibration
from advisor.evidence import read_runs
from advisor.evidence_scoring import predict_runs
from advisor.pilot_evidence import PilotPair, pilot_pairs, pilot_summary, weighted_quantile

# sources with small and large runs of the same settings
SOURCES = ("internevo", "dgxc", "megatron2020", "llm-foundry", "torchtitan")


@pytest.fixture(scope="module")
def pairs():
    rows = [row for row in read_runs() if row.source in SOURCES]
    return pilot_pairs(predict_runs(rows, lambda row: current_calibration()))


def test_the_error_of_large_runs_falls(pairs):
    summary = pilot_summary(pairs)
    assert summary is not None
    assert summary.rescaled_range < 0.6 * summary.plain_range


def test_the_error_of_512_gpus_from_8_falls(pairs):
    # same source, model and settings on 8 GPUs and on 512: InternEvo's and Megatron-LM's weak scaling
    some = [pair for pair in pairs if pair.pilot_gpu_count <= 8 and pair.gpu_count == 512]
    summary = pilot_summary(some)
    assert summary is not None
    assert summary.pair_count >= 8
    assert summary.rescaled_median < summary.plain_median


def test_four_of_five_lie_within_the_stated_range(pairs):
    summary = pilot_summary(pairs)
    assert summary is not None
    assert 0.75 <= summary.covered_fraction <= 0.95


def test_pairs_share_everything_but_the_size(pairs):
    # InternEvo publishes 7 B on 8 and on 512 GPUs with full recomputation: rows 01 and 07
    found = {(pair.pilot_id, pair.run_id): pair for pair in pairs}
    pair = found[("internevo-01", "internevo-07")]
    assert (pair.pilot_gpu_count, pair.gpu_count) == (8, 512)
    assert ("internevo-01", "internevo-18") not in found  # that run does not recompute
    assert all(pair.gpu_count >= 4 * pair.pilot_gpu_count and pair.pilot_gpu_count <= 16 for pair in pairs)


def test_a_group_of_many_pairs_weighs_as_one_of_few():
    def of(group, plain, rescaled):
        return PilotPair(
            group=group,
            pilot_id="",
            run_id="",
            pilot_gpu_count=8,
            gpu_count=64,
            plain_log_error=plain,
            rescaled_log_error=rescaled,
            stated_log_error=0.1,
        )

    summary = pilot_summary([of("many", 0.4, 0.2)] * 9 + [of("few", 0.1, 0.05), of("other", 0.2, 0.06)])
    assert summary is not None
    assert (summary.pair_count, summary.group_count) == (11, 3)
    assert summary.covered_fraction == pytest.approx(2 / 3)
    assert (summary.plain_median, summary.rescaled_median) == (0.2, 0.06)
    assert pilot_summary([]) is None


def test_quantiles_by_weight():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    assert weighted_quantile(values, weights, 0.5) == 2.0
    assert weighted_quantile(values, weights, 0.25) == 1.0
    assert math.isclose(weighted_quantile(values, weights, 1.0), 3.0)

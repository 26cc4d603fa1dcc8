"""The rates and the goodput model against the published outcomes of the evidence file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from advisor.engine.interruption_rates import GB200_RATE, LLAMA3_RATE, RSC1_RATE, assumed_number, interruption_rate
from advisor.engine.reliability import DEFAULT_RESTART, goodput_fraction

EVIDENCE = Path(__file__).resolve().parents[2] / "advisor" / "data" / "evidence" / "reliability.csv"
DAY, WEEK = 86400, 7 * 86400


def _row(key: str) -> dict[str, str]:
    with EVIDENCE.open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["id"] == key)


def _value(key: str) -> float:
    return float(_row(key)["value_number"])


def _gpus(key: str) -> int:
    return int(_row(key)["n_gpus"])


class TestRatesComeFromTheFile:
    def test_hopper(self):
        rate = _value("llama3-unexp") / (54 * DAY * _gpus("llama3-unexp"))
        assert assumed_number(LLAMA3_RATE) == pytest.approx(rate)

    def test_ampere(self):
        assert assumed_number(RSC1_RATE) == pytest.approx(_value("rsc-fr1") / (1000 * DAY * 8))

    def test_rack_scale_blackwell(self):
        assert assumed_number(GB200_RATE) == pytest.approx(1 / (_value("semi-gb200") * DAY))

    def test_causes_sum_to_the_total(self):
        with EVIDENCE.open(encoding="utf-8", newline="") as file:
            causes = [float(row["value_number"]) for row in csv.DictReader(file) if row["id"].startswith("llama3-c-")]
        assert sum(causes) == _value("llama3-unexp")


class TestOtherSites:
    """Sites whose rows were not used; the sources themselves spread by a factor of three."""

    def _expected(self, architecture: str, gpu_count: int, seconds: float) -> float:
        return assumed_number(interruption_rate(architecture)) * gpu_count * seconds

    def test_bloom(self):
        # 1 to 2 a week on about 400 A100
        assert self._expected("Ampere", _gpus("bloom-fail"), WEEK) == pytest.approx(_value("bloom-fail"), rel=0.6)

    def test_mpt_7b(self):
        # 4 hardware failures in 9.5 days on 440 A100
        assert self._expected("Ampere", _gpus("mpt7b"), 9.5 * DAY) == pytest.approx(_value("mpt7b"), rel=0.3)

    def test_imbue(self):
        # 3 % of 511 hosts break a week
        hosts = 511 * _value("imbue") / 100
        assert self._expected("Hopper", _gpus("imbue"), WEEK) == pytest.approx(hosts, rel=0.3)

    def test_field_range_of_h100(self):
        # 2 000 to 5 000 GPU-days between interruptions
        assert 2000 < 1 / (assumed_number(LLAMA3_RATE) * DAY) < 5000

    def test_opt_was_three_to_four_times_worse(self):
        # 40 and more restarts in two weeks on 992 A100: an early cluster, not the default
        ratio = _value("opt-2weeks") / self._expected("Ampere", _gpus("opt-2weeks"), 2 * WEEK)
        assert 3 < ratio < 4


class TestGoodput:
    """A stall of 2 s (the fixed part), restart as assumed."""

    @pytest.mark.parametrize(
        ("architecture", "gpu_count", "low", "high"),
        [
            ("Hopper", 16384, 0.90, 0.97),  # llama3-ett: more than 90 %
            ("Ampere", 10000, 0.89, 0.97),  # ms-ett: more than 90 % on more than 10 000
            ("Hopper", 9600, 0.93, 0.98),  # byterobust-dense: 97 %
        ],
    )
    def test_effective_training_time(self, architecture, gpu_count, low, high):
        rate = assumed_number(interruption_rate(architecture))
        assert low < goodput_fraction(gpu_count, 2.0, assumed_number(DEFAULT_RESTART), rate) < high

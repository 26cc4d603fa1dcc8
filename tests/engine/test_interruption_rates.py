from __future__ import annotations

import math

import pytest

from advisor.engine import interruption_rates, reliability
from advisor.engine.interruption_rates import assumed_number, interruption_rate, rate_from_interrupted_share
from advisor.engine.specs import Assumption, Origin


class TestPublishedRates:
    def test_hopper_is_llama_3_at_about_2e_minus_5_per_hour(self):
        assert assumed_number(interruption_rate("Hopper")) * 3600 == pytest.approx(1.973e-5, rel=1e-3)

    def test_ampere_is_rsc_1(self):
        # 6.5 per 1000 node-days = 2.37 per 8-GPU node and year
        per_node_year = assumed_number(interruption_rate("Ampere")) * 8 * 365 * 86400
        assert per_node_year == pytest.approx(2.3725, rel=1e-4)

    def test_rack_scale_blackwell_is_one_in_2000_gpu_days(self):
        rate = interruption_rate("Blackwell", "GB200 (per Blackwell GPU, NVL72)")
        assert assumed_number(rate) * 86400 == pytest.approx(1 / 2000)

    @pytest.mark.parametrize("architecture", ["Blackwell", "Blackwell (GB202)", "CDNA 3", "Da Vinci", ""])
    def test_generations_without_counts_take_the_hopper_rate(self, architecture):
        assert interruption_rate(architecture) == interruption_rate("hopper")

    def test_every_constant_names_its_source(self):
        for name in (
            "LLAMA3_RATE",
            "RSC1_RATE",
            "GB200_RATE",
            "DEFAULT_RESTART",
            "DEFAULT_REPAIR",
            "HARDWARE_FRACTION",
        ):
            assert len(getattr(reliability, name).source) > 20


class TestClaims:
    def test_claims_are_marked_and_never_a_default(self):
        for claim in (
            interruption_rates.CLAIMED_CLOUD_INTERRUPTED,
            interruption_rates.CLAIMED_BARE_METAL_INTERRUPTED,
        ):
            assert claim.origin is Origin.VENDOR_CLAIM
        for architecture in ("Ampere", "Hopper", "Blackwell", ""):
            assert interruption_rate(architecture).origin is not Origin.VENDOR_CLAIM

    def test_rate_gives_the_share_back(self):
        # 20 % of 10-day runs on 64 GPUs: 1 - exp(-rate x 64 x 864 000)
        rate = rate_from_interrupted_share(0.20, 64, 864_000)
        assert 1 - math.exp(-rate * 64 * 864_000) == pytest.approx(0.20)

    def test_under_one_percent_is_far_below_published_rates_for_a_large_run(self):
        # one run in a hundred on 16 384 GPUs over 54 days would be 40 000 times rarer than what was counted there
        claimed = rate_from_interrupted_share(0.01, 16384, 54 * 86400)
        assert assumed_number(interruption_rate("Hopper")) / claimed == pytest.approx(419 / -math.log(0.99))

    @pytest.mark.parametrize(
        ("share", "count", "seconds"), [(1.0, 8, 1.0), (-0.1, 8, 1.0), (0.1, 0, 1.0), (0.1, 8, 0.0)]
    )
    def test_nonsense_is_refused(self, share, count, seconds):
        with pytest.raises(ValueError, match="share"):
            rate_from_interrupted_share(share, count, seconds)

    def test_an_assumption_without_a_number_is_refused(self):
        with pytest.raises(ValueError, match="no number"):
            assumed_number(Assumption(name="x", value="text", unit="1", origin=Origin.USER, source="test"))

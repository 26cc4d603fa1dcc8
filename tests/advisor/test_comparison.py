"""Bare metal against virtualized."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cache

import pytest

from advisor.book_rows import CloudOffer
from advisor.comparison import (
    Sides,
    cloud_price,
    compared_profile,
    controls,
    deployment_comparison,
    must_be_bare_metal,
    side_answer,
)
from advisor.engine.specs import DeploymentProfile, Estimate
from advisor.inputs import parse_recommendation_request
from advisor.services import scenario_search
from tests.advisor.jobs import h100_estimate

TEN_DAYS = 10 * 86400.0


@cache
def _sides(loss: float = 0.2) -> tuple[Estimate, Estimate]:
    bare = h100_estimate()
    virtual = h100_estimate(DeploymentProfile(code="virtualized_dedicated", throughput_loss_fraction=loss))
    return bare, virtual


def _ten_days(estimate: Estimate) -> Estimate:
    return replace(estimate, time=replace(estimate.time, training_seconds=TEN_DAYS))


def test_ten_days_at_a_fifth_lost_become_twelve_and_a_half():
    # claim V1: days / (1 - loss)
    bare, virtual = _sides(0.2)
    assert bare.time.training_seconds is not None
    assert virtual.time.training_seconds is not None
    assert virtual.time.training_seconds * TEN_DAYS / bare.time.training_seconds / 86400 == pytest.approx(12.5)


def test_presets_make_their_own_days_and_say_which_are_claims():
    bare = _ten_days(_sides()[0])
    sides = Sides(bare=bare, virtual=bare, bare_price=None, virtual_price=None, facility_watts=None)
    presets = deployment_comparison(sides, workload_reasons=(), loss=0.02, faq=[])["presets"]
    days = {preset["throughput_loss"]: preset["training_days"] for preset in presets}
    assert days[0.2] == pytest.approx(12.5)
    assert days[0.1] == pytest.approx(10 / 0.9)
    origins = {preset["throughput_loss"]: preset["origin"] for preset in presets}
    assert origins[0.02] == "measured"
    assert {origins[0.1], origins[0.2], origins[0.3]} == {"vendor_claim"}


def test_lost_tokens_and_sequences_a_day():
    bare, virtual = _sides(0.2)
    side = side_answer(virtual, bare, price=None, facility_watts=None)
    full = bare.time.tokens_per_second * 86400 * bare.time.goodput
    assert side["tokens_lost_per_day"] == pytest.approx(0.2 * full)
    assert side["samples_lost_per_day"] == pytest.approx(0.2 * full / 4096)


def test_energy_is_power_times_time():
    bare = _ten_days(_sides()[0])
    side = side_answer(bare, bare, price=None, facility_watts=50_000.0)
    assert side["energy_kilowatt_hours"] == pytest.approx(50 * 240)


def test_bare_metal_is_compared_with_the_measured_loss_not_with_a_claim():
    profile = compared_profile(DeploymentProfile())
    assert (profile.code, profile.throughput_loss_fraction) == ("virtualized_dedicated", 0.02)
    asked = DeploymentProfile(code="virtualized_shared", throughput_loss_fraction=0.3)
    assert compared_profile(asked) is asked


class TestRules:
    def test_nothing_must_be_bare_metal_without_a_reason(self):
        assert (
            must_be_bare_metal(
                tier_code="billion", real_time=False, data_sensitivity="internal", profile_code="bare_metal"
            )
            == ()
        )

    @pytest.mark.parametrize(
        "changes", [{"tier_code": "hundreds_of_billions"}, {"real_time": True}, {"data_sensitivity": "regulated"}]
    )
    def test_each_of_the_three_cases_gives_its_reason(self, changes):
        # V6: frontier models, real-time training, sensitive data
        values = {
            "tier_code": "billion",
            "real_time": False,
            "data_sensitivity": "public",
            "profile_code": "bare_metal",
        }
        assert len(must_be_bare_metal(**(values | changes))) == 1

    def test_who_controls_what_differs_by_profile(self):
        rows = controls()
        assert len(rows) == 8
        assert any(row["bare_metal"] != row["virtualized_shared"] for row in rows)


class TestCloudPrice:
    OFFER = CloudOffer(
        provider_class="hyperscaler",
        gpu_sku="gpu",
        deployment="virtualized",
        commitment="1y",
        currency="USD",
        low=Decimal(3),
        median=Decimal(4),
        high=Decimal(6),
        provider_count=3,
        as_of=date(2026, 10, 10),
        method="median",
    )

    def _price(self, *offers, currency="USD", rate=None):
        return cloud_price(
            offers or (self.OFFER,),
            gpu_sku="gpu",
            currency=currency,
            gpu_hours=100.0,
            term_months=12,
            exchange_rate=rate,
        )

    def test_gpu_hours_at_the_published_median(self):
        price = self._price()
        assert price is not None
        assert price["total"] == {"amount": "400.00", "currency": "USD"}
        assert price["is_converted"] is False

    def test_another_currency_is_converted_once_and_marked(self):
        price = self._price(currency="CNY", rate=Decimal("6.74"))
        assert price is not None
        assert price["total"] == {"amount": "2696.00", "currency": "CNY"}  # 4 x 6.74 x 100
        assert price["is_converted"] is True

    def test_bare_metal_rows_are_not_the_virtualized_side(self):
        assert self._price(replace(self.OFFER, deployment="bare_metal")) is None

    def test_without_a_rate_nothing_is_converted(self):
        assert self._price(currency="CNY") is None

    def test_every_class_and_term_has_its_price_and_the_own_currency_comes_first(self):
        china = replace(
            self.OFFER,
            provider_class="china",
            commitment="on_demand",
            currency="CNY",
            low=Decimal(20),
            median=Decimal(25),
            high=Decimal(30),
        )
        price = self._price(self.OFFER, china, currency="CNY", rate=Decimal("6.74"))
        assert price is not None
        rows = [(row["provider_class"], row["commitment"], row["total"]["amount"]) for row in price["by_class"]]
        assert rows == [("china", "on_demand", "2500.00"), ("hyperscaler", "1y", "2696.00")]
        assert price["total"]["amount"] == "2500.00"


@pytest.mark.usefixtures("catalog")
def test_the_virtualized_side_has_its_money_in_yuan_too():
    # L40S has published prices of virtual machines in USD only
    checked = parse_recommendation_request(
        {
            "model": {"parameters": "7B"},
            "training": {"tokens": "100B"},
            "hardware": {"gpus": ["nvidia-l40s-48gb"], "gpu_count": 64},
            "commercial": {"currency": "CNY", "term_months": 1},
        }
    )
    side = scenario_search(checked=checked, on=date(2026, 11, 30))["deployment_comparison"]["virtualized"]
    assert side["price"]["is_converted"] is True
    # large cloud, on demand, median of the files: 4.1448 USD an hour x 6.74
    hourly = next(row for row in side["price"]["by_class"] if row["provider_class"] == "hyperscaler")["per_gpu_hour"]
    assert hourly == {"amount": "27.94", "currency": "CNY"}

"""The sensitivity of an answer as pages and API show it: the answer's own days and money at the base, words, prices."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cache

import pytest
from django.utils import translation

from advisor.book_rows import CloudOffer
from advisor.engine.sensitivity import RANGES, VARIED
from advisor.inputs import parse_estimate_request, parse_recommendation_request
from advisor.sensitivity_answer import BREAKS, LABELS, PRICE_SOURCE, SOURCES, price_ratios
from advisor.services import scenario_estimate, scenario_search

pytestmark = pytest.mark.usefixtures("catalog")
GPU = "nvidia-h100-sxm5-80gb"
ESTIMATE = {
    "model": {"parameters": "70B"},
    "training": {"tokens": "1.4T"},
    "cluster": {"gpu": GPU, "gpu_count": 256},
}


@cache
def recommended(language="en"):
    body = {
        "model": {"parameters": "70B"},
        "training": {"tokens": "1.4T"},
        "target": {"deadline_days": 60},
        "hardware": {"gpus": [GPU, "nvidia-a100-sxm4-80gb"], "max_gpu_count": 2048},
    }
    with translation.override(language):
        return scenario_search(checked=parse_recommendation_request(body), on=date(2026, 11, 30))


def test_the_base_is_the_configuration_digit_by_digit():
    answer = recommended()
    best, moved = answer["recommended"], answer["sensitivity"]
    assert best is not None
    assert moved is not None
    for item in moved["inputs"] + moved["price_inputs"]:
        assert item["base"]["training_days"] == best["training_days"]
        assert item["base"]["price"] == best["run_cost"]
    table = moved["tokens_by_gpu_count"]
    row = table["training_days"][table["tokens"].index(1.4e12)]
    assert row[table["gpu_counts"].index(best["gpu_count"])] == best["training_days"]


def test_the_table_holds_the_scaling_curve_s_own_days():
    answer = recommended()
    table = answer["sensitivity"]["tokens_by_gpu_count"]
    curve = {point["gpu_count"]: point["training_seconds"] / 86_400 for point in answer["scaling"]}
    row = table["training_days"][table["tokens"].index(1.4e12)]
    assert [curve[count] for count in table["gpu_counts"]] == row


def test_money_follows_the_days():
    for item in recommended()["sensitivity"]["inputs"]:
        base = item["base"]
        for end in (item["low"], item["high"]):
            if end["price"] is None:
                assert end["training_days"] is None
                assert end["reason"]
                continue
            rate = Decimal(end["price"]["amount"]) / Decimal(repr(end["training_days"]))
            own = Decimal(base["price"]["amount"]) / Decimal(repr(base["training_days"]))
            assert float(rate) == pytest.approx(float(own), rel=1e-6)


def test_a_price_of_the_hour_moves_money_and_no_day():
    (item,) = recommended()["sensitivity"]["price_inputs"]
    assert item["low"]["training_days"] == item["high"]["training_days"] == item["base"]["training_days"]
    share = item["low"]["value"] / item["base"]["value"]
    assert share < 1
    paid = Decimal(item["low"]["price"]["amount"]) / Decimal(item["base"]["price"]["amount"])
    assert float(paid) == pytest.approx(share, rel=1e-6)


def test_an_estimate_has_it_when_asked_and_only_then():
    plain = scenario_estimate(checked=parse_estimate_request(ESTIMATE))
    assert "sensitivity" not in plain
    asked = scenario_estimate(checked=parse_estimate_request(ESTIMATE | {"sensitivity": True}))
    moved = asked["sensitivity"]
    assert moved is not None
    assert moved["inputs"][0]["base"]["training_days"] == asked["time"]["training_seconds"] / 86_400
    assert moved["inputs"][0]["base"]["price"] is None
    json.dumps(asked, allow_nan=False)


def test_an_estimate_without_tokens_has_none():
    body = ESTIMATE | {"training": {}, "sensitivity": True}
    assert scenario_estimate(checked=parse_estimate_request(body))["sensitivity"] is None


def test_words_in_both_languages():
    english, chinese = recommended("en")["sensitivity"], recommended("zh-hans")["sensitivity"]
    for item, other in zip(english["inputs"], chinese["inputs"], strict=True):
        assert item["label"] != other["label"]
        assert item["source"] != other["source"]
        assert item["base"] == other["base"]
    for point, other in zip(english["break_points"], chinese["break_points"], strict=True):
        assert point["code"] == other["code"]
        assert point["message"] != other["message"]
        assert "%(" not in other["message"]


def test_every_varied_input_has_label_unit_range_and_translated_source():
    assert set(VARIED) == set(RANGES)
    assert set(VARIED) < set(LABELS)
    assert {row.source for row in RANGES.values()} | {PRICE_SOURCE} == SOURCES
    with translation.override("zh-hans"):
        assert all(translation.gettext(source) != source for source in SOURCES)


def test_break_points_carry_their_figures():
    points = {point["code"]: point for point in recommended()["sensitivity"]["break_points"]}
    assert set(points) <= set(BREAKS)
    assert {"break_deadline_tokens", "break_deadline_loss", "break_batch"} <= set(points)
    assert points["break_deadline_tokens"]["params"]["tokens"] >= 1.4e12
    assert "60\xa0d" in points["break_deadline_loss"]["message"]


OFFER = CloudOffer(
    provider_class="neocloud",
    gpu_sku=GPU,
    deployment="virtualized",
    commitment="on_demand",
    currency="USD",
    low=Decimal("2.95"),
    median=Decimal("3.8125"),
    high=Decimal("4.5"),
    provider_count=6,
    as_of=None,
    method="",
)


class TestPriceRange:
    def test_widest_ratios_of_kinds_with_more_than_one_provider(self):
        wide = replace(OFFER, low=Decimal("6.88"), median=Decimal("11.0613"), high=Decimal("12.29"), provider_count=3)
        alone = replace(OFFER, low=Decimal(1), high=Decimal(100), provider_count=1)
        other = replace(OFFER, gpu_sku="nvidia-b200", low=Decimal(1))
        low, high = price_ratios([OFFER, wide, alone, other], GPU)
        assert low == Decimal("6.88") / Decimal("11.0613")
        assert high == Decimal("4.5") / Decimal("3.8125")

    def test_one_provider_has_no_range(self):
        assert price_ratios([replace(OFFER, provider_count=1)], GPU) is None
        assert price_ratios([replace(OFFER, low=OFFER.median)], GPU) is None

"""The recommendation: reference case, alternatives, limits, prices and reasons."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from functools import cache

import pytest
from django.utils import translation

from advisor.inputs import parse_recommendation_request
from advisor.services import scenario_search

pytestmark = pytest.mark.usefixtures("catalog")
GPUS = ["nvidia-h100-sxm5-80gb", "nvidia-a100-sxm4-80gb", "nvidia-h20-141gb"]


@cache
def _answer_of(body: str, language: str):
    with translation.override(language):
        return scenario_search(checked=parse_recommendation_request(json.loads(body)), on=date(2026, 11, 30))


def _answer(language="en", **changes):
    """70 B, 1.4 T tokens, 30 days on three well-known GPUs; each test shows only what differs."""
    body = {
        "model": {"parameters": "70B"},
        "training": {"tokens": "1.4T"},
        "target": {"deadline_days": 30},
        "hardware": {"gpus": GPUS, "max_gpu_count": 2048},
    }
    for name, value in changes.items():
        body[name] = value if name == "model" else body.get(name, {}) | value
    return _answer_of(json.dumps(body, sort_keys=True), language)


class TestReferenceCase:
    def test_names_gpus_servers_and_days_within_the_deadline(self):
        best = _answer()["recommended"]
        assert best is not None
        assert best["gpu"] in GPUS
        assert best["gpu_count"] == best["server_count"] * best["gpus_per_server"]
        assert 0 < best["training_days"] <= 30
        assert best["meets_deadline"] is True
        assert "recommended" in best["labels"]

    def test_tier_and_binding_constraint(self):
        answer = _answer()
        assert answer["tier"] is not None
        assert answer["tier"]["code"] == "tens_of_billions"
        assert answer["tier"]["reference_build_suffices"] is False
        assert answer["requirement"]["binding_constraint"] == "time"
        assert answer["requirement"]["binding_constraint_reason"]

    def test_both_prices(self):
        best = _answer()["recommended"]
        assert best is not None
        for basis in ("rental", "purchase"):
            block = best["prices"][basis]
            assert block is not None, basis
            assert Decimal(block["total"]["amount"]) > 0
            assert block["price_book"]["valid_from"]

    def test_required_compute_follows_from_flops_and_deadline(self):
        # C4: FLOPs / (days x 86 400)
        need = _answer()["requirement"]
        assert need["sustained_flops_per_second"] == pytest.approx(need["total_model_flops"] / (30 * 86400))
        assert need["dense_peak_flops_per_second"] > need["sustained_flops_per_second"]

    def test_every_other_gpu_has_a_decisive_figure(self):
        answer = _answer()
        lost = {item["gpu"] for item in answer["rejected"]}
        taken = {answer["recommended"]["gpu"]}
        assert lost | taken >= set(GPUS)
        assert all(item["message"] for item in answer["rejected"])

    def test_is_plain_json_without_nan(self):
        json.dumps(_answer(), allow_nan=False)


class TestOneNumberEverywhere:
    def test_days_are_the_estimates_seconds(self):
        best = _answer()["recommended"]
        assert best["training_days"] == best["estimate"]["time"]["training_seconds"] / 86400

    def test_the_bare_metal_side_costs_what_the_configuration_costs(self):
        answer = _answer()
        side = answer["deployment_comparison"]["bare_metal"]
        assert side["price"]["total"] == answer["recommended"]["run_cost"]
        assert side["training_days"] == pytest.approx(answer["recommended"]["training_days"])

    def test_goodput_and_interval_are_the_estimates_own(self):
        best = _answer()["recommended"]
        assert best["reliability"]["goodput"] == best["estimate"]["time"]["goodput"]
        assert (
            best["storage"]["checkpoint_interval_seconds"]
            == best["estimate"]["time"]["checkpoint_interval_seconds"]
            == best["reliability"]["checkpoint_interval_seconds"]
        )

    def test_a_month_of_rent_is_what_the_comparison_adds_each_month(self):
        answer = _answer()
        money = answer["rent_or_buy"]
        monthly = float(answer["recommended"]["prices"]["rental"]["monthly"]["amount"])
        rent = money["rental_cumulative"]
        assert rent[2] - rent[1] == pytest.approx(monthly)

    def test_the_scaling_curve_belongs_to_the_recommended_gpu(self):
        answer = _answer()
        best = answer["recommended"]
        point = next(item for item in answer["scaling"] if item["gpu_count"] == best["gpu_count"])
        assert point["training_seconds"] / 86400 == pytest.approx(best["training_days"])


class TestConditions:
    def test_virtualized_days_are_bare_metal_days_over_what_is_left(self):
        answer = _answer(hardware={"gpus": GPUS[:1], "deployment": {"profile": "virtualized", "throughput_loss": 0.2}})
        sides = answer["deployment_comparison"]
        assert sides["virtualized"]["training_days"] / sides["bare_metal"]["training_days"] == pytest.approx(1.25)
        assert sides["virtualized"]["training_days"] == pytest.approx(answer["recommended"]["training_days"])

    def test_nothing_feasible_names_the_smallest_relaxation(self):
        answer = _answer(target={"deadline_days": 0.5}, hardware={"gpus": GPUS[:1], "max_gpu_count": 64})
        assert answer["recommended"] is None
        assert answer["deployment_comparison"] is None
        assert [item["code"] for item in answer["problems"]] == ["relax_deadline"]

    def test_a_batch_that_stays_is_not_said_to_move(self):
        held = {"training": {"tokens": "100T"}, "hardware": {"gpus": ["nvidia-h20-96gb"], "gpu_count": 8}}
        answer = _answer(model={"parameters": "1T"}, **held)
        assert answer["recommended"] is None
        assert "batch_moved" not in [problem["code"] for problem in answer["problems"]]

    def test_a_budget_below_every_run_names_the_cheapest(self):
        answer = _answer(target={"budget": {"amount": "1000", "currency": "CNY"}}, hardware={"gpus": GPUS[:1]})
        assert answer["recommended"] is None
        (told,) = [item for item in answer["problems"] if item["code"] == "over_budget_tokens"]
        assert float(told["params"]["amount"]) > 1000
        assert any("CNY" in item["message"] for item in answer["problems"])

    def test_a_budget_above_the_run_changes_nothing(self):
        rich = _answer(target={"budget": {"amount": "900000000", "currency": "CNY"}})
        assert rich["recommended"]["gpu_count"] == _answer()["recommended"]["gpu_count"]

    def test_a_site_limits_the_servers(self):
        # "what fits 200 kW": at most 17 servers of 10.4 kW with a tenth for the network
        answer = _answer(target={"deadline_days": 400}, hardware={"gpus": GPUS[:1]}, site={"max_it_kilowatts": 200})
        best = answer["recommended"]
        assert best is not None
        assert best["server_count"] <= 17
        assert best["power"]["it_watts"] <= 200_000

    def test_a_site_too_small_for_one_server_says_so(self):
        answer = _answer(hardware={"gpus": GPUS[:1]}, site={"max_it_kilowatts": 5})
        assert answer["recommended"] is None
        assert [item["code"] for item in answer["rejected"]] == ["exceeds_site"]

    def test_without_tokens_twenty_a_parameter_are_proposed(self):
        # arXiv:2203.15556
        body = {"model": {"parameters": "7B"}, "target": {"deadline_days": 30}, "hardware": {"gpus": GPUS[:1]}}
        answer = _answer_of(json.dumps(body), "en")
        assert answer["training"]["tokens"] == pytest.approx(20 * answer["model"]["parameter_count"])
        assumption = next(item for item in answer["assumptions"] if item["name"] == "training_tokens")
        assert "2203.15556" in assumption["source"]

    def test_without_a_deadline_the_rule_of_value_is_shown(self):
        body = {"model": {"parameters": "7B"}, "training": {"tokens": "1T"}, "hardware": {"gpus": GPUS[:2]}}
        answer = _answer_of(json.dumps(body), "en")
        assert answer["recommended"]["training_days"] <= 90
        assert answer["recommended"]["meets_deadline"] is None
        assert answer["requirement"]["binding_constraint"] in ("value", "memory")
        assert "value_rule" in {item["name"] for item in answer["assumptions"]}

    def test_one_server_that_is_enough_is_no_constraint(self):
        body = {"model": {"parameters": "1B"}, "training": {"tokens": "20B"}, "hardware": {"gpus": GPUS[:1]}}
        need = _answer_of(json.dumps(body), "en")["requirement"]
        assert need["binding_constraint"] == "none"
        assert "one server" in need["binding_constraint_reason"]

    def test_a_precision_that_no_gpu_has_is_told_for_the_gpu(self):
        # A100 has no FP8
        answer = _answer(training={"precision": "fp8"}, hardware={"gpus": ["nvidia-a100-sxm4-80gb"]})
        assert answer["recommended"] is None
        assert [item["code"] for item in answer["problems"]] == ["unsupported_precision"]

    def test_h20_says_what_its_compute_means(self):
        # 148 dense TFLOPS, 15 % of an H100
        answer = _answer(target={"deadline_days": 365}, hardware={"gpus": ["nvidia-h20-96gb"]})
        note = next(item for item in answer["recommended"]["checks"] if item["code"] == "gpu_compute_poor")
        assert "148" in note["message"]
        assert "15.0%" in note["message"]

    def test_delivery_to_a_controlled_country_is_a_check_not_a_filter(self):
        answer = _answer(hardware={"gpus": GPUS[:1]}, site={"destination": "CN"})
        check = next(item for item in answer["recommended"]["checks"] if item["code"] == "export_status")
        assert check["severity"] == "check"
        assert check["figures"]["nearest"].startswith("huawei-")

    def test_regulated_data_must_be_on_bare_metal(self):
        answer = _answer(hardware={"gpus": GPUS[:1]}, profile={"data_sensitivity": "regulated"})
        assert answer["deployment_comparison"]["must_be_bare_metal"] is True

    def test_regulated_data_on_a_shared_host_is_against_the_sellers_policy(self):
        answer = _answer(
            hardware={"gpus": GPUS[:1], "deployment": {"profile": "virtualized_shared"}},
            profile={"data_sensitivity": "regulated"},
        )
        problem = next(item for item in answer["problems"] if item["code"] == "regulated_on_shared")
        assert problem["severity"] == "blocks"
        assert "policy" in problem["message"]


class TestParts:
    def test_the_configuration_is_complete(self):
        best = _answer()["recommended"]
        for name in (
            "network",
            "storage",
            "power",
            "reliability",
            "software",
            "acceptance",
            "checks",
            "upgrade",
            "reasons",
        ):
            assert best[name], name
        assert best["software"]["launch"]["files"]
        assert best["tuning"]["gain_fraction"] >= 0

    def test_nothing_that_is_recommended_is_blocked(self):
        answer = _answer()
        for item in (answer["recommended"], *answer["alternatives"]):
            assert [check["code"] for check in item["checks"] if check["severity"] == "blocks"] == []

    def test_the_nearest_run_is_on_the_same_gpu_or_none(self):
        for item in (_answer()["recommended"], *_answer()["alternatives"]):
            run = item["nearest_run"]
            assert run is None or run["gpu"] == item["gpu"]

    def test_limit_counts_configurations(self):
        body = {
            "model": {"parameters": "7B"},
            "training": {"tokens": "1T"},
            "target": {"deadline_days": 60},
            "hardware": {"gpus": GPUS[:2]},
            "limit": 1,
        }
        assert _answer_of(json.dumps(body), "en")["alternatives"] == []


def test_both_languages_have_the_same_figures():
    english, chinese = _answer(), _answer("zh-hans")
    assert english["recommended"]["estimate"]["time"] == chinese["recommended"]["estimate"]["time"]
    assert english["recommended"]["prices"]["rental"]["total"] == chinese["recommended"]["prices"]["rental"]["total"]
    assert english["recommended"]["reasons"] != chinese["recommended"]["reasons"]

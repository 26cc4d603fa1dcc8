"""Rival offers by the cost of a finished run; money worked out by hand from the estimate's own time."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import pytest

from advisor.input_types import InputError
from advisor.offer_inputs import parse_offer_comparison
from advisor.rival_offer import offers_compare

pytestmark = pytest.mark.usefixtures("catalog")
DAY = date(2026, 11, 30)
JOB = {"model": {"parameters": "7B"}, "training": {"tokens": "100B"}}
OFFER = {
    "name": "A",
    "gpu": "nvidia-h100-sxm5-80gb",
    "gpu_count": 64,
    "price": {"amount": "3.00", "currency": "USD"},
    "price_unit": "gpu_hour",
}


def compare(*offers, currency="USD", **job):
    body = JOB | job | {"offers": list(offers), "commercial": {"currency": currency}}
    return offers_compare(checked=parse_offer_comparison(body), on=DAY)


def amount(money):
    return Decimal(money["amount"])


def faults(body):
    with pytest.raises(InputError) as error:
        parse_offer_comparison(body)
    return {(fault.pointer, fault.code) for fault in error.value.errors}


class TestCost:
    def test_an_hourly_price_is_paid_for_the_hours_of_the_run(self):
        offer = compare(OFFER)["offers"][0]
        hours = offer["run"]["training_days"] * 24 * 64
        assert offer["run"]["gpu_hours"] == pytest.approx(hours)
        assert float(amount(offer["run"]["run_cost"])) == pytest.approx(3.0 * hours, abs=0.01)

    def test_ours_is_the_book_price_for_the_same_hours(self):
        # demonstration book, USD: H100 4.07 on demand (two digits), so the month 4.07 x 0.95; the run is under a month
        offer = compare(OFFER)["offers"][0]
        assert offer["own"]["training_days"] == pytest.approx(offer["run"]["training_days"])
        assert float(amount(offer["own"]["run_cost"])) == pytest.approx(
            4.07 * 0.95 * offer["own"]["gpu_hours"], rel=2e-3
        )
        assert amount(offer["own_advantage"]) == amount(offer["run"]["run_cost"]) - amount(offer["own"]["run_cost"])

    @pytest.mark.parametrize(
        ("unit", "price", "count"), [("gpu_month", 2000, 64), ("server_month", 15000, 8), ("cluster_month", 90000, 1)]
    )
    def test_a_monthly_price_is_paid_for_months_started(self, unit, price, count):
        offer = compare(OFFER | {"price_unit": unit, "price": {"amount": str(price), "currency": "USD"}})["offers"][0]
        months = math.ceil(offer["run"]["training_days"] * 24 / 730)
        assert amount(offer["run"]["run_cost"]) == price * count * months

    def test_a_fifth_lost_makes_days_and_cost_a_quarter_more(self):
        bare, lossy = compare(
            OFFER, OFFER | {"name": "B", "deployment": {"profile": "virtualized", "throughput_loss": 0.2}}
        )["offers"]
        assert lossy["run"]["training_days"] == pytest.approx(bare["run"]["training_days"] / 0.8)
        assert float(amount(lossy["run"]["run_cost"])) == pytest.approx(
            float(amount(bare["run"]["run_cost"])) * 1.25, abs=0.02
        )
        # ours is bare metal for both
        assert lossy["own"]["training_days"] == bare["own"]["training_days"]

    def test_a_slow_network_costs_days(self):
        slow = compare(OFFER | {"scale_out_gbit_per_second_per_gpu": 10}, model={"parameters": "70B"})["offers"][0]
        assert slow["run"]["training_days"] > slow["own"]["training_days"]

    def test_the_equal_price_makes_both_runs_cost_the_same(self):
        equal = compare(OFFER)["offers"][0]["equal_price"]
        again = compare(OFFER | {"price": equal})["offers"][0]
        assert abs(amount(again["own_advantage"])) < amount(again["run"]["run_cost"]) / 10_000

    def test_another_currency_is_converted_at_the_books_rate(self):
        # 6.74 CNY per USD (2026-08-22)
        run = compare(OFFER, currency="CNY")["offers"][0]["run"]
        assert amount(run["compared_run_cost"]) == pytest.approx(
            amount(run["run_cost"]) * Decimal("6.74"), abs=Decimal("0.01")
        )
        assert run["exchange_rate"] == "6.740000"

    def test_a_currency_without_a_rate_is_told_and_not_compared(self):
        answer = compare(OFFER | {"price": {"amount": "3", "currency": "EUR"}})
        assert answer["offers"][0]["run"]["run_cost"]["currency"] == "EUR"
        assert answer["offers"][0]["run"]["compared_run_cost"] is None
        assert [problem["code"] for problem in answer["problems"]] == ["no_exchange_rate"]

    def test_the_cheaper_hour_is_not_the_cheaper_run(self):
        # the same hour's price on a card of a third of the rate takes about three times the hours
        answer = compare(
            OFFER | {"name": "fast"},
            OFFER | {"name": "slow", "gpu": "nvidia-a100-sxm4-80gb", "price": {"amount": "2.50", "currency": "USD"}},
        )
        assert answer["ranking"] == ["fast", "slow"]
        assert answer["fastest"] == "fast"

    def test_what_does_not_fit_has_no_cost(self):
        answer = compare(OFFER | {"gpu_count": 8}, model={"parameters": "405B"})
        assert answer["offers"][0]["run"]["run_cost"] is None
        assert answer["ranking"] == []
        assert "does_not_fit" in {problem["code"] for problem in answer["problems"]}


class TestInput:
    def test_a_pasted_text_is_enough(self):
        text = "64 x H100 80GB, $3.00/GPU-hour, 400G InfiniBand, bare metal"
        pasted, typed = compare({"name": "P", "text": text})["offers"][0], compare(OFFER)["offers"][0]
        assert pasted["run"]["run_cost"] == typed["run"]["run_cost"]
        assert set(pasted["read_from_text"]) == {
            "gpu",
            "gpu_count",
            "amount",
            "currency",
            "price_unit",
            "gbit",
            "profile",
        }

    def test_a_field_wins_over_the_text(self):
        offer = compare({"text": "64 x H100 80GB, $3.00/GPU-hour", "gpu_count": 32})["offers"][0]
        assert offer["run"]["gpu_count"] == 32
        assert "gpu_count" not in offer["read_from_text"]

    def test_a_wrong_name_is_answered_with_the_real_part(self):
        answer = compare(OFFER | {"gpu": "H100 160GB"})
        note = next(problem for problem in answer["problems"] if problem["code"] == "nearest_gpu_used")
        assert note["field"] == "/offers/0/gpu"

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({"price": {"amount": "-1", "currency": "USD"}}, ("/price/amount", "not_above")),
            ({"price": {"amount": 0, "currency": "USD"}}, ("/price/amount", "not_above")),
            ({"price": 3}, ("/price", "not_an_object")),
            ({"gpu_count": 0}, ("/gpu_count", "out_of_range")),
            ({"gpu_count": "many"}, ("/gpu_count", "quantity_not_a_number")),
            ({"colour": "red"}, ("/colour", "unknown_field")),
            ({"deployment": {"throughput_loss": 0.2}}, ("/deployment/throughput_loss", "loss_on_bare_metal")),
            ({"text": "x" * 2001}, ("/text", "text_too_long")),
            ({"text": 5}, ("/text", "not_a_text")),
        ],
    )
    def test_a_faulty_offer_is_named_by_its_field(self, change, expected):
        assert (f"/offers/0{expected[0]}", expected[1]) in faults(JOB | {"offers": [OFFER | change]})

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ([], ("", "not_an_object")),
            (JOB, ("/offers", "offers_missing")),
            (JOB | {"offers": [OFFER] * 7}, ("/offers", "too_many")),
            (JOB | {"offers": [7]}, ("/offers/0", "not_an_object")),
            (JOB | {"offers": [{"text": "call us"}]}, ("/offers/0/gpu", "offer_incomplete")),
            (JOB | {"offers": [OFFER, OFFER]}, ("/offers/1/name", "offer_name_twice")),
            (JOB | {"offers": [OFFER], "commercial": {"currency": "XXX"}}, ("/commercial/currency", "invalid_choice")),
            (JOB | {"offers": [OFFER], "commercial": 7}, ("/commercial", "not_an_object")),
            ({"offers": [OFFER]}, ("/model", "required")),
        ],
    )
    def test_what_cannot_be_used_is_named(self, body, expected):
        assert expected in faults(body)

    def test_an_unknown_gpu_is_refused_at_its_offer(self):
        with pytest.raises(InputError) as error:
            compare(OFFER | {"gpu": "Voodoo 5"})
        assert [fault.pointer for fault in error.value.errors] == ["/offers/0/gpu"]

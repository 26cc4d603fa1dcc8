"""What a budget pays, what could not be checked, and one sentence for each question."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import cache
from types import MappingProxyType

import pytest
from django.utils import translation

from advisor import recommendation as subject
from advisor.book_rows import load_books
from advisor.budget import FLOPS_PER_PARAMETER_AND_TOKEN
from advisor.candidate_search import candidate_cost
from advisor.hardware import load_parts
from advisor.inputs import InputError, parse_recommendation_request
from advisor.services import scenario_search

pytestmark = pytest.mark.usefixtures("catalog")
H100, A100 = "nvidia-h100-sxm5-80gb", "nvidia-a100-sxm4-80gb"
DAY = date(2026, 11, 30)


def body(**changes):
    return {
        "model": {"parameters": "7B"},
        "training": {"tokens": "1T"},
        "hardware": {"gpus": [H100, A100], "max_gpu_count": 512},
    } | changes


@cache
def _answer(text):
    with translation.override("en"):
        return scenario_search(checked=parse_recommendation_request(eval(text)), on=DAY)  # noqa: S307  (our own repr)


def answer(**changes):
    return _answer(repr(body(**changes)))


def target(amount, **more):
    return {"target": {"budget": {"amount": amount, "currency": "CNY"}} | more}


def problems(found):
    return {item["code"]: item for item in found["problems"]}


class TestWhatIsPaid:
    def test_tokens_that_a_budget_trains_cost_it(self):
        most = answer(**target("300000"))["within_budget"]
        assert most is not None
        # the run of as many tokens costs what the budget holds
        again = answer(
            training={"tokens": most["tokens"]}, hardware={"gpus": [most["gpu"]], "gpu_count": most["gpu_count"]}
        )
        assert float(again["recommended"]["run_cost"]["amount"]) == pytest.approx(300_000, rel=0.01)
        assert again["recommended"]["training_days"] == pytest.approx(most["training_days"], rel=0.01)

    def test_the_model_that_it_trains_needs_the_same_compute(self):
        found = answer(**target("300000"))
        most, best = found["within_budget"], found["recommended"] or answer()["recommended"]
        assert best is not None
        time = answer(hardware={"gpus": [most["gpu"]], "gpu_count": most["gpu_count"]})["recommended"]["estimate"][
            "time"
        ]
        rate = time["model_flops_per_second_per_gpu"] * most["gpu_count"] * time["goodput"]
        needed = FLOPS_PER_PARAMETER_AND_TOKEN * 20 * most["compute_optimal_parameter_count"] ** 2
        assert needed == pytest.approx(rate * most["training_days"] * 86_400, rel=1e-6)

    def test_a_budget_that_is_named_as_enough_is_enough(self):
        refused = answer(**target("5000"))
        assert refused["recommended"] is None
        amounts = [item["params"]["amount"] for item in refused["problems"] if "amount" in item["params"]]
        assert amounts
        for amount in amounts:
            assert answer(**target(amount))["recommended"] is not None

    def test_hardware_that_is_bought_is_held_against_its_price(self):
        bought = body(commercial={"basis": "purchase"})
        price = answer(**{**bought, "commercial": {"basis": "purchase"}})["recommended"]["prices"]["purchase"]
        assert price["is_complete"]
        short = answer(commercial={"basis": "purchase"}, **target("1000"))
        assert short["recommended"] is None
        assert "over_budget_purchase" in problems(short)
        enough = problems(short)["over_budget_purchase"]["params"]["amount"]
        assert answer(commercial={"basis": "purchase"}, **target(enough))["recommended"] is not None


class TestWhatCannotBeChecked:
    def test_without_a_price_the_gpu_is_left_out_and_named(self, monkeypatch):
        monkeypatch.setattr("advisor.budget.candidate_cost", lambda setting, item: None)
        checked = parse_recommendation_request(body(**target("5000000")))
        found = subject.recommendation(load_parts(), load_books(DAY), checked, on=DAY)
        assert found["recommended"] is None
        told = problems(found)["budget_not_checked"]
        assert told["severity"] == "blocks"
        assert "H100" in told["message"]
        assert "A100" in told["message"]

    def test_what_the_cheapest_costs_is_said_before_what_has_no_price(self, monkeypatch):
        priced = candidate_cost
        monkeypatch.setattr(
            "advisor.budget.candidate_cost",
            lambda setting, item: None if item.option.gpu.sku == H100 else priced(setting, item),
        )
        checked = parse_recommendation_request(body(**target("100")))
        with translation.override("en"):
            found = subject.recommendation(load_parts(), load_books(DAY), checked, on=DAY)
        assert "the budget of CNY\N{NO-BREAK SPACE}100.00 pays" in found["headline"]["text"]
        assert problems(found)["budget_not_checked"]["severity"] == "check"

    def test_without_any_book_the_budget_is_not_passed_silently(self):
        checked = parse_recommendation_request(body(**target("5000000")))
        found = subject.recommendation(load_parts(), MappingProxyType({}), checked, on=DAY)
        assert found["recommended"] is None
        assert "budget_not_checked" in problems(found)

    def test_without_tokens_neither_budget_nor_deadline_filters(self):
        job = {"training": {"method": "lora"}, **target("100", deadline_days=1)}
        found = answer(**job)
        assert found["recommended"] is not None
        assert {"budget_needs_tokens", "deadline_needs_tokens"} <= set(problems(found))

    @pytest.mark.parametrize("amount", ["0.001", "0", 0.5])
    def test_less_than_one_unit_of_money_is_no_budget(self, amount):
        with translation.override("en"), pytest.raises(InputError) as refused:
            parse_recommendation_request(body(**target(amount)))
        (fault,) = refused.value.errors
        assert fault.code == "out_of_range"
        assert "from 1" in fault.message


class TestHeadline:
    @pytest.mark.parametrize(
        ("changes", "question", "part"),
        [
            ({"target": {"deadline_days": 60}}, "deadline", "60\xa0d"),
            ({"hardware": {"gpus": [H100], "gpu_count": 64}}, "cluster", "64 × H100"),
            (target("300000"), "budget", "CNY\xa0300,000.00"),
            ({"site": {"max_it_kilowatts": 100}}, "site", "Within the site"),
            ({}, "value", "1T"),
        ],
    )
    def test_each_question_has_its_sentence(self, changes, question, part):
        line = answer(**changes)["headline"]
        assert line["question"] == question
        assert part in line["text"]

    def test_what_cannot_be_done_says_why(self):
        line = answer(target={"deadline_days": 0.01})["headline"]
        assert line["text"].startswith("No configuration meets these conditions. ")
        assert len(line["text"]) > 60

    def test_in_chinese_too(self):
        with translation.override("zh-hans"):
            found = scenario_search(checked=parse_recommendation_request(body(**target("300000"))), on=DAY)
        assert "可在" in found["headline"]["text"]
        assert found["within_budget"]["tokens"] == answer(**target("300000"))["within_budget"]["tokens"]


def test_placeholders_are_written_for_the_reader():
    from advisor.input_fields import TABLE

    rows = [row for rows in TABLE.values() for row in rows.values()]
    han = range(0x4E00, 0x9FFF)
    with translation.override("en"):
        words = [str(text) for row in rows for text in (row.example, row.help, row.label, row.unit)]
    assert not [text for text in words if any(ord(char) in han for char in text)]
    with translation.override("zh-hans"):
        assert str(next(row for row in rows if row.name == "budget_amount").example) == "500 万"


def test_decimal_amounts_keep_their_cents():
    refused = answer(**target("5000"))
    told = problems(refused)["over_budget_tokens"]["params"]
    assert Decimal(told["amount"]) > 5000
    assert told["currency"] == "CNY"

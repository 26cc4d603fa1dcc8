"""Reading of requests: what is accepted, what is refused and with which words."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.engine.specs import Method, Optimizer, Origin, Precision, Recomputation
from advisor.input_fields import TABLE
from advisor.input_rules import BYTES_PER_TOKEN
from advisor.inputs import (
    ESTIMATE,
    RECOMMENDATION,
    InputError,
    parse_estimate_request,
    parse_recommendation_request,
)


@pytest.fixture(autouse=True)
def _english():
    with translation.override("en"):
        yield


CONTRACT_EXAMPLE: dict[str, Any] = {
    "model": {"parameters": "70B"},
    "training": {
        "tokens": "1.4T",
        "method": "pretrain",
        "precision": "bf16",
        "optimizer": "adamw",
        "sequence_length": 4096,
        "global_batch_tokens": "4194304",
    },
    "cluster": {
        "gpu": "nvidia-h100-sxm5-80gb",
        "gpu_count": 512,
        "gpus_per_server": 8,
        "scale_out_gbit_per_second_per_gpu": 400,
        "deployment": {"profile": "bare_metal"},
    },
    "layout": {
        "tensor_parallel": 8,
        "pipeline_parallel": 4,
        "virtual_stage_count": 1,
        "context_parallel": 1,
        "expert_parallel": 1,
        "zero_stage": 1,
        "micro_batch_size": 1,
        "recomputation": "selective",
        "uses_sequence_parallel": True,
    },
}
RECOMMENDATION_EXAMPLE: dict[str, Any] = {
    "model": {"parameters": "70B"},
    "training": {"tokens": "1.4T"},
    "target": {"deadline_days": 30, "budget": {"amount": "5000000", "currency": "CNY"}},
    "hardware": {
        "gpus": ["nvidia-h100-sxm5-80gb"],
        "max_gpu_count": 4096,
        "deployment": {"profile": "bare_metal"},
    },
    "commercial": {"basis": "compare", "term_months": 12, "currency": "CNY"},
    "profile": {"workload": "general", "data_sensitivity": "internal", "real_time": False},
    "site": {"max_it_kilowatts": 200, "max_racks": 5, "cooling": "air"},
    "limit": 5,
}


def with_value(body: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A copy of the body with one value set."""
    copy = json.loads(json.dumps(body))
    node = copy
    *parents, key = pointer.split("/")[1:]
    for parent in parents:
        node = node.setdefault(parent, {})
    node[key] = value
    return copy


def faults(parse, body) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as refused:
        parse(body)
    return [(fault.pointer, fault.code) for fault in refused.value.errors]


def message(parse, body) -> str:
    with pytest.raises(InputError) as refused:
        parse(body)
    return refused.value.errors[0].message


class TestAccepted:
    def test_the_estimate_of_the_contract(self):
        checked = parse_estimate_request(CONTRACT_EXAMPLE)
        assert checked.model.parameters == 70_000_000_000
        assert checked.tokens == 1.4e12
        assert checked.tokens_origin == "given"
        assert (checked.method, checked.precision, checked.optimizer) == (
            Method.PRETRAIN,
            Precision.BF16,
            Optimizer.ADAMW,
        )
        assert (checked.sequence_length, checked.global_batch_tokens, checked.global_batch_size) == (
            4096,
            4194304,
            None,
        )
        assert (checked.gpu, checked.gpu_count, checked.gpus_per_server) == ("nvidia-h100-sxm5-80gb", 512, 8)
        assert checked.scale_out_bytes_per_second_per_gpu == 50e9  # 400 Gbit/s / 8
        assert (checked.layout.tensor_parallel, checked.layout.pipeline_parallel) == (8, 4)
        assert checked.layout.recomputation is Recomputation.SELECTIVE
        assert checked.layout.uses_sequence_parallel is True
        assert checked.deployment.code == "bare_metal"

    def test_the_recommendation_of_the_contract(self):
        checked = parse_recommendation_request(RECOMMENDATION_EXAMPLE)
        assert checked.deadline_seconds == 30 * 86_400
        assert checked.budget == (Decimal(5_000_000), "CNY")
        assert checked.gpus == ("nvidia-h100-sxm5-80gb",)
        assert (checked.max_it_watts, checked.max_racks, checked.cooling) == (200_000.0, 5, "air")
        assert (checked.basis, checked.term_months, checked.limit) == ("compare", 12, 5)

    def test_a_model_alone_is_enough(self):
        estimate = parse_estimate_request({"model": {"preset": "llama-3-70b"}})
        assert (estimate.tokens, estimate.tokens_origin, estimate.gpu_count) == (None, "absent", None)
        found = parse_recommendation_request({"model": {"preset": "llama-3-70b"}})
        assert (found.max_gpu_count, found.currency, found.gpus) == (4096, "CNY", ())

    def test_null_means_left_out(self):
        body = with_value(CONTRACT_EXAMPLE, "/training/tokens", None)
        assert parse_estimate_request(body).tokens is None

    def test_samples_times_length_times_epochs(self):
        data = {"samples": 50000, "sequence_length": 8192, "epochs": 3}
        checked = parse_estimate_request({"model": {"parameters": "7B"}, "training": {"tokens": data}})
        assert checked.tokens == 1_228_800_000  # 50 000 x 8 192 x 3
        assert checked.tokens_origin == "samples"

    def test_gigabytes_of_text_state_the_conversion(self):
        data = {"gigabytes": 500, "language": "zh"}
        checked = parse_estimate_request({"model": {"parameters": "7B"}, "training": {"tokens": data}})
        # 500e9 bytes / 3 bytes a character x 0.6 tokens a character = 100e9
        assert checked.tokens == 100e9
        (assumption,) = checked.assumptions
        assert (assumption.value, assumption.origin) == (5.0, Origin.DERIVED)
        assert "0.6 token" in assumption.source

    def test_every_text_language_has_a_sourced_figure(self):
        row = TABLE[ESTIMATE]["/training/tokens/language"]
        assert {code for code, _label in row.choices} == set(BYTES_PER_TOKEN)

    def test_a_rest_is_rounded_with_a_note(self):
        checked = parse_estimate_request({"model": {"parameters": "7.1234567890123B"}})
        assert checked.model.parameters == 7_123_456_789
        (note,) = checked.problems
        assert (note.field, note.code, note.severity) == ("/model/parameters", "rounded_to_whole", "note")

    def test_virtualized_means_the_whole_server_dedicated(self):
        deployment = {"profile": "virtualized", "throughput_loss": 0.2}
        body = {"model": {"parameters": "7B"}, "cluster": {"deployment": deployment}}
        profile = parse_estimate_request(body).deployment
        assert (profile.code, profile.throughput_loss_fraction) == ("virtualized_dedicated", 0.2)
        assert (profile.latency_factor, profile.scale_out_bandwidth_factor) == (1.0, 1.0)

    @pytest.mark.parametrize("code", ["virtualized_dedicated", "virtualized_shared"])
    def test_virtual_machines_lose_the_measured_share_when_nothing_is_said(self, code):
        body = {"model": {"parameters": "7B"}, "cluster": {"deployment": {"profile": code}}}
        checked = parse_estimate_request(body)
        assert checked.deployment.throughput_loss_fraction == 0.02
        (loss,) = [item for item in checked.assumptions if item.name == "throughput_loss"]
        assert (loss.value, loss.origin) == (0.02, Origin.MEASURED)

    @pytest.mark.parametrize("said", [{"throughput_loss": 0}, {"scale_out_bandwidth_factor": 0.5}])
    def test_what_is_said_of_virtual_machines_is_all_they_lose(self, said):
        body = {"model": {"parameters": "7B"}, "cluster": {"deployment": {"profile": "virtualized", **said}}}
        checked = parse_estimate_request(body)
        assert checked.deployment.throughput_loss_fraction == 0
        assert not [item for item in checked.assumptions if item.name == "throughput_loss"]

    def test_bare_metal_loses_nothing(self):
        checked = parse_estimate_request({"model": {"parameters": "7B"}})
        assert checked.deployment.throughput_loss_fraction == 0
        assert not [item for item in checked.assumptions if item.name == "throughput_loss"]

    @pytest.mark.parametrize("written", ["20%", "20 ％", "0.2", 0.2])
    def test_a_loss_as_percent_or_fraction(self, written):
        body = {"model": {"parameters": "7B"}, "cluster": {"deployment": {"profile": "virtualized"}}}
        body = with_value(body, "/cluster/deployment/throughput_loss", written)
        assert parse_estimate_request(body).deployment.throughput_loss_fraction == 0.2

    @pytest.mark.parametrize(
        ("written", "days"),
        [(30, 30), ("30", 30), ("6w", 42), ("3 months", 91.3125), ("12h", 0.5), ("2 天", 2), ("1e2", 100)],
    )
    def test_a_deadline_in_several_units(self, written, days):
        body = with_value(RECOMMENDATION_EXAMPLE, "/target/deadline_days", written)
        assert parse_recommendation_request(body).deadline_seconds == days * 86_400

    @pytest.mark.parametrize(
        ("written", "watts"),
        [
            (200, 200_000),
            ("200", 200_000),
            ("0.2 MW", 200_000),
            (1000, 1_000_000),
            ("1e3", 1_000_000),
            ("1,000", 1_000_000),
            ("２００", 200_000),
        ],
    )
    def test_power_of_the_site(self, written, watts):
        body = with_value(RECOMMENDATION_EXAMPLE, "/site/max_it_kilowatts", written)
        assert parse_recommendation_request(body).max_it_watts == watts

    def test_lora(self):
        training = {"method": "qlora", "lora": {"rank": 64, "targets": ["q", "v", "q"]}}
        lora = parse_estimate_request({"model": {"parameters": "7B"}, "training": training}).lora
        assert lora is not None
        assert (lora.rank, lora.targets) == (64, ("q", "v"))

    def test_one_currency_serves_budget_and_prices(self):
        body = {"model": {"parameters": "7B"}, "target": {"budget": {"amount": "1000", "currency": "USD"}}}
        checked = parse_recommendation_request(body)
        assert (checked.budget, checked.currency) == ((Decimal(1000), "USD"), "USD")

    def test_a_fixed_cluster_above_the_default_search_is_taken(self):
        body = {"model": {"parameters": "405B"}, "hardware": {"gpu_count": 16384}}
        assert parse_recommendation_request(body).max_gpu_count == 16384


REFUSED: list[tuple[str, Any, str, str]] = [
    # pointer, value, pointer of the fault, code
    ("/model/parameters", "8x7B", "/model/parameters", "quantity_product"),
    ("/model/parameters", 0, "/model/parameters", "out_of_range"),
    ("/model/parameters", "-7B", "/model/parameters", "out_of_range"),
    ("/model/parameters", True, "/model/parameters", "not_a_number"),
    ("/model/parameters", float("nan"), "/model/parameters", "not_finite"),
    ("/model/parameters", float("inf"), "/model/parameters", "not_finite"),
    ("/model/parameters", 10**4000, "/model/parameters", "out_of_range"),
    ("/model/parameters", 1e308, "/model/parameters", "out_of_range"),
    ("/model/parameters", [7], "/model/parameters", "not_a_number"),
    ("/model/parameters", {"a": 1}, "/model/parameters", "not_a_number"),
    ("/model/parameters", "", "/model/parameters", "quantity_empty"),
    ("/model/parameters", "1\u0660", "/model/parameters", "quantity_mixed_digits"),
    ("/model/active_parameters", "71B", "/model/active_parameters", "active_exceeds_total"),
    ("/model/preset", "llama-3-70b", "/model", "model_ambiguous"),
    ("/model/config", {"hidden_size": 1}, "/model", "model_ambiguous"),
    ("/model/params", "70B", "/model/params", "unknown_field"),
    ("/training/tokens", "1,4T", "/training/tokens", "quantity_decimal_comma"),
    ("/training/tokens", {"samples": 5}, "/training/tokens/sequence_length", "tokens_incomplete"),
    ("/training/tokens", {"gigabytes": 5}, "/training/tokens/language", "tokens_incomplete"),
    ("/training/tokens", {"gigabytes": 5, "samples": 5}, "/training/tokens", "tokens_given_twice"),
    ("/training/tokens", {"gigabytes": 5, "language": "tlh"}, "/training/tokens/language", "invalid_choice"),
    (
        "/training/tokens",
        {"samples": "1e13", "sequence_length": 16_000_000, "epochs": 1},
        "/training/tokens",
        "tokens_out_of_range",
    ),
    ("/training/method", "rlhf", "/training/method", "invalid_choice"),
    ("/training/method", 3, "/training/method", "not_a_text"),
    ("/training/sequence_length", 4096.5, "/training/sequence_length", "not_whole"),
    ("/training/sequence_length", 0, "/training/sequence_length", "out_of_range"),
    ("/training/global_batch_size", 1024, "/training/global_batch_tokens", "batch_given_twice"),
    ("/training/global_batch_tokens", 100, "/training/global_batch_tokens", "batch_below_sequence"),
    ("/training/lora", {"rank": 16}, "/training/lora", "lora_without_method"),
    ("/training/fused_loss", "maybe", "/training/fused_loss", "not_a_flag"),
    ("/training", [], "/training", "not_an_object"),
    ("/training/lora", 5, "/training/lora", "not_an_object"),
    ("/cluster/gpu_count", "many", "/cluster/gpu_count", "quantity_not_a_number"),
    ("/cluster/gpu_count", 500, "/layout", "layout_not_divisible"),
    ("/cluster/gpu", 5, "/cluster/gpu", "not_a_text"),
    ("/cluster/gpu", "x" * 101, "/cluster/gpu", "text_too_long"),
    ("/cluster/gpu", "h100\x00", "/cluster/gpu", "text_unusable"),
    ("/cluster/gpu", "\ud800", "/cluster/gpu", "text_unusable"),
    ("/cluster/deployment/throughput_loss", 0.2, "/cluster/deployment/throughput_loss", "loss_on_bare_metal"),
    ("/cluster/deployment/throughput_loss", 20, "/cluster/deployment/throughput_loss", "percent_expected"),
    ("/cluster/deployment/throughput_loss", 1, "/cluster/deployment/throughput_loss", "out_of_range"),
    ("/cluster/deployment/latency_factor", 3, "/cluster/deployment/latency_factor", "factor_on_bare_metal"),
    ("/layout/data_parallel", 16, "/layout/data_parallel", "derived_field"),
    ("/layout/zero_stage", 4, "/layout/zero_stage", "out_of_range"),
    ("/layout/uses_sequence_parallel", 2, "/layout/uses_sequence_parallel", "not_a_flag"),
    ("/target/deadline_days", 30, "/target", "unknown_field"),
    ("/tokens", "1T", "/tokens", "unknown_field"),
]
REFUSED_RECOMMENDATION: list[tuple[str, Any, str, str]] = [
    ("/target/deadline_days", 0, "/target/deadline_days", "not_above"),
    ("/target/deadline_days", -1, "/target/deadline_days", "not_above"),
    ("/target/deadline_days", 3651, "/target/deadline_days", "above_maximum"),
    ("/target/deadline_days", "3 fortnights", "/target/deadline_days", "quantity_time_unit"),
    ("/target/budget", 5, "/target/budget", "not_an_object"),
    ("/target/budget", {"currency": "CNY"}, "/target/budget/amount", "budget_incomplete"),
    ("/target/budget/currency", "XYZ", "/target/budget/currency", "invalid_choice"),
    ("/hardware/gpus", "nvidia-h100-sxm5-80gb", "/hardware/gpus", "not_a_list"),
    ("/hardware/gpus", ["a"] * 51, "/hardware/gpus", "too_many"),
    ("/hardware/gpus", [5], "/hardware/gpus", "not_a_text"),
    ("/hardware/gpu_count", 5000, "/hardware/gpu_count", "gpu_count_above_maximum"),
    ("/hardware/deployment", "bare_metal", "/hardware/deployment", "not_an_object"),
    ("/commercial/basis", "leasing", "/commercial/basis", "invalid_choice"),
    ("/site/destination", "China", "/site/destination", "country_code"),
    ("/limit", 1000, "/limit", "out_of_range"),
    ("/cluster", {}, "/cluster", "unknown_field"),
]


class TestRefused:
    @pytest.mark.parametrize(("pointer", "value", "at", "code"), REFUSED)
    def test_an_estimate(self, pointer, value, at, code):
        body = CONTRACT_EXAMPLE
        if value != value or value in (float("inf"),):  # JSON has no word for them; Python bodies may
            body = json.loads(json.dumps(body))
            body["model"]["parameters"] = value
        else:
            body = with_value(body, pointer, value)
        assert (at, code) in faults(parse_estimate_request, body)

    @pytest.mark.parametrize(("pointer", "value", "at", "code"), REFUSED_RECOMMENDATION)
    def test_a_recommendation(self, pointer, value, at, code):
        assert (at, code) in faults(parse_recommendation_request, with_value(RECOMMENDATION_EXAMPLE, pointer, value))

    @pytest.mark.parametrize("body", [None, [], "70B", 5, True])
    def test_a_body_that_is_no_object(self, body):
        assert faults(parse_estimate_request, body) == [("", "not_an_object")]

    @pytest.mark.parametrize("body", [{}, {"model": {}}, {"model": None}, {"training": {}}])
    def test_no_model(self, body):
        assert faults(parse_estimate_request, body) == [("/model", "required")]

    def test_all_faults_come_at_once(self):
        body = {"model": {"parameters": "8x7B"}, "training": {"tokens": "x", "method": "y"}, "colour": 1}
        assert len(faults(parse_estimate_request, body)) == 4

    def test_ten_thousand_unknown_names_are_cut(self):
        body = {"model": {"parameters": "7B"}, **{f"x{i}": i for i in range(10_000)}}
        assert len(faults(parse_estimate_request, body)) <= 30

    def test_sentences_name_field_value_and_what_would_pass(self):
        assert message(parse_estimate_request, with_value(CONTRACT_EXAMPLE, "/model/parameters", 0)) == (
            "Parameters is 0; write a value from 1M to 100T."
        )
        assert message(parse_estimate_request, with_value(CONTRACT_EXAMPLE, "/model/paramters", 0)) == (
            "There is no field “paramters” here. Did you mean “parameters”?"
        )
        assert message(parse_estimate_request, with_value(CONTRACT_EXAMPLE, "/tokens", 0)) == (
            "There is no field “tokens” here. Did you mean “/training/tokens”?"
        )
        assert "enter total and active parameters" in message(
            parse_estimate_request, with_value(CONTRACT_EXAMPLE, "/model/parameters", "8x7B")
        )
        assert message(parse_estimate_request, with_value(CONTRACT_EXAMPLE, "/cluster/gpu_count", 500)) == (
            "500 GPUs do not divide into groups of tensor 8 × pipeline 4 × context 1 = 32; "
            "take a multiple, such as 512."
        )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


class TestHostile:
    @pytest.mark.parametrize("route", [ESTIMATE, RECOMMENDATION])
    @settings(max_examples=400, deadline=None)
    @given(data=st.data())
    def test_any_json_is_read_or_refused(self, route, data):
        parse = parse_estimate_request if route == ESTIMATE else parse_recommendation_request
        body: Any = {"model": {"parameters": "7B"}}
        for pointer in data.draw(st.lists(st.sampled_from(list(TABLE[route])), max_size=4)):
            node = body
            *parents, key = pointer.split("/")[1:]
            for parent in parents:
                if not isinstance(node.get(parent), dict):
                    node[parent] = {}
                node = node[parent]
            node[key] = data.draw(json_values)
        try:
            parse(body)
        except InputError as refused:
            for fault in refused.errors:
                assert fault.message
                fault.message.encode()
                fault.pointer.encode()

    @settings(max_examples=300, deadline=None)
    @given(json_values)
    def test_any_value_as_body(self, body):
        with pytest.raises(InputError):
            parse_estimate_request(body)


def test_the_simple_form_has_at_most_eight_fields():
    assert 1 <= sum(row.is_simple for row in TABLE[RECOMMENDATION].values()) <= 8

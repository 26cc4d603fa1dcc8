"""A link and a JSON body are two writings of one request: there, back, and refused alike."""

from __future__ import annotations

import contextlib
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.http import QueryDict
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.inputs import (
    BY_QUERY,
    FieldKind,
    InputError,
    body_from_query,
    parse_recommendation_request,
    query_from_body,
)
from tests.advisor.test_inputs import RECOMMENDATION_EXAMPLE, with_value


@pytest.fixture(autouse=True)
def _english():
    with translation.override("en"):
        yield


def typed(row):
    """Values of one row that are inside its bounds, as JSON or as typed in a form."""
    if row.kind in (FieldKind.CHOICE,):
        return st.sampled_from([code for code, _label in row.choices])
    if row.kind is FieldKind.CHOICES:
        return st.lists(st.sampled_from([code for code, _label in row.choices]), min_size=1, max_size=3)
    if row.kind is FieldKind.FLAG:
        return st.booleans()
    if row.name == "destination":
        return st.sampled_from(["CN", "us", "SG"])
    if row.kind is FieldKind.TEXT:
        return st.text(alphabet="abc-0123456789.", min_size=1, max_size=20)
    if row.kind is FieldKind.TEXTS:
        return st.lists(st.text(alphabet="abc-0123456789", min_size=1, max_size=20), min_size=1, max_size=3)
    low, high = int(row.minimum) + 1, int(row.maximum)
    return st.just(0.5) if high < 1 else st.integers(low, high)


@st.composite
def linkable_bodies(draw):
    body: dict[str, Any] = {"model": {"parameters": draw(st.sampled_from(["7B", 7e9, "70亿", "1.4e11"]))}}
    names = draw(st.lists(st.sampled_from(sorted(BY_QUERY)), max_size=8, unique=True))
    for name in names:
        pointer, row = BY_QUERY[name]
        if pointer.startswith("/model/") or row.name in ("samples", "sample_length", "epochs", "gigabytes"):
            continue
        if row.name == "text_language":
            body.setdefault("training", {})["tokens"] = {"gigabytes": 5, "language": draw(typed(row))}
            continue
        if pointer == "/training/tokens" and "tokens" in body.get("training", {}):
            continue
        body = with_value(body, pointer, draw(typed(row)))
    return body


class TestLinks:
    def test_the_names_of_the_contract(self):
        named = {
            "parameters",
            "active_parameters",
            "preset",
            "tokens",
            "method",
            "precision",
            "optimizer",
            "sequence_length",
            "gpu",
            "gpu_count",
            "global_batch_tokens",
            "deadline_days",
            "budget",
            "currency",
            "max_gpu_count",
            "profile",
            "throughput_loss",
            "workload",
            "data_sensitivity",
            "basis",
            "term_months",
            "destination",
        }
        assert named <= set(BY_QUERY)

    def test_a_link_is_canonical(self):
        body = {
            "training": {"tokens": "1.4万亿", "method": "pretrain"},
            "model": {"parameters": "700亿"},
            "target": {"deadline_days": "6w"},
            "hardware": {"gpus": ["b", "a"], "deployment": {"profile": "virtualized", "throughput_loss": "20%"}},
        }
        assert query_from_body(body) == (
            "deadline_days=42&gpu=a&gpu=b&parameters=7e10&profile=virtualized_dedicated&throughput_loss=0.2"
            "&tokens=1.4e12&v=1"
        )

    @pytest.mark.parametrize("kilowatts", [1, 999, 1000, "2 MW", 20_000])
    def test_the_power_of_a_site_survives_its_link(self, kilowatts):
        body = {"model": {"parameters": "7B"}, "site": {"max_it_kilowatts": kilowatts}}
        watts = 2_000_000 if kilowatts == "2 MW" else kilowatts * 1000
        again = body_from_query(QueryDict(query_from_body(body)))
        assert parse_recommendation_request(again).max_it_watts == watts

    @settings(max_examples=300, deadline=None)
    @given(linkable_bodies())
    def test_there_and_back(self, body):
        try:
            checked = parse_recommendation_request(body)
        except InputError:
            return
        link = query_from_body(body)
        again = body_from_query(QueryDict(link))
        assert query_from_body(again) == link
        back = parse_recommendation_request(again)
        assert set(back.gpus) == set(checked.gpus)
        for name in checked.__dataclass_fields__:
            if name not in ("gpus", "lora", "problems"):
                assert getattr(back, name) == getattr(checked, name), name
        if checked.lora is not None:
            assert set(back.lora.targets) == set(checked.lora.targets)

    def test_a_budget_in_another_currency_keeps_both(self):
        budget = {"amount": "1000", "currency": "USD"}
        body = {"model": {"parameters": "7B"}, "target": {"budget": budget}, "commercial": {"currency": "CNY"}}
        link = query_from_body(body)
        assert link == "budget=1e3&budget_currency=USD&currency=CNY&parameters=7e9&v=1"
        back = parse_recommendation_request(body_from_query(QueryDict(link)))
        assert (back.budget, back.currency) == ((1000, "USD"), "CNY")

    def test_a_link_stays_short(self):
        assert len(query_from_body(RECOMMENDATION_EXAMPLE)) <= 1_500

    def test_defaults_are_left_out(self):
        link = query_from_body({"model": {"parameters": "7B"}, "commercial": {"basis": "compare", "currency": "CNY"}})
        assert parse_qs(link) == {"parameters": ["7e9"], "v": ["1"]}

    def test_empty_values_are_left_out(self):
        assert body_from_query(QueryDict("v=1&lang=en&parameters=7B&tokens=&gpu=&budget=+")) == {
            "model": {"parameters": "7B"}
        }

    @pytest.mark.parametrize(
        ("link", "code"),
        [
            ("v=2&parameters=7B", "unsupported_version"),
            ("parameter=7B", "unknown_field"),
            ("parameters=7B&parameters=8B", "repeated"),
            ("parameters=7B&tokens=1T&samples=5", "tokens_given_twice"),
            ("parameters=7B&samples=5&tokens=1T", "tokens_given_twice"),
        ],
    )
    def test_refused(self, link, code):
        with pytest.raises(InputError) as refused:
            body_from_query(QueryDict(link))
        assert refused.value.errors[0].code == code

    def test_names_of_advertising_and_of_the_page_are_passed_over(self):
        query = QueryDict("parameters=7B&utm_source=x&fbclid=y&expert=1")
        assert body_from_query(query, ignored=["expert"]) == {"model": {"parameters": "7B"}}

    def test_what_a_link_cannot_carry_is_named(self):
        with pytest.raises(InputError) as refused:
            query_from_body({"model": {"architecture": {"hidden_size": 4096}}})
        assert refused.value.errors[0].code == "not_linkable"

    @settings(max_examples=300, deadline=None)
    @given(st.text(max_size=80), st.sampled_from(sorted(BY_QUERY)))
    def test_any_text_is_read_or_refused(self, text, name):
        query = QueryDict(mutable=True)
        query.setlist(name, [text])
        query.setdefault("parameters", "7B")
        with contextlib.suppress(InputError):
            parse_recommendation_request(body_from_query(query))

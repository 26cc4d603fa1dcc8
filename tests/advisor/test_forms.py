"""The sizing form and the API are two doors of one reader: the same faults, at the same field, with the same code."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from django.utils import translation

from advisor.forms import ScenarioForm
from advisor.inputs import BY_QUERY, InputError, InputFault, parse_recommendation_request


@pytest.fixture(autouse=True)
def _english():
    with translation.override("en"):
        yield


# one table, both doors: names of the form, the same thing as a body, and the faults that both must give
PARITY: list[tuple[dict[str, Any], dict[str, Any], list[tuple[str | None, str]]]] = [
    ({"parameters": "70B"}, {"model": {"parameters": "70B"}}, []),
    ({"parameters": "70亿", "tokens": "1.4万亿"}, {"model": {"parameters": 7e9}, "training": {"tokens": 1.4e12}}, []),
    ({}, {}, [("parameters", "required")]),
    ({"parameters": "8x7B"}, {"model": {"parameters": "8x7B"}}, [("parameters", "quantity_product")]),
    ({"parameters": "0"}, {"model": {"parameters": 0}}, [("parameters", "out_of_range")]),
    (
        {"parameters": "7B", "preset": "llama-2-7b"},
        {"model": {"parameters": "7B", "preset": "llama-2-7b"}},
        [("parameters", "model_ambiguous")],
    ),
    (
        {"parameters": "7B", "active_parameters": "8B"},
        {"model": {"parameters": "7B", "active_parameters": "8B"}},
        [("active_parameters", "active_exceeds_total")],
    ),
    (
        {"parameters": "7B", "tokens": "1,4T"},
        {"model": {"parameters": "7B"}, "training": {"tokens": "1,4T"}},
        [("tokens", "quantity_decimal_comma")],
    ),
    (
        {"parameters": "7B", "samples": "50000"},
        {"model": {"parameters": "7B"}, "training": {"tokens": {"samples": 50000}}},
        [("sample_length", "tokens_incomplete")],
    ),
    (
        {"parameters": "7B", "deadline_days": "0"},
        {"model": {"parameters": "7B"}, "target": {"deadline_days": 0}},
        [("deadline_days", "not_above")],
    ),
    (
        {"parameters": "7B", "deadline_days": "soon"},
        {"model": {"parameters": "7B"}, "target": {"deadline_days": "soon"}},
        [("deadline_days", "quantity_not_a_number")],
    ),
    (
        {"parameters": "7B", "throughput_loss": "20"},
        {"model": {"parameters": "7B"}, "hardware": {"deployment": {"throughput_loss": 20}}},
        [("throughput_loss", "percent_expected")],
    ),
    (
        {"parameters": "7B", "throughput_loss": "20%"},
        {"model": {"parameters": "7B"}, "hardware": {"deployment": {"throughput_loss": 0.2}}},
        [("throughput_loss", "loss_on_bare_metal")],
    ),
    (
        {"parameters": "7B", "method": "rlhf", "precision": "int3"},
        {"model": {"parameters": "7B"}, "training": {"method": "rlhf", "precision": "int3"}},
        [("method", "invalid_choice"), ("precision", "invalid_choice")],
    ),
    (
        {"parameters": "7B", "lora_rank": "8"},
        {"model": {"parameters": "7B"}, "training": {"lora": {"rank": 8}}},
        [("lora_rank", "lora_without_method")],
    ),
    (
        {"parameters": "7B", "gpu_count": "5000", "max_gpu_count": "100"},
        {"model": {"parameters": "7B"}, "hardware": {"gpu_count": 5000, "max_gpu_count": 100}},
        [("gpu_count", "gpu_count_above_maximum")],
    ),
    (
        {"parameters": "7B", "budget": "-5"},
        {"model": {"parameters": "7B"}, "target": {"budget": {"amount": -5}}},
        [("budget", "out_of_range")],
    ),
    (
        {"parameters": "7B", "colour": "red"},
        {"model": {"parameters": "7B"}, "colour": "red"},
        [(None, "unknown_field")],
    ),
]


def form_faults(form: ScenarioForm) -> list[tuple[str | None, str]]:
    return sorted(
        ((None if name == "__all__" else name), error.code)
        for name, errors in form.errors.as_data().items()
        for error in errors
    )


@pytest.mark.parametrize(("submitted", "body", "expected"), PARITY, ids=lambda value: str(value)[:60])
def test_both_doors_give_the_same_faults(submitted, body, expected):
    form = ScenarioForm(submitted)
    form.is_valid()
    assert form_faults(form) == sorted(expected)
    names = {pointer: name for name, (pointer, _row) in BY_QUERY.items()} | {
        "/model": "parameters",
        "/training/lora": "lora_rank",
    }
    if not expected:
        assert form.checked == parse_recommendation_request(body)
        return
    with pytest.raises(InputError) as refused:
        parse_recommendation_request(body)
    assert sorted((names.get(fault.pointer), fault.code) for fault in refused.value.errors) == sorted(expected)


class TestForm:
    def test_keeps_what_was_typed_after_an_error(self):
        form = ScenarioForm(QueryDict("parameters=8x7B&tokens=1,4T&deadline_days=30"))
        assert not form.is_valid()
        html = form.as_div()
        assert 'value="8x7B"' in html
        assert 'value="1,4T"' in html

    def test_a_sentence_beside_its_field_does_not_repeat_the_label(self):
        form = ScenarioForm({"parameters": "7m", "tokens": "1\u0660"})
        assert form.errors["parameters"] == ["“7m” is unclear; did you mean 7M (million)?"]
        assert form.errors["tokens"] == ["Write “1\u0660” with the digits 0 to 9, such as 1.4T."]

    def test_a_faulty_text_cannot_break_out_of_its_field(self):
        form = ScenarioForm({"parameters": '"><script>alert(1)</script>'})
        assert "<script>" not in form.as_div()

    def test_shows_defaults_and_the_value_as_understood(self):
        form = ScenarioForm(QueryDict("parameters=7e10&v=1"))
        assert form.is_valid()
        assert form["parameters"].value() == "70B"
        assert form["sequence_length"].value() == "4096"
        assert form.fields["parameters"].echo == "70B"
        assert form.query == "parameters=7e10&v=1"

    def test_an_unbound_form_shows_defaults(self):
        form = ScenarioForm()
        assert form["method"].value() == "pretrain"
        assert form["max_gpu_count"].value() == 4096

    def test_simple_mode_has_at_most_eight_fields_and_expert_mode_the_rest(self):
        form = ScenarioForm()
        simple, expert = ({bound.name for bound in fields} for fields in (form.simple_fields, form.expert_fields))
        assert len(simple) <= 8
        assert simple | expert == set(BY_QUERY)
        assert not simple & expert

    def test_expert_part_opens_only_for_changed_or_faulty_settings(self):
        assert not ScenarioForm(QueryDict("parameters=7B&sequence_length=4096&method=pretrain")).has_expert_values
        assert ScenarioForm(QueryDict("parameters=7B&sequence_length=8192")).has_expert_values
        assert ScenarioForm(QueryDict("parameters=7B&max_gpu_count=many")).has_expert_values

    def test_choices_of_the_catalogue_and_one_that_is_gone(self):
        gpus = [("nvidia-h100-sxm5-80gb", "H100 SXM5 80 GB")]
        form = ScenarioForm(QueryDict("parameters=7B&gpu=nvidia-h100-sxm5-80gb&gpu=old-card"), gpus=gpus)
        assert form.is_valid()
        assert form.checked.gpus == ("nvidia-h100-sxm5-80gb", "old-card")
        assert '<option value="old-card" selected>' in str(form["gpu"])

    def test_a_checkbox_and_a_three_way_flag(self):
        form = ScenarioForm(QueryDict("parameters=7B&real_time=true&fused_loss=false"))
        assert form.is_valid()
        assert form.checked.real_time is True
        assert form.checked.uses_fused_loss is False
        assert ScenarioForm(QueryDict("parameters=7B")).is_valid()

    def test_faults_that_the_service_finds_stand_at_their_field(self):
        form = ScenarioForm(QueryDict("preset=nothing"))
        assert form.is_valid()
        fault = InputFault(pointer="/model/preset", code="unknown_preset", params={}, message="No such model.")
        form.add_faults(InputError((fault,)))
        assert form_faults(form) == [("preset", "unknown_preset")]

    def test_a_submitted_form_comes_back_as_the_same_link(self):
        form = ScenarioForm(QueryDict("parameters=70B&tokens=&method=pretrain&gpu=&currency=CNY&lang=en"))
        assert form.is_valid()
        assert form.query == "parameters=7e10&v=1"

    def test_every_field_has_a_label_and_help(self):
        for bound in ScenarioForm():
            assert bound.label
            assert bound.help_text

"""Every row of the calculation, computed again from the text that a reader sees."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from django.http import QueryDict
from django.utils import translation

from advisor.calculation import calculation
from advisor.calculation_terms import written_number
from advisor.form_page import page_form
from advisor.services import scenario_search

pytestmark = pytest.mark.django_db

DENSE = "v=1&parameters=13e9&tokens=300e9&deadline_days=42&gpu=nvidia-h100-sxm5-80gb"
EXPERTS = (
    "v=1&preset=mixtral-8x7b&tokens=1e11&profile=virtualized_dedicated&throughput_loss=0.2&gpu=nvidia-h100-sxm5-80gb"
)
ADAPTERS = "v=1&parameters=7e9&method=qlora&tokens=1e9&gpu=nvidia-h100-sxm5-80gb"

OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
FUNCTIONS = {"sqrt": math.sqrt, "ceil": math.ceil}


def computed(text: str) -> float:
    """The value of a substituted formula; only numbers, the four operations, powers, roots and rounding up."""
    for written, python in {",": "", "×": "*", "−": "-", "√(": "sqrt(", "²": "**2"}.items():
        text = text.replace(written, python)

    def value(node: ast.AST) -> float:
        match node:
            case ast.Expression(body=body):
                return value(body)
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](value(left), value(right))
            case ast.Call(func=ast.Name(id=name), args=[argument]):
                return FUNCTIONS[name](value(argument))
        raise AssertionError(f"not a formula: {text}")

    return value(ast.parse(text.strip(), mode="eval"))


def tolerance(row: dict[str, Any]) -> float:
    """Money is rounded to the hundredth."""
    return 0.01 if row["unit"] in {"CNY", "USD"} else 0.0


def rows_of(query: str) -> dict[str, Any]:
    with translation.override("en"):
        form = page_form(QueryDict(query))
        assert form.is_valid(), form.errors
        assert form.checked is not None
        answer = scenario_search(checked=form.checked)
        return {row["code"]: row for row in calculation(answer, deadline_seconds=form.checked.deadline_seconds)}


@pytest.mark.parametrize("query", [DENSE, EXPERTS, ADAPTERS], ids=["dense", "experts", "adapters"])
def test_the_numbers_put_in_give_the_value(catalog: None, query: str) -> None:
    for row in rows_of(query).values():
        assert computed(row["substituted"]) == pytest.approx(row["value"], rel=1e-6, abs=tolerance(row)), row["code"]


@pytest.mark.parametrize("query", [DENSE, EXPERTS, ADAPTERS], ids=["dense", "experts", "adapters"])
def test_no_figure_of_the_answer_is_without_its_row(catalog: None, query: str) -> None:
    expected = {
        "total_model_flops", "six_n_d_flops", "gpu_count", "global_batch_tokens", "step_seconds",
        "tokens_per_second_per_gpu", "mfu", "hfu", "step_count", "training_seconds", "training_seconds_low",
        "training_seconds_high", "gpu_hours", "allocated_bytes", "total_bytes", "memory_used_fraction",
        "interruptions_expected", "facility_watts", "energy_kilowatt_hours", "retention_bytes", "dataset_bytes",
        "run_cost", "rental_total", "purchase_total", "virtualized_days",
    }  # fmt: skip
    if "deadline" in query:
        expected |= {"sustained_flops_per_second", "dense_peak_flops_per_second"}
    assert set(rows_of(query)) == expected


def test_ten_days_at_a_fifth_lost_are_twelve_and_a_half(catalog: None) -> None:
    row = rows_of(EXPERTS)["virtualized_days"]
    bare = next(term["value"] for term in row["terms"] if term["label"] == "days on bare metal")
    assert row["value"] / bare == pytest.approx(12.5 / 10)


def test_a_formula_in_words_has_the_shape_of_its_numbers(catalog: None) -> None:
    for row in rows_of(DENSE).values():
        marks = "+×/−√²()"
        assert [c for c in row["formula"] if c in marks] == [c for c in row["substituted"] if c in marks], row["code"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (72_661, "72,661"),
        (300_000_000_000, "300,000,000,000"),
        (0.4386980002712296, "0.438698"),
        (42.5344932138935, "42.5344932"),
        (13_143_487.79, "13,143,487.79"),
        (2.3562289152e22, "2.35622892e22"),
        (5.481337977698474e-09, "5.48133798e-9"),
    ],
)
def test_numbers_are_written_to_be_typed_again(value: float, text: str) -> None:
    assert written_number(value) == text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=1e-8)

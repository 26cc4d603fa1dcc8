"""The OpenAPI document: valid 3.1, without a warning, its examples executed, its schemas true of real answers."""

from __future__ import annotations

import json

import jsonschema
import pytest
from django.test import Client
from django.utils import translation
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from advisor.api.documents import ANSWER_CODES, document
from advisor.api.schemas import field_schema
from advisor.input_fields import TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION
from advisor.inputs import InputError, parse_estimate_request, parse_recommendation_request
from advisor.messages import FAULTS

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def openapi():
    document.cache_clear()
    GENERATOR_STATS.reset()
    with translation.override("en"):
        yield document("en")


def resolved(openapi, schema):
    """The schema with the document's components in reach."""
    return {**schema, "components": openapi["components"]}


def test_is_valid_and_generated_without_a_warning(openapi):
    assert openapi["openapi"].startswith("3.1")
    validate_schema(openapi)
    assert dict(GENERATOR_STATS._warn_cache) == {}
    assert dict(GENERATOR_STATS._error_cache) == {}


def test_is_served(openapi):
    response = Client().get("/api/v1/openapi.json", headers={"accept-language": "en"})
    assert response["Content-Type"] == "application/json"
    assert response.json() == openapi
    assert response["Access-Control-Allow-Origin"] == "*"


def test_every_operation_declares_the_one_problem_shape(openapi):
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            failures = {status: answer for status, answer in operation["responses"].items() if status[0] in "45"}
            assert {"405", "422", "429", "500"} <= set(failures), (method, path)
            for answer in failures.values():
                assert list(answer["content"]) == ["application/problem+json"], (method, path)


def test_no_schema_refers_to_what_is_not_there(openapi):
    text = json.dumps(openapi)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(openapi["components"]["schemas"])


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize(
    "path",
    ["/api/v1/estimates", "/api/v1/recommendations", "/api/v1/offer-comparisons", "/api/v1/upgrades"],
)
def test_examples_are_executed_and_answers_follow_the_schema(openapi, path):
    operation = openapi["paths"][path]["post"]
    request = operation["requestBody"]["content"]["application/json"]
    answer_schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert request["examples"]
    for example in request["examples"].values():
        jsonschema.validate(example["value"], resolved(openapi, request["schema"]))
        response = Client().post(path, json.dumps(example["value"]), content_type="application/json")
        assert response.status_code == 200, response.content
        jsonschema.validate(response.json(), resolved(openapi, answer_schema))


def test_a_problem_follows_its_schema(openapi):
    response = Client().post("/api/v1/estimates", "{}", content_type="application/json")
    jsonschema.validate(response.json(), resolved(openapi, openapi["components"]["schemas"]["Problem"]))


def set_value(body, pointer, value):
    node = body
    *parents, key = pointer.split("/")[1:]
    for parent in parents:
        node = node.setdefault(parent, {})
    node[key] = value


@pytest.mark.parametrize(
    ("route", "parse"), [(ESTIMATE, parse_estimate_request), (RECOMMENDATION, parse_recommendation_request)]
)
def test_bounds_of_the_document_are_the_bounds_of_the_reader(route, parse):
    """At each bound the reader says yes, just outside it names the range."""
    for pointer, row in TABLE[route].items():
        if row.minimum is None:
            continue
        number = field_schema(row)["anyOf"][0]
        low = number.get("minimum", number.get("exclusiveMinimum"))
        for value, is_inside in (
            (number["maximum"], True),
            (number["maximum"] * 2, False),
            (low, "minimum" in number),
            (low - 1, False),
        ):
            body: dict = {"model": {"parameters": "70B"}}
            set_value(body, pointer, value)
            try:
                parse(body)
                codes = set()
            except InputError as error:
                codes = {fault.code for fault in error.errors if fault.pointer == pointer}
            refused = bool(codes & {"out_of_range", "not_above", "above_maximum", "percent_expected"})
            assert refused is not is_inside, (pointer, value, codes)


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_the_readable_page_names_every_field_and_code(language):
    response = Client().get("/api/docs", headers={"accept-language": language})
    html = response.content.decode()
    assert response.status_code == 200
    for route in (ESTIMATE, RECOMMENDATION):
        assert all(f"<code>{pointer}</code>" in html for pointer in TABLE[route])
    for code in {code for _status, code, _text in ANSWER_CODES} | set(FAULTS) - {"unknown_field_like"}:
        assert f'id="{code}"' in html
    assert "<style" not in html
    assert " style=" not in html
    assert "onclick" not in html

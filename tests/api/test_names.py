"""What outside programs rely on stays: names of the API may be added, never renamed or dropped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.api.schemas import components
from advisor.input_fields import BY_QUERY, TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION
from quotes.api.schemas import components as quote_components
from quotes.api.urls import STEPS

RECORDED = Path(__file__).with_name("names.json")


def properties(schemas: dict[str, Any], schema: dict[str, Any], place: str = "") -> Iterator[str]:
    """Every name of an answer as a path; a list's entries are `[]`."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
    for option in schema.get("anyOf", ()):
        yield from properties(schemas, option, place)
    if "items" in schema:
        yield from properties(schemas, schema["items"], f"{place}[]")
    for name, inner in schema.get("properties", {}).items():
        yield f"{place}/{name}"
        yield from properties(schemas, inner, f"{place}/{name}")


def present_names() -> dict[str, list[str]]:
    schemas, quote_schemas = components(), quote_components()
    return {
        "estimate request": sorted(TABLE[ESTIMATE]),
        "recommendation request": sorted(TABLE[RECOMMENDATION]),
        "link": sorted(BY_QUERY),
        "choices": sorted(
            {f"{row.name}={code}" for rows in TABLE.values() for row in rows.values() for code, _label in row.choices}
        ),
        "estimate answer": sorted(set(properties(schemas, schemas["EstimateAnswer"]))),
        "recommendation answer": sorted(set(properties(schemas, schemas["RecommendationAnswer"]))),
        "problem": sorted(set(properties(schemas, schemas["Problem"]))),
        "quote answer": sorted(set(properties(quote_schemas, quote_schemas["QuoteAnswer"]))),
        "quote row": sorted(set(properties(quote_schemas, quote_schemas["QuoteRowAnswer"]))),
        "quote steps": sorted(STEPS),
    }


@pytest.mark.parametrize("kind", sorted(present_names()))
def test_no_recorded_name_is_gone(kind):
    recorded = set(json.loads(RECORDED.read_text(encoding="utf-8"))[kind])
    gone = recorded - set(present_names()[kind])
    assert not gone, f"these break programs of others: {sorted(gone)}"


@pytest.mark.parametrize("kind", sorted(present_names()))
def test_every_name_is_recorded(kind):
    recorded = set(json.loads(RECORDED.read_text(encoding="utf-8"))[kind])
    new = set(present_names()[kind]) - recorded
    assert not new, f"inspect, then add to {RECORDED.name}: {sorted(new)}"

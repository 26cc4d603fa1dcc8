"""Schemas of the quotes' answers from their typed dictionaries, and the refusals that only quotes know."""

from __future__ import annotations

from typing import Any

from advisor.api.schemas import PROBLEM_MEDIA_TYPE, Schema, reference, type_schema
from quotes.api.answers import QuoteAnswer, QuoteRowAnswer

PREFIX = "/api/v1/quotes"
_CONFLICT = {409: "The quote's state does not allow this, or the same call is still being worked on"}
_PRECONDITION = {412: "The quote was changed since the ETag in If-Match"}
_REQUIRED = {428: "If-Match is missing"}
_BAD = {400: "Not JSON, or the Idempotency-Key is missing or malformed"}


def components() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for answer in (QuoteAnswer, QuoteRowAnswer):
        type_schema(answer, found)
    found["QuotePage"] = {
        "type": "object",
        "required": ["count", "next", "previous", "results", "engine_version", "catalog_revision"],
        "properties": {
            "count": {"type": "integer"},
            "next": {"type": ["string", "null"]},
            "previous": {"type": ["string", "null"]},
            "results": {"type": "array", "items": reference("QuoteRowAnswer")},
            "engine_version": {"type": "string"},
            "catalog_revision": {"type": "string"},
        },
    }
    return found


def add_quote_components(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Hook of the OpenAPI document; runs before the one that adds the refusals of every operation."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update({name: schema for name, schema in components().items() if name not in schemas})
    for name, schema in schemas.items():
        if name.endswith(("Request", "Body")) and schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
    content = {PROBLEM_MEDIA_TYPE: {"schema": reference("Problem")}}
    for path, operations in result["paths"].items():
        if not path.startswith(PREFIX):
            continue
        for method, operation in operations.items():
            known: dict[int, str] = {}
            if method in {"post", "patch"}:
                known |= _CONFLICT | _PRECONDITION | _BAD
            if method == "patch":
                known |= _REQUIRED
            for status, words in known.items():
                operation["responses"].setdefault(str(status), {"description": words, "content": content})
    return result

"""Schemas of rival offers and upgrades: requests from their field rows, answers from their typed dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor.api.schemas import Schema, field_schema, request_schema, type_schema
from advisor.input_kinds import ESTIMATE, InputField
from advisor.market_answers import OfferComparisonAnswer, UpgradeAnswer
from advisor.offer_inputs import CURRENCY_ROW, MAX_OFFERS, OFFER_FIELDS
from advisor.offer_text import MAX_TEXT
from advisor.upgrade_inputs import PRESENT_FIELDS, TARGET_FIELDS

OFFER_EXAMPLE: dict[str, Any] = {
    "model": {"parameters": "7B"},
    "training": {"tokens": "100B"},
    "offers": [
        {"name": "A", "text": "64 x H100 80GB, $2.49/GPU-hour, 400G InfiniBand, virtualized"},
        {
            "name": "B",
            "gpu": "nvidia-h100-sxm5-80gb",
            "gpu_count": 64,
            "price": {"amount": "87000", "currency": "CNY"},
            "price_unit": "server_month",
            "scale_out_gbit_per_second_per_gpu": 400,
            "deployment": {"profile": "bare_metal"},
        },
    ],
    "commercial": {"currency": "CNY"},
}


UPGRADE_EXAMPLE: dict[str, Any] = {
    "model": {"parameters": "70B"},
    "training": {"tokens": "1.4T"},
    "present": {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 64},
    "target": {"deadline_days": 60},
}


def _object() -> Schema:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def nested(rows: Mapping[str, InputField]) -> Schema:
    """Rows by their pointers as one object; nothing else is allowed in it."""
    schema = _object()
    for row in rows.values():
        node = schema
        *parents, key = row.pointer.split("/")[1:]
        for parent in parents:
            node = node["properties"].setdefault(parent, _object())
        node["properties"][key] = field_schema(row)
    return schema


def offer_request() -> Schema:
    offer = nested(OFFER_FIELDS)
    offer["properties"]["text"] = {
        "type": "string",
        "maxLength": MAX_TEXT,
        "description": "The offer as it was written; what is not given as a field is read from it.",
        "examples": ["64 x H100 80GB, $2.49/GPU-hour, 400G InfiniBand, bare metal"],
    }
    schema = nested({"currency": CURRENCY_ROW})
    schema["properties"] |= {
        "model": request_schema(ESTIMATE, "/model"),
        "training": request_schema(ESTIMATE, "/training"),
        "offers": {"type": "array", "minItems": 1, "maxItems": MAX_OFFERS, "items": offer},
    }
    return schema | {"required": ["model", "offers"]}


def upgrade_request() -> Schema:
    schema = nested(PRESENT_FIELDS | TARGET_FIELDS)
    schema["properties"] |= {
        "model": request_schema(ESTIMATE, "/model"),
        "training": request_schema(ESTIMATE, "/training"),
    }
    return schema | {"required": ["model", "present"]}


def market_components() -> dict[str, Schema]:
    found: dict[str, Schema] = {"OfferComparisonRequest": offer_request(), "UpgradeRequest": upgrade_request()}
    type_schema(OfferComparisonAnswer, found)
    type_schema(UpgradeAnswer, found)
    return found


def add_market_components(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Hook of the OpenAPI document."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update({name: schema for name, schema in market_components().items() if name not in schemas})
    return result

"""JSON Schemas of the API: requests from the table of input fields, answers from their typed dictionaries."""

from __future__ import annotations

import types
from decimal import Decimal
from typing import Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from advisor.answers import EstimateAnswer, RecommendationAnswer
from advisor.input_fields import BY_QUERY, OBJECTS, TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION, FieldKind, InputField
from advisor.input_reading import MAX_LIST_ENTRIES, MAX_TEXT_CHARACTERS
from advisor.quantities import MAX_CHARACTERS

Schema = dict[str, Any]
REQUEST_NAMES = {ESTIMATE: "EstimateRequest", RECOMMENDATION: "RecommendationRequest"}
PROBLEM: Schema = {
    "type": "object",
    "description": "RFC 9457 problem; the same shape for every 4xx and 5xx.",
    "required": ["type", "title", "status", "detail", "instance", "code", "request_id"],
    "properties": {
        "type": {"type": "string", "examples": ["/api/docs#invalid_request"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": ["string", "null"]},
        "code": {"type": "string", "description": "Never changes with the language."},
        "request_id": {"type": ["string", "null"]},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "code", "detail"],
                "properties": {
                    "pointer": {"type": "string", "examples": ["/training/tokens"]},
                    "code": {"type": "string"},
                    "detail": {"type": "string"},
                    "params": {"type": "object"},
                },
            },
        },
    },
}
_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def components() -> dict[str, Schema]:
    """Every schema by name, as they stand under `components/schemas`."""
    found: dict[str, Schema] = {"Problem": PROBLEM}
    for route, name in REQUEST_NAMES.items():
        found[name] = request_schema(route, "")
    for answer in (EstimateAnswer, RecommendationAnswer):
        type_schema(answer, found)
    return found


def request_schema(route: str, pointer: str) -> Schema:
    """Schema of one object of a request and of everything in it."""
    properties: dict[str, Schema] = {}
    for name in OBJECTS[route][pointer]:
        child = f"{pointer}/{name}"
        options = [field_schema(TABLE[route][child])] if child in TABLE[route] else []
        if child in OBJECTS[route]:
            options.append(request_schema(route, child))
        properties[name] = options[0] if len(options) == 1 else {"anyOf": options}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if pointer == "":
        schema["required"] = ["model"]
    return schema


def field_schema(row: InputField) -> Schema:
    """One field with its bounds, default and words."""
    schema = _value_schema(row)
    words = [str(row.help), f"[{row.unit}]" if row.unit else "", str(row.default_source)]
    schema["title"] = str(row.label)
    schema["description"] = " ".join(word for word in words if word)
    if row.default is not None:
        schema["default"] = row.default
    return schema


def _value_schema(row: InputField) -> Schema:
    codes = [code for code, _label in row.choices] + [alias for alias, _code in row.aliases]
    match row.kind:
        case FieldKind.QUANTITY | FieldKind.WHOLE | FieldKind.FRACTION:
            number: Schema = {"type": "integer" if row.kind is FieldKind.WHOLE else "number", **_bounds(row)}
            examples = [str(row.example) or "1"]
            text = {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "examples": examples}
            return {"anyOf": [number, text]}
        case FieldKind.CHOICE:
            return {"type": "string", "enum": codes}
        case FieldKind.CHOICES:
            return {"type": "array", "items": {"type": "string", "enum": codes}, "maxItems": MAX_LIST_ENTRIES}
        case FieldKind.FLAG:
            return {"type": "boolean"}
        case FieldKind.TEXT:
            return _text_schema(row)
        case FieldKind.TEXTS:
            return {"type": "array", "items": _text_schema(row), "maxItems": MAX_LIST_ENTRIES}
        case FieldKind.OBJECT:
            return {"type": "object"}


def _text_schema(row: InputField) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS, "examples": [str(row.example)]}


def _bounds(row: InputField) -> Schema:
    if row.minimum is None or row.maximum is None:
        return {}
    low = "exclusiveMinimum" if row.is_minimum_excluded else "minimum"
    return {low: _json_number(row.minimum), "maximum": _json_number(row.maximum)}


def _json_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def query_parameters() -> list[Schema]:
    """The names of a link, as OpenAPI parameters; their values are text in a link."""
    rows = []
    for name, (_pointer, row) in sorted(BY_QUERY.items()):
        schema: Schema = {"type": "string"}
        if row.choices:
            schema["enum"] = [code for code, _label in row.choices] + [alias for alias, _code in row.aliases]
        if row.kind is FieldKind.FLAG:
            schema["enum"] = ["true", "false"]
        if row.kind in (FieldKind.TEXTS, FieldKind.CHOICES):
            schema = {"type": "array", "items": schema}
        if row.default is not None:
            schema["default"] = str(row.default).lower() if isinstance(row.default, bool) else str(row.default)
        rows.append({"name": name, "type": schema, "description": f"{row.label}. {row.help}"})
    return rows


def type_schema(hint: Any, found: dict[str, Schema]) -> Schema:
    """Schema of a type hint; typed dictionaries become components of their own."""
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    if is_typeddict(hint):
        name = hint.__name__
        if name not in found:
            found[name] = {}  # holds the place while its own fields are read
            hints = get_type_hints(hint, include_extras=True)
            found[name] = {
                "type": "object",
                "required": sorted(key for key, inner in hints.items() if get_origin(inner) is not NotRequired),
                "properties": {key: type_schema(inner, found) for key, inner in hints.items()},
            }
        return reference(name)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return type_schema(arguments[0], found)
    if origin is list:
        return {"type": "array", "items": type_schema(arguments[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": type_schema(arguments[1], found)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [type_schema(argument, found) for argument in arguments]}
    raise TypeError(f"{hint!r} has no place in an answer that is plain JSON.")


PROBLEM_STATUSES: dict[int, str] = {
    400: "Not JSON",
    401: "No valid token",
    403: "The token does not allow this",
    404: "Nothing at this address",
    405: "Another method is needed",
    406: "Only JSON is served",
    413: "Over 64 KiB",
    415: "The body is not sent as application/json",
    422: "Well formed, but some values cannot be used",
    429: "Too many requests from this address; Retry-After says when to come back",
    500: "Our fault; the request id finds it in our log",
    503: "Busy; Retry-After says when to come back",
}
_OF_EVERY_OPERATION = (405, 406, 422, 429, 500, 503)
_OF_BODIES = (400, 413, 415)
_OF_STAFF = (401, 403)
PROBLEM_MEDIA_TYPE = "application/problem+json"


def add_components(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Hook of the OpenAPI document: our components, and on every operation the errors that it can answer with."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update({name: schema for name, schema in components().items() if name not in schemas})
    content = {PROBLEM_MEDIA_TYPE: {"schema": reference("Problem")}}
    for path, operations in result["paths"].items():
        for operation in operations.values():
            statuses = [*_OF_EVERY_OPERATION]
            statuses += _OF_BODIES if "requestBody" in operation else ()
            is_paged = any(row["name"] == "page" for row in operation.get("parameters", ()))
            statuses += (404,) if "{" in path or is_paged else ()
            statuses += _OF_STAFF if operation.get("security") else ()
            for status in sorted(statuses):
                answer = {"description": PROBLEM_STATUSES[status], "content": content}
                operation["responses"].setdefault(str(status), answer)
    return result

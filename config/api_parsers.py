"""JSON bodies: size-limited, UTF-8, without NaN or Infinity, and not nested without end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

MAX_NESTING = 20


class RequestTooLarge(APIException):
    status_code = 413
    default_code = "too_large"


def refuse_constant(name: str) -> Any:
    raise ParseError(f"{name} is not a JSON number; write a finite number.")


class StrictJSONParser(JSONParser):
    """Refuses over 64 KiB with 413 and anything that is not plain JSON with 400."""

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        limit = settings.API_REQUEST_LIMIT_BYTES
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise RequestTooLarge(f"The request body is over {limit} bytes; send at most {limit}.")
        try:
            body = json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)
        except RecursionError:
            raise ParseError(f"The JSON is nested too deeply; at most {MAX_NESTING} levels are read.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON in UTF-8: {error}.") from None
        if nesting(body) > MAX_NESTING:
            raise ParseError(f"The JSON is nested too deeply; at most {MAX_NESTING} levels are read.")
        return body


def nesting(value: Any) -> int:
    """Depth of nested lists and objects, counted without recursion."""
    depth, level = 0, [value]
    while level and depth <= MAX_NESTING:
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        depth += 1
    return depth

"""JSON bodies: size-limited, UTF-8, without NaN or Infinity, without a name twice, and not nested without end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

MAX_NESTING = 20


class RequestTooLarge(APIException):
    status_code = 413
    default_code = "too_large"


class StrictJSONParser(JSONParser):
    """Refuses over 64 KiB with 413 and anything that is not plain JSON with 400."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return read_json(stream.read(settings.API_REQUEST_LIMIT_BYTES + 1))


def read_json(raw: bytes) -> Any:
    """The value that the bytes write. Raises RequestTooLarge or ParseError, and nothing else."""
    limit = settings.API_REQUEST_LIMIT_BYTES
    if len(raw) > limit:
        raise RequestTooLarge(_("The request is over %(limit)s bytes; send less.") % {"limit": limit})
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
    except UnicodeDecodeError:
        raise ParseError(_("The request is not text in UTF-8.")) from None
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        place = {"line": error.lineno, "column": error.colno}
        raise ParseError(_("The request is not JSON: line %(line)s, column %(column)s.") % place) from None
    except ValueError:  # a whole number of thousands of digits
        raise ParseError(_("The request holds a number that is too long to read.")) from None
    if nesting(body) > MAX_NESTING:
        raise _too_deep()
    if b"\\u" in raw and not _is_encodable(body):
        raise ParseError(_("The request holds half of a character (a lone surrogate)."))
    return body


def _refuse_constant(name: str) -> Any:
    raise ParseError(_("%(name)s is not a JSON number; write a finite number.") % {"name": name})


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name given twice has no one meaning."""
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _value in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        shown = repeated[:60].encode("utf-8", "replace").decode("utf-8")
        raise ParseError(_("“%(name)s” is given twice in one object.") % {"name": shown})
    return result


def _too_deep() -> ParseError:
    return ParseError(_("The JSON is nested too deeply; at most %(limit)s levels are read.") % {"limit": MAX_NESTING})


def _is_encodable(body: Any) -> bool:
    try:
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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

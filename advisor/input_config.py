"""A Hugging Face config.json in a link: its text as an object, and the shortest text that says the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

from rest_framework.exceptions import APIException

from advisor.engine.model_config import ConfigError, reduced_config
from advisor.input_reading import make_fault
from advisor.input_types import InputError, InputFault
from advisor.problem_words import problem_message
from config.api_parsers import read_json

POINTER = "/model/config"
# as a link writes it; published files need up to 700, and a request line of 4,094 must hold the rest of a case as well
MAX_LINK_CHARACTERS = 2400


def config_of_text(text: str | bytes) -> dict[str, Any]:
    """What the sizing reads of a file's text. Raises InputError for whatever describes no model we can size."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    try:
        config = read_json(raw.removeprefix(b"\xef\xbb\xbf"))
    except APIException as error:
        raise InputError((make_fault(POINTER, "config_unreadable", {"reason": str(error.detail)}),)) from error
    return reduced(config)


def reduced(config: Any) -> dict[str, Any]:
    """The object without what the sizing does not read. Raises InputError."""
    try:
        return reduced_config(config)
    except ConfigError as error:
        raise config_refused(error, POINTER) from error


def config_text(config: Mapping[str, Any]) -> str:
    """The object as a link carries it: sorted names, no spaces. Raises InputError for one that no link can hold."""
    text = json.dumps(reduced(config), sort_keys=True, separators=(",", ":"))
    if (length := len(quote_plus(text))) > MAX_LINK_CHARACTERS:
        raise InputError((make_fault(POINTER, "config_too_long", {"length": length, "limit": MAX_LINK_CHARACTERS}),))
    return text


def link_too_long(length: int, limit: int) -> InputError:
    """For a config that fits alone, but not beside everything else that was entered."""
    return InputError((make_fault(POINTER, "config_too_long", {"length": length, "limit": limit}),))


def config_refused(error: ConfigError, pointer: str) -> InputError:
    """What the reader of configs found, with the place inside the object."""
    params = {"field": error.field or "config", **error.params}
    code = f"model_{error.code}"
    place = f"{pointer}/{error.field}" if error.field else pointer
    fault = InputFault(pointer=place, code=code, params=params, message=problem_message(code, params))
    return InputError((fault,))

"""A link's query string and a JSON body are two writings of one recommendation request."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from advisor.input_config import config_of_text, config_text
from advisor.input_fields import BY_QUERY, TABLE
from advisor.input_kinds import RECOMMENDATION, FieldKind, InputField
from advisor.input_parsing import read_body
from advisor.input_reading import make_fault
from advisor.input_types import InputError, InputFault
from advisor.messages import shown
from advisor.quantities import canonical

VERSION = "1"
_OWN_NAMES = frozenset({"v", "lang"})
_TRACKING_PREFIXES = ("utm_", "fbclid", "gclid", "bd_vid")
MAX_NAMES = 100


def body_from_query(query: QueryDict, *, ignored: Iterable[str] = ()) -> dict[str, Any]:
    """The body that the names of a link mean; empty values are left out. Raises InputError.

    `ignored` are names that belong to the caller's page; names that advertising adds to links are passed over.
    """
    passed_over = {*_OWN_NAMES, *ignored}
    faults: list[InputFault] = []
    body: dict[str, Any] = {}
    version = query.get("v", VERSION)
    if version not in ("", VERSION):
        faults.append(make_fault("", "unsupported_version", {"value": shown(version)}))
    for name in list(query)[:MAX_NAMES]:
        if name in passed_over or name.startswith(_TRACKING_PREFIXES):
            continue
        if name not in BY_QUERY:
            faults.append(_unknown(name))
            continue
        pointer, row = BY_QUERY[name]
        texts = [text for text in query.getlist(name) if text.strip()]
        if row.kind in (FieldKind.TEXTS, FieldKind.CHOICES):
            if texts:
                _place(body, pointer, texts)
        elif len(texts) > 1:
            faults.append(make_fault(pointer, "repeated", {}, row))
        elif texts and row.kind is FieldKind.OBJECT:
            try:
                _place(body, pointer, config_of_text(texts[0]))
            except InputError as error:
                faults.extend(error.errors)
        elif texts and not _place(body, pointer, texts[0]):
            params = {"count": 2, "given": "tokens, samples / gigabytes"}
            faults.append(make_fault("/training/tokens", "tokens_given_twice", params))
    if faults:
        raise InputError(tuple(faults))
    return body


def _unknown(name: str) -> InputFault:
    params = {"name": shown(name), "known": ", ".join(BY_QUERY)}
    if near := difflib.get_close_matches(name[:50], BY_QUERY, n=1, cutoff=0.6):
        params["suggestion"] = near[0]
    return make_fault(f"/{shown(name).replace('~', '~0').replace('/', '~1')}", "unknown_field", params)


def _place(body: dict[str, Any], pointer: str, value: Any) -> bool:
    """Sets the value at the pointer; False when a token count and a data set both claim `/training/tokens`."""
    *parents, key = pointer.split("/")[1:]
    node = body
    for parent in parents:
        node = node.setdefault(parent, {})
        if not isinstance(node, dict):
            return False
    if isinstance(node.get(key), dict):
        return False
    node[key] = value
    return True


def query_from_body(body: Mapping[str, Any]) -> str:
    """The canonical query string: sorted names, only what differs from a default, `v=1`. Raises InputError.

    What a link cannot carry (an architecture field by field, a configuration without end) is refused by name.
    """
    values, _notes = read_body(RECOMMENDATION, body)
    currency = values.get("currency") or values.get("budget_currency")
    if values.get("budget_currency") == currency:
        values.pop("budget_currency", None)
    if currency is not None:
        values["currency"] = currency
    pairs: list[tuple[str, str]] = [("v", VERSION)]
    for pointer, row in TABLE[RECOMMENDATION].items():
        if row.name not in values:
            continue
        if row.query is None:
            raise InputError((make_fault(pointer, "not_linkable", {}, row),))
        value = values[row.name]
        # beside a budget in another currency even the default must be said: left out, it would follow the budget
        is_needed = row.name == "currency" and "budget_currency" in values
        if _is_default(row, value) and not is_needed:
            continue
        pairs.extend((row.query, text) for text in _texts(row, value))
    return urlencode(sorted(pairs))


def _is_default(row: InputField, value: Any) -> bool:
    if row.kind is FieldKind.FRACTION or row.name.endswith("_factor"):
        return bool(value == (0 if row.kind is FieldKind.FRACTION else 1))
    return row.default is not None and bool(value == row.default)


def _texts(row: InputField, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [config_text(value)]
    if isinstance(value, tuple):
        return sorted(value)
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, (Decimal, int)):
        return [canonical(value)]
    return [value.upper() if row.name == "destination" else str(value)]

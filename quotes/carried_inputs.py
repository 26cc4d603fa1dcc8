"""The inputs of a sizing link as words: what a request carries over."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from django.utils.translation import gettext as _

from advisor.config_page import config_words
from advisor.input_fields import BY_QUERY
from advisor.input_kinds import FieldKind, InputField
from advisor.input_reading import describe


def carried_inputs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Label and value of each pair of a canonical query, in the active language."""
    rows: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in BY_QUERY:
            _pointer, row = BY_QUERY[name]
            rows.setdefault(str(row.label), []).append(_words(row, value))
    return [(label, ", ".join(values)) for label, values in rows.items()]


def _words(row: InputField, value: str) -> str:
    if row.choices:
        return next((str(label) for code, label in row.choices if code == value), value)
    if row.kind is FieldKind.FLAG:
        return _("yes") if value == "true" else _("no")
    if row.kind is FieldKind.OBJECT:
        return config_words(value)
    try:
        return describe(row, Decimal(value))
    except (InvalidOperation, ValueError):
        return value

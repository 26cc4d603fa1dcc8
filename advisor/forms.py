"""The sizing form: made from the table of input fields, read by the same reader as the API.

The form's own fields validate nothing. `clean` turns the submitted names into a body, parses it, and puts each fault
beside the field that it names, so that page and API cannot disagree. What was typed stays in the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from advisor import figures
from advisor.input_fields import BY_QUERY
from advisor.input_kinds import FieldKind, InputField, Text
from advisor.input_parsing import parse_recommendation_request
from advisor.input_query import body_from_query, query_from_body
from advisor.input_types import CheckedRecommendation, InputError
from advisor.quantities import Kind, QuantityError, parse_quantity

Choice = tuple[str, Text]
CLUSTER_FIELD = "gpu_count"
CONFIG_FIELD = "config"
PLACED_FIELDS = frozenset({CLUSTER_FIELD, CONFIG_FIELD})  # beside the GPUs, and beside the known model
_CANONICAL = re.compile(r"[0-9](?:\.[0-9]+)?e[0-9]{1,2}")
# a fault of a whole object is shown at the field that a reader would look at first
_FIELD_BY_POINTER = {pointer: name for name, (pointer, _row) in BY_QUERY.items()} | {
    "/model": "parameters",
    "/training/lora": "lora_rank",
    "/target/budget": "budget",
}


class RawField(forms.Field):
    """Hands the text on unread; carries what the template shows beside the control."""

    def __init__(self, *, row: InputField, widget: forms.Widget, **options: Any) -> None:
        super().__init__(
            required=False, label=row.label, help_text=row.help, widget=widget, initial=_initial(row), **options
        )
        self.row = row
        self.unit = row.unit
        self.source = row.default_source
        self.echo = ""  # the value as it was understood, set once the form is clean


def _initial(row: InputField) -> Any:
    if row.kind is FieldKind.FLAG:
        return row.default or False if row.default is not None else ""
    return "" if row.default is None else row.default


class ScenarioForm(forms.Form):
    """State of the sizing page. After `is_valid()`: `body`, `checked`, and `query`, the canonical link."""

    def __init__(
        self,
        data: QueryDict | dict[str, Any] | None = None,
        *,
        presets: Iterable[Choice] = (),
        gpus: Iterable[Choice] = (),
        ignored: Iterable[str] = (),
        **options: Any,
    ) -> None:
        self.submitted = _as_query(data)
        self.ignored = tuple(ignored)
        self.body: dict[str, Any] = {}
        self.checked: CheckedRecommendation | None = None
        self.query = ""
        super().__init__(None if self.submitted is None else _with_defaults(self.submitted), **options)
        choices = {"preset": tuple(presets), "gpu": tuple(gpus)}
        for name, (_pointer, row) in BY_QUERY.items():
            chosen = self.submitted.getlist(name) if self.submitted is not None else []
            widget = _widget(row, choices.get(name, ()), chosen)
            self.fields[name] = RawField(row=row, widget=widget)

    def clean(self) -> dict[str, Any]:
        assert self.submitted is not None  # noqa: S101  (Django cleans only bound forms)
        try:
            self.body = body_from_query(self.submitted, ignored=self.ignored)
            self.checked = parse_recommendation_request(self.body)
            self.query = query_from_body(self.body)
        except InputError as error:
            self.add_faults(error)
        else:
            self._echo()
        return self.cleaned_data

    def add_faults(self, error: InputError) -> None:
        """Each fault at its field; one that no field owns at the top. Also for faults that the service finds."""
        for fault in error.errors:
            name = _field_of(fault.pointer)
            label = "" if name is None else str(self.fields[name].label)
            self.add_error(name, ValidationError(_without_label(fault.message, label), code=fault.code))

    def _echo(self) -> None:
        for name, (_pointer, row) in BY_QUERY.items():
            if row.quantity not in (Kind.COUNT, Kind.TOKENS) or row.kind is not FieldKind.QUANTITY:
                continue
            text = self.data.get(name) or ""
            if text.strip():
                field = self.fields[name]
                assert isinstance(field, RawField)  # noqa: S101  (for the type checker: all fields are)
                field.echo = figures.format_si_count(parse_quantity(text, row.quantity).value)

    @property
    def simple_fields(self) -> list[forms.BoundField]:
        return [self[name] for name, (_pointer, row) in BY_QUERY.items() if row.is_simple]

    @property
    def expert_fields(self) -> list[forms.BoundField]:
        return [self[name] for name, (_pointer, row) in BY_QUERY.items() if not row.is_simple]

    @property
    def has_expert_values(self) -> bool:
        """Whether an expert setting was changed or is faulty, so that the page opens that part."""
        if self.submitted is None:
            return False
        return any(
            bool(self.errors.get(bound.name)) or _is_changed(BY_QUERY[bound.name][1], self.submitted, bound.name)
            for bound in self.expert_fields
            if bound.name not in PLACED_FIELDS
        )

    @property
    def has_cluster_values(self) -> bool:
        """Whether the number of GPUs is given, which stands beside their model and not among the expert settings."""
        return bool(self[CLUSTER_FIELD].value() or self.errors.get(CLUSTER_FIELD))


def _field_of(pointer: str) -> str | None:
    """The form field that a pointer belongs to: its own, or that of the nearest object around it."""
    while pointer:
        if pointer in _FIELD_BY_POINTER:
            return _FIELD_BY_POINTER[pointer]
        pointer = pointer.rpartition("/")[0]
    return None


def _without_label(message: str, label: str) -> str:
    """The sentence beside a field, which names the field already: `“1,4T” ...` for `Training tokens: “1,4T” ...`."""
    for colon in (": ", "："):
        if label and message.startswith(label + colon):
            rest = message[len(label + colon) :]
            return rest[0].upper() + rest[1:]
    return message


def _as_query(data: QueryDict | dict[str, Any] | None) -> QueryDict | None:
    if data is None or isinstance(data, QueryDict):
        return data
    query = QueryDict(mutable=True)
    for name, value in data.items():
        query.setlist(name, [str(entry) for entry in value] if isinstance(value, (list, tuple)) else [str(value)])
    return query


def _with_defaults(submitted: QueryDict) -> QueryDict:
    """What the fields show: the text as typed, the default where nothing was, and 70B for a link's 7e10."""
    shown = submitted.copy()
    for name, (_pointer, row) in BY_QUERY.items():
        typed = submitted.get(name) or ""
        if not typed.strip() and row.default not in (None, False):
            shown[name] = str(row.default)
        elif typed.strip():
            shown[name] = readable(row, typed)
    return shown


def readable(row: InputField, typed: str) -> str:
    """`70B` for a link's `7e10`; every other text as it was typed."""
    is_short = row.kind is FieldKind.QUANTITY and row.quantity in (Kind.COUNT, Kind.TOKENS, Kind.MONEY)
    return _friendly(typed.strip(), row.quantity) if is_short and _CANONICAL.fullmatch(typed.strip()) else typed


def _friendly(text: str, kind: Kind) -> str:
    """`70B` for `7e10`, where nothing is lost by it; money in the reader's own grouping, `3M` or `300 万`."""
    try:
        value = parse_quantity(text, kind).value
        short = figures.format_si_count(value, None if kind is Kind.MONEY else "en")
        short = short.rstrip("）").rpartition("（")[2]
        return short if parse_quantity(short, kind).value == value else text
    except QuantityError:
        return text


def _is_changed(row: InputField, submitted: QueryDict, name: str) -> bool:
    texts = [text.strip() for text in submitted.getlist(name) if text.strip()]
    if not texts:
        return False
    default = "" if row.default in (None, False) else str(row.default)
    if row.kind is FieldKind.WHOLE:
        try:
            return parse_quantity(texts[0]).value != Decimal(default or "-1")
        except QuantityError:
            return True
    return texts != [default] and texts[0].lower() not in ("false", "0")


def _widget(row: InputField, choices: Sequence[Choice], chosen: list[str]) -> forms.Widget:
    known = [*row.choices] or [*choices]
    known += [(text, text) for text in dict.fromkeys(chosen) if text and known and text not in dict(known)]
    match row.kind:
        case FieldKind.OBJECT:
            return forms.HiddenInput()
        case FieldKind.FLAG if row.default is not None:
            return forms.CheckboxInput(attrs={"value": "true"})
        case FieldKind.FLAG:
            return forms.Select(choices=[("", _("Automatic")), ("true", _("Yes")), ("false", _("No"))])
        case FieldKind.CHOICES:
            return forms.CheckboxSelectMultiple(choices=known)
        case FieldKind.TEXTS if known:
            return forms.SelectMultiple(choices=known)
        case FieldKind.CHOICE | FieldKind.TEXT if known:
            blank = [] if row.default is not None else [("", _blank(row))]
            return forms.Select(choices=[*blank, *known])
        case FieldKind.WHOLE:
            return forms.TextInput(attrs=_text_attributes(row, inputmode="numeric"))
        case _:
            return forms.TextInput(attrs=_text_attributes(row))


def _blank(row: InputField) -> Text:
    return _("By parameter count") if row.name == "preset" else _("Automatic")


def _text_attributes(row: InputField, **more: str) -> dict[str, str]:
    attributes = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false", "maxlength": "160", **more}
    return attributes | ({"placeholder": str(row.example)} if row.example and row.default is None else {})

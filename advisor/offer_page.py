"""The page of rival offers: a small job, and up to three offers pasted or typed; read by the reader of the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from advisor.forms import readable
from advisor.input_fields import BY_QUERY, CURRENCIES, PROFILES
from advisor.input_kinds import Text
from advisor.input_types import InputError
from advisor.offer_inputs import OFFER_FIELDS, PRICE_UNITS, CheckedOffers, parse_offer_comparison

NUMBERS = (1, 2, 3)
JOB_NAMES = ("parameters", "preset", "tokens", "method", "precision", "sequence_length")
_BLANK: tuple[str, Text] = ("", "—")
# field of one offer on the page -> path in the offer of the API
_PATHS = {
    "name": "/name",
    "text": "/text",
    "gpu": "/gpu",
    "gpu_count": "/gpu_count",
    "amount": "/price/amount",
    "currency": "/price/currency",
    "price_unit": "/price_unit",
    "gbit": "/scale_out_gbit_per_second_per_gpu",
    "profile": "/deployment/profile",
    "loss": "/deployment/throughput_loss",
}
_CHOICES: dict[str, Iterable[tuple[str, Text]]] = {
    "currency": CURRENCIES,
    "price_unit": PRICE_UNITS,
    "profile": PROFILES,
}
_POINTER_OF_JOB = {pointer: name for name, (pointer, _row) in BY_QUERY.items() if name in JOB_NAMES} | {
    "/model": "parameters"
}


class OfferForm(forms.Form):
    """Hands the texts on unread; `clean` reads them as one body and puts each fault beside its field."""

    currency = forms.CharField(required=False, label=_("Compare in"), widget=forms.Select(choices=list(CURRENCIES)))

    def __init__(self, *args: Any, presets: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.checked: CheckedOffers | None = None
        for name in JOB_NAMES:
            _pointer, row = BY_QUERY[name]
            choices = [_BLANK, *presets] if name == "preset" else list(row.choices)
            widget = forms.Select(choices=choices) if choices else forms.TextInput(attrs={"autocomplete": "off"})
            field = forms.CharField(
                required=False, label=row.label, help_text=row.help, widget=widget, initial=row.default or ""
            )
            field.unit = row.unit  # type: ignore[attr-defined]
            self.fields[name] = field
        for number in NUMBERS:
            self.fields |= _offer_fields(number)
        self.order_fields([*JOB_NAMES, "currency", *(f"{name}_{n}" for n in NUMBERS for name in _PATHS)])

    @property
    def job_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in (*JOB_NAMES, "currency")]

    @property
    def offer_groups(self) -> list[dict[str, Any]]:
        groups = []
        for number in NUMBERS:
            fields = [self[f"{name}_{number}"] for name in _PATHS if name != "text"]
            is_open = self.is_bound and any(field.data or field.errors for field in fields[1:])  # the name says nothing
            groups.append({"number": number, "text": self[f"text_{number}"], "fields": fields, "is_open": is_open})
        return groups

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        body = _job_body(cleaned)
        body["offers"] = [_offer_body(cleaned, number) for number in self.filled_numbers()]
        body["commercial"] = {"currency": cleaned.get("currency") or "CNY"}
        try:
            self.checked = parse_offer_comparison(body)
        except InputError as error:
            self.add_faults(error)
        return cleaned

    def filled_numbers(self) -> list[int]:
        """Offers in which something stands, in their order on the page and in the body."""
        return [n for n in NUMBERS if any((self.data.get(f"{name}_{n}") or "").strip() for name in _PATHS)]

    def add_faults(self, error: InputError) -> None:
        """Each fault beside its field; what has no field stands above the form."""
        for fault in error.errors:
            self.add_error(self._field_of(fault.pointer, self.filled_numbers()), fault.message)

    def _field_of(self, pointer: str, numbers: list[int]) -> str | None:
        if pointer.startswith("/offers/"):
            index, _slash, rest = pointer.removeprefix("/offers/").partition("/")
            name = next((name for name, path in _PATHS.items() if path == f"/{rest}"), "text")
            return f"{name}_{numbers[int(index)]}" if int(index) < len(numbers) else None
        if pointer == "/offers":
            return "text_1"
        return _POINTER_OF_JOB.get(pointer) or ("currency" if pointer == "/commercial/currency" else None)


def _offer_fields(number: int) -> dict[str, forms.Field]:
    fields: dict[str, forms.Field] = {}
    for name in _PATHS:
        key = f"{name}_{number}"
        if name == "text":
            fields[key] = forms.CharField(
                required=False,
                label=_("Text of the offer"),
                help_text=_("Paste a line such as: 64 x H100 80GB, $2.49/GPU-hour, 400G InfiniBand, bare metal."),
                widget=forms.Textarea(attrs={"rows": 3}),
            )
            continue
        row = OFFER_FIELDS[name]
        widget: forms.Widget = forms.TextInput(attrs={"autocomplete": "off"})
        if name in _CHOICES:
            widget = forms.Select(choices=[_BLANK, *_CHOICES[name]])
        field = forms.CharField(required=False, label=row.label, help_text=row.help, widget=widget)
        field.unit = row.unit  # type: ignore[attr-defined]
        fields[key] = field
    return fields


def _job_body(cleaned: dict[str, Any]) -> dict[str, Any]:
    """The job's object; a preset stands for the parameters where both are shown."""
    body: dict[str, Any] = {"model": {}, "training": {}}
    for name in JOB_NAMES:
        text = (cleaned.get(name) or "").strip()
        if not text:
            continue
        pointer = BY_QUERY[name][0]
        parent, key = pointer.split("/")[1:3]
        body[parent][key] = text
    return body


def _offer_body(cleaned: dict[str, Any], number: int) -> dict[str, Any]:
    offer: dict[str, Any] = {}
    for name, path in _PATHS.items():
        text = (cleaned.get(f"{name}_{number}") or "").strip()
        if not text:
            continue
        node = offer
        *parents, key = path.split("/")[1:]
        for parent in parents:
            node = node.setdefault(parent, {})
        node[key] = text
    return offer


def job_of_link(query: Mapping[str, str]) -> dict[str, str]:
    """The job that a link carries, its numbers as people write them: 72B for 7.2e10."""
    return {name: readable(BY_QUERY[name][1], query[name]) for name in JOB_NAMES if query.get(name)}


def example_offers() -> dict[str, str]:
    """A first case to look at: one job, and two offers as sellers write them."""
    return {
        "parameters": "7B",
        "tokens": "100B",
        "currency": "CNY",
        "name_1": "A",
        "text_1": "64 x H100 80GB, $2.49/GPU-hour, 400G InfiniBand, virtualized",
        "name_2": "B",
        "text_2": "8台 8卡 H100，每台 8.7 万元/月，400G IB，裸金属",
    }

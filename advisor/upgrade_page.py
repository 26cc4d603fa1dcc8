"""The page of upgrades: the present cluster, the job it is to do next, and what to grow with."""

from __future__ import annotations

from typing import Any

from django import forms

from advisor.hardware import load_parts, selectable_gpus
from advisor.input_fields import BY_QUERY
from advisor.input_kinds import InputField, Text
from advisor.input_types import InputError
from advisor.offer_page import JOB_NAMES
from advisor.upgrade_inputs import PRESENT_FIELDS, TARGET_FIELDS, CheckedUpgrade, parse_upgrade_request

_BLANK: tuple[str, Text] = ("", "—")
_OWN = PRESENT_FIELDS | TARGET_FIELDS
_GPU_NAMES = ("present_gpu", "target_gpu")
_FIELD_BY_POINTER = (
    {row.pointer: name for name, row in _OWN.items()}
    | {BY_QUERY[name][0]: name for name in JOB_NAMES}
    | {"/model": "parameters", "/present": "present_gpu", "/target": "deadline"}
)


class UpgradeForm(forms.Form):
    """Hands the texts on unread; `clean` reads them as one body and puts each fault beside its field."""

    def __init__(self, *args: Any, presets: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.checked: CheckedUpgrade | None = None
        gpus: list[tuple[str, Text]] = [(gpu.sku, gpu.name) for gpu in selectable_gpus(load_parts())]
        for name in JOB_NAMES:
            row = BY_QUERY[name][1]
            choices = [_BLANK, *presets] if name == "preset" else list(row.choices)
            self.fields[name] = _field(row, choices)
        for name, row in _OWN.items():
            choices = [_BLANK, *gpus] if name in _GPU_NAMES else list(row.choices)
            self.fields[name] = _field(row, choices)
        self.fields["server"].widget.attrs["list"] = "servers"

    def _bound(self, names: Any) -> list[forms.BoundField]:
        return [self[name] for name in names]

    @property
    def present_fields(self) -> list[forms.BoundField]:
        return self._bound(PRESENT_FIELDS)

    @property
    def job_fields(self) -> list[forms.BoundField]:
        return self._bound(JOB_NAMES)

    @property
    def target_fields(self) -> list[forms.BoundField]:
        return self._bound(TARGET_FIELDS)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        body: dict[str, Any] = {}
        pointers = {name: BY_QUERY[name][0] for name in JOB_NAMES} | {name: row.pointer for name, row in _OWN.items()}
        for name, pointer in pointers.items():
            text = (cleaned.get(name) or "").strip()
            if text:
                parent, key = pointer.split("/")[1:3]
                body.setdefault(parent, {})[key] = text
        try:
            self.checked = parse_upgrade_request(body)
        except InputError as error:
            self.add_faults(error)
        return cleaned

    def add_faults(self, error: InputError) -> None:
        """Each fault beside its field; what has no field stands above the form."""
        for fault in error.errors:
            self.add_error(_FIELD_BY_POINTER.get(fault.pointer), fault.message)


def _field(row: InputField, choices: list[tuple[str, Text]]) -> forms.CharField:
    widget = forms.Select(choices=choices) if choices else forms.TextInput(attrs={"autocomplete": "off"})
    field = forms.CharField(
        required=False, label=row.label, help_text=row.help, widget=widget, initial=row.default or ""
    )
    field.unit = row.unit  # type: ignore[attr-defined]
    return field


EXAMPLE = {
    "present_gpu": "nvidia-h100-sxm5-80gb",
    "present_gpu_count": "64",
    "parameters": "70B",
    "tokens": "1.4T",
    "deadline": "60",
}

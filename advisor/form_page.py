"""The sizing form as the page shows it: choices from the catalogue, expert settings in named groups."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from advisor.config_page import CONFIG_FILE, CONFIG_TEXT
from advisor.forms import PLACED_FIELDS, RawField, ScenarioForm
from advisor.hardware import load_parts, selectable_gpus
from advisor.inputs import BY_QUERY
from catalog.models import ModelArchitecture

# names of the address that belong to the page and not to the case
PAGE_NAMES = ("lang", "seen", "theme", "origin", CONFIG_TEXT, CONFIG_FILE)
GROUPS: dict[str, str | Promise] = {
    "model": _("Model"),
    "training": _("Training"),
    "target": _("Target"),
    "hardware": _("Hardware"),
    "commercial": _("Commercial"),
    "profile": _("Use and data"),
    "site": _("Site"),
    "": _("Result"),
}


@dataclass(frozen=True, slots=True)
class FieldGroup:
    title: str | Promise
    fields: list[forms.BoundField]


def page_form(data: QueryDict | None) -> ScenarioForm:
    """The form over a query string (None: untouched, with its defaults), with the catalogue's presets and GPUs."""
    gpus = [(gpu.sku, gpu.name) for gpu in selectable_gpus(load_parts())]
    presets = ModelArchitecture.objects.active().order_by("family", "name").values_list("sku", "name")
    form = ScenarioForm(
        _without_defaults(data), presets=list(presets), gpus=gpus, ignored=PAGE_NAMES, use_required_attribute=False
    )
    # a list box hides its choices and asks for a modifier key; boxes say what they are
    form.fields["gpu"].widget = forms.CheckboxSelectMultiple(choices=gpus)
    return form


def is_asked(query: QueryDict) -> bool:
    """Whether an address asks for an answer; one that only carries a language or an advertiser's mark does not."""
    return any(name == "v" or name in BY_QUERY for name in query)


def _without_defaults(data: QueryDict | None) -> QueryDict | None:
    """The entries that say something: a form sends every default it shows, also of settings that do not apply."""
    if data is None:
        return None
    said = data.copy()
    for name, texts in data.lists():
        if name in BY_QUERY and BY_QUERY[name][1].default is not None:
            default = str(BY_QUERY[name][1].default)
            if all(text.strip() in {"", default} for text in texts):
                del said[name]
    return said


def expert_groups(form: ScenarioForm) -> list[FieldGroup]:
    """Expert settings by the object of the request that they belong to, in the order of `GROUPS`."""
    groups: dict[str, list[forms.BoundField]] = {name: [] for name in GROUPS}
    for bound in form.expert_fields:
        if bound.name in PLACED_FIELDS:
            continue
        assert isinstance(bound.field, RawField)  # noqa: S101  (for the type checker: all fields are)
        parent = bound.field.row.pointer.split("/")[1] if bound.field.row.pointer.count("/") > 1 else ""
        groups["hardware" if parent == "deployment" else parent].append(bound)
    return [FieldGroup(GROUPS[name], fields) for name, fields in groups.items() if fields]

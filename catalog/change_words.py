"""A change of a row in words: which field, from what to what, in the units of the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from catalog.kinds import KINDS_BY_CODE
from catalog.models import CatalogChange, CloudPrice, Part, PriceBook
from catalog.presentation import MISSING, figure, label_of, unit_for
from catalog.revisions import BOOKS, CLOUD
from catalog.words import word

DIGITS = 6
NEW_ROW_FIELDS = 8  # of an added row the page shows the first ones; the part's own page has all
UNTOLD = {"file_hash", "id"}
MODELS_BESIDE_PARTS = {BOOKS: PriceBook, CLOUD: CloudPrice}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """One row of a draft or revision as a page shows it."""

    kind: str
    key: str
    url: str
    action: str
    fields: tuple[FieldChange, ...]
    left_out: int  # further fields of an added row
    place: str = ""


def changed_row(
    *, kind: str, key: str, action: str, before: Mapping[str, Any], after: Mapping[str, Any], place: str = ""
) -> ChangedRow:
    model = KINDS_BY_CODE[kind].model if kind in KINDS_BY_CODE else MODELS_BESIDE_PARTS.get(kind)
    is_new = not before
    names = in_order(model, (name for name in {**before, **after} if name not in UNTOLD))
    if is_new:
        names = [name for name in names if after.get(name) not in (None, "", [], {}, False)]
    shown = names[:NEW_ROW_FIELDS] if is_new else names
    fields = tuple(
        FieldChange(
            label=_label(model, name),
            before=_text(kind, name, before.get(name)),
            after=_text(kind, name, after.get(name)),
        )
        for name in shown
    )
    return ChangedRow(
        kind=_kind_title(kind),
        key=_key_text(kind, key),
        url=_url(kind, key),
        action=action,
        fields=fields,
        left_out=len(names) - len(shown),
        place=place,
    )


def in_order(model: Any, names: Iterable[str]) -> list[str]:
    """As the model has its fields, then the rest by name: JSON columns keep no order of keys."""
    fields = {} if model is None else {field.name: place for place, field in enumerate(model._meta.get_fields())}
    return sorted(names, key=lambda name: (fields.get(name, len(fields)), name))


def logged_rows(changes: Iterable[CatalogChange]) -> list[ChangedRow]:
    return [
        changed_row(
            kind=change.kind,
            key=change.key,
            action=change.get_action_display(),
            before=change.before,
            after=change.after,
        )
        for change in changes
    ]


def _kind_title(kind: str) -> str:
    if kind in KINDS_BY_CODE:
        return str(KINDS_BY_CODE[kind].title)
    return {BOOKS: _("Price books"), CLOUD: _("Cloud prices")}.get(kind, kind)


def _key_text(kind: str, key: str) -> str:
    """A part's key is its SKU; a cloud price has none and is named by what tells it from the others."""
    if kind != CLOUD:
        return key
    *names, is_newest_only = key.split("/")
    chosen = [_("newest prices only")] if is_newest_only == str(True) else []
    return " · ".join([*(word(name) for name in names), *chosen])


def _url(kind: str, key: str) -> str:
    try:
        return reverse("catalog:part", args=[kind, key]) if kind in KINDS_BY_CODE else ""
    except NoReverseMatch:
        return ""


def _label(model: Any, name: str) -> str:
    if model is None:
        return name
    if name == "supported_gpus":
        return _("GPUs that it takes")
    try:
        if issubclass(model, Part):
            return label_of(model, name)
        label = str(model._meta.get_field(name).verbose_name)
    except (KeyError, FieldDoesNotExist):  # a column that the tables no longer have
        return name
    return label[:1].upper() + label[1:]


def _text(kind: str, name: str, value: Any) -> str:
    if value is None or value == "" or value == [] or value == {}:
        return MISSING
    if isinstance(value, bool):
        return pgettext("answer", "yes") if value else pgettext("answer", "no")
    measure = unit_for(kind, name)
    if isinstance(value, (int, float, Decimal)) or (measure is not None and isinstance(value, str)):
        text, _exact = figure(Decimal(str(value)), measure, digits=DIGITS)
        return f"{text} {measure.symbol}" if measure else text
    if isinstance(value, list):
        return pgettext("list", ", ").join(str(item) for item in value)
    if isinstance(value, dict):
        return pgettext("list", ", ").join(f"{key}: {item}" for key, item in sorted(value.items()))
    return word(str(value))

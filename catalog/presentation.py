"""Catalogue figures for reading: unit by field, digits, words. Pure; the exact base value travels beside the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal

from django.core.exceptions import FieldDoesNotExist
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext, pgettext_lazy

from catalog.cells import by_rate
from catalog.models import Part
from catalog.units import BITS_PER_BYTE, GIBI, GIGA, KILO, MEBI, MEGA, SECONDS_PER_HOUR, SECONDS_PER_MINUTE, TERA
from catalog.words import is_word, word

MISSING = "—"
LIST_DIGITS, PAGE_DIGITS = 3, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    symbol: str
    factor: Decimal  # base units in one


def unit(symbol: str, factor: int | Decimal = 1) -> Unit:
    return Unit(symbol=symbol, factor=Decimal(factor))


GIB, GB, TB = unit("GiB", GIBI), unit("GB", GIGA), unit("TB", TERA)
GBIT_PER_SECOND = unit("Gbit/s", Decimal(GIGA) / BITS_PER_BYTE)
KILOWATTS = unit("kW", KILO)
BILLIONS = unit("B", GIGA)

# the first suffix that fits
SUFFIX_UNITS: tuple[tuple[str, Unit], ...] = (
    ("_bits_per_second_bidirectional", unit("Tbit/s", TERA)),
    ("int8_dense_flops_per_second", unit("TOPS", TERA)),
    ("int8_sparse_flops_per_second", unit("TOPS", TERA)),
    ("_flops_per_second", unit("TFLOPS", TERA)),
    ("transfers_per_second", unit("MT/s", MEGA)),
    ("bytes_per_second", unit("GB/s", GIGA)),
    ("random_reads_per_second", unit("k IOPS", KILO)),
    ("random_writes_per_second", unit("k IOPS", KILO)),
    ("_hertz", unit("GHz", GIGA)),
    ("_watts", unit("W")),
    ("_watts_derived", unit("W")),
    ("l3_cache_bytes", unit("MiB", MEBI)),
    ("_bytes", GB),
    ("_millimetres", unit("mm")),
    ("_metres", unit("m")),
    ("response_seconds", unit("min", SECONDS_PER_MINUTE)),
    ("replacement_seconds", unit("h", SECONDS_PER_HOUR)),
    ("_fraction", unit("%", Decimal("0.01"))),
    ("_price_usd", unit("USD")),
    ("parameter_count", BILLIONS),
)
FIELD_UNITS: dict[tuple[str, str], Unit] = {
    ("gpus", "memory_bytes"): GIB,
    ("servers", "max_memory_bytes"): GIB,
    ("cpus", "max_memory_bytes"): GIB,
    ("memory-modules", "capacity_bytes"): GIB,
    ("reference-builds", "host_memory_bytes"): GIB,
    ("storage-systems", "capacity_bytes"): TB,
    ("nics", "port_bytes_per_second"): GBIT_PER_SECOND,
    ("switches", "port_bytes_per_second"): GBIT_PER_SECOND,
    ("optics-cables", "bytes_per_second"): GBIT_PER_SECOND,
    ("optics-cables", "link_bytes_per_second"): GBIT_PER_SECOND,
    ("racks", "usable_watts"): KILOWATTS,
    ("racks", "circuit_watts"): KILOWATTS,
    ("racks", "continuous_circuit_watts"): KILOWATTS,
}
SKU_KINDS: dict[str, str] = {
    "gpu_sku": "gpus",
    "server_sku": "servers",
    "cpu_sku": "cpus",
    "fixed_cpu_sku": "cpus",
    "memory_sku": "memory-modules",
    "ssd_sku": "ssds",
    "nic_sku": "nics",
    "onboard_nic_sku": "nics",
    "switch_sku": "switches",
    "storage_sku": "storage-systems",
    "claim_build_sku": "reference-builds",
    "reference_build_sku": "reference-builds",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value as shown: text, its unit where the head does not carry it, the exact value, where it leads."""

    text: str
    unit: str = ""
    exact: str = ""  # base units; empty for words
    url: str = ""
    is_number: bool = False
    is_foreign: bool = False  # free text of a source, in English
    is_unverified: bool = False

    @property
    def is_missing(self) -> bool:
        return self.text == MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of a part's page."""

    label: str
    cells: tuple[Cell, ...]


def unit_for(kind_code: str, field: str) -> Unit | None:
    special = FIELD_UNITS.get((kind_code, field))
    if special is not None:
        return special
    return next((found for suffix, found in SUFFIX_UNITS if field.endswith(suffix)), None)


PROPERTY_LABELS: dict[str, str | Promise] = {
    "power_watts": _("Maximum power"),
    "usable_nic_slot_count": _("NIC slots"),
    "usable_dimm_slot_count": _("DIMM slots"),
    "memory_bytes_per_second": _("Memory bandwidth"),
    "display_scope": pgettext_lazy("group", "Scope"),
    "display_credit_rule": _("Credit"),
    "display_conflict": _("What does not fit"),
}


# fields whose plain name would be wrong for one kind: memory of a GPU has a word of its own in Chinese
KIND_LABELS: dict[tuple[str, str], str | Promise] = {
    ("gpus", "memory_type"): pgettext_lazy("of a GPU", "Memory type"),
}


def label_of(model: type[Part], field: str) -> str:
    """The field's name without the base unit that the editor sees beside it."""
    if special := KIND_LABELS.get((model.kind_code, field)):
        return str(special)
    try:
        name = str(model._meta.get_field(field).verbose_name)  # type: ignore[union-attr]
    except FieldDoesNotExist:
        return str(PROPERTY_LABELS[field])
    name = re.sub(r"\s*\[[^\]]*\]$", "", name)
    return name[:1].upper() + name[1:]


# columns of the files that the model holds as a relation
RELATIONS = {"supported_gpu_skus": "supported_gpus"}


def field_label(model: type[Part], field: str) -> str:
    """`label_of`, or the field's own words where the model has no such field."""
    try:
        return label_of(model, RELATIONS.get(field, field))
    except KeyError:
        return field.replace("_", " ")


def number_text(value: Decimal, digits: int) -> str:
    """Significant digits without a tail of zeros; a whole number is what the source printed and stays whole."""
    if value == value.to_integral_value() and abs(value) < 10**9:
        return f"{value:,.0f}"
    rounded = value.quantize(Decimal(1).scaleb(value.adjusted() - digits + 1), rounding=ROUND_HALF_EVEN)
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def figure(value: float | Decimal, measure: Unit | None, *, digits: int) -> tuple[str, str]:
    """Text in display units, and the exact base value."""
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    shown = exact / measure.factor if measure else exact
    plain = f"{exact.normalize():f}"
    is_count = measure is None and exact == exact.to_integral_value()
    return (f"{shown:,.0f}" if is_count else number_text(shown, digits)), plain


def cell(part: Part, field: str, *, digits: int = LIST_DIGITS, has_unit: bool = False) -> Cell:
    """A field of a part as shown. Unpublished values are a dash."""
    value = getattr(part, field)
    is_unverified = field in part.unverified_fields
    measure = unit_for(part.kind_code, field)
    if value is None or value == "" or value == [] or value == {}:
        return Cell(text=MISSING, is_number=measure is not None, is_unverified=is_unverified)
    if isinstance(value, bool):
        return Cell(text=pgettext("answer", "yes") if value else pgettext("answer", "no"), is_unverified=is_unverified)
    if isinstance(value, (int, float, Decimal)):
        text, exact = figure(value, measure, digits=digits)
        symbol = measure.symbol if measure and has_unit else ""
        return Cell(text=text, unit=symbol, exact=exact, is_number=True, is_unverified=is_unverified)
    if isinstance(value, date):
        return Cell(text=value.isoformat(), is_unverified=is_unverified)
    return _text_cell(field, value, is_unverified=is_unverified)


def _text_cell(field: str, value: object, *, is_unverified: bool) -> Cell:
    if isinstance(value, dict):
        text = pgettext("list", ", ").join(f"{name}: {number:,}" for name, number in by_rate(value))
    elif isinstance(value, list):
        text = pgettext("list", ", ").join(word(str(item)) for item in value)
    else:
        text = str(value)
    if field.startswith("display_"):
        return Cell(text=text)
    if field in SKU_KINDS:
        url = reverse("catalog:part", args=[SKU_KINDS[field], text])
        return Cell(text=text, url=url, is_unverified=is_unverified)
    return Cell(text=word(text), is_foreign=not is_word(text) and " " in text, is_unverified=is_unverified)


def facts(part: Part, fields: Iterable[str]) -> list[Fact]:
    """Lines of a part's page; fields that the source does not publish are left out unless that is worth knowing."""
    found = []
    for name in fields:
        shown = cell(part, name, digits=PAGE_DIGITS, has_unit=True)
        if not shown.is_missing or shown.is_number:
            found.append(Fact(label=label_of(type(part), name), cells=(shown,)))
    return found

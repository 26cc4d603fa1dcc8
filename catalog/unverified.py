"""What the catalogue does not know for sure: figures that no opened source confirms, and figures set by a rule.

Each with what would settle it. Kept by catalogue revision: a page of it costs one query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalog.kinds import KINDS, Kind
from catalog.models import Part

UNVERIFIED, DERIVED = "unverified", "derived"
# origins that are a source's own words; whatever else stands there is a rule or a planning value
_SOURCED = re.compile(r"^(source|passive|measured|mixed|vendor claim)", re.IGNORECASE)
# text field that tells where a figure comes from -> the figure
_ORIGINS = {
    "power_origin": "power_watts",
    "memory_bytes_source": "memory_bytes",
    "origin": "origin",
    "demo_price_origin": "demo_price_origin",
}
_DERIVED_FIGURES = ("nic_slot_count_derived", "max_power_watts_derived")
# first match of the figure's name decides what would settle it
_SETTLES: tuple[tuple[str, str | Promise], ...] = (
    (r"power|watts|psu", _("The maker's data sheet, or a meter at the running device.")),
    (
        r"memory_bytes$|memory_label",
        _("The size that the driver reports on the device itself (nvidia-smi and its kind)."),
    ),
    (r"flops|_ops_|tops", _("The maker's data sheet with dense rates named as such.")),
    (r"export", _("The maker's classification (ECCN) and the rule in force on the day of delivery.")),
    (r"supported_gpus?|gpu_baseboard|gpu_slot", _("The maker's list of GPUs that it qualifies for this server.")),
    (r"slot|bay|rack_units|cooling|form_factor|width", _("The maker's technical guide of the chassis.")),
    (r"cuda|driver|toolkit|pytorch|_os$", _("Release notes of driver, toolkit and framework.")),
    (r"price|fraction", _("The seller's own price.")),
    (r"usable_watts|feed|^origin$", _("The site's own figures, or the seller's own choice of parts.")),
    (r"reach|link_bytes|name", _("The product specification of this very part number.")),
    (r"read_|write_", _("The vendor's data sheet, or a benchmark on the system.")),
)
_ELSE = _("The maker's data sheet.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One figure of one part. `detail` is the rule it follows, or which of several values is meant."""

    kind_code: str
    sku: str
    name: str
    field: str
    state: str
    detail: str

    @property
    def settles(self) -> str | Promise:
        return next((text for pattern, text in _SETTLES if re.search(pattern, self.field)), _ELSE)


@lru_cache(maxsize=4)
def doubts(revision: str) -> tuple[Doubt, ...]:
    """Every doubtful figure of the active parts, by kind and part."""
    del revision  # the cache's key: parts change only with it
    return tuple(doubt for kind in KINDS for part in _active(kind) for doubt in _of_part(kind, part))


def _active(kind: Kind) -> Iterator[Part]:
    yield from kind.model._default_manager.filter(is_active=True).order_by("sku")


def _of_part(kind: Kind, part: Part) -> Iterator[Doubt]:
    def doubt(field: str, state: str, detail: str) -> Doubt:
        return Doubt(kind_code=kind.code, sku=part.sku, name=part.name, field=field, state=state, detail=detail)

    for written in part.unverified_fields:
        field, _space, rest = written.partition(" (")
        yield doubt(field, UNVERIFIED, rest.rstrip(")"))
    for origin, figure in _ORIGINS.items():
        text = getattr(part, origin, "")
        if text and not _SOURCED.match(text) and _is_rule(origin, text):
            yield doubt(figure, DERIVED, text)
    for field in _DERIVED_FIGURES:
        if getattr(part, field, None) is not None and getattr(part, field.removesuffix("_derived"), None) is None:
            yield doubt(field, DERIVED, getattr(part, "power_rule", "") if "power" in field else "")


def _is_rule(origin: str, text: str) -> bool:
    """The origin of a memory size is a source unless it says that it was derived."""
    return origin != "memory_bytes_source" or text.startswith(("derived", "nominal"))

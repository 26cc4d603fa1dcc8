"""GPUs asked for by name: the real part, or the nearest real one with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from advisor.parts import GpuPart, Parts

_MEMORY = re.compile(r"(\d{2,3})\s*g(?:i?b)?\b", re.IGNORECASE)
_WORDS = re.compile(r"[a-z]+\d+[a-z0-9]*|[a-z]+|\d+", re.IGNORECASE)
_IGNORED = {"nvidia", "amd", "intel", "huawei", "tesla", "geforce", "instinct", "x", "gb", "gib", "g", "gpu", "with"}
_FORMS = {"sxm", "sxm4", "sxm5", "sxm6", "pcie", "nvl", "oam"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestGpu:
    """`reason` is empty where the name was right."""

    gpu: GpuPart
    reason: str


def nearest_gpu(parts: Parts, text: str) -> NearestGpu | None:
    """The part that a SKU or a free name means; None where nothing resembles it.

    The model's letters and number decide ("H100"); among its variants the nearest memory size, then a GPU board
    before a PCIe card, then the newest. "H100 160GB" is answered with a real H100 and the sizes that exist.
    """
    if text in parts.gpus:
        return NearestGpu(gpu=parts.gpus[text], reason="")
    cleaned = text.replace("-", " ").replace("_", " ").lower()
    memory = _MEMORY.search(cleaned)
    asked_bytes = int(memory.group(1)) if memory else None
    words = {word for word in _WORDS.findall(_MEMORY.sub(" ", cleaned)) if word not in _IGNORED and len(word) > 1}
    forms = words & _FORMS
    names = words - _FORMS
    best = [(_overlap(names, part), part) for part in parts.gpus.values()]
    top = max((score for score, _part in best), default=0)
    if not top:
        return None
    family = [part for score, part in best if score == top]
    family.sort(key=lambda part: _distance(part, asked_bytes, forms))
    chosen = family[0]
    is_exact = (asked_bytes is None or asked_bytes == label_size(chosen)) and names <= _name_words(chosen)
    return NearestGpu(gpu=chosen, reason="" if is_exact else _reason(text, chosen, family))


def label_size(gpu: GpuPart) -> int:
    """The size on the vendor's label; a name, not a measurement."""
    found = re.search(r"\d+", gpu.spec.memory_label)
    return int(found.group()) if found else 0


def _name_words(part: GpuPart) -> set[str]:
    text = f"{part.sku} {part.name}".replace("-", " ").lower()
    return set(_WORDS.findall(text))


def _overlap(names: set[str], part: GpuPart) -> int:
    own = _name_words(part)
    hits = names & own
    return sum(len(word) for word in hits) if any(any(c.isdigit() for c in word) for word in hits) else 0


def _distance(part: GpuPart, asked: int | None, forms: set[str]) -> tuple[bool, int, bool, bool, str]:
    form = part.form_factor.lower()
    has_form = not forms or any(form.startswith(name) or name in part.sku for name in forms)
    gap = abs(label_size(part) - asked) if asked is not None else 0
    return not has_form, gap, not part.is_sizeable, not part.is_module, part.sku


def _reason(text: str, chosen: GpuPart, family: list[GpuPart]) -> str:
    sizes = ", ".join(f"{size} GB" for size in sorted({label_size(part) for part in family}))
    return _("There is no “%(asked)s”: this GPU exists with %(sizes)s. Nearest real part: %(name)s.") % {
        "asked": text,
        "sizes": sizes,
        "name": chosen.name,
    }

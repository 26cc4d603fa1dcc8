"""Parts asked for by a name: "H100 160GB" is not one, and the nearest real part is told with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable

from advisor.engine.parts import Check, GpuPart
from advisor.engine.units import GIGA

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*g(?:i?b)?\b", re.IGNORECASE)
_FORM = re.compile(r"\b(sxm\d?|pcie|nvl|oam)\b", re.IGNORECASE)
_COUNT = re.compile(r"^\s*\d+(?:\s*-\s*\d+)?\s*[x×]\s*", re.IGNORECASE)


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word]


def _family(name: str) -> list[str]:
    """Words of a GPU's name without maker, memory and form factor: "NVIDIA H100 80GB SXM5" -> ["h100"]."""
    plain = _FORM.sub(" ", _MEMORY.sub(" ", _COUNT.sub("", name)))
    makers = {"nvidia", "amd", "intel", "huawei", "tesla", "geforce", "instinct", "gpu", "per", "hgx", "dgx"}
    return [word for word in _words(plain.split("(")[0]) if word not in makers]


def _is_same_family(wanted: list[str], real: list[str]) -> bool:
    """Both begin alike: "rtx 6000" for "rtx 6000 ada generation", and "a100 with nvlink" for "a100"."""
    shared = min(len(wanted), len(real))
    return shared > 0 and wanted[:shared] == real[:shared]


def named_gpu(text: str, gpus: Iterable[GpuPart]) -> GpuPart | Check:
    """The GPU that a name means, or a check that there is none, with the nearest real one.

    A name is a family and, if given, a memory label and a form factor. A family that exists without the memory asked
    for answers with the sizes there are; the nearest part is of the same architecture and form factor, closest in
    memory, then in dense peak.

    Parameters
    ----------
    text : str
        As a person writes it: "H100", "8 x A100 80GB", "H100 160GB".
    gpus : iterable of GpuPart
        All known GPUs.

    Returns
    -------
    GpuPart or Check
    """
    known = [gpu for gpu in gpus if gpu.is_sizeable]
    family = _family(text)
    same = [gpu for gpu in known if _is_same_family(family, _family(gpu.name))]
    if not same:
        return Check(code="gpu_unknown", severity="blocks", rule="T3", parts=(text,))
    memory = _MEMORY.search(_COUNT.sub("", text))
    form = _FORM.search(text)
    if form:
        wanted = form.group(1).lower()
        same = [gpu for gpu in same if wanted in f"{gpu.form_factor} {gpu.name}".lower()] or same
    if memory is None:
        return same[0]
    wanted_bytes = float(memory.group(1)) * GIGA
    exact = [gpu for gpu in same if abs(gpu.memory_label_bytes - wanted_bytes) < GIGA / 2]
    if exact:
        return exact[0]
    return _no_such_memory(text, wanted_bytes, same, known)


def _no_such_memory(text: str, wanted_bytes: float, same: list[GpuPart], known: list[GpuPart]) -> Check:
    first = same[0]
    peak = first.dense_bf16_flops_per_second or 0.0
    alike = [gpu for gpu in known if gpu.architecture == first.architecture and gpu.form_factor == first.form_factor]
    nearest = min(
        alike,
        key=lambda gpu: (
            abs(gpu.memory_label_bytes - wanted_bytes),
            abs((gpu.dense_bf16_flops_per_second or 0.0) - peak),
        ),
    )
    sizes = sorted({gpu.memory_label_bytes for gpu in same})
    return Check(
        code="gpu_memory_does_not_exist",
        severity="blocks",
        rule="T3",
        parts=(text,),
        figures={
            "wanted_memory_bytes": wanted_bytes,
            "real_memory_labels": ", ".join(f"{size / GIGA:g} GB" for size in sizes),
            "nearest_memory_bytes": nearest.memory_label_bytes,
        },
        nearest=nearest.sku,
    )

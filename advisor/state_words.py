"""How much a model's states and a cluster's GPUs hold, in the words that answers use."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from advisor.engine.specs import GpuSpec, Method, TrainingPlan
from advisor.engine.units import BYTES_16BIT, GIGA
from advisor.engine.workload import state_bytes
from advisor.figures import format_gb


def states_text(plan: TrainingPlan, parameter_count: float, model_state_bytes: float) -> str:
    """`1.26 TB (18 bytes a parameter; 1.12 TB with 16-bit gradients)`: the recipe decides, and both are quoted."""
    shown = format_gb(model_state_bytes)
    if plan.method in (Method.LORA, Method.QLORA):
        return shown
    held = state_bytes(plan)
    each = held.weight + held.gradient + held.optimizer
    if held.gradient <= BYTES_16BIT:
        return _("%(states)s (%(each)g bytes a parameter)") % {"states": shown, "each": each}
    narrow = parameter_count * (each - held.gradient + BYTES_16BIT)
    return _("%(states)s (%(each)g bytes a parameter; %(narrow)s with 16-bit gradients)") % {
        "states": shown,
        "each": each,
        "narrow": format_gb(narrow),
    }


def label_bytes(gpu: GpuSpec) -> float:
    """Bytes by the vendor's label, decimal: a name for people; fits are computed with what the driver shows."""
    found = re.search(r"\d+", gpu.memory_label)
    return int(found.group()) * GIGA if found else float(gpu.memory_bytes)


def cluster_memory_text(gpu: GpuSpec, gpu_count: int) -> str:
    """`640 GB` of 8 x 80 GB."""
    return format_gb(label_bytes(gpu) * gpu_count)

"""Words for the codes of an answer, as pages and documents print them."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

Words = dict[str, str | Promise]

PARTS: Words = {
    "weight": gettext_lazy("Weights"),
    "gradient": gettext_lazy("Gradients"),
    "optimizer": gettext_lazy("Optimizer states"),
    "activation": gettext_lazy("Activations"),
    "logits": gettext_lazy("Logits and loss"),
    "buffer": gettext_lazy("Buffers"),
    "allocator": gettext_lazy("Allocator reserve"),
    "overhead": gettext_lazy("Context and libraries"),
}
STEP_PARTS: Words = {
    "compute": pgettext_lazy("part of a step", "Compute"),
    "exposed_communication": gettext_lazy("Exposed communication"),
    "bubble": gettext_lazy("Pipeline bubble"),
    "optimizer": gettext_lazy("Optimizer step"),
    "deployment": gettext_lazy("Virtualization loss"),
}
RECOMPUTATION: Words = {
    "none": pgettext_lazy("recomputation", "none"),
    "selective": pgettext_lazy("recomputation", "selective"),
    "full": pgettext_lazy("recomputation", "full"),
}
CONFIGURATIONS: Words = {
    "recommended": gettext_lazy("recommended"),
    "cheapest": gettext_lazy("cheapest"),
    "fastest": gettext_lazy("fastest"),
    "fewest_servers": gettext_lazy("fewest servers"),
}
CONSTRAINTS: Words = {
    "time": gettext_lazy("Time."),
    "memory": gettext_lazy("Memory."),
    "batch": gettext_lazy("Global batch."),
    "none": gettext_lazy("None."),
    "budget": gettext_lazy("Budget."),
    "power": gettext_lazy("Power."),
    "racks": gettext_lazy("Rack space."),
}
SEVERITIES: Words = {
    "blocks": gettext_lazy("Blocks"),
    "check": gettext_lazy("Check before order"),
    "note": gettext_lazy("Note"),
    "ok": gettext_lazy("Passed"),
}
ORIGINS: Words = {
    "datasheet": gettext_lazy("datasheet"),
    "measured": gettext_lazy("measured"),
    "published_run": gettext_lazy("published run"),
    "vendor_claim": gettext_lazy("vendor claim"),
    "derived": gettext_lazy("derived"),
    "user": gettext_lazy("yours"),
}
COOLINGS: Words = {"air": gettext_lazy("air"), "liquid": gettext_lazy("liquid")}
PRICE_MARKS: Words = {
    "source": gettext_lazy("price as published"),
    "median": gettext_lazy("median of published prices"),
    "converted": gettext_lazy("converted from another currency or period"),
    "proxy": gettext_lazy("price of a similar item"),
    "old": gettext_lazy("older price"),
    "class price": gettext_lazy("price of the class of parts"),
    "sum of parts": gettext_lazy("sum of the parts"),
    "assumed": gettext_lazy("assumed"),
}
MODEL_KINDS: Words = {
    "dense": gettext_lazy("dense"),
    "moe": gettext_lazy("mixture of experts"),
    "dense-hybrid": gettext_lazy("dense, hybrid layers"),
    "moe-hybrid": gettext_lazy("mixture of experts, hybrid layers"),
    "not established": gettext_lazy("not stated"),
}
MEASURES: Words = {
    "allocated": gettext_lazy("allocated (framework's peak)"),
    "reserved": gettext_lazy("reserved (with the allocator)"),
    "nvidia-smi": gettext_lazy("device (nvidia-smi)"),
    "unknown": gettext_lazy("not stated"),
}
PRICE_UNITS: Words = {
    "gpu_hour": gettext_lazy("per GPU-hour"),
    "server_month": gettext_lazy("per server and month"),
    "each": gettext_lazy("each"),
    "month": gettext_lazy("a month"),
    "one_time": gettext_lazy("once"),
    "engineer_day": gettext_lazy("per engineer and day"),
    "year": gettext_lazy("a year"),
    "per_spare_server_month": gettext_lazy("per spare server and month"),
}

CALCULATION_GROUPS: Words = {
    "work": gettext_lazy("Work"),
    "step": gettext_lazy("One step"),
    "time": gettext_lazy("Training time"),
    "memory": gettext_lazy("GPU memory"),
    "deadline": gettext_lazy("Deadline"),
    "cluster": gettext_lazy("Power and interruptions"),
    "storage": gettext_lazy("Storage"),
    "money": gettext_lazy("Money"),
    "deployment": gettext_lazy("Virtualized"),
}
LAYERS: Words = {
    "core": gettext_lazy("core switches"),
    "spine": gettext_lazy("spine switches"),
    "leaf": gettext_lazy("leaf switches"),
    "server": gettext_lazy("servers"),
}
# units of assumptions that are words; the others are symbols
UNITS: Words = {
    "tokens": gettext_lazy("tokens"),
    "sequences": gettext_lazy("sequences"),
    "days": gettext_lazy("days"),
    "months": gettext_lazy("months"),
    "month": gettext_lazy("months"),
    "s": pgettext_lazy("unit of time", "s"),
}

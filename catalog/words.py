"""Words for the closed sets of values in the catalogue; free text of the sources stays as it was written."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.source_texts import SOURCE_TEXTS

WORDS: dict[str, str | Promise] = {
    # status of a GPU or server
    "current": pgettext_lazy("status of a part", "current"),
    "restricted": _("export controlled"),
    "eol": _("out of production"),
    "announced": pgettext_lazy("status of a part", "announced"),
    "orderable": pgettext_lazy("status of a part", "orderable"),
    "orderable (stock or refurbished: GPU out of production)": _("orderable from stock or refurbished"),
    "listed, not configurable": _("listed, not configurable"),
    "baseboard: sold inside servers, not alone": _("sold inside servers, not alone"),
    # kinds
    "server": pgettext_lazy("kind of a part", "server"),
    "baseboard": _("GPU baseboard"),
    "rack": pgettext_lazy("kind of a part", "rack"),
    "pdu": _("power strip"),
    "transceiver": _("optical module"),
    "fibre": _("fibre"),
    "copper": _("copper patch cable"),
    "AOC": _("AOC"),
    "AOC splitter": _("AOC splitter"),
    "DAC": _("DAC"),
    "DAC splitter": _("DAC splitter"),
    "module": _("module"),
    "soldered": _("soldered"),
    "claim": _("as claimed"),
    "corrected": _("corrected"),
    "decoder": _("decoder"),
    "encoder": _("encoder"),
    "vision": _("vision transformer"),
    "mha": _("multi-head"),
    "gqa": _("grouped-query"),
    "mqa": _("multi-query"),
    "mla": _("multi-head latent"),
    "none": pgettext_lazy("bias or norm", "none"),
    "qkv": _("query, key, value"),
    "all": pgettext_lazy("bias", "all projections"),
    "rms": "RMSNorm",
    "layer": "LayerNorm",
    # cooling, management
    "air": _("air"),
    "liquid": _("liquid"),
    "air with liquid rear door": _("air, with liquid rear door"),
    "managed": _("managed"),
    "external (subnet manager host or UFM needed)": _("needs an external subnet manager"),
    # roles of management servers and categories of services
    "control": _("control and scheduler"),
    "login": _("login"),
    "monitoring": _("monitoring"),
    "storage head": _("storage gateway"),
    "fabric manager": _("fabric manager"),
    "cluster build": _("cluster build"),
    "operations": _("operations"),
    "tuning": _("tuning"),
    "spare": _("spares"),
    "warranty": _("warranty"),
    "acceptance": _("acceptance tests"),
    "security": _("security"),
    "migration": _("migration"),
    # units and bases of services
    "one-time": _("one-time"),
    "month": pgettext_lazy("unit of a service", "month"),
    "year": pgettext_lazy("unit of a service", "year"),
    "engineer day": _("engineer day"),
    "per spare server-month": _("per spare server and month"),
    "hardware subtotal": _("of the hardware subtotal"),
    "hardware subtotal per month": _("of the hardware subtotal, a month"),
    "hardware subtotal per year": _("of the hardware subtotal, a year"),
    "price of the spare part per month": _("of the spare part's price, a month"),
    "rental": pgettext_lazy("basis", "rental"),
    "purchase": pgettext_lazy("basis", "purchase"),
    "cloud": pgettext_lazy("basis", "cloud"),
    # where published cloud prices come from
    "china": _("China"),
    "neocloud": _("neocloud"),
    "hyperscaler": _("hyperscaler"),
    "marketplace": _("marketplace"),
    "bare_metal": _("bare metal"),
    "virtualized": _("virtualized"),
    "unknown": pgettext_lazy("deployment", "not stated"),
    "on_demand": _("on demand"),
    "gpu_hour": _("GPU-hour"),
    "1m": _("1 month"),
    "1y": _("1 year"),
    "3y": _("3 years"),
    # marks of a price
    "source": _("as published"),
    "median": _("median"),
    "converted": _("converted"),
    "proxy": _("similar item"),
    "old": _("old"),
    "class price": _("class price"),
    "sum of parts": _("sum of parts"),
    "assumed": _("assumed"),
    "derived": _("derived"),
    "typical": _("planning value"),
    "typical class": _("planning class"),
    # why a revision was made, where no person gave a reason
    "load_catalog": _("loaded from the catalogue's files"),
}


def word(value: str) -> str:
    """The value in the active language; free text comes back as it is."""
    return str(WORDS.get(value) or SOURCE_TEXTS.get(value, value))


def is_word(value: str) -> bool:
    return value in WORDS or value in SOURCE_TEXTS

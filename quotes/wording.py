"""The words of codes that stand on the paper: units, groups, origins of prices."""

from __future__ import annotations

from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

DJANGO_LANGUAGES = {"zh-Hans": "zh-hans", "en": "en"}  # of a quote's language, as it is stored
GROUP_LABELS: dict[str, Promise] = {
    "compute": _("Computing"),
    "network": _("Network"),
    "storage": _("Storage"),
    "management": _("Management"),
    "facility": _("Racks and power"),
    "services": _("Services"),
    "other": _("Other"),
}

# What one piece is called depends on what it is: a server is 台, a cable 根.
_EACH_BY_KIND: dict[str, Promise] = {
    "server": pgettext_lazy("unit of servers", "pcs"),
    "spare_server": pgettext_lazy("unit of servers", "pcs"),
    "management_node": pgettext_lazy("unit of servers", "pcs"),
    "switch": pgettext_lazy("unit of servers", "pcs"),
    "gpu": pgettext_lazy("unit of boards", "pcs"),
    "cpu": pgettext_lazy("unit of chips", "pcs"),
    "ssd": pgettext_lazy("unit of boards", "pcs"),
    "nic": pgettext_lazy("unit of boards", "pcs"),
    "memory": pgettext_lazy("unit of modules", "pcs"),
    "cable": pgettext_lazy("unit of cables", "pcs"),
    "optic": pgettext_lazy("unit of chips", "pcs"),
    "rack": pgettext_lazy("unit of chips", "pcs"),
    "storage": pgettext_lazy("unit of sets", "set"),
    "service": pgettext_lazy("unit of services", "item"),
}
_UNIT_LABELS: dict[str, Promise] = {
    "each": pgettext_lazy("unit of chips", "pcs"),
    "one_time": pgettext_lazy("unit", "one-time"),
    "year": pgettext_lazy("unit", "year"),
    "month": pgettext_lazy("unit", "month"),
    "server_month": pgettext_lazy("unit", "server-month"),
    "per_spare_server_month": pgettext_lazy("unit", "spare-server-month"),
    "gpu_hour": pgettext_lazy("unit", "GPU-hour"),
    "engineer_day": pgettext_lazy("unit", "engineer-day"),
}


# What a line is for, where its name alone does not say.
ROLE_LABELS: dict[str, Promise] = {
    "spare_server": _("Spare server, replaces one that fails"),
}


def unit_label(unit: str, kind: str) -> Promise | str:
    """The word for a unit; an unknown code is shown as it is."""
    if unit == "each" and kind in _EACH_BY_KIND:
        return _EACH_BY_KIND[kind]
    return _UNIT_LABELS.get(unit, unit.replace("_", " "))


ORIGIN_LABELS: dict[str, Promise] = {
    "source": _("published price"),
    "median": _("median of published prices"),
    "converted": _("converted from another currency"),
    "proxy": _("price of a like part"),
    "old": _("older than half a year"),
    "class price": _("price of the server class"),
    "sum of parts": _("sum of its parts"),
    "assumed": _("assumed"),
}


def zone_text(name: str) -> str:
    """A time zone as readers call it."""
    return gettext("Beijing time") if name == "Asia/Shanghai" else name


def percent(fraction: str | Decimal) -> str:
    """0.13 -> 13%, 0.995 -> 99.5%: no space, as in lines, totals and notes."""
    return f"{(Decimal(fraction) * 100).normalize():f}%"

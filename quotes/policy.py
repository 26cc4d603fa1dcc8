"""What a new installation starts with: tax rates with their law, approval rules and discount limits."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from django.apps import apps as live_apps

_DATA = Path(__file__).resolve().parent / "data"


def load_tax_rates(apps: Any = live_apps) -> None:
    """Rows of the file that the table does not have; those that are there stay as they are."""
    model = apps.get_model("quotes", "TaxRate")
    for row in _read("tax_rates.toml")["rate"]:
        key = {name: row[name] for name in ("country", "category", "valid_from")}
        model.objects.get_or_create(**key, defaults={name: row[name] for name in row if name not in key})


def load_approval_rules(apps: Any = live_apps) -> None:
    """The first rules and limits, where there are none at all: a policy once set is nobody else's business."""
    content = _read("approval_rules.toml")
    rules, limits = apps.get_model("quotes", "ApprovalRule"), apps.get_model("quotes", "DiscountLimit")
    if not rules.objects.exists():
        rules.objects.bulk_create(rules(**row) for row in content["rule"])
    if not limits.objects.exists():
        limits.objects.bulk_create(limits(**row) for row in content["limit"])


def load(apps: Any = live_apps, schema_editor: object = None) -> None:
    """All of it; also an operation of a migration."""
    load_tax_rates(apps)
    load_approval_rules(apps)


def _read(name: str) -> dict[str, Any]:
    with (_DATA / name).open("rb") as file:
        return tomllib.load(file)

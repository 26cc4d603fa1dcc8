"""What differs between an answer as it was and the answer to the same question now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from advisor import figures
from advisor.quantities import SECONDS_PER_DAY
from catalog.money import format_money

SAME = 5e-4  # figures are shown to three digits; what moves less looks the same
_TOKEN = re.compile(
    r"(?P<engine>[\w.+-]{1,40})~(?P<revision>[\w.+-]{1,80})~(?P<gpu>[\w.+-]{0,80})~(?P<count>\d{1,7})"
    r"~(?P<days>(?:\d{1,9}(?:\.\d{1,6})?)?)~(?P<cost>(?:\d{1,15}(?:\.\d{1,2})?)?)~(?P<currency>[A-Z]{0,3})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigures:
    """What a reader remembers of an answer."""

    engine_version: str
    catalog_revision: str
    gpu: str
    gpu_count: int
    days: float | None
    cost: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A figure then and now; `ratio` is now over then minus one where both are numbers."""

    label: str
    then: str
    now: str
    ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """`versions` says which of engine and catalogue moved; `figures` what the reader would notice."""

    versions: tuple[Change, ...]
    figures: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.versions or self.figures)


def key_figures(answer: Mapping[str, Any]) -> KeyFigures:
    best = answer["recommended"]
    cost = best["run_cost"] if best else None
    return KeyFigures(
        engine_version=answer["engine_version"],
        catalog_revision=answer["catalog_revision"],
        gpu=best["gpu"] if best else "",
        gpu_count=best["gpu_count"] if best else 0,
        days=best["training_days"] if best else None,
        cost=Decimal(cost["amount"]) if cost else None,
        currency=cost["currency"] if cost else "",
    )


def token(seen: KeyFigures) -> str:
    """What a shared link carries, so that it can tell later what has changed."""
    days = "" if seen.days is None else f"{seen.days:.3f}"
    cost = "" if seen.cost is None else f"{seen.cost:.2f}"
    parts = (seen.engine_version, seen.catalog_revision, seen.gpu, str(seen.gpu_count), days, cost, seen.currency)
    return "~".join(parts)


def read_token(text: str) -> KeyFigures | None:
    """None for what was not written by `token`: such a link is shown without a word about changes."""
    found = _TOKEN.fullmatch(text)
    if found is None:
        return None
    return KeyFigures(
        engine_version=found["engine"],
        catalog_revision=found["revision"],
        gpu=found["gpu"],
        gpu_count=int(found["count"]),
        days=float(found["days"]) if found["days"] else None,
        cost=Decimal(found["cost"]) if found["cost"] else None,
        currency=found["currency"],
    )


def changes(then: KeyFigures, now: KeyFigures) -> Changes:
    versions = [
        Change(label=label, then=old, now=new)
        for label, old, new in (
            (_("Engine"), then.engine_version, now.engine_version),
            (_("Catalogue"), then.catalog_revision, now.catalog_revision),
        )
        if old != new
    ]
    found: list[Change] = []
    if (then.gpu, then.gpu_count) != (now.gpu, now.gpu_count):
        found.append(Change(label=_("Cluster"), then=_cluster(then), now=_cluster(now)))
    if _differ(then.days, now.days):
        found.append(
            Change(
                label=_("Training time"), then=_days(then.days), now=_days(now.days), ratio=_ratio(then.days, now.days)
            )
        )
    if then.currency == now.currency and _differ(then.cost, now.cost):
        found.append(
            Change(
                label=_("Cost of the run"),
                then=_cost(then),
                now=_cost(now),
                ratio=_ratio(then.cost, now.cost),
            )
        )
    return Changes(versions=tuple(versions), figures=tuple(found))


def _cluster(seen: KeyFigures) -> str:
    return f"{seen.gpu_count} × {seen.gpu}" if seen.gpu else _("none that meets the conditions")


def _days(days: float | None) -> str:
    return figures.UNKNOWN if days is None else figures.format_days(days * SECONDS_PER_DAY)


def _cost(seen: KeyFigures) -> str:
    return figures.UNKNOWN if seen.cost is None else format_money(seen.cost, seen.currency)


def _differ(then: float | Decimal | None, now: float | Decimal | None) -> bool:
    if then is None or now is None:
        return then is not now
    ratio = _ratio(then, now)
    return ratio is None or abs(ratio) > SAME


def _ratio(then: float | Decimal | None, now: float | Decimal | None) -> float | None:
    return float(now) / float(then) - 1 if then and now is not None else None

"""The list as a CSV file that Excel opens right: UTF-8 with a byte-order mark, no cell that runs as a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from catalog.money import MINOR_UNITS
from quotes.listing import is_lapsed
from quotes.models import STATE_LABELS, Basis
from quotes.states import State

BYTE_ORDER_MARK = "\ufeff"
# A spreadsheet takes these for the start of a formula; the full-width ones too, in Chinese and Japanese versions.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class _Echo:
    """Hands each written line back instead of keeping it."""

    def write(self, text: str) -> str:
        return text


def guarded(text: str) -> str:
    """Text as a cell that is shown and never run: an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{text}" if text.lstrip(" \u3000").startswith(_FORMULA_STARTS) else text


def csv_lines(rows: Iterable[dict[str, Any]], now: datetime, zone: ZoneInfo) -> Iterator[str]:
    """Head and rows. The words are looked up before the first row, in the language of the request."""
    head = [
        _("Number"),
        _("Revision"),
        _("State"),
        _("Customer"),
        _("Project"),
        _("Basis"),
        _("Term in months"),
        _("Currency"),
        _("Net total"),
        _("Tax"),
        _("Total including tax"),
        _("Discount on the whole in percent"),
        _("Made on"),
        _("Issued on"),
        _("Valid through"),
        _("Decided on"),
        _("Owner"),
    ]
    states = {str(state): str(label) for state, label in STATE_LABELS.items()}
    bases = {str(value): str(label) for value, label in Basis.choices}
    writer = csv.writer(_Echo())
    return _written(writer, head, rows, states, bases, now, zone)


def _written(
    writer: Any,
    head: list[str],
    rows: Iterable[dict[str, Any]],
    states: dict[str, str],
    bases: dict[str, str],
    now: datetime,
    zone: ZoneInfo,
) -> Iterator[str]:
    yield BYTE_ORDER_MARK + str(writer.writerow(head))
    for row in rows:
        state = State.EXPIRED if is_lapsed(row["state"], row["expires_at"], now) else row["state"]
        net, gross = (_amount(row[name], row["currency"]) for name in ("total_net", "total_gross"))
        yield writer.writerow(
            [
                row["number"] or row["quote__number"] or "",
                row["revision_index"],
                states[state],
                guarded(row["customer_name"]),
                guarded(row["project"]),
                bases[row["basis"]],
                row["term_months"] or "",
                row["currency"],
                net,
                gross - net,
                gross,
                f"{row['discount_fraction'] * 100:f}".rstrip("0").rstrip("."),
                _day(row["created_at"], zone),
                _day(row["issued_at"], zone),
                _day(row["valid_through"], zone),
                _day(row["decided_at"], zone),
                guarded(row["quote__owner__username"]),
            ]
        )


def _amount(amount: Decimal, currency: str) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-MINOR_UNITS[currency]))


def _day(moment: datetime | date | None, zone: ZoneInfo) -> str:
    if moment is None:
        return ""
    day = moment.astimezone(zone).date() if isinstance(moment, datetime) else moment
    return day.isoformat()

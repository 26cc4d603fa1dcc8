"""The payment schedule: when which part of the total falls due, in amounts that sum to it exactly.

Stored as rows of `{"event", "share_of", "fraction", "days"}`. `share_of` is `total`, or `recurring` (what is billed by
the month) and `one_time` (the rest), whose fractions sum to 1 each. `days` after the event; negative days are before.
The deposit is refundable and stands beside the schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from catalog.money import share

# event -> months between two payments; 0: once
EVENTS: dict[str, int] = {
    "signing": 0,
    "before_dispatch": 0,
    "delivery": 0,
    "acceptance": 0,
    "warranty_end": 0,
    "monthly_in_advance": 1,
    "monthly_in_arrears": 1,
    "quarterly_in_advance": 3,
    "yearly_in_advance": 12,
}
SHARES = ("total", "recurring", "one_time")
MAX_ROWS, MAX_DAYS = 24, 366
_ONE = Decimal(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instalment:
    """One row as printed: `parts` are (how many, amount each); their sum is `amount`."""

    event: str
    days: int
    share_of: str
    fraction: Decimal
    amount: Decimal
    parts: tuple[tuple[int, Decimal], ...]

    @property
    def count(self) -> int:
        return sum(count for count, _amount in self.parts)


def clean_schedule(rows: Any) -> list[dict[str, Any]]:
    """The rows in canonical form; raises `ValidationError` naming the row and what would pass. Empty stays empty."""
    if not isinstance(rows, Sequence) or isinstance(rows, str) or len(rows) > MAX_ROWS:
        raise ValidationError(
            _("The payment schedule is a list of at most %(limit)d payments."), params={"limit": MAX_ROWS}
        )
    cleaned = [_clean_row(index, row) for index, row in enumerate(rows, start=1)]
    sums: dict[str, Decimal] = {}
    for row in cleaned:
        sums[row["share_of"]] = sums.get(row["share_of"], Decimal(0)) + Decimal(row["fraction"])
    if "total" in sums and len(sums) > 1:
        raise ValidationError(_("Payments are parts of the total, or of rent and one-time charges, but not of both."))
    for total in sums.values():
        if total != _ONE:
            raise ValidationError(
                _("The payments add up to %(sum)s %%. They must add up to 100 %%."),
                params={"sum": f"{(total * 100).normalize():f}"},
            )
    return cleaned


def _clean_row(index: int, row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping) or row.keys() - {"event", "share_of", "fraction", "days"}:
        raise ValidationError(
            _("Payment %(index)d: give event, share_of, fraction and days, nothing else."), params={"index": index}
        )
    event, share_of, days = row.get("event"), row.get("share_of", "total"), row.get("days", 0)
    if event not in EVENTS or share_of not in SHARES:
        raise ValidationError(
            _("Payment %(index)d: “%(event)s” of “%(share_of)s” is not known. Events: %(events)s."),
            params={"index": index, "event": event, "share_of": share_of, "events": ", ".join(EVENTS)},
        )
    try:
        fraction = Decimal(str(row.get("fraction")))
    except InvalidOperation:
        fraction = Decimal(0)
    if not (fraction.is_finite() and 0 < fraction <= 1):
        raise ValidationError(
            _("Payment %(index)d: the part must be above 0 %% and at most 100 %%."), params={"index": index}
        )
    if not isinstance(days, int) or isinstance(days, bool) or not -MAX_DAYS <= days <= MAX_DAYS:
        raise ValidationError(
            _("Payment %(index)d: days run from -%(limit)d to %(limit)d."), params={"index": index, "limit": MAX_DAYS}
        )
    return {"event": event, "share_of": share_of, "fraction": f"{fraction.normalize():f}", "days": days}


def latest_days(rows: Sequence[Mapping[str, Any]]) -> int:
    """The longest time for payment after an event, in days."""
    return max((int(row["days"]) for row in rows), default=0)


def instalments(
    rows: Sequence[Mapping[str, Any]],
    *,
    gross: Decimal,
    recurring_gross: Decimal,
    term_months: int | None,
    currency: str,
) -> tuple[Instalment, ...]:
    """Amounts of a cleaned schedule. They sum to `gross`; left-over minor units go by largest remainder.

    Where a schedule speaks of rent and there is none, its rows fall away; where it does not speak of what there is,
    that falls due at signing.
    """
    sizes = {"total": gross, "recurring": recurring_gross, "one_time": gross - recurring_gross}
    named = {row["share_of"] for row in rows}
    found: list[Instalment] = []
    for share_of in SHARES:
        members = [row for row in rows if row["share_of"] == share_of]
        if share_of == "total" and not members:
            continue
        if share_of != "total" and ("total" in named or not sizes[share_of]):
            continue
        members = members or [{"event": "signing", "share_of": share_of, "fraction": "1", "days": 0}]
        fractions = [Decimal(row["fraction"]) for row in members]
        for row, amount in zip(members, share(sizes[share_of], fractions, currency), strict=True):
            found.append(
                Instalment(
                    event=row["event"],
                    days=int(row["days"]),
                    share_of=share_of,
                    fraction=Decimal(row["fraction"]),
                    amount=amount,
                    parts=_parts(amount, EVENTS[row["event"]], term_months, currency),
                )
            )
    return tuple(found)


def _parts(
    amount: Decimal, step_months: int, term_months: int | None, currency: str
) -> tuple[tuple[int, Decimal], ...]:
    """A repeated payment by its months; the last step of a broken term is shorter, and so is its amount."""
    if not step_months or not term_months:
        return ((1, amount),)
    months = [min(step_months, term_months - start) for start in range(0, term_months, step_months)]
    amounts = share(amount, [Decimal(count) for count in months], currency)
    return tuple((len(list(same)), value) for value, same in groupby(amounts))

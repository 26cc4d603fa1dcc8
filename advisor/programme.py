"""The programme around a run: experiments, failed runs and evaluation, as a stated multiple of the run's GPU-hours."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from django.utils.translation import gettext as _

from advisor.answers import ProgrammeAnswer, TimeAnswer
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.figures import format_count, format_days, format_significant
from advisor.prices import money


def programme_answer(
    factor: float,
    time: TimeAnswer,
    gpu_count: int,
    *,
    cost_of: Callable[[float], Decimal | None] = lambda hours: None,
    currency: str = "",
) -> ProgrammeAnswer | None:
    """GPU-hours, days and money of the programme on the same cluster; None where the run has no time."""
    seconds = time["training_seconds"]
    if seconds is None:
        return None
    hours = factor * gpu_count * seconds / SECONDS_PER_HOUR
    cost = cost_of(hours)
    text = _(
        "A programme of %(factor)s times this run takes %(hours)s GPU-hours, %(days)s on this cluster. Deadline and "
        "budget are tested on the run alone."
    ) % {
        "factor": format_significant(factor),
        "hours": format_count(round(hours)),
        "days": format_days(factor * seconds),
    }
    return ProgrammeAnswer(
        factor=factor,
        gpu_hours=hours,
        training_days=factor * seconds / SECONDS_PER_DAY,
        cost=None if cost is None else money(cost, currency),
        text=text if factor > 1 else _("The programme is this run alone."),
    )

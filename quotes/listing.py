"""The list of quotes: filters and order as a queryset."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from quotes.models import QuoteRevision, RevisionQuerySet
from quotes.states import LIVE_STATES, State

if TYPE_CHECKING:
    from django.db.models import QuerySet

_ORDERS = {
    "-created": ("-created_at", "-pk"),
    "created": ("created_at", "pk"),
    "-total": ("-total_gross", "-pk"),
    "valid": ("valid_through", "pk"),
}
# the list shows none of these; a snapshot alone may be 100 kB
_HEAVY = ("snapshot", "sizing", "price_book", "customer_note", "internal_note", "decision")


def filtered_revisions(visible: RevisionQuerySet, filters: Mapping[str, Any], now: datetime) -> QuerySet[QuoteRevision]:
    """The newest revisions among the visible ones that pass the filters."""
    rows: QuerySet[QuoteRevision] = visible.current()
    if filters.get("q"):
        text = filters["q"]
        rows = rows.filter(
            Q(number__icontains=text)
            | Q(quote__number__icontains=text)
            | Q(customer_name__icontains=text)
            | Q(project__icontains=text)
            | Q(quote__owner__username__icontains=text)
        )
    rows = _in_state(rows, filters.get("state") or "", now)
    for name in ("basis", "currency"):
        if filters.get(name):
            rows = rows.filter(**{name: filters[name]})
    return rows.order_by(*_ORDERS[filters.get("sort") or "-created"]).defer(*_HEAVY)


def _in_state(rows: QuerySet[QuoteRevision], state: str, now: datetime) -> QuerySet[QuoteRevision]:
    if not state:
        return rows
    if state == State.EXPIRED:
        return rows.filter(state__in=LIVE_STATES, expires_at__lte=now)
    if state in LIVE_STATES:
        return rows.filter(state=state, expires_at__gt=now)
    return rows.filter(state=state)

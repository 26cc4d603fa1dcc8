"""The list of quotes: filters and order as a queryset, totals of what passes, and the same rows for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, DecimalField, Exists, ExpressionWrapper, F, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from quotes.models import QuoteLine, QuoteRevision, RevisionQuerySet
from quotes.states import LIVE_STATES, State

if TYPE_CHECKING:
    from django.db.models import QuerySet

ORDERS: dict[str, tuple[Any, ...]] = {
    "-created": ("-created_at", "-pk"),
    "created": ("created_at", "pk"),
    "-number": (F("quote__number").desc(nulls_last=True), "-pk"),
    "number": (F("quote__number").asc(nulls_last=True), "pk"),
    "customer": ("customer_name", "pk"),
    "-customer": ("-customer_name", "-pk"),
    "-total": ("-total_gross", "-pk"),
    "total": ("total_gross", "pk"),
    "valid": ("valid_through", "pk"),
    "-valid": ("-valid_through", "-pk"),
}
DEFAULT_ORDER = "-created"
EXPIRING_DAYS = 14
# Upper ends of the classes of discount, as fractions of the list price; the first is none at all.
DISCOUNT_CLASSES = (Decimal(0), Decimal("0.05"), Decimal("0.10"), Decimal("0.20"), Decimal(1))
# How a quote ended; what is withdrawn or never issued ends nowhere.
WON, LOST, OPEN, ANY = "won", "lost", "open", "any"
# the list shows none of these; a snapshot alone may be 100 kB
_MONEY = DecimalField(max_digits=24, decimal_places=7)
_HEAVY = ("snapshot", "sizing", "price_book", "customer_note", "internal_note", "decision")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyTotal:
    """What passes the filters in one currency; amounts of two currencies are never added."""

    currency: str
    count: int
    net: Decimal
    gross: Decimal


def filtered_revisions(visible: RevisionQuerySet, filters: Mapping[str, Any], now: datetime) -> QuerySet[QuoteRevision]:
    """The newest revision of each visible quote that passes the filters.

    With `outcome` a quote is its newest issued revision, so that a chain of revisions counts once and a draft of the
    next one does not hide how the last one ended.
    """
    outcome = filters.get("outcome")
    rows: QuerySet[QuoteRevision] = in_outcome(newest_issued(visible), outcome, now) if outcome else visible.current()
    for term in (filters.get("q") or "").split():
        rows = rows.filter(_mentions(term))
    rows = in_state(rows, filters.get("state") or "", now)
    for name, lookup in (("basis", "basis"), ("currency", "currency"), ("owner", "quote__owner__username")):
        if filters.get(name):
            rows = rows.filter(**{lookup: filters[name]})
    if filters.get("lost_reason"):
        rows = rows.filter(_lost_for(filters["lost_reason"]))
    if filters.get("discount") is not None:
        rows = _in_discount_class(rows, filters["discount"])
    if filters.get("product"):
        rows = rows.annotate(main_product=main_product()).filter(main_product=filters["product"])
    if filters.get("minimum") is not None:
        rows = rows.filter(total_gross__gte=filters["minimum"])
    if filters.get("maximum") is not None:
        rows = rows.filter(total_gross__lte=filters["maximum"])
    if filters.get("expiring"):
        rows = rows.filter(state__in=LIVE_STATES, expires_at__gt=now, expires_at__lte=now + timedelta(EXPIRING_DAYS))
    return _between(rows, filters.get("dated") or "created", filters.get("since"), filters.get("until"))


def ordered(rows: QuerySet[QuoteRevision], order: str) -> QuerySet[QuoteRevision]:
    return rows.order_by(*ORDERS[order or DEFAULT_ORDER]).defer(*_HEAVY)


def totals_by_currency(rows: QuerySet[QuoteRevision]) -> list[CurrencyTotal]:
    """One query: how many pass, and what they add up to in each currency."""
    sums = (
        rows.order_by().values("currency").annotate(count=Count("pk"), net=Sum("total_net"), gross=Sum("total_gross"))
    )
    return [CurrencyTotal(**row) for row in sums.order_by("currency")]


def owners_of(visible: RevisionQuerySet) -> list[str]:
    """Who has quotes that the user may see."""
    quotes = visible.order_by().values("quote__owner")
    return list(User.objects.filter(pk__in=quotes).order_by("username").values_list("username", flat=True))


def newest_issued(visible: RevisionQuerySet) -> RevisionQuerySet:
    """The newest issued revision of each quote: a chain of revisions as one promise."""
    newer = QuoteRevision._base_manager.filter(
        quote_id=OuterRef("quote_id"), revision_index__gt=OuterRef("revision_index"), issued_at__isnull=False
    )
    return visible.filter(~Exists(newer), issued_at__isnull=False)


def in_state(rows: QuerySet[QuoteRevision], state: str, now: datetime) -> QuerySet[QuoteRevision]:
    if not state:
        return rows
    if state == State.EXPIRED:
        return rows.filter(state__in=LIVE_STATES, expires_at__lte=now)
    if state in LIVE_STATES:
        return rows.filter(state=state, expires_at__gt=now)
    return rows.filter(state=state)


def in_outcome(rows: QuerySet[QuoteRevision], outcome: str, now: datetime) -> QuerySet[QuoteRevision]:
    """Won: accepted. Lost: declined, or run out unanswered. Open: the customer may still answer. Any of the three."""
    if outcome == ANY:
        return rows.filter(state__in=[*LIVE_STATES, State.ACCEPTED, State.DECLINED])
    if outcome == WON:
        return rows.filter(state=State.ACCEPTED)
    if outcome == LOST:
        return rows.filter(Q(state=State.DECLINED) | Q(state__in=LIVE_STATES, expires_at__lte=now))
    return rows.filter(state__in=LIVE_STATES, expires_at__gt=now)


def first_issue() -> Subquery:
    """When the quote of a revision was issued first: where its chain begins."""
    issued = QuoteRevision._base_manager.filter(quote_id=OuterRef("quote_id"), issued_at__isnull=False)
    return Subquery(issued.order_by("revision_index").values("issued_at")[:1])


def list_net() -> Subquery:
    """What the counted lines of a revision cost at list price; a line that no book has counts at its own price."""
    price = Coalesce("list_price", "unit_price", output_field=_MONEY)
    lines = QuoteLine.objects.filter(revision=OuterRef("pk"), is_included=False, is_optional=False).order_by()
    amount = ExpressionWrapper(F("quantity") * F("period_count") * price, output_field=_MONEY)
    return Subquery(lines.values("revision").annotate(at_list=Sum(amount)).values("at_list"), output_field=_MONEY)


def main_product() -> Subquery:
    """The SKU of the counted line that comes to most before discounts: what the quote sells."""
    lines = QuoteLine.objects.filter(revision=OuterRef("pk"), is_included=False, is_optional=False)
    amount = ExpressionWrapper(
        F("quantity") * F("period_count") * Coalesce("unit_price", Decimal(0), output_field=_MONEY), output_field=_MONEY
    )
    lines = lines.annotate(before_discount=amount).order_by("-before_discount", "position")
    return Subquery(lines.values("sku")[:1])


def desk_zone() -> ZoneInfo:
    """Days of the desk's lists begin at the site's midnight."""
    return ZoneInfo(settings.TIME_ZONE)


def _mentions(term: str) -> Q:
    line = QuoteLine.objects.filter(revision=OuterRef("pk"), sku__icontains=term)
    return (
        Q(number__icontains=term)
        | Q(quote__number__icontains=term)
        | Q(customer_name__icontains=term)
        | Q(project__icontains=term)
        | Q(quote__owner__username__icontains=term)
        | Q(Exists(line))
    )


def _lost_for(reason: str) -> Q:
    """A refusal that names no reason counts as another one."""
    named = Q(state=State.DECLINED, decision__reason_code=reason)
    return named | Q(state=State.DECLINED, decision__reason_code__isnull=True) if reason == "other" else named


def _in_discount_class(rows: QuerySet[QuoteRevision], index: int) -> QuerySet[QuoteRevision]:
    """Between two of DISCOUNT_CLASSES: net at least 1 - upper end, and below 1 - lower end, of the list price."""
    rows = rows.annotate(list_net=list_net()).filter(list_net__gt=0)
    if index:
        rows = rows.filter(total_net__lt=F("list_net") * (1 - DISCOUNT_CLASSES[index - 1]))
    if index < len(DISCOUNT_CLASSES) - 1:
        rows = rows.filter(total_net__gte=F("list_net") * (1 - DISCOUNT_CLASSES[index]))
    return rows


def _between(
    rows: QuerySet[QuoteRevision], dated: str, since: date | None, until: date | None
) -> QuerySet[QuoteRevision]:
    """Both days inclusive."""
    if since is None and until is None:
        return rows
    if dated == "valid":
        first, last = since, until
        return _bounded(rows, "valid_through__gte", first, "valid_through__lte", last)
    names = {"created": "created_at", "issued": "first_issued_at", "decided": "decided_at"}
    if dated == "issued":
        rows = rows.annotate(first_issued_at=first_issue())
    zone = desk_zone()
    first_instant = datetime.combine(since, time.min, tzinfo=zone) if since else None
    end = datetime.combine(until + timedelta(days=1), time.min, tzinfo=zone) if until else None
    return _bounded(rows, f"{names[dated]}__gte", first_instant, f"{names[dated]}__lt", end)


def _bounded(
    rows: QuerySet[QuoteRevision], from_lookup: str, first: Any, to_lookup: str, last: Any
) -> QuerySet[QuoteRevision]:
    if first is not None:
        rows = rows.filter(**{from_lookup: first})
    if last is not None:
        rows = rows.filter(**{to_lookup: last})
    return rows


EXPORT_FIELDS = (
    "quote__number",
    "number",
    "revision_index",
    "state",
    "expires_at",
    "customer_name",
    "project",
    "basis",
    "term_months",
    "currency",
    "total_net",
    "total_gross",
    "discount_fraction",
    "created_at",
    "issued_at",
    "valid_through",
    "decided_at",
    "quote__owner__username",
)


def export_rows(rows: QuerySet[QuoteRevision]) -> Iterator[dict[str, Any]]:
    """The rows of a spreadsheet, read in portions so that memory does not grow with their number."""
    for values in rows.values_list(*EXPORT_FIELDS).iterator(chunk_size=2000):
        yield dict(zip(EXPORT_FIELDS, values, strict=True))


def is_lapsed(state: str, expires_at: datetime | None, now: datetime) -> bool:
    return state in LIVE_STATES and expires_at is not None and expires_at <= now

"""What a step will do, in the quote's own numbers: for the page that asks before it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from catalog.money import format_money
from quotes import snapshot
from quotes.models import QuoteLine, QuoteRevision
from quotes.states import Action
from quotes.wording import zone_text

_OUTWARD = frozenset({Action.SHARE, Action.MARK_SENT, Action.ACCEPT, Action.DECLINE, Action.WITHDRAW, Action.REVISE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One figure of the confirmation."""

    label: Any
    value: str


def effects_of(action: Action, revision: QuoteRevision, lines: Sequence[QuoteLine], now: datetime) -> list[Effect]:
    """Customer, amounts and dates of the quote, and what the action touches beside it."""
    content = snapshot.parse(revision.snapshot) if revision.is_frozen else snapshot.build(revision, lines)
    totals, currency = content["totals"], content["currency"]
    zone = zone_text(content["time_zone"])
    effects = [
        Effect(label=gettext_lazy("Customer"), value=revision.customer_name or "—"),
        Effect(
            label=gettext_lazy("Total including tax"), value=format_money(Decimal(totals["gross"]["amount"]), currency)
        ),
        Effect(label=gettext_lazy("Net total"), value=format_money(Decimal(totals["net"]["amount"]), currency)),
        Effect(label=gettext_lazy("Lines"), value=str(sum(1 for line in content["lines"] if not line["is_included"]))),
        Effect(
            label=gettext_lazy("Valid through"),
            value=_("%(day)s (%(zone)s)") % {"day": content["valid_through"], "zone": zone},
        ),
    ]
    if Decimal(totals["discount"]["amount"]):
        amount = format_money(Decimal(totals["discount"]["amount"]), currency)
        effects.insert(3, Effect(label=gettext_lazy("Discount on the whole"), value=amount))
    at_list = _discount_against_list(lines, Decimal(totals["net"]["amount"]), revision)
    if at_list is not None and action in {Action.SUBMIT, Action.APPROVE, Action.REJECT, Action.ISSUE}:
        effects.append(
            Effect(
                label=gettext_lazy("Discount against the list price"),
                value=f"{at_list * 100:.2f}".rstrip("0").rstrip(".") + "%",
            )
        )
    if action in _OUTWARD:
        open_links = revision.links.filter(revoked_at__isnull=True).count()
        effects.append(Effect(label=gettext_lazy("Open links of the customer"), value=str(open_links)))
    if action is Action.REVISE:
        effects.append(Effect(label=gettext_lazy("The next revision"), value=f"R{_next_index(revision)}"))
    if action is Action.ISSUE and revision.revises is not None:
        effects.append(Effect(label=gettext_lazy("Replaces"), value=revision.revises.number or "—"))
    return effects


def _discount_against_list(lines: Sequence[QuoteLine], net: Decimal, revision: QuoteRevision) -> Decimal | None:
    """Of the whole, net; None while a counted line has no list price, or prices include tax."""
    counted = [line for line in lines if not line.is_included and not line.is_optional]
    if revision.prices_include_tax or not counted or any(line.list_price is None for line in counted):
        return None
    full = sum(
        (line.quantity * (line.list_period_count or line.period_count) * (line.list_price or 0) for line in counted),
        Decimal(0),
    )
    return 1 - net / full if full else None


def _next_index(revision: QuoteRevision) -> int:
    newest = revision.quote.revisions.order_by("-revision_index").first()
    return (newest or revision).revision_index + 1

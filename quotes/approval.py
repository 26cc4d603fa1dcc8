"""What a quote is measured by before it goes out, and which rules that meets: pure functions of decimals.

Everything is taken from the *effective* price, what the customer pays in the end against the list price of the book: a
lowered unit price, a line discount, a discount on the whole, a line for nothing and months for nothing all look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import get_language

from quotes.pricing import is_monthly

_DIGITS = Decimal("0.000001")
_HUNDRED = Decimal(100)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLine:
    """A priced line against its list price, all net of tax and in the quote's currency."""

    position: int
    name_zh: str
    name_en: str
    group: str
    quantity: Decimal
    list_price: Decimal | None
    list_periods: int
    paid: Decimal  # over all periods, after every discount
    floor_price: Decimal | None = None
    cost_price: Decimal | None = None

    @property
    def discount(self) -> Decimal | None:
        """Effective discount against the list price as a fraction; None without a list price."""
        if self.list_price is None:
            return None
        full = self.quantity * self.list_periods * self.list_price
        return (1 - self.paid / full).quantize(_DIGITS) if full else Decimal(0)

    @property
    def is_below_floor(self) -> bool:
        return self.floor_price is not None and self.paid < self.quantity * self.list_periods * self.floor_price


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A quote as the rules see it."""

    basis: str
    currency: str
    lines: Sequence[MeasuredLine]
    net_total: Decimal
    term_months: int | None
    payment_days: int
    validity_days: int
    changed_terms: Sequence[tuple[str, str]]  # what differs from the standard terms, in Chinese and in English

    @property
    def margin(self) -> Decimal | None:
        """(Net - cost) / net; None unless the cost of every line is known."""
        costs = [
            line.cost_price * line.quantity * line.list_periods for line in self.lines if line.cost_price is not None
        ]
        if not costs or len(costs) < len(self.lines) or not self.net_total:
            return None
        return ((self.net_total - sum(costs, Decimal(0))) / self.net_total).quantize(_DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A row of the table of rules."""

    code: str
    condition: str
    threshold: Decimal | None
    currency: str
    basis: str
    approver_role: str
    message_zh: str
    message_en: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A row of the table of discount limits; `user_id` None: of the role, `product_group` "": of all other groups."""

    role: str
    user_id: int | None
    product_group: str
    max_fraction: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeed:
    """One approval that a quote needs, and why, in both languages."""

    rule_code: str
    condition: str
    product_group: str
    approver_role: str
    measured: Decimal | None
    limit: Decimal | None
    message_zh: str
    message_en: str
    obstacle: str = ""  # why nobody can give it, and the way out; in the reader's language

    @property
    def message(self) -> str:
        return self.message_zh if (get_language() or "").startswith("zh") else self.message_en


def list_periods(*, unit: str, period_count: int, stated: int | None, term_months: int | None) -> int:
    """Periods at the list price: those stated with the line, else the whole term; months not billed are free ones."""
    if not is_monthly(unit):
        return period_count
    return max(period_count, stated or term_months or period_count)


def limit_of(limits: Sequence[Limit], *, user_id: int | None, roles: frozenset[str], group: str) -> Decimal:
    """The largest discount that someone gives alone in a group: their own row before the role's, the group's before
    the general one; the best of several roles. Without any row it is 0."""
    best = Decimal(0)
    for role in roles:
        rows = [row for row in limits if row.role == role and row.user_id in (None, user_id)]
        ranked = sorted(
            (row for row in rows if row.product_group in ("", group)),
            key=lambda row: (row.user_id is not None, row.product_group != ""),
            reverse=True,
        )
        if ranked:
            best = max(best, ranked[0].max_fraction)
    return best


def discounts_by_group(lines: Sequence[MeasuredLine]) -> dict[str, MeasuredLine]:
    """In each group of products the line with the largest effective discount."""
    worst: dict[str, MeasuredLine] = {}
    for line in lines:
        discount = line.discount
        if discount is None:
            continue
        known = worst.get(line.group)
        if known is None or discount > (known.discount or Decimal(0)):
            worst[line.group] = line
    return worst


def needs(
    facts: Facts, rules: Sequence[Rule], limits: Sequence[Limit], *, seller_id: int | None, seller_roles: frozenset[str]
) -> tuple[ApprovalNeed, ...]:
    """All approvals that the quote needs, in the order of the rules."""
    found: list[ApprovalNeed] = []
    for rule in rules:
        if rule.basis in ("", facts.basis):
            if rule.condition == "discount":
                found += _discount_needs(facts, rule, limits, seller_id, seller_roles)
            else:
                found += _needs_of(facts, rule)
    return tuple(found)


def _discount_needs(
    facts: Facts, rule: Rule, limits: Sequence[Limit], seller_id: int | None, seller_roles: frozenset[str]
) -> Iterator[ApprovalNeed]:
    for group, line in discounts_by_group(facts.lines).items():
        limit = limit_of(limits, user_id=seller_id, roles=seller_roles, group=group)
        discount = line.discount
        if discount is not None and discount > limit:
            yield _need(rule, discount, limit, what=(line.name_zh, line.name_en), group=group, is_percent=True)


def _needs_of(facts: Facts, rule: Rule) -> Iterator[ApprovalNeed]:
    threshold = rule.threshold or Decimal(0)
    if rule.condition == "below_floor":
        for line in facts.lines:
            if line.is_below_floor:
                yield _need(rule, None, None, what=(line.name_zh, line.name_en), group=line.group)
                return
    elif rule.condition == "list_price_missing":
        bare = [line for line in facts.lines if line.list_price is None]
        if bare:
            what = ("、".join(line.name_zh for line in bare[:3]), ", ".join(line.name_en for line in bare[:3]))
            yield _need(rule, Decimal(len(bare)), None, what=what)
    elif rule.condition == "terms_changed":
        if facts.changed_terms:
            yield _need(
                rule,
                None,
                None,
                what=(
                    "、".join(zh for zh, _en in facts.changed_terms),
                    ", ".join(en for _zh, en in facts.changed_terms),
                ),
            )
    elif rule.condition == "margin_below":
        margin = facts.margin
        if margin is not None and margin < threshold:
            yield _need(rule, margin, threshold, is_percent=True)
    else:
        measured = _MEASURES[rule.condition](facts)
        is_other_currency = rule.condition == "total_above" and rule.currency != facts.currency
        if measured is None or is_other_currency:
            return
        if measured < threshold if rule.condition.endswith("_below") else measured > threshold:
            yield _need(rule, measured, threshold)


_MEASURES: dict[str, Callable[[Facts], Decimal | None]] = {
    "total_above": lambda facts: facts.net_total,
    "term_above": lambda facts: _decimal(facts.term_months),
    "term_below": lambda facts: _decimal(facts.term_months),
    "payment_days_above": lambda facts: _decimal(facts.payment_days),
    "validity_above": lambda facts: _decimal(facts.validity_days),
}


def _decimal(number: int | None) -> Decimal | None:
    return None if number is None else Decimal(number)


def _need(
    rule: Rule,
    measured: Decimal | None,
    limit: Decimal | None,
    *,
    what: tuple[str, str] = ("", ""),
    group: str = "",
    is_percent: bool = False,
) -> ApprovalNeed:
    figures = {"measured": _shown(measured, is_percent), "limit": _shown(limit, is_percent)}
    return ApprovalNeed(
        rule_code=rule.code,
        condition=rule.condition,
        product_group=group,
        approver_role=rule.approver_role,
        measured=measured,
        limit=limit,
        message_zh=_filled(rule.message_zh, figures | {"what": what[0]}),
        message_en=_filled(rule.message_en, figures | {"what": what[1]}),
    )


def _shown(number: Decimal | None, is_percent: bool) -> str:
    if number is None:
        return ""
    return percent(number) if is_percent else f"{number.normalize():,f}"


def percent(fraction: Decimal) -> str:
    """0.085 as `8.5%`: at most two decimals, none that is not needed."""
    shown = f"{(fraction * _HUNDRED).quantize(Decimal('0.01')):f}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + "%"


def _filled(message: str, figures: Mapping[str, str]) -> str:
    """The sentence with its figures; written by an administrator, so unknown placeholders stay as they are."""
    for name, value in figures.items():
        message = message.replace(f"%({name})s", value)
    return message[:500]

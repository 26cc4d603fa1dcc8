"""What a quote's lines add up to: groups, totals, the monthly amount and the deposit; pure functions of decimals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from catalog.money import LineInput, TaxMode, Totals, line_amount, round_money, totals

# Order of the groups on paper, and what belongs to each; an unknown kind stands under "other".
GROUPS: dict[str, tuple[str, ...]] = {
    "compute": ("server", "spare_server", "gpu", "cpu", "memory", "ssd", "nic"),
    "network": ("switch", "cable", "optic"),
    "storage": ("storage",),
    "management": ("management_node",),
    "facility": ("rack", "pdu"),
    "services": ("service",),
    "other": (),
}
_GROUP_OF_KIND = {kind: group for group, kinds in GROUPS.items() for kind in kinds}


def is_monthly(unit: str) -> bool:
    """Whether a unit is billed by the month: `month`, `server_month`, `per_spare_server_month`."""
    return unit == "month" or unit.endswith("_month")


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedLine:
    """One position as it is priced; `unit_price` None: not known yet."""

    position: int
    kind: str
    unit: str
    quantity: Decimal
    period_count: int
    unit_price: Decimal | None
    discount_fraction: Decimal
    tax_rate: Decimal
    is_included: bool = False
    is_optional: bool = False
    discount_amount: Decimal = Decimal(0)

    @property
    def counts(self) -> bool:
        return self.unit_price is not None and not self.is_included and not self.is_optional

    @property
    def is_missing_price(self) -> bool:
        return self.unit_price is None and not self.is_included

    def as_input(self, *, one_period: bool = False) -> LineInput:
        assert self.unit_price is not None  # noqa: S101  (callers ask `counts` first)
        periods = 1 if one_period else self.period_count
        return LineInput(
            quantity=self.quantity * periods,
            unit_price=self.unit_price,
            discount_fraction=self.discount_fraction,
            discount_amount=self.discount_amount / self.period_count if one_period else self.discount_amount,
            tax_rate=self.tax_rate,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LineAmounts:
    net: Decimal
    tax: Decimal
    gross: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTotals:
    """Totals of the counted lines; `lines` has the amounts by position, options priced alone among them."""

    totals: Totals
    lines: dict[int, LineAmounts]
    groups: tuple[tuple[str, Decimal], ...]
    missing_positions: tuple[int, ...]
    monthly_net: Decimal | None
    monthly_gross: Decimal | None
    deposit: Decimal | None
    recurring_gross: Decimal  # what is billed by the month, over all its months
    net_discount_fraction: Decimal  # of the document, its amount counted in


def group_of(kind: str) -> str:
    """The group of a kind of line."""
    return _GROUP_OF_KIND.get(kind, "other")


def document_totals(
    lines: Sequence[PricedLine],
    currency: str,
    *,
    discount_fraction: Decimal = Decimal(0),
    discount_amount: Decimal = Decimal(0),
    tax_mode: TaxMode = TaxMode.PER_RATE,
    prices_include_tax: bool = False,
    deposit_months: Decimal | None = None,
    has_monthly_amount: bool = False,
) -> DocumentTotals:
    """Price a document by the rule of `catalog.money`.

    The monthly amount (rental) is that of the lines billed by the month, with the document's discount; the deposit is
    `deposit_months` of its net, refundable and so outside the total.
    """
    counted = [line for line in lines if line.counts]
    result = totals(
        [line.as_input() for line in counted],
        currency,
        document_discount_fraction=discount_fraction,
        document_discount_amount=discount_amount if counted else Decimal(0),
        tax_mode=tax_mode,
        prices_include_tax=prices_include_tax,
    )
    entered = sum((line_amount(line.as_input(), currency) for line in counted), Decimal(0))
    taken = result.entered_discount / entered if entered else Decimal(0)
    amounts = {
        line.position: LineAmounts(net=net, tax=tax, gross=gross)
        for line, net, tax, gross in zip(counted, result.line_nets, result.line_taxes, result.line_grosses, strict=True)
    }
    for line in lines:
        if line.is_optional and line.unit_price is not None:
            alone = totals([line.as_input()], currency, tax_mode=tax_mode, prices_include_tax=prices_include_tax)
            amounts[line.position] = LineAmounts(net=alone.net, tax=alone.tax, gross=alone.gross)
    monthly = None
    recurring = [line for line in counted if has_monthly_amount and is_monthly(line.unit)]
    if recurring:
        monthly = totals(
            [line.as_input(one_period=True) for line in recurring],
            currency,
            document_discount_fraction=taken,
            tax_mode=tax_mode,
            prices_include_tax=prices_include_tax,
        )
    deposit = None
    if monthly is not None and deposit_months is not None:
        deposit = round_money(monthly.net * deposit_months, currency)
    return DocumentTotals(
        totals=result,
        lines=amounts,
        groups=_groups(counted, result.line_nets),
        missing_positions=tuple(line.position for line in lines if line.is_missing_price),
        monthly_net=monthly.net if monthly else None,
        monthly_gross=monthly.gross if monthly else None,
        deposit=deposit,
        recurring_gross=sum((amounts[line.position].gross for line in recurring), Decimal(0)),
        net_discount_fraction=taken,
    )


def _groups(counted: Sequence[PricedLine], nets: Sequence[Decimal]) -> tuple[tuple[str, Decimal], ...]:
    sums: dict[str, Decimal] = {}
    for line, net in zip(counted, nets, strict=True):
        group = group_of(line.kind)
        sums[group] = sums.get(group, Decimal(0)) + net
    return tuple((group, sums[group]) for group in GROUPS if group in sums)

"""Money: exact decimals, one stated rounding, and the totals of a priced document.

Rounding, the same for page, PDF, API and CSV:

1. a line's net is quantity x unit price x (1 - discount), rounded once, half up, to the currency's minor unit;
2. a discount on the whole document is shared among the tax rates, then among the lines, in proportion to their nets;
3. tax is computed per tax rate on the summed net of its lines and rounded once (`TaxMode.PER_RATE`), or line by line
   (`TaxMode.PER_LINE`) for customers whose books ask for that;
4. what rounding leaves over goes to the lines by largest remainder, so that printed lines add up to printed totals.

Prices entered with tax keep their gross: a line's gross is rounded once, the discount is taken off the gross, and the
tax inside, gross x rate / (1 + rate), is rounded once per rate (or per line). The same sums hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from enum import StrEnum

# Digits after the point of one major unit (ISO 4217).
MINOR_UNITS: dict[str, int] = {
    "CNY": 2,
    "USD": 2,
    "EUR": 2,
    "GBP": 2,
    "HKD": 2,
    "SGD": 2,
    "JPY": 0,
    "KRW": 0,
    "KWD": 3,
}
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
ZERO = Decimal(0)
ONE = Decimal(1)
# Wide enough that no product of a quantity, a price and a rate is rounded before we say so.
_EXACT = Context(prec=60)


class CurrencyMismatchError(ValueError):
    """Two currencies met in one sum."""


class UnknownCurrencyError(ValueError):
    """A currency without an entry in MINOR_UNITS."""


def minor_unit(currency: str) -> Decimal:
    """The smallest amount of a currency: 0.01 for CNY, 1 for JPY."""
    try:
        digits = MINOR_UNITS[currency]
    except KeyError:
        known = ", ".join(MINOR_UNITS)
        raise UnknownCurrencyError(f"Currency {currency!r} is not known; known are {known}.") from None
    return ONE.scaleb(-digits)


def round_money(amount: Decimal, currency: str) -> Decimal:
    """`amount` in whole minor units, half away from zero: 0.005 CNY becomes 0.01 CNY."""
    if not amount.is_finite():
        raise ValueError(f"{amount} is not an amount of money.")
    rounded = amount.quantize(minor_unit(currency), rounding=ROUND_HALF_UP, context=_EXACT)
    return rounded if rounded else abs(rounded)  # no "-0.00"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount that knows its currency; sums across currencies raise `CurrencyMismatchError`."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Decimal):
            raise TypeError(f"Money takes a Decimal, not {type(self.amount).__name__}.")
        minor_unit(self.currency)

    def __add__(self, other: Money) -> Money:
        return Money(self.amount + self._same(other), self.currency)

    def __sub__(self, other: Money) -> Money:
        return Money(self.amount - self._same(other), self.currency)

    def __neg__(self) -> Money:
        return Money(-self.amount, self.currency)

    def __mul__(self, factor: Decimal | int) -> Money:
        return Money(_EXACT.multiply(self.amount, Decimal(factor)), self.currency)

    __rmul__ = __mul__

    def __lt__(self, other: Money) -> bool:
        return self.amount < self._same(other)

    def __le__(self, other: Money) -> bool:
        return self.amount <= self._same(other)

    def rounded(self) -> Money:
        return Money(round_money(self.amount, self.currency), self.currency)

    def _same(self, other: Money) -> Decimal:
        if other.currency != self.currency:
            raise CurrencyMismatchError(f"{other.currency} cannot be added to or compared with {self.currency}.")
        return other.amount


class TaxMode(StrEnum):
    """Where tax is rounded; stored with every quote."""

    PER_RATE = "per_rate"
    PER_LINE = "per_line"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineInput:
    """One priced line; `unit_price` is net of tax unless the document's prices include it.

    `discount_amount` comes off the whole line, after the fraction.
    """

    quantity: Decimal
    unit_price: Decimal
    tax_rate: Decimal
    discount_fraction: Decimal = ZERO
    discount_amount: Decimal = ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxGroup:
    rate: Decimal
    base: Decimal
    tax: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a document prints. `subtotal - discount == net`, `net + tax == gross`; the line tuples keep the input order.

    `line_nets` are before the document's discount and sum to `subtotal`; `line_taxes` sum to `tax`, `line_grosses` to
    `gross`. `entered_discount` is the discount as it was taken: off the net, or off the gross where prices include tax.
    """

    currency: str
    subtotal: Decimal
    discount: Decimal
    net: Decimal
    tax_groups: tuple[TaxGroup, ...]
    tax: Decimal
    gross: Decimal
    line_nets: tuple[Decimal, ...]
    line_taxes: tuple[Decimal, ...]
    line_grosses: tuple[Decimal, ...]
    entered_discount: Decimal = ZERO


def line_amount(line: LineInput, currency: str) -> Decimal:
    """Quantity x unit price less the line's own discounts, rounded once: net, or gross where prices include tax."""
    exact = _EXACT.multiply(_EXACT.multiply(line.quantity, line.unit_price), ONE - line.discount_fraction)
    return round_money(_EXACT.subtract(exact, line.discount_amount), currency)


def tax_within(gross: Decimal, rate: Decimal) -> Decimal:
    """The tax inside a gross amount, unrounded: 113 at 13 % holds 13."""
    return _EXACT.divide(_EXACT.multiply(gross, rate), ONE + rate)


def share(total: Decimal, weights: Sequence[Decimal], currency: str) -> tuple[Decimal, ...]:
    """Split a rounded `total` in proportion to `weights` so that the parts sum to it exactly (largest remainder).

    Each part is first rounded down; the minor units left over go, one each, to the parts that lost most, the earlier
    one on a tie. Weights that sum to zero get equal shares.
    """
    if not weights:
        if total:
            raise ValueError(f"{total} cannot be shared among no parts.")
        return ()
    unit = minor_unit(currency)
    weight_sum = sum(weights, ZERO)
    fractions = [_EXACT.divide(weight, weight_sum) if weight_sum else ONE / len(weights) for weight in weights]
    exact = [_EXACT.multiply(total, fraction) for fraction in fractions]
    floors = [value.quantize(unit, rounding=ROUND_FLOOR, context=_EXACT) for value in exact]
    left = int((total - sum(floors, ZERO)) / unit)
    by_loss = sorted(range(len(weights)), key=lambda index: (floors[index] - exact[index], index))
    for step in range(abs(left)):
        floors[by_loss[step % len(by_loss)]] += unit if left > 0 else -unit
    return tuple(floors)


def totals(
    lines: Sequence[LineInput],
    currency: str,
    *,
    document_discount_fraction: Decimal = ZERO,
    document_discount_amount: Decimal = ZERO,
    tax_mode: TaxMode = TaxMode.PER_RATE,
    prices_include_tax: bool = False,
) -> Totals:
    """Totals of a document by the rule of the module; the order of the lines changes no total."""
    amounts = tuple(line_amount(line, currency) for line in lines)
    entered = sum(amounts, round_money(ZERO, currency))
    discount = round_money(_EXACT.multiply(entered, document_discount_fraction), currency)
    discount += round_money(document_discount_amount, currency)
    if discount and not lines:
        raise ValueError("A document without lines has nothing to discount.")
    rates = sorted({line.tax_rate for line in lines}, reverse=True)
    members = {rate: [index for index, line in enumerate(lines) if line.tax_rate == rate] for rate in rates}
    group_sums = [sum((amounts[index] for index in members[rate]), ZERO) for rate in rates]
    group_discounts = share(discount, group_sums, currency)
    if prices_include_tax:
        return _totals_of_gross(amounts, members, group_discounts, currency, tax_mode)
    return _totals_of_net(amounts, members, group_sums, group_discounts, currency, tax_mode)


def _totals_of_net(
    nets: tuple[Decimal, ...],
    members: Mapping[Decimal, list[int]],
    group_nets: Sequence[Decimal],
    group_discounts: Sequence[Decimal],
    currency: str,
    tax_mode: TaxMode,
) -> Totals:
    subtotal = sum(nets, round_money(ZERO, currency))
    discount = sum(group_discounts, round_money(ZERO, currency))

    bases = list(nets)
    taxes = [ZERO] * len(nets)
    groups = []
    for (rate, indices), group_net, group_discount in zip(members.items(), group_nets, group_discounts, strict=True):
        for index, part in zip(indices, share(group_discount, [nets[i] for i in indices], currency), strict=True):
            bases[index] -= part
        group_bases = [bases[index] for index in indices]
        line_taxes = _line_taxes(rate, group_bases, currency, tax_mode)
        for index, tax in zip(indices, line_taxes, strict=True):
            taxes[index] = tax
        groups.append(TaxGroup(rate=rate, base=group_net - group_discount, tax=sum(line_taxes, ZERO)))

    tax = sum((group.tax for group in groups), round_money(ZERO, currency))
    net = subtotal - discount
    return Totals(
        currency=currency,
        subtotal=subtotal,
        discount=discount,
        net=net,
        tax_groups=tuple(groups),
        tax=tax,
        gross=net + tax,
        line_nets=nets,
        line_taxes=tuple(taxes),
        line_grosses=tuple(base + tax for base, tax in zip(bases, taxes, strict=True)),
        entered_discount=discount,
    )


def _totals_of_gross(
    grosses: tuple[Decimal, ...],
    members: Mapping[Decimal, list[int]],
    group_discounts: Sequence[Decimal],
    currency: str,
    tax_mode: TaxMode,
) -> Totals:
    """The gross is what was entered; nets are what is left of it, before and after the discount."""
    zero = round_money(ZERO, currency)
    line_nets, line_taxes, reduced = [zero] * len(grosses), [zero] * len(grosses), list(grosses)
    groups = []
    for (rate, indices), group_discount in zip(members.items(), group_discounts, strict=True):
        before = [grosses[index] for index in indices]
        for index, gross, tax in zip(indices, before, _taxes_within(rate, before, currency, tax_mode), strict=True):
            line_nets[index] = gross - tax
        after = [gross - part for gross, part in zip(before, share(group_discount, before, currency), strict=True)]
        taxes = _taxes_within(rate, after, currency, tax_mode)
        for index, gross, tax in zip(indices, after, taxes, strict=True):
            reduced[index], line_taxes[index] = gross, tax
        tax_sum = sum(taxes, ZERO)
        groups.append(TaxGroup(rate=rate, base=sum(after, ZERO) - tax_sum, tax=tax_sum))
    subtotal, tax, gross = sum(line_nets, zero), sum(line_taxes, zero), sum(reduced, zero)
    return Totals(
        currency=currency,
        subtotal=subtotal,
        discount=subtotal - (gross - tax),
        net=gross - tax,
        tax_groups=tuple(groups),
        tax=tax,
        gross=gross,
        line_nets=tuple(line_nets),
        line_taxes=tuple(line_taxes),
        line_grosses=tuple(reduced),
        entered_discount=sum(group_discounts, zero),
    )


def _taxes_within(rate: Decimal, grosses: Sequence[Decimal], currency: str, tax_mode: TaxMode) -> tuple[Decimal, ...]:
    exact = [tax_within(gross, rate) for gross in grosses]
    if tax_mode is TaxMode.PER_LINE:
        return tuple(round_money(tax, currency) for tax in exact)
    return share(round_money(tax_within(sum(grosses, ZERO), rate), currency), exact, currency)


def _line_taxes(rate: Decimal, bases: Sequence[Decimal], currency: str, tax_mode: TaxMode) -> tuple[Decimal, ...]:
    if tax_mode is TaxMode.PER_LINE:
        return tuple(round_money(_EXACT.multiply(base, rate), currency) for base in bases)
    group_tax = round_money(_EXACT.multiply(sum(bases, ZERO), rate), currency)
    exact = [_EXACT.multiply(base, rate) for base in bases]
    return share(group_tax, exact, currency)


def format_amount(amount: Decimal, currency: str) -> str:
    """`1,234,567.00`: groups of three in both languages, the currency's digits after the point."""
    return f"{round_money(amount, currency):,.{MINOR_UNITS[currency]}f}"


def format_money(amount: Decimal, currency: str) -> str:
    """`CNY 1,234,567.00` with a space that does not break; the code, because ¥ may be yuan or yen."""
    return f"{currency}{NO_BREAK_SPACE}{format_amount(amount, currency)}"


def money_json(amount: Decimal, currency: str) -> dict[str, str]:
    """The API's form of money: `{"amount": "1234.50", "currency": "CNY"}`, the amount a string with its digits."""
    return {"amount": f"{round_money(amount, currency):f}", "currency": currency}


def money_from_json(value: Mapping[str, str]) -> Money:
    """The inverse of `money_json`."""
    return Money(Decimal(value["amount"]), value["currency"])

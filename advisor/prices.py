"""A bill of materials in money: rental by the server-month, purchase line by line. Decimals only, one rounding rule.

An unknown price stays null and is named; totals then cover the priced lines and say that they are not complete. Without
a price of the GPU server there is no block at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext as _

from advisor.answers import (
    LineAnswer,
    MissingPriceAnswer,
    MoneyAnswer,
    PriceBookAnswer,
    PriceLineAnswer,
    PricesAnswer,
    ProblemAnswer,
    TaxGroupAnswer,
)
from advisor.bill_of_materials import Bill
from advisor.catalog_language import joined
from advisor.parts import Parts
from advisor.price_books import (
    EACH_UNIT,
    FRACTION_UNIT,
    Book,
    PartPrice,
    deposit_months,
    hourly_price,
    part_price,
    server_month_price,
    server_price,
    sum_of_parts,
)
from catalog.money import LineInput, money_json, round_money, totals

RENTAL, PURCHASE = "rental", "purchase"
# China VAT: goods and the lease of movable things 13 %, services 6 %. Other currencies: tax is settled at invoice.
TAX_RATES: Mapping[str, tuple[Decimal, Decimal]] = {"CNY": (Decimal("0.13"), Decimal("0.06"))}
NO_TAX = (Decimal(0), Decimal(0))
MONTHLY, YEARLY, PER_SPARE = "month", "year", "per spare"
WARRANTY_YEARS = 3
CONTROL_ROLE = "control"  # the management node whose hardware stands in for an appliance of unpublished parts
MONTHS_PER_YEAR = 12
HARDWARE_KINDS = frozenset(
    {"server", "spare_server", "switch", "cable", "optic", "storage", "management_node", "rack", "pdu"}
)
# What the market's rent of a server-month already holds (rack, power, network, its operation); storage it does not.
IN_RENT = frozenset({"switch", "cable", "optic", "management_node", "rack", "pdu"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Priced:
    """A line on its way to the total: `quantity` units of `unit`, per month where `is_monthly`."""

    entry: LineAnswer
    quantity: int
    unit: str
    price: PartPrice | None
    is_service: bool
    is_monthly: bool
    reason: str


def money(amount: Decimal, currency: str) -> MoneyAnswer:
    shown = money_json(amount, currency)
    return MoneyAnswer(amount=shown["amount"], currency=shown["currency"])


def rental_prices(
    parts: Parts, bill: Bill, book: Book | None, purchase: Book | None, *, term_months: int, on: date, currency: str
) -> tuple[PricesAnswer | None, list[ProblemAnswer]]:
    """Rent over the whole term. Fractions of the hardware's value need the purchase book of the same currency."""
    gpu_sku = bill.build.gpu.sku
    if book is None:
        return None, [_no_book(RENTAL, currency, on)]
    month = server_month_price(book, gpu_sku, bill.build.gpu_count, term_months)
    if month is None:
        return None, [_no_server_price(bill, book, on)]
    hardware = hardware_value(parts, bill, purchase) if purchase else None
    lines: list[_Priced] = []
    for entry in bill.lines:
        if entry["part_of"] or entry["kind"] in IN_RENT or entry["kind"] == "spare_server":
            continue
        if entry["kind"] == "server":
            reason = _("%(count)d GPUs x 730 h at the price of %(months)d months.") % {
                "count": bill.build.gpu_count,
                "months": term_months,
            }
            lines.append(_monthly(entry, month, term_months, reason))
        elif entry["kind"] == "service":
            if RENTAL in parts.services[entry["sku"]].bases:
                lines.append(_service(parts, entry, book, bill, hardware, purchase, term_months))
        else:
            price, reason = _rent_of_value(parts, entry, bill, month, purchase)
            lines.append(_monthly(entry, price, term_months, reason))
    return _block(RENTAL, book, lines, term_months=term_months, on=on), []


def purchase_prices(
    parts: Parts, bill: Bill, book: Book | None, *, on: date, currency: str
) -> tuple[PricesAnswer | None, list[ProblemAnswer]]:
    if book is None:
        return None, [_no_book(PURCHASE, currency, on)]
    server = server_price(book, bill.build)
    if server is None:
        return None, [_no_server_price(bill, book, on)]
    hardware = hardware_value(parts, bill, book)
    lines: list[_Priced] = []
    for entry in bill.lines:
        if entry["part_of"]:
            continue
        if entry["kind"] == "service":
            part = parts.services[entry["sku"]]
            if PURCHASE in part.bases and not part.unit.startswith(PER_SPARE):  # spares are bought with the servers
                lines.append(_service(parts, entry, book, bill, hardware, book, MONTHS_PER_YEAR))
            continue
        price = hardware_price(parts, entry, book, server)
        reason = entry["reason"]
        if price is not None and price.origin_mark == "proxy" and entry["kind"] == "management_node":
            reason = joined(reason, _("Priced as a control node; the licence of the appliance is not in it."))
        lines.append(
            _Priced(
                entry=entry,
                quantity=entry["quantity"],
                unit=EACH_UNIT,
                price=price,
                is_service=False,
                is_monthly=False,
                reason=reason,
            )
        )
    return _block(PURCHASE, book, lines, term_months=None, on=on), []


def hardware_value(parts: Parts, bill: Bill, book: Book) -> Decimal | None:
    """Value of the priced hardware of the bill; None where not even the server has a price."""
    server = server_price(book, bill.build)
    if server is None:
        return None
    total = Decimal(0)
    for entry in bill.lines:
        if entry["part_of"] or entry["kind"] not in HARDWARE_KINDS:
            continue
        price = hardware_price(parts, entry, book, server)
        if price is not None:
            total += round_money(price.amount * entry["quantity"], book.currency)
    return total


def run_cost(book: Book | None, gpu_sku: str, gpu_hours: float | None, term_months: int) -> Decimal | None:
    """Money of the GPU-hours of one run at the term's hourly price; ranks and compares, is not an offer."""
    if book is None or gpu_hours is None:
        return None
    price = hourly_price(book, gpu_sku, term_months)
    if price is None:
        return None
    return round_money(price.amount * Decimal(repr(gpu_hours)), book.currency)


def _rent_of_value(
    parts: Parts, entry: LineAnswer, bill: Bill, month: PartPrice, purchase: Book | None
) -> tuple[PartPrice | None, str]:
    """A month of what has no rent of its own: the share of its price that the servers' rent is of theirs."""
    server = server_price(purchase, bill.build) if purchase else None
    value = hardware_price(parts, entry, purchase, server) if purchase and server else None
    if purchase is None or server is None or value is None or not server.amount:
        return None, entry["reason"]
    share = month.amount / server.amount
    price = PartPrice(
        amount=round_money(value.amount * share, purchase.currency),
        unit="month",
        origin_mark="proxy",
        as_of=value.as_of,
    )
    reason = _("Rented at the servers' own share of their price, %(percent)s %% a month of %(value)s.") % {
        "percent": f"{share * 100:.2f}",
        "value": f"{purchase.currency} {round_money(value.amount, purchase.currency):,f}",
    }
    return price, joined(entry["reason"], reason)


def hardware_price(parts: Parts, entry: LineAnswer, book: Book, server: PartPrice) -> PartPrice | None:
    if entry["kind"] in ("server", "spare_server"):
        return server
    own = part_price(book, entry["sku"])
    if own is None and entry["kind"] == "management_node":
        return _node_price(parts, entry["sku"], book)
    return own


def _node_price(parts: Parts, sku: str, book: Book) -> PartPrice | None:
    """Sum of the parts; an appliance whose parts nobody publishes stands at a control node, without its licence."""
    inside = parts.management[sku].quantities
    if inside:
        return sum_of_parts(book, inside)
    control = next((node for node in parts.management.values() if node.role == CONTROL_ROLE), None)
    summed = sum_of_parts(book, control.quantities) if control else None
    return replace(summed, origin_mark="proxy") if summed else None


def _monthly(entry: LineAnswer, price: PartPrice | None, term_months: int, reason: str) -> _Priced:
    return _Priced(
        entry=entry,
        quantity=entry["quantity"] * term_months,
        unit="server_month" if entry["kind"] == "server" else "month",
        price=price,
        is_service=False,
        is_monthly=True,
        reason=reason,
    )


def _service(
    parts: Parts,
    entry: LineAnswer,
    book: Book,
    bill: Bill,
    hardware: Decimal | None,
    value_book: Book | None,
    term_months: int,
) -> _Priced:
    """A service by its fraction of the hardware's value, or by its own price in the book."""
    unit = parts.services[entry["sku"]].unit
    is_spare = unit.startswith(PER_SPARE)
    is_monthly = unit == MONTHLY or is_spare
    quantity = entry["quantity"]
    if is_monthly:
        quantity *= term_months
    elif unit == YEARLY:
        quantity *= WARRANTY_YEARS
    base = hardware
    if is_spare:
        spare = server_price(value_book, bill.build) if value_book else None
        base = spare.amount if spare else None
    price, reason = _service_price(entry, book, base)
    return _Priced(
        entry=entry,
        quantity=quantity,
        unit=unit.replace(" ", "_").replace("-", "_"),
        price=price,
        is_service=True,
        is_monthly=is_monthly,
        reason=reason,
    )


def _service_price(entry: LineAnswer, book: Book, base: Decimal | None) -> tuple[PartPrice | None, str]:
    own = part_price(book, entry["sku"])
    if own is not None:
        return own, entry["reason"]
    row = next((row for row in book.prices.get(entry["sku"], ()) if row.unit == FRACTION_UNIT), None)
    if row is None or base is None:
        return None, entry["reason"]
    price = PartPrice(
        amount=round_money(base * row.amount, book.currency),
        unit=EACH_UNIT,
        origin_mark=row.origin_mark,
        as_of=row.as_of,
    )
    share = _("%(percent)s %% of the hardware's value of %(value)s.") % {
        "percent": f"{(row.amount * 100).normalize():f}",
        "value": f"{book.currency} {round_money(base, book.currency):,f}",
    }
    return price, joined(entry["reason"], share)


def _block(basis: str, book: Book, lines: Sequence[_Priced], *, term_months: int | None, on: date) -> PricesAnswer:
    currency = book.currency
    goods_rate, service_rate = TAX_RATES.get(currency, NO_TAX)
    priced = [line for line in lines if line.price is not None]
    inputs = [
        LineInput(
            quantity=Decimal(line.quantity),
            unit_price=line.price.amount,
            tax_rate=service_rate if line.is_service else goods_rate,
        )
        for line in lines
        if line.price is not None
    ]
    summed = totals(inputs, currency)
    nets = dict(zip((id(line) for line in priced), summed.line_nets, strict=True))
    monthly = None
    if term_months is not None:
        monthly = round_money(
            sum((nets[id(line)] for line in priced if line.is_monthly), Decimal(0)) / term_months, currency
        )
    return PricesAnswer(
        basis=basis,
        currency=currency,
        term_months=term_months,
        lines=[_line_answer(line, nets.get(id(line)), book, goods_rate, service_rate) for line in lines],
        is_complete=len(priced) == len(lines),
        missing=[_missing(line.entry, book, on) for line in lines if line.price is None],
        subtotal=money(summed.subtotal, currency),
        tax_groups=[
            TaxGroupAnswer(rate=f"{group.rate:f}", base=money(group.base, currency), tax=money(group.tax, currency))
            for group in summed.tax_groups
        ],
        tax=money(summed.tax, currency),
        total=money(summed.gross, currency),
        monthly=None if monthly is None else money(monthly, currency),
        deposit=None
        if monthly is None or term_months is None
        else money(monthly * deposit_months(term_months), currency),
        price_book=PriceBookAnswer(
            code=book.code,
            name=book.name,
            valid_from=book.valid_from.isoformat(),
            as_of=book.as_of.isoformat(),
            is_indicative=book.is_indicative,
            note=_block_note(basis, book),
        ),
    )


def _block_note(basis: str, book: Book) -> str:
    if basis != RENTAL:
        return book.note
    included = _(
        "The rent of a server-month holds rack, power and network and their operation; shared storage is apart."
    )
    return joined(book.note, included)


def _line_answer(
    line: _Priced, net: Decimal | None, book: Book, goods_rate: Decimal, service_rate: Decimal
) -> PriceLineAnswer:
    price = line.price
    return PriceLineAnswer(
        sku=line.entry["sku"],
        kind=line.entry["kind"],
        name=line.entry["name"],
        quantity=line.quantity,
        unit=line.unit,
        unit_price=None if price is None else money(price.amount, book.currency),
        amount=None if net is None else money(net, book.currency),
        tax_rate=f"{service_rate if line.is_service else goods_rate:f}",
        origin_mark="" if price is None else price.origin_mark,
        as_of=price.as_of.isoformat() if price is not None and price.as_of else None,
        is_indicative=price is not None and (price.is_indicative or book.is_indicative),
        reason=line.reason,
        source_rule=line.entry["source_rule"],
        lead_time_days=None if price is None else price.lead_time_days,
    )


def _missing(entry: LineAnswer, book: Book, on: date) -> MissingPriceAnswer:
    text = _("No price of %(name)s (%(sku)s) in %(book)s on %(date)s: the line is not in the total.")
    return MissingPriceAnswer(
        sku=entry["sku"],
        book=book.code,
        date=on.isoformat(),
        message=text % {"name": entry["name"], "sku": entry["sku"], "book": book.name, "date": on.isoformat()},
    )


def _no_server_price(bill: Bill, book: Book, on: date) -> ProblemAnswer:
    text = _("%(book)s has no price on %(date)s for %(server)s with %(gpu)s, nor for all of its parts.")
    words = {"book": book.name, "server": bill.build.server.name, "gpu": bill.build.gpu.name}
    params: dict[str, float | int | str | bool | None] = {
        "server": bill.build.server.sku,
        "gpu": bill.build.gpu.sku,
        "book": book.code,
        "date": on.isoformat(),
    }
    return ProblemAnswer(
        field="/commercial",
        code="price_missing",
        message=text % (params | words),
        severity="check",
        params=params,
    )


def _no_book(basis: str, currency: str, on: date) -> ProblemAnswer:
    text = {
        RENTAL: _("No rental price book in %(currency)s is published for %(date)s."),
        PURCHASE: _("No purchase price book in %(currency)s is published for %(date)s."),
    }[basis]
    params: dict[str, float | int | str | bool | None] = {
        "basis": basis,
        "currency": currency,
        "date": on.isoformat(),
    }
    return ProblemAnswer(
        field="/commercial/currency", code="price_book_missing", message=text % params, severity="check", params=params
    )

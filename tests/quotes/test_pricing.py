"""Groups, monthly amount and deposit; every figure worked by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

from quotes.pricing import PricedLine, document_totals, group_of, is_monthly

D = Decimal


def _line(position, **changes):
    values = {
        "position": position,
        "kind": "server",
        "unit": "each",
        "quantity": D(1),
        "period_count": 1,
        "unit_price": D("100.00"),
        "discount_fraction": D(0),
        "tax_rate": D("0.13"),
    }
    return PricedLine(**(values | changes))


def test_a_rental_of_twelve_months():
    # 2 servers x 12 months x 1000.00 = 24 000.00 at 13 %; build 500.00 once at 6 %.
    # tax 3120.00 + 30.00; month: 2000.00 net, 2260.00 gross; deposit 2 months net: 4000.00.
    lines = [
        _line(1, unit="server_month", quantity=D(2), period_count=12, unit_price=D(1000)),
        _line(2, kind="service", unit="one_time", unit_price=D(500), tax_rate=D("0.06")),
    ]
    result = document_totals(lines, "CNY", deposit_months=D(2), has_monthly_amount=True)
    assert (result.totals.net, result.totals.tax, result.totals.gross) == (D(24500), D(3150), D(27650))
    assert (result.monthly_net, result.monthly_gross, result.deposit) == (D(2000), D(2260), D(4000))
    assert result.groups == (("compute", D(24000)), ("services", D(500)))


def test_a_purchase_has_no_monthly_amount_even_with_services_by_the_month():
    result = document_totals([_line(1, unit="month", quantity=D(12))], "CNY")
    assert (result.monthly_net, result.deposit) == (None, None)


def test_a_missing_price_is_named_and_is_not_zero():
    result = document_totals([_line(1), _line(2, unit_price=None)], "CNY")
    assert result.missing_positions == (2,)
    assert 2 not in result.lines
    assert result.totals.net == D(100)


def test_included_parts_and_options_stay_outside_the_total():
    lines = [_line(1), _line(2, unit_price=None, is_included=True), _line(3, unit_price=D(7), is_optional=True)]
    result = document_totals(lines, "CNY")
    assert result.totals.gross == D(113)
    assert result.missing_positions == ()
    assert result.lines[3].gross == D("7.91")  # an option is priced alone: 7.00 + 13 %


def test_the_document_discount_reaches_the_monthly_amount():
    # 1000.00 less 10 % = 900.00; 13 % = 117.00
    lines = [_line(1, unit="month", period_count=6, unit_price=D(1000))]
    result = document_totals(lines, "CNY", discount_fraction=D("0.1"), has_monthly_amount=True)
    assert (result.monthly_net, result.monthly_gross) == (D(900), D(1017))


@pytest.mark.parametrize(
    ("kind", "group"),
    [("server", "compute"), ("spare_server", "compute"), ("optic", "network"), ("pdu", "facility"), ("x", "other")],
)
def test_groups_of_kinds(kind, group):
    assert group_of(kind) == group


def test_units_by_the_month():
    assert [
        unit for unit in ("month", "server_month", "per_spare_server_month", "each", "year") if is_monthly(unit)
    ] == [
        "month",
        "server_month",
        "per_spare_server_month",
    ]

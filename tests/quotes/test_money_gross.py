"""Prices entered with tax, discounts as amounts: the right cent where others reported a wrong one, sums that hold."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.money import LineInput, TaxMode, minor_unit, totals

D = Decimal


def _line(quantity, unit_price, tax_rate, discount="0", amount="0"):
    return LineInput(
        quantity=D(quantity),
        unit_price=D(unit_price),
        tax_rate=D(tax_rate),
        discount_fraction=D(discount),
        discount_amount=D(amount),
    )


class TestReportedCents:
    """(lines entered with tax) -> net, tax, gross; each from a public report, reworked by hand."""

    @pytest.mark.parametrize(
        ("lines", "rate", "net", "tax", "gross"),
        [
            # invoiceninja #2101: the total of 353.90 must not move when its tax is named; 353.90 x 0.19/1.19 = 56.505
            ([("1", "340.00"), ("1", "13.90")], "0.19", "297.39", "56.51", "353.90"),
            # odoo #34842: 8.01 stays 8.01; 8.01 x 0.2/1.2 = 1.335
            ([("1", "8.01")], "0.20", "6.67", "1.34", "8.01"),
            # OCA l10n-spain #5059: 29.99 was reported; 30 x 0.21/1.21 = 5.2066
            ([("1", "15"), ("1", "15")], "0.21", "24.79", "5.21", "30.00"),
            # erpnext #58712: 757.99 was reported; 758 x 0.21/1.21 = 131.5537
            ([("1", "379.00"), ("1", "379.00")], "0.21", "626.45", "131.55", "758.00"),
            # shopware #18481: 617.92 was reported; 735.34 / 1.19 = 617.933
            ([("1", "549"), ("3", "59.95"), ("1", "6.49")], "0.19", "617.93", "117.41", "735.34"),
            # invoiceninja #991: 7.00 could not be reached; 7 x 0.21/1.21 = 1.2149
            ([("1", "7.00")], "0.21", "5.79", "1.21", "7.00"),
            # erpnext #42523: 144.99 was reported; 145 x 0.05/1.05 = 6.9048
            ([("1", "90"), ("1", "55")], "0.05", "138.10", "6.90", "145.00"),
        ],
        ids=["in#2101", "odoo#34842", "oca#5059", "erpnext#58712", "shopware#18481", "in#991", "erpnext#42523"],
    )
    def test_with_tax(self, lines, rate, net, tax, gross):
        result = totals([_line(quantity, price, rate) for quantity, price in lines], "EUR", prices_include_tax=True)
        assert (result.net, result.tax, result.gross) == (D(net), D(tax), D(gross))
        assert sum(result.line_nets) == D(net)

    def test_with_tax_line_by_line(self):
        # OCA l10n-spain #5059, rounded by line: 15 x 0.21/1.21 = 2.6033 -> 2.60 each, 12.40 net each
        result = totals(
            [_line(1, 15, "0.21"), _line(1, 15, "0.21")], "EUR", prices_include_tax=True, tax_mode=TaxMode.PER_LINE
        )
        assert (result.line_nets, result.net, result.tax) == ((D("12.40"), D("12.40")), D("24.80"), D("5.20"))

    def test_8500_less_an_amount_of_7500_at_19_percent(self):
        # invoiceninja #10856: exactly 1190.00
        result = totals([_line(1, 8500, "0.19")], "EUR", document_discount_amount=D(7500))
        assert (result.net, result.tax, result.gross) == (D("1000.00"), D("190.00"), D("1190.00"))

    def test_a_line_less_all_of_it_is_nothing(self):
        # invoiceninja #3195: 2.25 x 64.22 = 144.495 less 100 % gave -0.01
        assert totals([_line("2.25", "64.22", "0.21", "1")], "USD").gross == D("0.00")
        assert totals([_line("2.25", "64.22", "0.21", amount="144.495")], "USD").gross == D("0.00")


class TestGrossByHand:
    def test_two_rates_and_a_discount(self):
        # 113.00 at 13 % and 3 x 35.33 = 105.99 at 6 %; 5 % of 218.99 = 10.9495 -> 10.95, shared 5.65 and 5.30.
        # 107.35 x 0.13/1.13 = 12.35; 100.69 x 0.06/1.06 = 5.6994 -> 5.70
        result = totals(
            [_line(1, 113, "0.13"), _line(3, "35.33", "0.06")],
            "CNY",
            document_discount_fraction=D("0.05"),
            prices_include_tax=True,
        )
        assert [(group.base, group.tax) for group in result.tax_groups] == [
            (D("95.00"), D("12.35")),
            (D("94.99"), D("5.70")),
        ]
        assert (result.subtotal, result.discount, result.entered_discount) == (D("199.99"), D("10.00"), D("10.95"))
        assert result.gross == D("218.99") - D("10.95")


LINES = st.lists(
    st.builds(
        _line,
        st.decimals("0.001", "9999", places=3),
        st.decimals("0", "99999", places=4),
        st.sampled_from(["0.13", "0.09", "0.06", "0.03", "0"]),
        st.sampled_from(["0", "0.015", "0.33333", "1"]),
    ),
    min_size=1,
    max_size=12,
)


@given(
    lines=LINES,
    currency=st.sampled_from(["CNY", "JPY", "KWD"]),
    fraction=st.sampled_from(["0", "0.015", "0.07", "0.3333"]),
    mode=st.sampled_from(list(TaxMode)),
)
def test_printed_parts_add_up_and_the_gross_is_what_was_entered(lines, currency, fraction, mode):
    full = totals(lines, currency, tax_mode=mode, prices_include_tax=True)
    result = totals(lines, currency, document_discount_fraction=D(fraction), tax_mode=mode, prices_include_tax=True)
    assert sum(result.line_nets) == result.subtotal == full.net
    assert sum(result.line_taxes) == result.tax == sum(group.tax for group in result.tax_groups)
    assert sum(result.line_grosses) == result.gross == full.gross - result.entered_discount
    assert result.subtotal - result.discount == result.net == sum(group.base for group in result.tax_groups)
    assert result.net + result.tax == result.gross
    unit = minor_unit(currency)
    for group in result.tax_groups:  # a group's tax is that of its base, but for the one rounding
        allowed = unit if mode is TaxMode.PER_RATE else unit * len(lines)
        assert abs(group.base * group.rate - group.tax) <= allowed


@given(lines=LINES, data=st.data())
def test_order_of_lines_changes_no_total(lines, data):
    shuffled = data.draw(st.permutations(lines))
    one, other = (totals(rows, "CNY", prices_include_tax=True) for rows in (lines, shuffled))
    assert (one.net, one.tax, one.gross) == (other.net, other.tax, other.gross)

"""Rounding, tax and totals: public bug reports as vectors, and invariants over random documents."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.money import (
    CurrencyMismatchError,
    LineInput,
    Money,
    TaxMode,
    UnknownCurrencyError,
    format_amount,
    format_money,
    money_from_json,
    money_json,
    round_money,
    share,
    totals,
)

D = Decimal


def _line(quantity, unit_price, tax_rate, discount="0"):
    return LineInput(
        quantity=D(quantity), unit_price=D(unit_price), tax_rate=D(tax_rate), discount_fraction=D(discount)
    )


class TestRounding:
    @pytest.mark.parametrize(
        ("amount", "currency", "rounded"),
        [
            ("0.005", "CNY", "0.01"),
            ("0.004999", "CNY", "0.00"),
            ("-0.005", "CNY", "-0.01"),
            ("-0.001", "CNY", "0.00"),
            ("2.675", "USD", "2.68"),  # the float 2.675 is below it and would give 2.67
            ("10.5", "JPY", "11"),
            ("1.0005", "KWD", "1.001"),
        ],
    )
    def test_half_goes_away_from_zero(self, amount, currency, rounded):
        assert str(round_money(D(amount), currency)) == rounded

    def test_unknown_currency_is_named(self):
        with pytest.raises(UnknownCurrencyError, match="'XXX' is not known"):
            round_money(D(1), "XXX")

    def test_nan_is_no_money(self):
        with pytest.raises(ValueError, match="not an amount"):
            round_money(D("NaN"), "CNY")


class TestMoney:
    def test_adding_two_currencies_raises(self):
        with pytest.raises(CurrencyMismatchError):
            Money(D(1), "CNY") + Money(D(1), "USD")
        with pytest.raises(CurrencyMismatchError):
            _ = Money(D(1), "CNY") < Money(D(1), "USD")

    def test_same_currency_adds_and_scales(self):
        assert (Money(D("1.10"), "CNY") + Money(D("2.20"), "CNY")) * 3 == Money(D("9.90"), "CNY")

    def test_a_float_is_refused(self):
        with pytest.raises(TypeError):
            Money(1.1, "CNY")  # type: ignore[arg-type]

    def test_json_keeps_the_digits(self):
        assert money_json(D("1234.5"), "CNY") == {"amount": "1234.50", "currency": "CNY"}
        assert money_json(D("1234.5"), "JPY") == {"amount": "1235", "currency": "JPY"}
        assert money_json(D("1E+3"), "CNY")["amount"] == "1000.00"
        assert money_from_json({"amount": "1234.50", "currency": "CNY"}) == Money(D("1234.50"), "CNY")

    def test_printed_in_groups_of_three(self):
        assert format_amount(D("1234567.5"), "CNY") == "1,234,567.50"
        assert format_amount(D("-1234.5"), "CNY") == "-1,234.50"
        assert format_money(D("1234567"), "JPY") == "JPY\u00a01,234,567"


class TestPublicReports:
    """Cases where quotation software was reported to be a cent off; outcomes worked by hand from the stated rule."""

    def test_348_35_x_16_less_4_percent_at_22_percent(self):
        # odoo #37896. 5573.60 x 0.96 = 5350.656 -> 5350.66; x 0.22 = 1177.1452 -> 1177.15; sum 6527.81.
        result = totals([_line(16, "348.35", "0.22", "0.04")], "EUR")
        assert (result.net, result.tax, result.gross) == (D("5350.66"), D("1177.15"), D("6527.81"))

    def test_55_55_and_11_11_at_23_percent_in_both_modes(self):
        # odoo #36675. Together: 66.66 x 0.23 = 15.3318 -> 15.33. Apart: 12.7765 -> 12.78, 2.5553 -> 2.56: 15.34.
        lines = [_line(1, "55.55", "0.23"), _line(1, "11.11", "0.23")]
        together, apart = totals(lines, "EUR"), totals(lines, "EUR", tax_mode=TaxMode.PER_LINE)
        assert (together.tax, together.gross) == (D("15.33"), D("81.99"))
        assert (apart.tax, apart.gross) == (D("15.34"), D("82.00"))
        # 12.7765 and 2.5553 rounded down are 12.77 and 2.55; the cent left goes to 12.7765, which lost more.
        assert together.line_taxes == (D("12.78"), D("2.55"))

    def test_8500_less_7500_at_19_percent(self):
        # invoiceninja: 1000.00 x 0.19 = 190.00.
        result = totals([_line(1, 8500, "0.19"), _line(-1, 7500, "0.19")], "EUR")
        assert (result.net, result.tax, result.gross) == (D("1000.00"), D("190.00"), D("1190.00"))


class TestTotals:
    def test_a_quote_with_two_rates_and_a_document_discount(self):
        # Worked by hand: nets 2 x 1000.00 = 2000.00 and 500.00; discount 10 % = 250.00, shared 200.00 / 50.00;
        # bases 1800.00 x 13 % = 234.00 and 450.00 x 6 % = 27.00; net 2250.00, tax 261.00, gross 2511.00.
        result = totals([_line(2, 1000, "0.13"), _line(1, 500, "0.06")], "CNY", document_discount_fraction=D("0.1"))
        assert result.subtotal == D("2500.00")
        assert result.discount == D("250.00")
        assert [(group.rate, group.base, group.tax) for group in result.tax_groups] == [
            (D("0.13"), D("1800.00"), D("234.00")),
            (D("0.06"), D("450.00"), D("27.00")),
        ]
        assert (result.net, result.tax, result.gross) == (D("2250.00"), D("261.00"), D("2511.00"))

    def test_no_lines(self):
        result = totals([], "CNY")
        assert (result.subtotal, result.tax, result.gross) == (D("0.00"), D("0.00"), D("0.00"))
        assert result.tax_groups == ()

    def test_three_thirds_share_the_last_cent(self):
        assert share(D("1.00"), [D(1), D(1), D(1)], "CNY") == (D("0.34"), D("0.33"), D("0.33"))


amounts = st.decimals(min_value=D("-99999.99"), max_value=D("9999999.99"), places=2)
lines_strategy = st.lists(
    st.builds(
        LineInput,
        quantity=st.decimals(min_value=D("0.001"), max_value=D(5000), places=3),
        unit_price=amounts,
        tax_rate=st.sampled_from([D("0.13"), D("0.09"), D("0.06"), D("0.03"), D(0)]),
        discount_fraction=st.decimals(min_value=0, max_value=1, places=4),
    ),
    max_size=12,
)


class TestInvariants:
    @given(
        lines=lines_strategy,
        currency=st.sampled_from(["CNY", "USD", "JPY", "KWD"]),
        fraction=st.decimals(min_value=0, max_value=1, places=4),
        mode=st.sampled_from(TaxMode),
    )
    def test_printed_parts_add_up(self, lines, currency, fraction, mode):
        result = totals(lines, currency, document_discount_fraction=fraction, tax_mode=mode)
        assert sum(result.line_nets, D(0)) == result.subtotal
        assert result.subtotal - result.discount == result.net
        assert sum((group.base for group in result.tax_groups), D(0)) == result.net
        assert sum((group.tax for group in result.tax_groups), D(0)) == result.tax
        assert result.net + result.tax == result.gross
        assert sum(result.line_taxes, D(0)) == result.tax
        assert sum(result.line_grosses, D(0)) == result.gross
        for value in (result.gross, result.tax, *result.line_nets, *result.line_taxes):
            assert value == round_money(value, currency)

    @given(data=st.data(), lines=lines_strategy, mode=st.sampled_from(TaxMode))
    def test_order_of_lines_changes_no_total(self, data, lines, mode):
        shuffled = data.draw(st.permutations(lines))
        one = totals(lines, "CNY", document_discount_amount=D("12.34") if lines else D(0), tax_mode=TaxMode.PER_RATE)
        two = totals(shuffled, "CNY", document_discount_amount=D("12.34") if lines else D(0), tax_mode=TaxMode.PER_RATE)
        assert (one.subtotal, one.tax_groups, one.gross) == (two.subtotal, two.tax_groups, two.gross)

    @given(
        total=amounts, weights=st.lists(st.decimals(min_value=0, max_value=10**6, places=4), min_size=1, max_size=30)
    )
    def test_shares_sum_and_stray_less_than_a_unit(self, total, weights):
        parts = share(total, weights, "CNY")
        assert sum(parts, D(0)) == total
        weight_sum = sum(weights, D(0))
        if weight_sum:
            for part, weight in zip(parts, weights, strict=True):
                assert abs(part - total * weight / weight_sum) <= D("0.01") + D("1e-15")

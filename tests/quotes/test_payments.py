"""Payment schedules add up to the total to the last fen; figures by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from quotes.payments import clean_schedule, instalments, latest_days
from quotes.services import quote_issue
from quotes.snapshot import parse
from tests.quotes.drafts import line, make_draft

D = Decimal


def _row(event, fraction, share_of="total", days=0):
    return {"event": event, "share_of": share_of, "fraction": fraction, "days": days}


def _amounts(rows, gross, recurring="0", term=None, currency="CNY"):
    found = instalments(
        clean_schedule(rows), gross=D(gross), recurring_gross=D(recurring), term_months=term, currency=currency
    )
    return [(row.event, row.amount, row.parts) for row in found]


def test_30_60_10_of_a_purchase():
    # 30 % of 100.01 = 30.003, 60 % = 60.006, 10 % = 10.001: 30.00 + 60.00 + 10.00, and the fen to the largest rest
    rows = [_row("signing", "0.3"), _row("before_dispatch", "0.6"), _row("acceptance", "0.1")]
    assert [amount for _event, amount, _parts in _amounts(rows, "100.01")] == [D("30.00"), D("60.01"), D("10.00")]


def test_twelve_rents_and_a_one_time_charge():
    # rent 1000.00 in 12 parts: 83.33 x 12 = 999.96, four of them get a fen; 200.00 of set-up on signature
    rows = [_row("monthly_in_advance", "1", "recurring", 5), _row("signing", "1", "one_time", 7)]
    assert _amounts(rows, "1200.00", "1000.00", 12) == [
        ("monthly_in_advance", D("1000.00"), ((4, D("83.34")), (8, D("83.33")))),
        ("signing", D("200.00"), ((1, D("200.00")),)),
    ]


def test_a_broken_last_quarter_is_smaller():
    # 7 months of 700.00 by quarters: 3 + 3 + 1 months
    rows = [_row("quarterly_in_advance", "1", "recurring")]
    assert _amounts(rows, "700.00", "700.00", 7)[0][2] == ((2, D("300.00")), (1, D("100.00")))


def test_what_the_schedule_does_not_speak_of_is_due_on_signature():
    assert _amounts([_row("monthly_in_advance", "1", "recurring")], "150.00", "120.00", 12)[1] == (
        "signing",
        D("30.00"),
        ((1, D("30.00")),),
    )


def test_rows_about_rent_fall_away_where_there_is_none():
    rows = [_row("monthly_in_advance", "1", "recurring"), _row("signing", "1", "one_time")]
    assert _amounts(rows, "30.00", "0", 12) == [("signing", D("30.00"), ((1, D("30.00")),))]


@given(
    weights=st.lists(st.integers(1, 1000), min_size=1, max_size=8),
    gross=st.decimals("0.01", "99999999", places=2),
    term=st.integers(1, 60),
    event=st.sampled_from(["signing", "monthly_in_arrears", "quarterly_in_advance", "yearly_in_advance"]),
)
def test_every_schedule_sums_to_the_total(weights, gross, term, event):
    total = sum(weights)
    fractions = [(D(weight) / total).quantize(D("0.0001")) for weight in weights[:-1]]
    fractions.append(1 - sum(fractions, D(0)))
    rows = [_row(event, str(fraction)) for fraction in fractions if fraction > 0]
    if sum(D(row["fraction"]) for row in rows) != 1:
        return
    found = _amounts(rows, gross, "0", term)
    assert sum(amount for _event, amount, _parts in found) == gross
    for _event, amount, parts in found:
        assert sum(count * each for count, each in parts) == amount


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("30/60/10", "list of at most"),
        ([_row("signing", "0.3"), _row("delivery", "0.6")], "add up to 90 %"),
        ([_row("signing", "0.3"), _row("delivery", "0.8")], "add up to 110 %"),
        ([_row("full_moon", "1")], "full_moon"),
        ([_row("signing", "NaN")], "above 0 %"),
        ([_row("signing", "-1"), _row("signing", "2")], "above 0 %"),
        ([_row("signing", "1", days=1.5)], "days run from"),
        ([_row("signing", "1", days=10**9)], "days run from"),
        ([_row("signing", "1") | {"amount": "5"}], "nothing else"),
        ([_row("signing", "0.5"), _row("signing", "1", "one_time")], "not of both"),
        ([_row("signing", "1e-9")] * 25, "at most"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_schedule_is_named(rows, words):
    with translation.override("en"), pytest.raises(ValidationError, match=words):
        clean_schedule(rows)


def test_the_latest_payment_counts():
    assert latest_days([_row("signing", "0.5", days=7), _row("acceptance", "0.5", days=90)]) == 90


def test_the_snapshot_prints_payments_that_sum_to_its_total(as_alice):
    rent = line("3", D("333.33"), "0.13", unit="server_month", period_count=12)
    setup = line("1", D("100.01"), "0.06", unit="one_time", kind="service")
    draft = make_draft(as_alice, basis="rental", term_months=12, lines=[rent, setup])
    issued = quote_issue(actor=as_alice, revision=draft, render=lambda content: b"%PDF")
    content = parse(issued.snapshot)
    # 3 x 12 x 333.33 = 11999.88, with 13 % 13559.86; 100.01 with 6 % 106.01
    assert [(row["event"], row["amount"]["amount"]) for row in content["payments"]] == [
        ("monthly_in_advance", "13559.86"),
        ("signing", "106.01"),
    ]
    assert content["totals"]["gross"]["amount"] == "13665.87"

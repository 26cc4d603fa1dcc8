"""Revisions side by side: what came, went and changed; expected differences are reckoned by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import translation

from quotes import snapshot
from quotes.comparing import compared
from quotes.services import AddedLine, LineEdit, quote_edit, quote_issue, quote_revise
from tests import factories
from tests.quotes.desk_pages import fake_pdf
from tests.quotes.drafts import line, make_draft


def _edit(row, **changes):
    names = ("position", "quantity", "period_count", "unit_price", "discount_fraction", "tax_rate", "change_reason")
    return LineEdit(**({name: getattr(row, name) for name in names} | changes))


@pytest.fixture
def pair(as_alice):
    """R1 with a, b and c; R2 with a dearer, b gone, c as it was and d new."""
    rows = [line("1", Decimal(100), "0.13", sku=sku, name_en=sku) for sku in ("a", "b", "c")]
    first = quote_issue(actor=as_alice, revision=make_draft(as_alice, lines=rows), render=fake_pdf)
    second = quote_revise(actor=as_alice, revision=first)
    a, b, _c = second.lines.all()
    second = quote_edit(
        actor=as_alice,
        revision=second,
        expected_version=second.content_version,
        fields={"project": "Phase 2"},
        lines=[_edit(a, unit_price=Decimal(130)), _edit(b, is_removed=True)],
        added=[AddedLine(line=line("2", Decimal(50), "0.13", sku="d", name_en="d", sized_quantity=None))],
    )
    return first, second


def _contents(pair):
    first, second = pair
    return snapshot.parse(first.snapshot), snapshot.build(second, list(second.lines.all()))


def test_lines_that_came_went_and_changed(pair):
    comparison = compared(*_contents(pair))
    assert {(change.sku, change.kind) for change in comparison.lines} == {
        ("a", "changed"),
        ("b", "removed"),
        ("d", "added"),
    }
    changed = next(change for change in comparison.lines if change.sku == "a")
    assert [(change.before, change.after) for change in changed.changes] == [
        ("CNY 100.00", "CNY 130.00"),
        ("CNY 100.00", "CNY 130.00"),
    ]


def test_the_price_difference_has_its_sign(pair):
    deltas = [change.delta for change in compared(*_contents(pair)).totals]
    # net 300 -> 130 + 100 + 100 = 330; tax 39.00 -> 42.90; gross 339.00 -> 372.90; no discount
    assert deltas == ["+30.00", "", "+30.00", "+3.90", "+33.90"]
    assert compared(*reversed(_contents(pair))).totals[-1].delta == "−33.90"


def test_the_same_content_has_no_difference(pair):
    content = _contents(pair)[0]
    assert compared(content, content).is_empty


def test_the_same_part_twice_is_told_apart(as_alice):
    draft = make_draft(as_alice, lines=[line("1", Decimal(1), "0.13", sku="x"), line("1", Decimal(1), "0.13", sku="x")])
    before = snapshot.build(draft, list(draft.lines.all()))
    lines = list(draft.lines.all())
    lines[1].quantity = Decimal(5)
    (change,) = compared(before, snapshot.build(draft, lines)).lines
    assert change.changes[0].after == "5"


def test_the_page(client, alice, pair):
    client.cookies["lang"] = "en"
    client.force_login(alice)
    key = pair[0].quote.public_id
    page = client.get(reverse("quotes:compare", args=[key, 2, 1])).content.decode()
    for words in ("What changed", "+33.90", "Phase 2", pair[0].number, "Revision 2 (draft)"):
        assert words in page
    assert client.get(reverse("quotes:compare", args=[key, 1, 1])).status_code == 404
    assert client.get(reverse("quotes:compare", args=[key, 1, 9])).status_code == 404
    client.force_login(factories.bob())
    assert client.get(reverse("quotes:compare", args=[key, 1, 2])).status_code == 404


def test_payments_are_named_by_when_they_fall_due(as_alice):
    half = [
        {"event": "signing", "share_of": "total", "fraction": "0.5", "days": 7},
        {"event": "acceptance", "share_of": "total", "fraction": "0.5", "days": 0},
    ]
    whole = [{"event": "delivery", "share_of": "total", "fraction": "1", "days": 0}]
    first, second = make_draft(as_alice, payment_schedule=half), make_draft(as_alice, payment_schedule=whole)
    contents = [snapshot.build(revision, list(revision.lines.all())) for revision in (first, second)]
    gross = Decimal(contents[0]["totals"]["gross"]["amount"])
    with translation.override("en"):
        (change,) = (change for change in compared(*contents).terms if change.label == "Payments")
        assert change.before == (
            f"on signature, within 7 days: 50% of the total, {gross / 2:,.2f}; "
            f"on acceptance: 50% of the total, {gross / 2:,.2f}"
        )
        assert change.after == f"on delivery: 100% of the total, {gross:,.2f}"
    with translation.override("zh-hans"):
        change = compared(*contents).terms[-1]
        assert change.before.startswith("合同签订后")
        assert "验收" in change.before


def test_parts_of_a_clause_stand_in_the_order_of_the_table(as_alice):
    """One side is read from sorted JSON, the other from a column whose database has an order of its own."""
    parts = {"months": 36, "response_hours": 4, "spare_parts": {"en": "on site", "zh-Hans": "现场"}}
    first, second = (snapshot.build(draft, list(draft.lines.all())) for draft in (make_draft(as_alice),) * 2)
    first["clauses"], second["clauses"] = {"warranty": parts}, {}
    forwards = compared(first, second).terms
    first["clauses"] = {"warranty": dict(reversed(parts.items()))}
    assert compared(first, second).terms == forwards

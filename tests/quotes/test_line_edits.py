"""Lines added by hand, moved and made optional; expected totals are sums by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from quotes.models import AuditEntry
from quotes.services import AddedLine, LineEdit, StaleEditError, quote_edit
from tests.quotes.drafts import line, make_draft


def _edit(row, **changes):
    names = ("position", "quantity", "period_count", "unit_price", "discount_fraction", "tax_rate", "change_reason")
    return LineEdit(**({name: getattr(row, name) for name in names} | changes))


def _skus(draft):
    return list(draft.lines.order_by("position").values_list("sku", flat=True))


@pytest.fixture
def draft(as_alice):
    rows = [
        line("1", Decimal(100), "0.13", sku="a"),
        line("2", None, "0.13", sku="a-part", is_included=True),
        line("1", Decimal(10), "0.13", sku="b"),
        line("1", Decimal(1), "0.13", sku="c"),
    ]
    return make_draft(as_alice, lines=rows)


def _save(actor, draft, **changes):
    return quote_edit(actor=actor, revision=draft, expected_version=1, fields={}, **changes)


def test_an_added_line_counts_and_keeps_its_list_price_apart(as_alice, draft):
    hand = AddedLine(line=line("3", Decimal(40), "0.06", sku="d", sized_quantity=None), list_price=Decimal(50))
    after = _save(as_alice, draft, added=[hand])
    # (100 + 10 + 1) x 1.13 + 120 x 1.06 = 125.43 + 127.20
    assert after.total_gross == Decimal("252.63")
    added = draft.lines.get(sku="d")
    assert (added.list_price, added.unit_price, added.position) == (Decimal(50), Decimal(40), 5)
    assert {"added": "d", "quantity": "3"} in AuditEntry.objects.filter(action="edit").get().after["lines"]


def test_a_line_moves_with_its_parts(as_alice, draft):
    a, _part, b, c = draft.lines.all()
    _save(as_alice, draft, order=[c.position, b.position, a.position])
    assert _skus(draft) == ["c", "b", "a", "a-part"]
    assert list(draft.lines.values_list("position", flat=True)) == [1, 2, 3, 4]
    assert AuditEntry.objects.filter(action="edit").get().after["lines"] == [{"order": ["c", "b", "a"]}]


def test_an_added_line_stands_where_it_was_put(as_alice, draft):
    a, _part, b, c = draft.lines.all()
    hand = AddedLine(line=line("1", Decimal(1), "0.13", sku="new", sized_quantity=None))
    _save(as_alice, draft, added=[hand], order=[a.position, -1, b.position, c.position])
    assert _skus(draft) == ["a", "a-part", "new", "b", "c"]


def test_lines_that_the_order_forgets_stay(as_alice, draft):
    *_others, c = draft.lines.all()
    _save(as_alice, draft, order=[c.position, 77, c.position])
    assert _skus(draft) == ["c", "a", "a-part", "b"]


def test_taking_out_and_moving_go_together(as_alice, draft):
    a, _part, b, c = draft.lines.all()
    _save(as_alice, draft, lines=[_edit(a, is_removed=True)], order=[c.position, a.position, b.position])
    assert _skus(draft) == ["c", "b"]


def test_an_optional_line_leaves_the_total(as_alice, draft):
    b = draft.lines.get(sku="b")
    after = _save(as_alice, draft, lines=[_edit(b, is_optional=True)])
    # (100 + 1) x 1.13
    assert after.total_gross == Decimal("114.13")
    again = quote_edit(
        actor=as_alice, revision=after, expected_version=2, fields={}, lines=[_edit(draft.lines.get(sku="b"))]
    )
    assert again.total_gross == Decimal("114.13"), "an edit that does not speak of it leaves an option an option"


def test_a_line_that_is_gone_saves_nothing(as_alice, draft):
    b = draft.lines.get(sku="b")
    with pytest.raises(StaleEditError):
        _save(as_alice, draft, lines=[_edit(b, quantity=Decimal(9)), _edit(b, position=99)])
    assert draft.lines.get(sku="b").quantity == 1


def test_more_lines_than_a_quote_may_have_are_refused(as_alice, draft):
    hand = AddedLine(line=line("1", Decimal(1), "0.13", sized_quantity=None))
    with pytest.raises(ValidationError, match=r"500.*501"):
        _save(as_alice, draft, added=[hand] * 497)
    assert draft.lines.count() == 4

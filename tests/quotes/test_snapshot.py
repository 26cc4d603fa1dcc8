"""The snapshot: canonical, complete, and read back only in a schema that is known."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from quotes import snapshot
from tests.quotes.drafts import line, make_draft


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice, lines=[line("3", Decimal("10.00"), "0.13")])


def _build(draft, **changes):
    return snapshot.build(draft, list(draft.lines.all()), **changes)


def test_the_same_content_gives_the_same_text(draft):
    assert snapshot.canonical(_build(draft)) == snapshot.canonical(_build(draft))


def test_text_is_sorted_and_keeps_chinese(draft):
    text = snapshot.canonical(_build(draft))
    assert text == json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert "样例客户" in text


def test_everything_printed_is_in_it(draft):
    issued_at = datetime(2026, 12, 31, 17, 0, tzinfo=UTC)  # 1 January in Shanghai
    content = _build(draft, number="Q-2027-000001", issued_at=issued_at)
    assert content["issue_date"] == "2027-01-01"
    # 3 x 10.00 = 30.00; 13 % = 3.90
    assert content["totals"]["gross"] == {"amount": "33.90", "currency": "CNY"}
    assert content["words"] == {"zh-Hans": "人民币叁拾叁元玖角", "en": "Yuan Renminbi thirty-three and 90/100 only"}
    assert content["lines"][0]["net"] == {"amount": "30.00", "currency": "CNY"}
    for part in ("seller", "customer", "terms", "price_book", "sizing", "valid_through", "time_zone"):
        assert part in content


def test_money_is_text_all_through(draft):
    def walk(value):
        assert not isinstance(value, float)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    content = _build(draft)
    content.pop("sizing")  # the engine's figures are floats, and no money
    walk(content)


def test_internal_notes_stay_inside(draft):
    draft.internal_note = "margin is thin"
    assert "margin is thin" not in snapshot.canonical(_build(draft))


def test_an_unknown_schema_is_refused():
    with pytest.raises(ValueError, match="99"):
        snapshot.parse('{"schema": 99}')


def test_other_currencies_have_english_words_only():
    assert snapshot.amount_words(Decimal("5.00"), "USD") == {"en": "US Dollar five only"}

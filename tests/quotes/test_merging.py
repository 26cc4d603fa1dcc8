"""Values as the log keeps them, so that the typed, the stored and the logged one compare equal when they are."""

from __future__ import annotations

from decimal import Decimal

import pytest

from quotes.merging import plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"event": "signing", "days": 0}, {"days": 0, "event": "signing"}),
        ([{"a": 1, "b": {"c": 2, "d": 3}}], [{"b": {"d": 3, "c": 2}, "a": 1}]),
        (Decimal("1.50"), "1.5"),
        (Decimal("100"), "1E+2"),
    ],
)
def test_the_order_of_keys_and_the_digits_of_a_column_do_not_matter(one, other):
    assert plain(one) == plain(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"event": "signing", "days": 0}, {"event": "signing", "days": 1}),
        ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}]),  # the order of payments is theirs
        ({"a": 1}, {"b": 1}),
        (Decimal("1.50"), "1.51"),
        (True, "True"),
        (None, ""),
    ],
)
def test_what_differs_stays_different(one, other):
    assert plain(one) != plain(other)

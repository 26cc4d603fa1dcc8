"""An approval that nobody can give is said before it is asked for, with the way out."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import translation

from quotes.models import DiscountLimit
from quotes.services import approvals_needed, quote_submit
from tests import factories
from tests.quotes.drafts import make_draft

D = Decimal
ABOVE_ALL = "Nobody may agree to this: the highest limit of those asked is 20%."
NO_ONE = "Nobody may agree to this: no one but the authors has the role that is asked."


@pytest.fixture
def english(client, alice):
    client.cookies["lang"] = "en"
    client.force_login(alice)
    return client


def _draft(as_alice, fraction="0.21"):
    return make_draft(as_alice, discount_fraction=D(fraction), discount_reason="volume")


def _obstacles(revision):
    with translation.override("en"):
        return [need.obstacle for need in approvals_needed(revision)]


@pytest.mark.parametrize(("fraction", "is_blocked"), [("0.2", False), ("0.20001", True)])
def test_the_highest_limit_is_the_line(as_alice, carol, fraction, is_blocked):
    (obstacle,) = _obstacles(_draft(as_alice, fraction))
    assert obstacle.startswith(ABOVE_ALL) is is_blocked
    assert bool(obstacle) is is_blocked


def test_one_with_a_limit_of_their_own_is_enough(as_alice, carol):
    draft = _draft(as_alice)
    dan = factories.staff("dan", "sales_manager")
    DiscountLimit.objects.create(role="sales_manager", user=dan, max_fraction=D("0.5"))
    assert _obstacles(draft) == [""]
    dan.is_active = False
    dan.save()
    assert _obstacles(draft)[0].startswith(ABOVE_ALL)


def test_an_author_is_nobody(as_carol):
    """Carol sells herself and is the only manager; 20 % is her own limit."""
    assert _obstacles(_draft(as_carol)) != [""]
    assert _obstacles(_draft(as_carol))[0].startswith(NO_ONE)
    factories.staff("dan", "sales_manager")
    assert _obstacles(_draft(as_carol))[0].startswith(ABOVE_ALL)


def test_terms_without_anyone_in_finance(as_alice):
    draft = make_draft(as_alice, special_terms="Penalty capped.")
    assert _obstacles(draft)[0].startswith(NO_ONE)
    factories.staff("fay", "finance_viewer")
    assert _obstacles(draft) == [""]


def test_the_pages_and_the_api_say_it_before_and_after_submission(english, as_alice, carol):
    draft = _draft(as_alice)
    submit = reverse("quotes:step", args=[draft.quote.public_id, "submit"])
    for address in (draft.get_absolute_url(), submit):
        assert ABOVE_ALL in english.get(address).content.decode(), address
    quote_submit(actor=as_alice, revision=draft)
    assert ABOVE_ALL in english.get(draft.get_absolute_url()).content.decode()
    DiscountLimit.objects.filter(role="sales_manager").update(max_fraction=D("0.25"))
    assert "Nobody may agree" not in english.get(draft.get_absolute_url()).content.decode()

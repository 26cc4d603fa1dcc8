"""The figures of how quotes end; every expected number is counted by hand, and every list agrees with its figure."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from quotes import access
from quotes.analytics import Ending, analytics_of, discount_class, size_class
from quotes.models import QuoteRevision
from quotes.services import quote_accept, quote_decline, quote_issue, quote_mark_sent, quote_revise, quote_withdraw
from tests import factories
from tests.quotes.desk_pages import fake_pdf
from tests.quotes.drafts import PROOF, line, make_draft


def _ending(**changes):
    values = {
        "outcome": "won",
        "owner": "alice",
        "basis": "rental",
        "gross": Decimal(100),
        "month": "2026-11",
        "days": None,
        "discount": None,
        "lost_reason": "",
    }
    return Ending(**(values | changes))


def test_rates_by_number_and_by_value():
    figures = analytics_of(
        [
            _ending(gross=Decimal(300), days=2.0),
            _ending(outcome="lost", gross=Decimal(100), days=10.0, lost_reason="price"),
            _ending(outcome="lost", gross=Decimal(500), lost_reason="no_answer"),
            _ending(outcome="lost", gross=Decimal(100), days=3.0, lost_reason="price"),
            _ending(outcome="open", gross=Decimal(9_999)),
        ]
    )
    assert figures.total.win_rate == pytest.approx(1 / 4)
    assert figures.total.value_rate == pytest.approx(300 / 1000)
    assert figures.total.median_days == 3.0
    assert figures.lost_reasons == [("price", 2), ("no_answer", 1)]


def test_nothing_ended_has_no_rate():
    figures = analytics_of([_ending(outcome="open")])
    assert figures.total.win_rate is None
    assert figures.total.value_rate is None
    assert figures.total.median_days is None


@pytest.mark.parametrize(
    ("gross", "place"), [("0", 0), ("999999.99", 0), ("1000000", 1), ("9999999.99", 1), ("100000000", 3)]
)
def test_classes_of_size(gross, place):
    assert size_class(Decimal(gross)) == place


@pytest.mark.parametrize(
    ("discount", "place"), [("-0.1", 0), ("0", 0), ("0.0001", 1), ("0.05", 1), ("0.2", 3), ("1", 4)]
)
def test_classes_of_discount(discount, place):
    assert discount_class(Decimal(discount)) == place


@pytest.fixture
def ended(as_alice, as_carol, monkeypatch):
    """Alice: one won in its second revision, one declined, one withdrawn, one open; Bob: one that ran out."""
    as_bob = access.actor_of(factories.bob())

    def issue(actor, price, **content):
        draft = make_draft(actor, lines=[line("1", Decimal(price), "0.13")], **content)
        return quote_issue(actor=actor, revision=draft, render=fake_pdf)

    won = issue(as_alice, 1_000_000)
    second = quote_revise(actor=as_alice, revision=won)
    won = quote_issue(actor=as_alice, revision=second, render=fake_pdf)
    quote_accept(
        actor=as_alice, revision=quote_mark_sent(actor=as_alice, revision=won, reason="x"), reason="signed", proof=PROOF
    )
    quote_decline(actor=as_alice, revision=issue(as_alice, 100), reason="too dear")
    quote_withdraw(actor=as_carol, revision=issue(as_alice, 5), reason="x")
    issue(as_alice, 7, valid_through=timezone.localdate() + timedelta(days=60))
    run_out = issue(as_bob, 1_000, valid_through=timezone.localdate())
    later = run_out.expires_at + timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    return QuoteRevision.objects.all()


@pytest.fixture
def manager(client, carol):
    client.cookies["lang"] = "en"
    client.force_login(carol)
    return client


def test_a_chain_counts_once_and_withdrawn_ones_do_not(manager, ended):
    figures = manager.get(reverse("quotes:analytics")).context["figures"]
    assert (figures.total.won, figures.total.lost, figures.total.open) == (1, 2, 1)
    # 1,130,000 of 1,130,000 + 113 + 1,130
    assert figures.total.value_rate == pytest.approx(1_130_000 / 1_131_243)
    assert [(tally.key, tally.won, tally.lost) for tally in figures.by_owner] == [("alice", 1, 1), ("bob", 0, 1)]
    assert dict(figures.lost_reasons) == {"other": 1, "no_answer": 1}


def test_every_figure_leads_to_the_quotes_that_it_counts(manager, ended):
    page = manager.get(reverse("quotes:analytics")).content.decode()
    links = re.findall(r'<a href="(/quotes/\?currency[^"]+)">(\d+)<', page)
    assert len(links) > 15
    for address, number in links:
        found = sum(total.count for total in manager.get(unescape(address)).context["totals"])
        assert found == int(number), address


def test_a_next_draft_does_not_hide_how_the_last_revision_ended(manager, as_alice):
    first = quote_issue(actor=as_alice, revision=make_draft(as_alice), render=fake_pdf)
    quote_decline(actor=as_alice, revision=first, reason="too dear")
    quote_revise(actor=as_alice, revision=first)
    assert manager.get(reverse("quotes:analytics")).context["figures"].total.lost == 1
    (row,) = manager.get(reverse("quotes:list"), {"outcome": "lost"}).context["rows"]
    assert row[0].revision_index == 1


def test_days_narrow_the_figures_and_their_links(manager, ended):
    tomorrow = (timezone.localdate() + timedelta(days=1)).isoformat()
    assert manager.get(reverse("quotes:analytics"), {"since": tomorrow}).context["figures"].total.won == 0
    page = manager.get(reverse("quotes:analytics"), {"since": "2026-01-01"}).content.decode()
    assert "since=2026-01-01" in page


@pytest.mark.parametrize("query", ["?currency=XXX", "?since=x", "?since=2026-12-01&until=2026-01-01", "?until=%00"])
def test_nonsense_is_named_and_left_out(manager, ended, query):
    page = manager.get(reverse("quotes:analytics") + query)
    assert page.status_code == 200
    assert 'id="error-summary"' in page.content.decode()


def test_a_representative_sees_the_own_figures(client, alice, ended):
    client.force_login(alice)
    assert [tally.key for tally in client.get(reverse("quotes:analytics")).context["figures"].by_owner] == ["alice"]


def test_before_the_first_quote_the_page_says_so(manager):
    assert "No quote was issued" in manager.get(reverse("quotes:analytics")).content.decode()


def test_the_main_product_is_the_largest_line_and_leads_to_its_quotes(manager, as_alice):
    """Options and parts of another line's price do not count; the second quote sells another part."""

    def issue(*rows):
        return quote_issue(actor=as_alice, revision=make_draft(as_alice, lines=rows), render=fake_pdf)

    server = line("1", Decimal(9_000), "0.13", sku="server", name_en="Server")
    cable = line("100", Decimal(10), "0.13", sku="cable", name_en="Cable")
    option = line("1", Decimal(99_000), "0.13", sku="option", name_en="Option", is_optional=True)
    first = issue(cable, server, option)
    quote_decline(actor=as_alice, revision=first, reason="too dear")
    issue(cable)
    figures = manager.get(reverse("quotes:analytics")).context["figures"]
    assert [(tally.key, tally.lost, tally.open) for tally in figures.by_product] == [("cable", 0, 1), ("server", 1, 0)]
    (row,) = manager.get(reverse("quotes:list"), {"product": "server", "outcome": "any"}).context["rows"]
    assert row[0].pk == first.pk

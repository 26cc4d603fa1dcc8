"""The desk's list: filters in the address, search, totals, pages, CSV; at ten thousand quotes too."""

from __future__ import annotations

import csv
import io
import time
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from quotes.export import guarded
from quotes.models import QuoteRevision
from quotes.services import quote_issue, quote_revise
from tests import factories
from tests.quotes.desk_pages import fake_pdf, fill
from tests.quotes.drafts import CustomerData, line, make_draft


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice, project="集群一期")


@pytest.fixture
def issued(as_alice, draft):
    return quote_issue(actor=as_alice, revision=draft, render=fake_pdf)


@pytest.fixture
def desk(client, alice):
    client.cookies["lang"] = "en"
    client.force_login(alice)
    return client


def _projects(client, **query):
    return [row.project for row, _state in client.get(reverse("quotes:list"), query).context["rows"]]


class TestFilters:
    def test_filters_stand_in_the_address(self, desk, as_alice, issued):
        make_draft(as_alice, project="Other")
        page = desk.get(reverse("quotes:list"), {"state": "issued", "q": "集群"})
        assert [row.number for row, _state in page.context["rows"]] == [issued.number]
        assert issued.number in page.content.decode()

    def test_expired_is_a_state_of_its_own(self, desk, issued, monkeypatch):
        limit = issued.expires_at
        monkeypatch.setattr(timezone, "now", lambda: limit)
        assert _projects(desk, state="expired") == ["集群一期"]
        assert _projects(desk, state="issued") == []

    def test_only_the_newest_revision_is_listed(self, desk, as_alice, issued):
        quote_revise(actor=as_alice, revision=issued)
        rows = desk.get(reverse("quotes:list")).context["rows"]
        assert [row.revision_index for row, _state in rows] == [2]

    def test_amounts_days_currency_and_basis(self, desk, as_alice):
        make_draft(as_alice, project="small", lines=[line("1", Decimal("100"), "0.13")])
        make_draft(as_alice, project="large", lines=[line("1", Decimal("1000"), "0.13")])
        make_draft(as_alice, project="dollar", currency="USD", valid_through=timezone.localdate() + timedelta(days=90))
        # 1000 x 1.13 = 1130
        assert _projects(desk, minimum="1,130", maximum="1130.00") == ["large"]
        assert _projects(desk, currency="USD") == ["dollar"]
        assert _projects(desk, basis="rental") == []
        later = (timezone.localdate() + timedelta(days=60)).isoformat()
        assert _projects(desk, dated="valid", since=later) == ["dollar"]
        assert _projects(desk, dated="created", until=(timezone.localdate() - timedelta(days=3)).isoformat()) == []

    def test_expiring_soon(self, desk, as_alice, issued):
        late = make_draft(as_alice, project="late", valid_through=timezone.localdate() + timedelta(days=60))
        quote_issue(actor=as_alice, revision=late, render=fake_pdf)
        assert _projects(desk, expiring="on") == ["集群一期"]

    def test_search_meets_number_customer_project_part_and_owner(self, desk, as_alice, issued):
        buyer = CustomerData(customer_name="Zeta Labs")
        make_draft(as_alice, project="Other", customer=buyer, lines=[line("1", Decimal(1), "0.13", sku="nvidia-h200")])
        assert _projects(desk, q=issued.number.lower()) == ["集群一期"]
        assert _projects(desk, q="zeta") == ["Other"]
        assert _projects(desk, q="H200") == ["Other"]
        assert _projects(desk, q="zeta h200") == ["Other"]
        assert _projects(desk, q="zeta 集群") == []
        assert len(_projects(desk, q="alice")) == 2
        assert _projects(desk, q="%") == []

    @pytest.mark.parametrize(
        "query", ["?state=%00", "?sort=;drop", "?page=x", "?page=99999", "?currency=XXX", "?since=x", "?minimum=1e9"]
    )
    def test_nonsense_filters_nothing(self, desk, issued, query):
        page = desk.get(reverse("quotes:list") + query)
        assert page.status_code == 200
        assert len(page.context["rows"]) == 1

    def test_exchanged_ends_are_named(self, desk, issued):
        page = desk.get(reverse("quotes:list"), {"since": "2026-12-01", "until": "2026-11-01"}).content.decode()
        assert "The last day is before the first" in page

    def test_a_representative_cannot_filter_others_in(self, desk, issued):
        other = factories.bob()
        from quotes import access

        make_draft(access.actor_of(other), project="Bob's")
        assert _projects(desk) == ["集群一期"]
        assert _projects(desk, owner="bob") == ["集群一期"]  # not a name that she may choose: ignored

    def test_a_manager_filters_by_owner(self, client, carol, issued):
        from quotes import access

        make_draft(access.actor_of(factories.bob()), project="Bob's")
        client.force_login(carol)
        assert _projects(client, owner="bob") == ["Bob's"]

    def test_totals_are_apart_by_currency(self, desk, as_alice):
        make_draft(as_alice, lines=[line("1", Decimal("100"), "0.13")])
        make_draft(as_alice, lines=[line("3", Decimal("100"), "0.13")])
        make_draft(as_alice, currency="USD", lines=[line("1", Decimal("7"), "0")])
        page = desk.get(reverse("quotes:list"))
        sums = {total.currency: (total.count, total.gross) for total in page.context["totals"]}
        # 113 + 339
        assert sums == {"CNY": (2, Decimal("452.00")), "USD": (1, Decimal("7.00"))}
        assert "CNY\xa0452.00" in page.content.decode()

    def test_column_heads_sort_both_ways_and_keep_the_filters(self, desk, as_alice):
        for price in (1, 3, 2):
            make_draft(as_alice, project=f"p{price}", lines=[line("1", Decimal(price), "0")])
        assert _projects(desk, sort="-total") == ["p3", "p2", "p1"]
        page = desk.get(reverse("quotes:list"), {"sort": "-total", "basis": "purchase"}).content.decode()
        assert 'aria-sort="descending"><a href="?sort=total&amp;basis=purchase">' in page


class TestManyQuotes:
    """Marks of the list: 12 queries at any size; 10,000 quotes as CSV within 5 seconds."""

    def test_ten_thousand(self, desk, alice, as_alice, django_assert_max_num_queries):
        draft = make_draft(as_alice)
        fill(alice, draft, 9_999, with_lines=True)
        address = reverse("quotes:list")
        for query in ({}, {"q": "sku-4320"}, {"sort": "-total", "size": "100", "page": "50"}, {"outcome": "any"}):
            with django_assert_max_num_queries(12):
                started = time.process_time()
                page = desk.get(address, query)
                seconds = time.process_time() - started
            assert page.status_code == 200
            assert seconds < 2, query  # the mark is 0.4 s; a shared machine gets five times that
        assert [row.customer_name for row, _state in desk.get(address, {"q": "sku-4320"}).context["rows"]] == [
            "Customer 4320"
        ]
        assert len(desk.get(address, {"size": "100", "page": "50"}).context["rows"]) == 100
        started = time.process_time()
        body = b"".join(desk.get(reverse("quotes:export")).streaming_content)
        assert time.process_time() - started < 5
        assert len(body.decode("utf-8-sig").splitlines()) == 10_001


def _csv(client, **query):
    response = client.get(reverse("quotes:export"), query)
    body = b"".join(response.streaming_content)
    assert body.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(body.decode("utf-8-sig"))))


class TestCsv:
    def test_the_file_has_the_rows_of_the_list(self, desk, as_alice, issued):
        make_draft(as_alice, project="Other")
        head, *rows = _csv(desk, q="集群")
        assert head[:3] == ["Number", "Revision", "State"]
        (row,) = (dict(zip(head, row, strict=True)) for row in rows)
        # 2 x 1000.00 + 13 %
        assert (row["Number"], row["State"], row["Net total"], row["Tax"], row["Total including tax"]) == (
            issued.number,
            "Issued",
            "2000.00",
            "260.00",
            "2260.00",
        )
        assert row["Valid through"] == issued.valid_through.isoformat()

    def test_words_follow_the_language(self, client, alice, issued):
        client.force_login(alice)
        client.cookies["lang"] = "zh-hans"
        head, row = _csv(client)
        assert head[2] == "状态"
        assert row[2] == "已签发"

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", " =1"])
    def test_no_cell_runs(self, text):
        assert guarded(text) == "'" + text

    def test_formulas_in_a_quote_are_shown_as_text(self, desk, as_alice):
        make_draft(as_alice, project='=HYPERLINK("http://x")')
        _head, row = _csv(desk)
        assert row[4] == '\'=HYPERLINK("http://x")'

    def test_expired_reads_expired(self, desk, issued, monkeypatch):
        limit = issued.expires_at
        monkeypatch.setattr(timezone, "now", lambda: limit)
        assert _csv(desk)[1][2] == "Expired"

    def test_only_what_the_user_may_see(self, client, issued):
        client.force_login(factories.bob())
        assert len(_csv(client)) == 1
        client.force_login(factories.charlie())
        assert client.get(reverse("quotes:export")).status_code == 404

    def test_visitors_log_in_first(self, client, issued):
        assert client.get(reverse("quotes:export")).status_code == 302


def test_revisions_are_left_as_they_were(desk, issued):
    before = QuoteRevision.objects.values_list("updated_at", flat=True)[0]
    for name in ("list", "export", "analytics"):
        response = desk.get(reverse(f"quotes:{name}"))
        _ = b"".join(response)
    assert QuoteRevision.objects.values_list("updated_at", flat=True)[0] == before

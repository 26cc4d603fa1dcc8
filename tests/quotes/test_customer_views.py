"""The customer's copy: one secret link, read, answer once; GET changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from quotes.models import AuditEntry, CustomerLink, QuoteRevision
from quotes.services import quote_issue, quote_revise, quote_share, quote_unshare, quote_withdraw
from tests.quotes.drafts import make_draft


def _bytes(content):
    return f"%PDF {content['number']}".encode()


@pytest.fixture
def issued(as_alice):
    return quote_issue(actor=as_alice, revision=make_draft(as_alice, internal_note="margin is thin"), render=_bytes)


@pytest.fixture
def token(as_alice, issued):
    return quote_share(actor=as_alice, revision=issued)


@pytest.fixture
def customer(client):
    client.cookies["lang"] = "en"
    return client


def _yes(revision, **changes):
    return {
        "name": "Buyer",
        "title": "Director",
        "company": "Sample",
        "email": "buyer@customer.example",
        "agrees": "on",
        "pdf_sha256": revision.pdf_sha256,
    } | changes


def test_the_token_itself_is_not_stored(token):
    assert token not in str(CustomerLink.objects.values().get())
    assert len(token) >= 43  # 256 bits in base64


def test_the_page_shows_the_offer_and_nothing_internal(customer, token):
    response = customer.get(reverse("customer:quote", args=[token]))
    page = response.content.decode()
    assert response.status_code == 200
    assert "2,260.00" in page
    assert "margin is thin" not in page
    # "no-referrer" would hide the origin of the customer's own answer too, and the answer would be refused
    assert response["Referrer-Policy"] == "same-origin"
    assert "no-store" in response["Cache-Control"]


def test_looking_changes_nothing(customer, token):
    before = AuditEntry.objects.count()
    for method in (customer.get, customer.head):
        method(reverse("customer:quote", args=[token]))
        method(reverse("customer:pdf", args=[token]))
    for name in ("accept", "decline"):
        assert customer.get(reverse(f"customer:{name}", args=[token])).status_code == 405
    assert AuditEntry.objects.count() == before
    assert QuoteRevision.objects.get().state == "issued"


@pytest.mark.parametrize("wrong", ["x", "0" * 43, "%2e%2e", "数"])
def test_guessed_links_find_nothing(customer, token, wrong):
    assert customer.get(f"/q/{wrong}/").status_code == 404
    assert customer.post(f"/q/{wrong}/accept").status_code == 404


def test_the_pdf_is_the_stored_one(customer, issued, token):
    assert customer.get(reverse("customer:pdf", args=[token])).content == f"%PDF {issued.number}".encode()


def test_accepting_records_who_and_what(customer, issued, token):
    address = reverse("customer:accept", args=[token])
    assert customer.post(address, _yes(issued)).status_code == 302
    assert customer.post(address, _yes(issued)).status_code == 302  # a second click
    accepted = QuoteRevision.objects.get()
    assert accepted.state == "accepted"
    assert accepted.decision["email"] == "buyer@customer.example"
    assert accepted.decision["pdf_sha256"] == issued.pdf_sha256
    assert AuditEntry.objects.filter(action="accept").count() == 1
    assert "Accepted on" in customer.get(reverse("customer:quote", args=[token])).content.decode()


def test_an_incomplete_yes_comes_back(customer, issued, token):
    response = customer.post(reverse("customer:accept", args=[token]), _yes(issued, agrees="", name=""))
    assert response.status_code == 422
    assert "buyer@customer.example" in response.content.decode()
    assert QuoteRevision.objects.get().state == "issued"


def test_a_yes_to_another_document_is_refused(customer, issued, token):
    response = customer.post(reverse("customer:accept", args=[token]), _yes(issued, pdf_sha256="0" * 64))
    assert response.status_code == 409
    assert QuoteRevision.objects.get().state == "issued"


def test_declining_needs_a_reason_from_the_list(customer, issued, token):
    address = reverse("customer:decline", args=[token])
    payload = {"name": "Buyer", "pdf_sha256": issued.pdf_sha256, "reason": "too dear"}
    for code in ("", "magic"):
        assert customer.post(address, payload | {"reason_code": code}).status_code == 422
    assert customer.post(address, payload | {"reason_code": "other", "reason": " "}).status_code == 422
    assert customer.post(address, payload | {"reason_code": "price"}).status_code == 302
    assert QuoteRevision.objects.get().decision["reason_code"] == "price"


def test_an_expired_offer_is_shown_and_not_accepted(customer, issued, token, monkeypatch):
    from quotes.services import lifecycle
    from quotes.views import customer as customer_views

    late = issued.expires_at + timedelta(seconds=1)
    for module in (customer_views, lifecycle):
        monkeypatch.setattr(module.timezone, "now", lambda: late)
    page = customer.get(reverse("customer:quote", args=[token])).content.decode()
    assert "was valid through" in page
    assert "Accept for" not in page
    assert customer.post(reverse("customer:accept", args=[token]), _yes(issued)).status_code == 409
    assert QuoteRevision.objects.get().state == "issued"


def test_a_replaced_offer_shows_no_prices(customer, as_alice, issued, token):
    quote_issue(actor=as_alice, revision=quote_revise(actor=as_alice, revision=issued), render=_bytes)
    for address in (reverse("customer:quote", args=[token]), reverse("customer:pdf", args=[token])):
        response = customer.get(address)
        assert response.status_code == 410
        assert "2,260.00" not in response.content.decode()
    assert customer.post(reverse("customer:accept", args=[token]), _yes(issued)).status_code in {409, 410}
    assert QuoteRevision.objects.get(pk=issued.pk).state == "superseded"


def test_a_withdrawn_offer_shows_no_prices(customer, as_carol, issued, token):
    quote_withdraw(actor=as_carol, revision=issued, reason="stopped")
    response = customer.get(reverse("customer:quote", args=[token]))
    assert response.status_code == 410
    assert "2,260.00" not in response.content.decode()


def test_closed_links_find_nothing(customer, as_alice, issued, token):
    assert quote_unshare(actor=as_alice, revision=issued) == 1
    assert customer.get(reverse("customer:quote", args=[token])).status_code == 404

"""Approval, duplicate, today's prices, export check, link: each page says what it will do, and does it once."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import translation

from quotes.models import CustomerLink, QuoteRevision
from quotes.services import quote_edit, quote_issue, quote_submit
from quotes.templatetags.desk import log_changes
from tests.quotes.desk_pages import fake_pdf, form_values
from tests.quotes.drafts import make_draft


@pytest.fixture
def english(client):
    client.cookies["lang"] = "en"
    return client


@pytest.fixture
def discounted(as_alice):
    """10 % off the whole: more than a representative gives alone, within what a manager may agree to."""
    draft = make_draft(as_alice)
    fields = {"discount_fraction": Decimal("0.1"), "discount_reason": "volume"}
    return quote_edit(actor=as_alice, revision=draft, expected_version=1, fields=fields)


@pytest.fixture
def submitted(as_alice, discounted):
    return quote_submit(actor=as_alice, revision=discounted)


def _step(revision, action):
    return reverse("quotes:step", args=[revision.quote.public_id, action])


def _stored():
    return QuoteRevision.objects.order_by("pk").first()


class TestApproval:
    def test_submitting_says_before_who_is_asked_and_why(self, english, alice, discounted):
        english.force_login(alice)
        page = english.get(_step(discounted, "submit")).content.decode()
        assert "10%" in page
        # 2 x 1000 less 10 % = 1800, with 13 % tax
        assert "CNY\xa02,034.00" in page
        assert english.post(_step(discounted, "submit")).status_code == 302
        assert _stored().state == "pending_approval"

    def test_issue_leads_to_the_approval_first(self, english, alice, discounted):
        english.force_login(alice)
        address = reverse("quotes:issue", args=[discounted.quote.public_id])
        assert "/step/submit/" in english.get(address).content.decode()
        assert english.post(address, {"expected_version": discounted.content_version}).status_code == 422
        assert _stored().number is None

    def test_the_author_approves_nothing(self, english, alice, submitted):
        english.force_login(alice)
        assert english.post(_step(submitted, "approve"), {"expected_sha256": "0" * 64}).status_code == 403
        page = english.get(submitted.quote.get_absolute_url()).content.decode()
        assert "/step/approve/" not in page
        assert _stored().state == "pending_approval"

    def test_another_person_approves_what_was_shown(self, english, carol, submitted):
        english.force_login(carol)
        page = english.get(_step(submitted, "approve")).content.decode()
        assert "You are asked to agree to" in page
        values = form_values(page, "step")
        assert english.post(_step(submitted, "approve"), values | {"expected_sha256": "0" * 64}).status_code == 409
        assert english.post(_step(submitted, "approve"), values).status_code == 302
        assert _stored().state == "approved"
        assert english.post(_step(submitted, "approve"), values).status_code == 409

    def test_a_rejection_needs_its_comment(self, english, carol, submitted):
        english.force_login(carol)
        assert english.post(_step(submitted, "reject"), {"comment": " "}).status_code == 422
        assert english.post(_step(submitted, "reject"), {"comment": "Too cheap."}).status_code == 302
        assert _stored().state == "draft"
        assert "Too cheap." in english.get(submitted.quote.get_absolute_url()).content.decode()

    def test_the_author_takes_it_back(self, english, alice, submitted):
        english.force_login(alice)
        assert english.post(_step(submitted, "recall"), {"reason": ""}).status_code == 302
        assert _stored().state == "draft"


class TestCopies:
    def test_a_double_click_makes_one_copy(self, english, alice, as_alice):
        issued = quote_issue(actor=as_alice, revision=make_draft(as_alice), render=fake_pdf)
        english.force_login(alice)
        address = reverse("quotes:duplicate", args=[issued.quote.public_id, 1])
        values = form_values(english.get(address).content.decode(), "step") | {"prices": "old"}
        first, second = english.post(address, values), english.post(address, values)
        assert first.url == second.url
        copy = QuoteRevision.objects.exclude(pk=issued.pk).get()
        assert (copy.state, copy.number, copy.total_gross) == ("draft", None, issued.total_gross)

    def test_old_and_new_price_stand_side_by_side(self, english, alice, as_alice):
        draft = make_draft(as_alice)
        english.force_login(alice)
        page = english.get(reverse("quotes:reprice", args=[draft.quote.public_id])).content.decode()
        assert "1,000.00" in page
        assert "not in today" in page

    def test_an_old_page_reprices_nothing(self, english, alice, as_alice):
        draft = make_draft(as_alice)
        english.force_login(alice)
        address = reverse("quotes:reprice", args=[draft.quote.public_id])
        for version in ("", "0", "x", "9" * 30):
            assert english.post(address, {"expected_version": version}).status_code == 409
        assert _stored().content_version == 1


class TestLink:
    def test_a_link_is_made_by_post_only(self, english, alice, as_alice):
        issued = quote_issue(actor=as_alice, revision=make_draft(as_alice), render=fake_pdf)
        english.force_login(alice)
        address = reverse("quotes:share", args=[issued.quote.public_id])
        assert "CNY\xa02,260.00" in english.get(address).content.decode()
        assert CustomerLink.objects.count() == 0
        assert "/q/" in english.post(address).content.decode()
        assert CustomerLink.objects.count() == 1


def test_the_export_check_is_recorded_with_its_words(english, alice, as_alice):
    draft = make_draft(as_alice)
    english.force_login(alice)
    address = reverse("quotes:export-check", args=[draft.quote.public_id])
    assert english.get(address).status_code == 200
    assert english.post(address, {"statement": ""}).status_code == 422
    assert english.post(address, {"statement": "Destination Shanghai."}).status_code == 302
    assert _stored().export_acknowledgement["statement"] == "Destination Shanghai."


def test_the_history_is_written_for_people():
    """No list brackets, no raw fraction: the log's JSON is for machines."""
    before = {"skus": [], "discount_fraction": "0.00000", "project": ""}
    after = {"skus": ["part-a", "part-b"], "discount_fraction": "0.085", "project": "Phase one"}
    with translation.override("en"):
        said = log_changes(SimpleNamespace(before=before, after=after))
        other_order = log_changes(SimpleNamespace(before=before, after=dict(reversed(after.items()))))
    assert {words.split(": ", 1)[1] for words in said} == {"— → part-a, part-b", "0% → 8.5%", "— → Phase one"}
    assert said == other_order, "databases give the keys of a JSON column in orders of their own"

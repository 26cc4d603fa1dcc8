"""A visitor's request for a quote: what arrives, what is refused, what comes back, and what the desk does with it."""

from __future__ import annotations

import functools
import io
import re
from datetime import date, timedelta

import pytest
from django.core import mail, signing
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from quotes import sizing_basis
from quotes.models import OutboxMail, QuoteRequest, QuoteRevision
from quotes.request_forms import STAMP_SALT
from quotes.services import requests as services
from quotes.views import request_desk
from quotes.views import requests as views_requests
from tests import factories

QUERY = "parameters=7B&tokens=200B&deadline_days=30&gpu=nvidia-h200-sxm5-141gb"
ADDRESS = f"/request-quote/?{QUERY}"

pytestmark = pytest.mark.usefixtures("catalog")


def stamp(age=timedelta(seconds=10)):
    """A stamp of the page as it was `age` ago."""
    signer = signing.TimestampSigner(salt=STAMP_SALT)
    moment = int((timezone.now() - age).timestamp())
    signer.timestamp = lambda: signing.b62_encode(moment)
    return signer.sign("nonce")


def _payload(**changes):
    values = {
        "company": "样例智算（演示）",
        "contact_name": "王样例",
        "email": "wang@customer.example",
        "phone": "+86 21 5555 0100",
        "destination": "中国 上海",
        "basis": "rental",
        "wanted_by": (timezone.localdate() + timedelta(days=60)).isoformat(),
        "message": "机房在临港。\n需要 6% 专票。",
        "consent": "on",
        "website": "",
        "stamp": stamp(),
    }
    given = ((name, value() if callable(value) else value) for name, value in (values | changes).items())
    return {name: value for name, value in given if value is not None}


_remembered = functools.cache(sizing_basis.answers_of_query)


@pytest.fixture(autouse=True)
def _one_search_for_one_question(monkeypatch):
    """The real answers, asked once in this file: the cache that does it for the site is emptied between tests."""
    for module in (views_requests, request_desk):
        monkeypatch.setattr(module, "answers_of_query", _remembered)


@pytest.fixture
def english(client):
    client.cookies["lang"] = "en"
    return client


def lead(client, **changes):
    response = client.post(ADDRESS, _payload(**changes))
    assert response.status_code == 302, response.content.decode()
    return QuoteRequest.objects.get(reference=response.url.split("/")[-2])


class TestThePage:
    def test_shows_answer_inputs_and_consent(self, english, db):
        html = english.get(ADDRESS).content.decode()
        assert re.search(r"1 server with 8 × H200 141GB SXM5: 8 GPUs; training takes [\d.]+ days\.", html)
        assert "200B" in html  # the tokens, carried over
        assert "kept for 730 days at most" in html
        assert 'autocomplete="organization"' in html
        assert 'autocomplete="email"' in html

    def test_a_link_that_cannot_be_sized_says_why(self, english, db):
        response = english.get("/request-quote/?parameters=banana")
        assert response.status_code == 422
        assert "banana" in response.content.decode()

    def test_without_a_sizing_there_is_no_form(self, english, db):
        response = english.get("/request-quote/")
        assert response.status_code == 422
        assert '<form class="flow"' not in response.content.decode()

    def test_what_no_cluster_can_do_may_still_be_asked(self, english, db):
        address = "/request-quote/?parameters=7B&tokens=20T&deadline_days=1&max_gpu_count=8"
        assert "No configuration meets the conditions" in english.get(address).content.decode()
        assert english.post(address, _payload()).status_code == 302
        stored = QuoteRequest.objects.get()
        assert stored.total_gross is None
        assert stored.answers["en"]["recommended"] is None


class TestSending:
    def test_everything_arrives(self, english, db):
        stored = lead(english)
        assert (stored.company, stored.contact_name, stored.email) == (
            "样例智算（演示）",
            "王样例",
            "wang@customer.example",
        )
        assert stored.message == "机房在临港。\n需要 6% 专票。"
        assert stored.query == "deadline_days=30&gpu=nvidia-h200-sxm5-141gb&parameters=7e9&tokens=2e11&v=1"
        assert (stored.state, stored.language, stored.consent_version) == ("new", "en", "2026-11")
        for language in ("zh-Hans", "en"):
            answer = stored.answers[language]
            assert answer["recommended"]["gpu"] == "nvidia-h200-sxm5-141gb"
            assert (answer["engine_version"], answer["catalog_revision"]) == (
                stored.engine_version,
                stored.catalog_revision,
            )
        block = stored.answers["en"]["recommended"]["prices"]["rental"]
        assert f"{stored.total_gross:.2f}" == block["total"]["amount"]

    def test_the_thanks_name_the_reference_and_nobody(self, english, db):
        response = english.post(ADDRESS, _payload(), follow=True)
        html = response.content.decode()
        assert QuoteRequest.objects.get().reference in html
        assert "王样例" not in html
        assert "wang@customer.example" not in html

    def test_an_unknown_reference_is_not_found(self, english, db):
        assert english.get("/request-quote/thanks/A-22222222/").status_code == 404

    def test_the_network_address_is_not_stored(self, english, db):
        stored = lead(english)
        assert stored.address_hash
        assert "127.0.0.1" not in str([getattr(stored, field.attname) for field in stored._meta.fields])

    def test_the_managers_are_told_without_personal_data(self, english, db, django_capture_on_commit_callbacks):
        factories.carol()
        with django_capture_on_commit_callbacks(execute=True):
            stored = lead(english)
        (message,) = mail.outbox
        assert message.to == ["carol@example.com"]
        assert stored.reference in message.subject
        assert f"/quotes/requests/{stored.reference}/" in message.body
        for secret in ("王样例", "wang@customer.example", "样例智算", "5555"):
            assert secret not in message.body + message.subject

    def test_the_same_twice_is_one(self, english, db):
        factories.carol()
        first, second = lead(english), lead(english, stamp=stamp(timedelta(seconds=20)))
        assert first.reference == second.reference
        assert QuoteRequest.objects.count() == 1
        assert second.sent_count == 2
        assert OutboxMail.objects.count() == 1

    def test_another_message_is_another_request(self, english, db):
        lead(english)
        lead(english, message="另一个问题")
        assert QuoteRequest.objects.count() == 2

    def test_works_with_the_csrf_check_on(self, db):
        client = Client(enforce_csrf_checks=True)
        assert client.post(ADDRESS, _payload()).status_code == 403
        page = client.get(ADDRESS).content.decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
        assert client.post(ADDRESS, _payload(csrfmiddlewaretoken=token)).status_code == 302


class TestRefusals:
    """Nothing typed is lost, and each refusal says what would pass."""

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"consent": None}, "This field is required."),
            ({"company": ""}, "This field is required."),
            ({"email": "wang@"}, "valid email"),
            ({"phone": "none"}, "such as +86 21 5555 0100"),
            ({"wanted_by": "2020-01-01"}, "2020-01-01 cannot be: write a day from"),
            ({"wanted_by": "9999-12-31"}, "9999-12-31 cannot be"),
            ({"wanted_by": "soon"}, "Enter a valid date."),
            ({"basis": "steal"}, "Select a valid choice."),
            ({"message": "x" * 2001}, "at most 2000 characters (it has 2001)"),
            ({"company": "x" * 201}, "at most 200 characters"),
            ({"company": "Evil\r\nBcc: all@example.com"}, "control character (U+000A)"),
            ({"contact_name": "a\nb"}, "control character (U+000A)"),
            ({"email": "a@b.example\nBcc: c@d.example"}, "valid email"),
            ({"destination": "a\x00b"}, "Null characters"),
            ({"stamp": "forged:1abc:xyz"}, "did not come from this page"),
            ({"stamp": None}, "did not come from this page"),
            ({"stamp": lambda: stamp(timedelta(seconds=0))}, "faster than a person writes"),
            ({"stamp": lambda: stamp(timedelta(hours=25))}, "open for more than a day"),
            ({"website": "https://spam.example"}, "Tick the box and send it once more"),
        ],
    )
    def test_says_what_is_wrong(self, english, db, changes, sentence):
        payload = _payload(**changes)
        response = english.post(ADDRESS, payload)
        html = response.content.decode()
        assert response.status_code == 422
        assert sentence in html
        assert not QuoteRequest.objects.exists()
        kept = "王样例" if "contact_name" not in changes else "样例智算（演示）"
        assert kept in html

    def test_whom_the_trap_caught_gets_through_by_one_tick(self, english, db):
        page = english.post(ADDRESS, _payload(website="filled by the browser")).content.decode()
        assert 'name="is_person"' in page
        lead(english, website="filled by the browser", is_person="on")

    def test_an_old_page_gets_through_at_the_second_click(self, english, db):
        page = english.post(ADDRESS, _payload(stamp=stamp(timedelta(days=3)))).content.decode()
        fresh = re.search(r'name="stamp" value="([^"]+)"', page)[1]
        signing.TimestampSigner(salt=STAMP_SALT).unsign(fresh, max_age=60)

    def test_a_huge_body_is_refused(self, english, db):
        response = english.post(ADDRESS, _payload(message="x" * 70_000))
        assert response.status_code == 413
        assert not QuoteRequest.objects.exists()

    def test_one_address_sends_ten_an_hour(self, english, db):
        for number in range(10):
            lead(english, message=f"Nr. {number}", email=f"p{number}@customer.example")
        response = english.post(ADDRESS, _payload(message="Nr. 11", email="p11@customer.example"))
        assert response.status_code == 429
        assert response["Retry-After"] == "3600"
        assert "Nr. 11" in response.content.decode()
        assert QuoteRequest.objects.count() == 10
        other = english.post(ADDRESS, _payload(message="Nr. 11"), REMOTE_ADDR="192.0.2.7")
        assert other.status_code == 302

    def test_a_forged_forwarded_address_opens_no_second_count(self, english, db):
        for number in range(10):
            lead(english, message=f"Nr. {number}", email=f"p{number}@customer.example")
        response = english.post(ADDRESS, _payload(message="Nr. 11"), HTTP_X_FORWARDED_FOR="198.51.100.9")
        assert response.status_code == 429

    def test_one_mailbox_is_named_ten_times_a_day(self, english, db):
        for number in range(10):
            english.post(ADDRESS, _payload(message=f"Nr. {number}"), REMOTE_ADDR=f"192.0.2.{number}")
        assert QuoteRequest.objects.count() == 10
        payload = _payload(message="Nr. 11", email="WANG@customer.example")
        assert english.post(ADDRESS, payload, REMOTE_ADDR="192.0.2.99").status_code == 429


@pytest.fixture
def stored(english, parties):
    return lead(english)


class TestTheDesk:
    def _addresses(self, reference):
        return [
            ("get", reverse("requests")),
            ("get", reverse("request-detail", args=[reference])),
            *(
                ("post", reverse(f"request-{step}", args=[reference]))
                for step in ("take", "assign", "note", "close", "draft")
            ),
        ]

    def test_visitors_log_in_first(self, english, stored):
        for method, address in self._addresses(stored.reference):
            response = getattr(english, method)(address)
            assert response.status_code == 302, address
            assert response.url.startswith("/accounts/login/"), address

    @pytest.mark.parametrize("roles", [(), ("finance_viewer",), ("catalog_editor",)])
    def test_who_does_not_sell_finds_nothing(self, english, stored, roles):
        english.force_login(factories.staff("eve", *roles))
        for method, address in self._addresses(stored.reference):
            assert getattr(english, method)(address).status_code == 404, address
        stored.refresh_from_db()
        assert (stored.state, stored.note, stored.assigned_to) == ("new", "", None)

    def test_a_taken_request_is_gone_for_colleagues_and_open_to_managers(self, english, stored, alice, carol):
        english.force_login(alice)
        english.post(reverse("request-take", args=[stored.reference]))
        stored.refresh_from_db()
        assert (stored.state, stored.assigned_to) == ("taken", alice)
        english.force_login(factories.bob())
        assert english.get(stored.get_absolute_url()).status_code == 404
        english.force_login(carol)
        assert "王样例" in english.get(stored.get_absolute_url()).content.decode()

    def test_two_cannot_take_the_same(self, stored, alice, as_carol, as_alice):
        bob = factories.bob()
        services.request_take(actor=as_carol, request=stored, assignee=bob)
        with pytest.raises(services.RequestClosedError):
            services.request_take(actor=as_alice, request=stored)

    def test_a_representative_cannot_give_it_away(self, stored, as_alice):
        with pytest.raises(services.access.NotAllowedError):
            services.request_take(actor=as_alice, request=stored, assignee=factories.bob())

    def test_note_close_and_reopen(self, english, stored, alice):
        english.force_login(alice)
        english.post(reverse("request-note", args=[stored.reference]), {"note": "Rückruf Dienstag"})
        english.post(reverse("request-close", args=[stored.reference]), {"reason": "no budget"})
        stored.refresh_from_db()
        assert (stored.note, stored.state, stored.closed_reason) == ("Rückruf Dienstag", "closed", "no budget")
        english.post(reverse("request-take", args=[stored.reference]))
        stored.refresh_from_db()
        assert (stored.state, stored.closed_reason) == ("taken", "")

    def test_the_draft_carries_everything_over(self, english, stored, alice):
        english.force_login(alice)
        page = english.get(stored.get_absolute_url()).content.decode()
        key = re.search(r'name="creation_key" value="([^"]+)"', page)[1]
        address = reverse("request-draft", args=[stored.reference])
        first = english.post(address, {"figures": "today", "creation_key": key})
        again = english.post(address, {"figures": "today", "creation_key": key})  # a double click
        assert first.url == again.url
        draft = QuoteRevision.objects.get()
        assert (draft.customer_name, draft.contact_name) == ("样例智算（演示）", "王样例")
        assert (draft.contact_email, draft.contact_phone) == ("wang@customer.example", "+86 21 5555 0100")
        assert (draft.delivery_place, draft.basis, draft.language) == ("中国 上海", "rental", "en")
        assert draft.sizing["query"] == stored.query
        assert "需要 6% 专票" in draft.internal_note
        assert draft.total_gross == stored.total_gross
        answer = stored.answers["en"]["recommended"]["prices"]["rental"]
        assert {line["sku"] for line in answer["lines"]} <= set(draft.lines.values_list("sku", flat=True))
        stored.refresh_from_db()
        assert (stored.state, stored.quote, stored.assigned_to) == ("quoted", draft.quote, alice)
        assert draft.quote.get_absolute_url() in english.get(stored.get_absolute_url()).content.decode()

    def test_the_draft_may_keep_the_figures_of_then(self, stored, as_alice):
        for answer in stored.answers.values():  # as if engine and prices had moved since
            answer["engine_version"] = "0.0.1-then"
            answer["recommended"]["prices"]["rental"]["lines"][0]["unit_price"]["amount"] = "123456.00"
        draft = services.request_draft(
            actor=as_alice, request=stored, answers=stored.answers, creation_key=services.uuid.uuid4()
        )
        assert draft.sizing["by_language"]["en"]["engine_version"] == "0.0.1-then"
        assert draft.lines.filter(unit_price="123456.00").exists()

    def test_what_has_no_configuration_becomes_no_draft(self, english, parties, alice):
        address = "/request-quote/?parameters=7B&tokens=20T&deadline_days=1&max_gpu_count=8"
        english.post(address, _payload())
        found = QuoteRequest.objects.get()
        english.force_login(alice)
        response = english.post(
            reverse("request-draft", args=[found.reference]),
            {"figures": "today", "creation_key": "8d5d6ad6-4a48-4bd5-90c8-d5f2b7b1a001"},
        )
        assert response.status_code == 422
        assert "fastest" in response.content.decode()
        assert not QuoteRevision.objects.exists()

    def test_hostile_text_stays_text(self, english, parties, alice):
        stored = lead(english, company="<script>alert(1)</script>", message="{{ 7*7 }}<img src=http://169.254.169.254>")
        english.force_login(alice)
        html = english.get(stored.get_absolute_url()).content.decode()
        assert "<script>alert(1)" not in html
        assert "&lt;script&gt;alert(1)" in html
        assert "<img src=http" not in html

    def test_the_list_takes_few_queries(self, english, stored, alice, django_assert_max_num_queries):
        english.force_login(alice)
        with django_assert_max_num_queries(14):
            english.get(reverse("requests"))


class TestForgetting:
    def test_by_mailbox(self, stored, as_alice):
        draft = services.request_draft(
            actor=as_alice, request=stored, answers=stored.answers, creation_key=services.uuid.uuid4()
        )
        out = io.StringIO()
        call_command("erase_requests", "--email", "WANG@customer.example", stdout=out)
        assert "Erased: 1" in out.getvalue()
        assert str(draft.quote.public_id) in out.getvalue()
        stored.refresh_from_db()
        values = str([getattr(stored, field.attname) for field in stored._meta.fields if field.name != "answers"])
        for secret in ("王样例", "wang@", "样例智算", "5555", "临港", "上海"):
            assert secret not in values
        assert stored.answers["en"]["recommended"]  # the sizing says nothing of the person

    def test_by_age(self, stored):
        call_command("erase_requests", "--expired", stdout=io.StringIO())
        stored.refresh_from_db()
        assert stored.erased_at is None
        QuoteRequest.objects.update(created_at=timezone.now() - timedelta(days=731))
        call_command("erase_requests", "--expired", stdout=io.StringIO())
        stored.refresh_from_db()
        assert stored.erased_at is not None
        assert (stored.state, stored.email) == ("closed", "")

    def test_an_erased_request_does_not_swallow_a_new_one(self, english, stored):
        services.requests_erase(QuoteRequest.objects.all())
        assert lead(english).reference != stored.reference

    def test_an_unknown_reference_is_said(self, db):
        with pytest.raises(CommandError):
            call_command("erase_requests", "--reference", "A-22222222")


def test_the_day_of_the_fold_is_the_sellers(english, db, settings):
    """23:30 and 00:30 in Shanghai are two days, so the same request then is two."""
    data = services.RequestData(company="a", contact_name="b", email="c@d.example", basis="rental", language="en")
    one = services._fingerprint(data, "v=1", date(2026, 11, 30))
    two = services._fingerprint(data, "v=1", date(2026, 12, 1))
    assert one != two

"""The outbox: what a mail says, when it is tried, what counts as sent, and what is seen when it does not go."""

from __future__ import annotations

import hashlib
import io
import re
import socket
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from quotes import access, files
from quotes.mail_texts import HeaderRefusedError
from quotes.models import (
    AuditEntry,
    CustomerLink,
    MailKind,
    MailState,
    OutboxMail,
    QuoteRevision,
    link_digest,
)
from quotes.services import quote_answer_by_customer, quote_issue, quote_unshare, quote_withdraw, sending
from quotes.services.mails import TooManyRecipientsError, quote_mail, reminder_mails
from quotes.states import Action, TransitionError
from tests import factories
from tests.quotes.drafts import make_draft
from tests.quotes.smtp_server import running_server

CUSTOMER = "buyer@customer.example"


def _bytes(content):
    return f"%PDF-1.7 {content['number']}".encode()


@pytest.fixture
def issue(as_alice):
    def issue(**content):
        return quote_issue(actor=as_alice, revision=make_draft(as_alice, **content), render=_bytes)

    return issue


@pytest.fixture
def issued(issue):
    return issue(contact_name="王样例", contact_email=CUSTOMER)


@pytest.fixture
def smtp(settings):
    with running_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        yield server


@pytest.fixture
def nobody_listens(settings):
    """A port on which nothing answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", taken.getsockname()[1]
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        yield


def send(actor, revision, *recipients, message=""):
    """As after the commit: a test's transaction never ends, so the first try is made here."""
    mails = quote_mail(actor=actor, revision=revision, recipients=recipients or [CUSTOMER], message=message)
    for mail in mails:
        sending.deliver(mail.pk)
        mail.refresh_from_db()
    return mails


def state_of(revision):
    return QuoteRevision.objects.get(pk=revision.pk).state


class TestTheMailOfAQuote:
    def test_carries_the_stored_document_and_an_own_link(self, smtp, as_alice, issued, client, settings):
        settings.PUBLIC_URL = "https://quotes.example"
        first, second = send(as_alice, issued, CUSTOMER, "boss@customer.example")
        assert [mail["To"] for mail in smtp.mails] == [CUSTOMER, "boss@customer.example"]
        tokens = []
        for mail in smtp.mails:
            text, document = mail.get_payload()
            assert document.get_content_type() == "application/pdf"
            assert hashlib.sha256(document.get_payload(decode=True)).hexdigest() == issued.pdf_sha256
            assert document.get_filename() == f"Quotation_{issued.number}_样例客户（演示）.pdf"
            body = text.get_payload(decode=True).decode()
            tokens.append(re.search(r"https://quotes\.example/q/([\w-]{43})/", body)[1])
        assert tokens[0] != tokens[1]
        for token in tokens:
            assert client.get(reverse("customer:quote", args=[token])).status_code == 200
            assert CustomerLink.objects.filter(token_sha256=link_digest(token)).exists()
        stored = str(list(OutboxMail.objects.values()))
        assert not [token for token in tokens if token in stored]
        assert first.message_id != second.message_id

    @pytest.mark.parametrize(
        ("language", "words", "subject"),
        [
            ("zh-Hans", ["王样例，您好", "价税合计 CNY 2,260.00", "Asia/Shanghai"], "报价单"),
            ("en", ["Dear 王样例,", "total including tax CNY 2,260.00"], "Quotation"),
            ("zh-Hans+en", ["王样例，您好", "Dear 王样例,"], "Quotation"),
        ],
    )
    def test_speaks_the_language_of_the_quote(self, as_alice, issue, mailoutbox, language, words, subject):
        revision = issue(language=language, contact_name="王样例", contact_email=CUSTOMER)
        send(as_alice, revision, message="见面谈得很好。")
        (message,) = mailoutbox
        for word in [*words, "见面谈得很好。", revision.number]:
            assert word in message.body
        assert subject in message.subject
        assert message.reply_to == ["alice@example.com"]

    def test_the_internal_note_is_in_no_mail(self, as_alice, issue, mailoutbox):
        send(as_alice, issue(internal_note="floor price 900", contact_email=CUSTOMER))
        assert "900" not in mailoutbox[0].body

    @pytest.mark.parametrize("address", ["no address", "a@b.example\nBcc: all@example.com", "a@b.example, c@d.example"])
    def test_what_is_no_address_is_refused_and_nothing_is_stored(self, as_alice, issued, address):
        with pytest.raises((ValidationError, HeaderRefusedError)):
            quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER, address])
        assert not OutboxMail.objects.exists()
        assert not issued.links.exists()

    @pytest.mark.parametrize("count", [0, 11])
    def test_goes_to_one_to_ten(self, as_alice, issued, count):
        with pytest.raises(TooManyRecipientsError):
            quote_mail(actor=as_alice, revision=issued, recipients=[f"p{n}@customer.example" for n in range(count)])

    def test_a_draft_and_a_withdrawn_quote_are_not_sent(self, as_alice, as_carol, issued):
        with pytest.raises(TransitionError):
            quote_mail(actor=as_alice, revision=make_draft(as_alice), recipients=[CUSTOMER])
        quote_withdraw(actor=as_carol, revision=issued, reason="wrong price")
        with pytest.raises(TransitionError):
            quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])

    def test_colleagues_cannot_send_it(self, issued):
        with pytest.raises(access.NotAllowedError):
            quote_mail(actor=access.actor_of(factories.bob()), revision=issued, recipients=[CUSTOMER])

    def test_a_double_click_sends_one(self, as_alice, issued, mailoutbox):
        send(as_alice, issued)
        send(as_alice, issued)
        assert len(mailoutbox) == 1


class TestSent:
    def test_from_the_first_mail_that_a_server_took(self, smtp, as_alice, issued):
        smtp.refuse["gone@customer.example"] = "550 5.1.1 no such user"
        gone, taken = quote_mail(
            actor=as_alice, revision=issued, recipients=["gone@customer.example", CUSTOMER], message=""
        )
        sending.deliver(gone.pk)
        assert state_of(issued) == "issued"
        sending.deliver(taken.pk)
        assert state_of(issued) == "sent"
        entry = AuditEntry.objects.filter(action="mark_sent").get()
        assert entry.after["recipient"] == CUSTOMER
        gone.refresh_from_db()
        assert (gone.state, gone.failure, gone.tries) == ("failed", "550 5.1.1 no such user", 1)

    def test_never_while_no_server_took_it(self, nobody_listens, as_alice, issued):
        (mail,) = send(as_alice, issued)
        assert (mail.state, mail.failure, state_of(issued)) == ("queued", "unreachable", "issued")

    def test_is_not_withdrawn_by_a_late_mail(self, as_alice, as_carol, issued, mailoutbox):
        (mail,) = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])
        quote_withdraw(actor=as_carol, revision=issued, reason="wrong price")
        sending.deliver(mail.pk)
        mail.refresh_from_db()
        assert (mail.state, mail.failure) == ("failed", "not_open")
        assert mailoutbox == []
        assert state_of(issued) == "withdrawn"

    @pytest.mark.parametrize("cause", ["closed", "other key"])
    def test_a_dead_link_does_not_go(self, as_alice, issued, mailoutbox, settings, cause):
        (mail,) = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])
        if cause == "closed":
            quote_unshare(actor=as_alice, revision=issued)
        else:
            settings.SECRET_KEY = "another key"
        sending.deliver(mail.pk)
        mail.refresh_from_db()
        assert (mail.state, mail.failure, mailoutbox) == ("failed", "link_closed", [])
        (fresh,) = send(as_alice, issued)
        assert (fresh.state, len(mailoutbox)) == ("accepted", 1)

    def test_a_link_that_went_out_outlives_the_key(self, as_alice, issued, mailoutbox, settings, client):
        send(as_alice, issued)
        address = re.search(r"/q/[\w-]{43}/", mailoutbox[0].body)[0]
        settings.SECRET_KEY = "another key"
        assert client.get(address).status_code == 200

    def test_a_damaged_document_does_not_go(self, as_alice, issued, mailoutbox, monkeypatch):
        (mail,) = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])

        def damaged(_revision):
            raise files.DamagedDocumentError

        monkeypatch.setattr(sending.files, "document_bytes", damaged)
        sending.deliver(mail.pk)
        mail.refresh_from_db()
        assert (mail.state, mail.failure) == ("failed", "document_damaged")
        assert mailoutbox == []


class TestRetries:
    def test_after_1_5_30_minutes_and_2_hours_then_failed(self, nobody_listens, as_alice, issued):
        (mail,) = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])
        now = mail.next_try_at
        for minutes in (1, 5, 30, 120):
            assert sending.deliver_due(now - timedelta(seconds=1)) == []
            (mail,) = sending.deliver_due(now)
            assert mail.state == MailState.QUEUED
            assert mail.next_try_at == now + timedelta(minutes=minutes)
            now = mail.next_try_at
        (mail,) = sending.deliver_due(now)
        assert (mail.state, mail.tries) == ("failed", 5)
        assert sending.deliver_due(now + timedelta(days=1)) == []

    def test_a_busy_server_is_asked_again_a_final_no_is_not(self, smtp, as_alice, issued):
        smtp.refuse |= {
            "busy@customer.example": "451 4.3.0 try later",
            "gone@customer.example": "550 5.1.1 no such user",
        }
        busy, gone = send(as_alice, issued, "busy@customer.example", "gone@customer.example")
        assert (busy.state, busy.failure) == ("queued", "451 4.3.0 try later")
        assert gone.state == "failed"
        smtp.refuse.clear()
        assert [mail.recipient for mail in sending.deliver_due(busy.next_try_at)] == ["busy@customer.example"]
        assert len(smtp.mails) == 1

    def test_a_slow_server_is_left_after_the_time_limit(self, smtp, as_alice, issued, monkeypatch):
        monkeypatch.setattr(sending, "SERVER_TIMEOUT_SECONDS", 0.2)
        smtp.hang_seconds = 2
        (mail,) = send(as_alice, issued)
        assert (mail.state, mail.failure) == ("queued", "timeout")

    def test_a_silent_server_holds_up_one_page_a_minute(self, nobody_listens, as_alice, issued):
        first, second = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER, "boss@customer.example"])
        sending._try_at_once([first.pk, second.pk])
        first.refresh_from_db()
        second.refresh_from_db()
        assert (first.tries, second.tries) == (1, 0)

    def test_a_killed_worker_loses_nothing_and_repeats_one_mail(self, smtp, as_alice, issued, monkeypatch):
        """It dies after the server took the mail and before the row says so."""

        class Killed(BaseException):
            pass

        def die(_mail):
            raise Killed

        (mail,) = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])
        with monkeypatch.context() as patched:
            patched.setattr(sending, "_record_accepted", die)
            with pytest.raises(Killed):
                sending.deliver(mail.pk)
        assert len(smtp.mails) == 1
        assert sending.deliver_due(timezone.now() + sending.HOLD - timedelta(seconds=5)) == []  # still held
        (mail,) = sending.deliver_due(timezone.now() + sending.HOLD + timedelta(seconds=5))
        assert (mail.state, state_of(issued)) == ("accepted", "sent")
        assert len(smtp.mails) == 2
        assert smtp.mails[0]["Message-ID"] == smtp.mails[1]["Message-ID"]
        assert sending.deliver_due(timezone.now() + timedelta(days=1)) == []

    def test_a_mail_that_kills_each_worker_ends(self, as_alice, issued, mailoutbox):
        (mail,) = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])
        OutboxMail.objects.update(tries=sending.MAX_TRIES)
        sending.deliver(mail.pk)
        mail.refresh_from_db()
        assert (mail.state, mail.failure, mailoutbox) == ("failed", "gave_up", [])

    def test_two_workers_do_not_send_the_same(self, as_alice, issued, mailoutbox):
        (mail,) = quote_mail(actor=as_alice, revision=issued, recipients=[CUSTOMER])
        OutboxMail.objects.update(held_until=timezone.now() + timedelta(minutes=1))  # another one has it
        assert sending.deliver(mail.pk) is None
        assert mailoutbox == []

    def test_no_answer_to_the_whole_mail_is_tried_again(self, smtp, as_alice, issued):
        smtp.drop_before_answer = True
        (mail,) = send(as_alice, issued)
        assert (mail.state, mail.failure) == ("queued", "unreachable")


class TestReceipts:
    def _answer(self, revision, action, **statement):
        return quote_answer_by_customer(
            actor=access.Actor(text="王样例"),
            revision=revision,
            action=action,
            pdf_sha256=revision.pdf_sha256,
            statement={"name": "王样例", **statement},
        )

    def _sent(self):
        return {mail.recipient: mail for mail in OutboxMail.objects.all()}

    def test_of_an_acceptance_to_both_sides_once(self, issued):
        for _click in range(2):
            self._answer(issued, Action.ACCEPT, email="signer@customer.example", title="CTO", company="样例")
        mails = self._sent()
        assert set(mails) == {"signer@customer.example", "alice@example.com"}
        assert OutboxMail.objects.count() == 2
        for mail in mails.values():
            assert mail.kind == MailKind.ACCEPTED
            assert issued.pdf_sha256 in mail.body
            assert "2,260.00" in mail.body
        assert "/quotes/" not in mails["signer@customer.example"].body
        assert f"/quotes/{issued.quote.public_id}/" in mails["alice@example.com"].body

    def test_of_a_refusal_to_both_sides(self, issued):
        self._answer(issued, Action.DECLINE, reason_code="price", reason="超出预算")
        mails = self._sent()
        assert set(mails) == {CUSTOMER, "alice@example.com"}
        assert "超出预算" in mails["alice@example.com"].body


class TestReminders:
    @pytest.fixture
    def ends_in(self, issue):
        def ends_in(days):
            return issue(valid_through=timezone.localdate() + timedelta(days=days))

        return ends_in

    @pytest.mark.parametrize(("days", "is_due"), [(8, False), (7, True), (3, True), (2, True), (0, True)])
    def test_from_seven_days_before(self, ends_in, days, is_due):
        revision = ends_in(days)
        assert [mail.revision_id for mail in reminder_mails()] == [revision.pk] * is_due

    def test_one_at_seven_and_one_at_two_days(self, ends_in, mailoutbox):
        revision = ends_in(9)
        for day in range(12):
            reminder_mails(timezone.now() + timedelta(days=day))
            reminder_mails(timezone.now() + timedelta(days=day))
        keys = set(OutboxMail.objects.values_list("once_key", flat=True))
        assert keys == {f"expiry:{revision.pk}:7", f"expiry:{revision.pk}:2"}
        assert set(OutboxMail.objects.values_list("recipient", flat=True)) == {"alice@example.com"}

    def test_none_for_what_was_answered(self, ends_in, as_carol):
        quote_withdraw(actor=as_carol, revision=ends_in(5), reason="x")
        assert reminder_mails() == []

    def test_the_command_makes_and_sends_them(self, ends_in, mailoutbox):
        revision = ends_in(6)
        out = io.StringIO()
        call_command("send_mail", stdout=out)
        (message,) = mailoutbox
        assert revision.number in message.subject
        assert "6" in message.body
        assert "expiry to alice@example.com: accepted" in out.getvalue()


class TestTheDesk:
    @pytest.fixture
    def desk(self, client, alice):
        client.cookies["lang"] = "en"
        client.force_login(alice)
        return client

    def test_sends_from_a_page(self, desk, issued, django_capture_on_commit_callbacks, mailoutbox):
        address = reverse("quote-mail", args=[issued.quote.public_id])
        assert CUSTOMER in desk.get(address).content.decode()
        with django_capture_on_commit_callbacks(execute=True):
            response = desk.post(address, {"recipients": f"{CUSTOMER}, boss@customer.example", "message": ""})
        assert response.status_code == 302
        assert len(mailoutbox) == 2
        assert state_of(issued) == "sent"

    def test_names_the_address_that_is_none(self, desk, issued):
        response = desk.post(
            reverse("quote-mail", args=[issued.quote.public_id]),
            {"recipients": "wang@, x@y.example", "message": "hello"},
        )
        html = response.content.decode()
        assert response.status_code == 422
        assert "“wang@” is not an e-mail address." in html
        assert "hello" in html

    def test_a_failure_stands_above_every_page_until_a_later_mail_went(self, desk, as_alice, issued, smtp):
        smtp.refuse[CUSTOMER] = "550 no such user"
        send(as_alice, issued)
        banner = "1 mail did not reach its recipient."
        for address in (reverse("quotes:list"), reverse("requests"), reverse("tokens")):
            assert banner in desk.get(address).content.decode()
        page = desk.get(reverse("mails")).content.decode()
        assert "550 no such user" in page
        assert "Send again" in page
        send(as_alice, issued, "right@customer.example")
        assert banner not in desk.get(reverse("quotes:list")).content.decode()

    def test_sends_again_by_a_button(self, desk, as_alice, issued, smtp, django_capture_on_commit_callbacks):
        smtp.refuse[CUSTOMER] = "550 no such user"
        (mail,) = send(as_alice, issued)
        smtp.refuse.clear()
        with django_capture_on_commit_callbacks(execute=True):
            desk.post(reverse("mail-retry", args=[mail.pk]))
            desk.post(reverse("mail-retry", args=[mail.pk]))
        assert [received["To"] for received in smtp.mails] == [CUSTOMER]
        assert state_of(issued) == "sent"

    def test_shows_mails_of_own_quotes_only(self, client, desk, as_alice, issued, mailoutbox):
        (mail,) = send(as_alice, issued)
        client.force_login(factories.bob())
        assert CUSTOMER not in client.get(reverse("mails")).content.decode()
        assert client.post(reverse("mail-retry", args=[mail.pk])).status_code == 404
        assert client.get(reverse("quote-mail", args=[issued.quote.public_id])).status_code == 404

    @pytest.mark.parametrize("roles", [(), ("finance_viewer",), ("catalog_editor",)])
    def test_who_does_not_sell_sends_nothing(self, client, issued, roles):
        client.force_login(factories.staff("eve", *roles))
        assert client.get(reverse("mails")).status_code == 404
        response = client.post(
            reverse("quote-mail", args=[issued.quote.public_id]), {"recipients": CUSTOMER, "message": ""}
        )
        assert response.status_code in {403, 404}
        assert not OutboxMail.objects.exists()


def test_the_cache_forgets_the_silent_server(nobody_listens, as_alice, issued):
    send(as_alice, issued)
    assert cache.get(sending.UNREACHABLE_KEY)

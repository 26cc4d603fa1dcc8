"""The desk's pages: who gets in, what they show, what comes back when input is wrong."""

from __future__ import annotations

import itertools

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import translation

from quotes import access, files
from quotes.models import AuditEntry, QuoteRevision
from quotes.services import quote_issue
from tests import factories
from tests.quotes.desk_pages import fake_pdf, form_values
from tests.quotes.drafts import line, make_draft


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice, project="集群一期")


@pytest.fixture
def issued(as_alice, draft):
    return quote_issue(actor=as_alice, revision=draft, render=fake_pdf)


@pytest.fixture
def english(client):
    client.cookies["lang"] = "en"
    return client


@pytest.fixture
def desk(english, alice):
    english.force_login(alice)
    return english


def _addresses(revision):
    """Every address of one quote, with its method."""
    key = revision.quote.public_id
    return [
        ("get", reverse("quotes:detail", args=[key])),
        ("get", reverse("quotes:revision", args=[key, 1])),
        ("get", reverse("quotes:pdf", args=[key, 1])),
        ("post", reverse("quotes:save", args=[key])),
        ("get", reverse("quotes:issue", args=[key])),
        ("post", reverse("quotes:issue", args=[key])),
        ("post", reverse("quotes:preview", args=[key])),
        ("get", reverse("quotes:duplicate", args=[key, 1])),
        ("post", reverse("quotes:duplicate", args=[key, 1])),
        ("get", reverse("quotes:reprice", args=[key])),
        ("post", reverse("quotes:reprice", args=[key])),
        ("get", reverse("quotes:export-check", args=[key])),
        ("post", reverse("quotes:export-check", args=[key])),
        ("post", reverse("quotes:team", args=[key])),
        ("get", reverse("quotes:share", args=[key])),
        ("post", reverse("quotes:share", args=[key])),
        ("post", reverse("quotes:unshare", args=[key])),
        *itertools.chain.from_iterable(
            (("get", reverse("quotes:step", args=[key, step])), ("post", reverse("quotes:step", args=[key, step])))
            for step in (
                "submit",
                "recall",
                "approve",
                "reject",
                "cancel",
                "mark_sent",
                "accept",
                "decline",
                "withdraw",
                "revise",
            )
        ),
    ]


class TestWhoGetsIn:
    @pytest.mark.parametrize("name", ["list", "new"])
    def test_visitors_are_sent_to_the_login(self, client, db, name):
        response = client.get(reverse(f"quotes:{name}"))
        assert response.status_code == 302
        assert response.url.startswith("/accounts/login/?next=/quotes/")

    def test_visitors_reach_no_address_of_a_quote(self, client, issued):
        before = AuditEntry.objects.count()
        for method, address in _addresses(issued):
            response = getattr(client, method)(address)
            assert response.status_code == 302, address
            assert response.url.startswith("/accounts/login/"), address
        assert AuditEntry.objects.count() == before

    @pytest.mark.parametrize("person", ["bob", "charlie", "editor"])
    def test_whom_the_quote_is_not_for_finds_nothing(self, client, issued, person):
        user = factories.staff("eve", "catalog_editor") if person == "editor" else getattr(factories, person)()
        client.force_login(user)
        before = AuditEntry.objects.count()
        for method, address in _addresses(issued):
            assert getattr(client, method)(address).status_code == 404, address
        assert AuditEntry.objects.count() == before
        assert QuoteRevision.objects.get().state == "issued"

    def test_a_viewer_reads_and_changes_nothing(self, client, issued):
        client.force_login(factories.staff("vera", "finance_viewer"))
        before = AuditEntry.objects.count()
        for method, address in _addresses(issued):
            status = getattr(client, method)(address).status_code
            reads = method == "get" and address.endswith((f"{issued.quote.public_id}/", "/r1/", "/pdf"))
            if reads:
                assert status == 200, address
            else:
                # an issued quote's issue POST is a second click: it leads back to the quote
                assert status in {403, 409, 422} or (address.endswith("/issue/") and status == 302), address
        assert AuditEntry.objects.count() == before
        assert QuoteRevision.objects.get().state == "issued"

    def test_a_manager_sees_the_quotes_of_others(self, client, issued, carol):
        client.force_login(carol)
        assert client.get(issued.quote.get_absolute_url()).status_code == 200

    def test_pages_with_prices_are_not_stored(self, desk, issued):
        for address in (reverse("quotes:list"), issued.quote.get_absolute_url()):
            assert "no-store" in desk.get(address)["Cache-Control"]


class TestIssue:
    def test_the_page_says_what_will_happen_in_numbers(self, desk, draft):
        page = desk.get(reverse("quotes:issue", args=[draft.quote.public_id])).content.decode()
        assert "CNY 2,260.00 including tax" in page
        assert "样例客户（演示）" in page

    def test_faults_are_listed_and_nothing_is_issued(self, desk, as_alice):
        draft = make_draft(as_alice, lines=[line("1", None, "0.13", sku="sku-9")])
        address = reverse("quotes:issue", args=[draft.quote.public_id])
        for response in (desk.get(address), desk.post(address, {"expected_version": 1})):
            assert "sku-9: no price in book book-1" in response.content.decode()
        assert response.status_code == 422
        assert QuoteRevision.objects.get().number is None

    def test_a_double_click_issues_once(self, desk, draft):
        address = reverse("quotes:issue", args=[draft.quote.public_id])
        first = desk.post(address, {"expected_version": 1})
        second = desk.post(address, {"expected_version": 1})
        assert (first.status_code, second.status_code) == (302, 302)
        assert first.url == second.url
        assert AuditEntry.objects.filter(action="issue").count() == 1
        assert QuoteRevision.objects.get().number.endswith("-000001")

    @pytest.mark.parametrize("version", ["", "0", "x", "9" * 30, "２"])
    def test_a_page_of_an_older_draft_issues_nothing(self, desk, draft, version):
        address = reverse("quotes:issue", args=[draft.quote.public_id])
        assert desk.post(address, {"expected_version": version}).status_code == 409
        assert QuoteRevision.objects.get().state == "draft"


class TestPdf:
    def test_issued_bytes_come_back_as_they_were(self, desk, issued):
        response = desk.get(reverse("quotes:pdf", args=[issued.quote.public_id, 1]))
        assert response.content == f"%PDF {issued.number}".encode()
        assert response["Content-Type"] == "application/pdf"
        assert response["X-Content-Type-Options"] == "nosniff"
        # RFC 5987: the Chinese name survives percent-encoded
        assert "filename*=utf-8''Quotation_" in response["Content-Disposition"]
        assert "%E6%A0%B7%E4%BE%8B%E5%AE%A2%E6%88%B7" in response["Content-Disposition"]

    def test_a_file_name_holds_nothing_that_a_file_system_minds(self, as_alice):
        draft = make_draft(as_alice)
        draft.customer_name = 'a/../b\\c:"d"\r\nx'
        assert files.file_name(draft) == "Quotation_DRAFT_a_.._b_c_d_x.pdf"

    def test_damaged_bytes_are_noticed(self, issued):
        issued.document.pdf = b"other"
        issued.document._state.fields_cache = {}
        revision = QuoteRevision.objects.get()
        revision.document.pdf = b"other"
        with pytest.raises(files.DamagedDocumentError):
            files.document_bytes(revision)

    def test_without_the_libraries_the_page_says_what_to_install(self, desk, draft, monkeypatch):
        from quotes import pdf

        def missing():
            raise pdf.PdfUnavailableError(pdf.APT_LINE)

        monkeypatch.setattr("advisor.pdf_rendering.weasyprint_module", missing)
        response = desk.get(reverse("quotes:pdf", args=[draft.quote.public_id, 1]))
        assert response.status_code == 503
        assert "apt-get install libpango-1.0-0" in response.content.decode()


def _upload(content):
    return SimpleUploadedFile("订单.pdf", content, content_type="application/pdf")


class TestSteps:
    def test_handed_over_accepted(self, desk, issued):
        key = issued.quote.public_id
        assert desk.get(reverse("quotes:step", args=[key, "mark_sent"])).status_code == 200
        assert desk.post(reverse("quotes:step", args=[key, "mark_sent"]), {"reason": ""}).status_code == 422
        assert desk.post(reverse("quotes:step", args=[key, "mark_sent"]), {"reason": "by hand"}).status_code == 302
        accept = reverse("quotes:step", args=[key, "accept"])
        assert desk.post(accept, {"reason": "signed"}).status_code == 422
        assert desk.post(accept, {"reason": "signed", "proof": _upload(b"<html>")}).status_code == 422
        assert desk.post(accept, {"reason": "signed", "proof": _upload(b"%PDF-1.7 order")}).status_code == 302
        assert QuoteRevision.objects.get().state == "accepted"
        assert desk.post(reverse("quotes:step", args=[key, "decline"]), {"reason": "x"}).status_code == 409

    def test_a_representative_may_not_withdraw(self, desk, issued):
        address = reverse("quotes:step", args=[issued.quote.public_id, "withdraw"])
        assert desk.post(address, {"reason": "x"}).status_code == 403
        assert QuoteRevision.objects.get().state == "issued"

    @pytest.mark.parametrize("step", ["edit", "issue", "view", "share", "duplicate", "nothing"])
    def test_other_words_are_no_steps(self, desk, issued, step):
        assert desk.post(reverse("quotes:step", args=[issued.quote.public_id, step])).status_code == 404

    def test_revise_and_duplicate_make_drafts(self, desk, issued):
        key = issued.quote.public_id
        values = form_values(desk.get(reverse("quotes:duplicate", args=[key, 1])).content.decode(), "step")
        desk.post(reverse("quotes:duplicate", args=[key, 1]), values)
        desk.post(reverse("quotes:step", args=[key, "revise"]))
        assert sorted(QuoteRevision.objects.values_list("state", "revision_index")) == [
            ("draft", 1),
            ("draft", 2),
            ("issued", 1),
        ]


class TestAdmin:
    def test_quotes_cannot_be_changed_there(self, client, issued):
        client.force_login(factories.root())
        address = reverse("admin:quotes_quoterevision_change", args=[issued.pk])
        assert client.get(address).status_code == 200
        assert client.post(address, {"customer_name": "x"}).status_code == 403
        assert client.post(reverse("admin:quotes_quoterevision_delete", args=[issued.pk])).status_code == 403
        action = {"action": "delete_selected", "_selected_action": [issued.pk], "post": "yes"}
        client.post(reverse("admin:quotes_quoterevision_changelist"), action)
        assert QuoteRevision.objects.get().customer_name == "样例客户（演示）"


class TestLanguages:
    @pytest.mark.parametrize(("language", "word"), [("zh-hans", "价税合计"), ("en", "Total including tax")])
    def test_both_languages_say_the_same_amount(self, client, alice, issued, language, word):
        client.force_login(alice)
        client.cookies["lang"] = language
        with translation.override(language):
            page = client.get(issued.quote.get_absolute_url()).content.decode()
        assert word in page
        assert "2,260.00" in page

    def test_no_inline_style_or_script(self, desk, issued, as_alice):
        for address in (
            reverse("quotes:list"),
            issued.quote.get_absolute_url(),
            make_draft(as_alice).quote.get_absolute_url(),
        ):
            page = desk.get(address).content.decode()
            for forbidden in (" style=", " onclick=", "hx-on", "<script>"):
                assert forbidden not in page


def test_roles_of_people(db):
    assert access.roles_of(factories.alice()) == {"sales_rep"}
    assert access.roles_of(factories.root()) == {"admin"}
    assert access.roles_of(factories.charlie()) == frozenset()
    assert access.roles_of(factories.staff("ina", "sales_rep", is_active=False)) == frozenset()

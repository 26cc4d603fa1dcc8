"""The editor: saving, adding and moving lines, totals of what is not saved, two people at once, bad input."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.urls import reverse

from quotes.models import AuditEntry, QuoteRevision
from quotes.services import quote_issue
from tests.quotes.desk_pages import fake_pdf, form_values, named, payload
from tests.quotes.drafts import line, make_draft

HTMX = {"HX-Request": "true"}


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice, project="集群一期")


@pytest.fixture
def desk(client, alice):
    client.cookies["lang"] = "en"
    client.force_login(alice)
    return client


def _save(client, draft, **changes):
    return client.post(reverse("quotes:save", args=[draft.quote.public_id]), payload(client, draft, **changes))


def _preview(client, draft, headers=None, **changes):
    address = reverse("quotes:preview", args=[draft.quote.public_id])
    return client.post(address, payload(client, draft, **changes), headers=headers)


def _stored():
    return QuoteRevision.objects.get()


class TestSaving:
    def test_an_untouched_editor_changes_nothing(self, desk, draft):
        before = _stored()
        lines = list(draft.lines.values())
        assert _save(desk, draft).status_code == 302
        after = _stored()
        assert list(draft.lines.values()) == [row | {"tax_category": "goods"} for row in lines]
        for name in ("clauses", "payment_schedule", "customer_name", "total_gross", "discount_amount", "terms_id"):
            assert getattr(after, name) == getattr(before, name), name

    def test_saving_changes_the_draft(self, desk, draft):
        response = _save(desk, draft, **{"1-unit_price": "1,500.00", "project": "二期"})
        assert response.status_code == 302
        # 2 x 1500.00 + 13 % = 3390.00
        assert (_stored().project, _stored().total_gross) == ("二期", Decimal("3390.00"))

    def test_discounts_as_percent_and_amount(self, desk, draft):
        _save(
            desk,
            draft,
            **{"1-discount_fraction": "10", "discount_amount": "300", "discount_reason": "volume"},
        )
        # 2 x 1000 less 10 % = 1800, less 300 = 1500; 13 % = 195
        assert (_stored().total_net, _stored().total_gross) == (Decimal(1500), Decimal(1695))

    def test_a_rate_of_the_tax_table(self, desk, draft):
        assert _save(desk, draft, **{"1-tax": "services:0.06"}).status_code == 302
        assert draft.lines.get().tax_category == "services"
        assert _stored().total_gross == Decimal(2120)

    def test_a_rate_that_no_table_has_is_refused(self, desk, draft):
        assert _save(desk, draft, **{"1-tax": "services:0.07"}).status_code == 422

    def test_an_option_leaves_the_total(self, desk, as_alice):
        draft = make_draft(as_alice, lines=[("1", Decimal(100), "0.13"), line("1", Decimal(7), "0.13", sku="x")])
        _save(desk, draft, **{"2-is_optional": "on"})
        assert _stored().total_gross == Decimal("113.00")

    def test_a_line_can_be_taken_out(self, desk, as_alice):
        draft = make_draft(as_alice, lines=[line("1", Decimal(5), "0.13"), line("1", Decimal(7), "0.13", sku="x")])
        _save(desk, draft, **{"1-is_removed": "on"})
        assert list(draft.lines.values_list("sku", flat=True)) == ["x"]

    def test_payments_and_clauses_are_kept(self, desk, draft):
        rows = {f"payment-{index}-event": "" for index in range(5)}
        rows |= {
            "payment-0-event": "signing",
            "payment-0-fraction": "30",
            "payment-0-share_of": "total",
            "payment-1-event": "acceptance",
            "payment-1-days": "30",
            "payment-1-fraction": "70",
            "payment-1-share_of": "total",
            "payment-2-fraction": "",
        }
        values = rows | {"clause-warranty-months": "36", "clause-invoice-kind": "special_vat"}
        assert _save(desk, draft, **values).status_code == 302
        after = _stored()
        assert [(row["event"], row["fraction"]) for row in after.payment_schedule] == [
            ("signing", "0.3"),
            ("acceptance", "0.7"),
        ]
        assert after.clauses["warranty"]["months"] == 36
        assert after.clauses["invoice"]["kind"] == "special_vat"

    def test_payments_that_miss_the_total_are_named(self, desk, draft):
        response = _save(desk, draft, **{"payment-0-fraction": "31"})
        assert response.status_code == 422
        assert "They must add up to 100 %" in response.content.decode()

    def test_three_hundred_lines_can_be_saved(self, desk, as_alice):
        """A browser sends all fields of all lines; the limit on fields must leave room for the longest quote."""
        rows = [line("1", Decimal(1), "0.13", sku=f"s{index}") for index in range(300)]
        draft = make_draft(as_alice, lines=rows)
        assert _save(desk, draft, **{"300-unit_price": "2"}).status_code == 302
        assert _stored().total_net == Decimal(301)

    def test_users_text_is_escaped(self, desk, as_alice):
        draft = make_draft(as_alice, project="<script>alert(1)</script>")
        page = desk.get(draft.quote.get_absolute_url()).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page

    def test_an_issued_quote_has_no_editor(self, desk, as_alice, draft):
        values = payload(desk, draft)
        quote_issue(actor=as_alice, revision=draft, render=fake_pdf)
        assert 'id="editor"' not in desk.get(draft.quote.get_absolute_url()).content.decode()
        for name in ("save", "preview"):
            assert desk.post(reverse(f"quotes:{name}", args=[draft.quote.public_id]), values).status_code == 409

    def test_notes_are_apart_in_words(self, desk, draft):
        page = desk.get(draft.quote.get_absolute_url()).content.decode()
        assert "The customer reads this" in page
        assert "Internal, never leaves the desk" in page


class TestBadInput:
    def test_what_was_typed_comes_back_with_the_fault(self, desk, draft):
        response = _save(desk, draft, **{"1-unit_price": "=cmd()", "project": "typed"})
        assert response.status_code == 422
        page = response.content.decode()
        assert "=cmd()" in page
        assert 'value="typed"' in page
        assert "is not a number" in page
        assert _stored().project == "集群一期"

    def test_a_wrong_line_is_named_above_the_form(self, desk, draft):
        page = _save(desk, draft, **{"1-quantity": "-1", "contact_email": "nobody"}).content.decode()
        summary = page[page.index('id="error-summary"') : page.index('id="editor"')]
        assert "2 entries need a change" in summary
        assert "Line sample-server, Quantity" in summary
        target = f"id_line-{draft.lines.get().pk}-quantity"
        assert f'href="#{target}"' in summary
        assert f'id="{target}"' in page
        assert 'href="#id_contact_email"' in summary

    @pytest.mark.parametrize(
        "changes",
        [
            {"1-quantity": "1000000", "1-unit_price": "1000000000"},
            {"valid_through": "31/12/26"},
            {"valid_through": "2020-01-01"},
            {"1-quantity": "-1"},
            {"1-period_count": "0"},
            {"1-tax": "goods:NaN"},
            {"1-discount_reason": "because"},
            {"discount_fraction": "1e2"},
            {"discount_amount": "-5"},
            {"seller": "999999"},
            {"language": "fr"},
            {"customer_note": "x" * 2001},
            {"clause-warranty-months": "x"},
            {"clause-ownership-owner": "nobody"},
            {"clause-acceptance-window_days": "99999"},
            {"payment-0-event": "never"},
            {"payment-0-days": "4000"},
            {"expected_version": "x"},
        ],
        ids=str,
    )
    def test_absurd_values_are_answered_in_words(self, desk, draft, changes):
        response = _save(desk, draft, **changes)
        assert response.status_code == 422
        assert 'id="error-summary"' in response.content.decode()
        assert _stored().content_version == 1

    @pytest.mark.parametrize(
        "changes",
        [
            {"order": "x,,-1,new-,new-x,new-99999999999999,1"},
            {"order": ""},
            {"do": "add:offer", "offer": "9" * 40},
            {"do": "up:nothing"},
            {"do": "drop:12"},
            {"do": ":::"},
            {"new-1-quantity": "1", "order": "new-1", "new-1-price_key": "x"},
            {"theirs": "seller"},
            {"clause-acceptance-tests-x-code": "1"},
            {"clause-acceptance-tests-99-code": "1"},
            {"payment-99-event": "signing"},
        ],
        ids=str,
    )
    def test_forged_names_do_no_harm(self, desk, draft, changes):
        for post in (_preview, _save):
            assert post(desk, draft, **changes).status_code in {200, 302, 409, 422}
        assert draft.lines.count() == 1


class TestWithoutSaving:
    def test_totals_of_what_was_typed(self, desk, draft):
        response = _preview(desk, draft, headers=HTMX, **{"1-quantity": "3"})
        assert response.status_code == 200
        # 3 x 1000 + 13 %
        assert "3,390.00" in response.content.decode()
        assert _stored().total_gross == Decimal("2260.00")

    def test_a_wrong_entry_is_named_instead(self, desk, draft):
        response = _preview(desk, draft, headers=HTMX, **{"1-quantity": "many"})
        assert response.status_code == 422
        assert "“many” is not a number" in response.content.decode()

    def test_the_same_without_a_script(self, desk, draft):
        page = _preview(desk, draft, do="look", **{"1-quantity": "3", "project": "typed"}).content.decode()
        assert "<html" in page
        assert "Totals, not saved yet" in page
        assert "3,390.00" in page
        assert 'value="typed"' in page
        assert "data-unsaved" in page

    def test_needed_approvals_are_told_before_they_are_asked_for(self, desk, draft):
        page = _preview(desk, draft, headers=HTMX, **{"1-discount_fraction": "30"}).content.decode()
        assert "approval" in page
        assert "30%" in page

    def test_a_free_line_is_added_named_and_saved(self, desk, draft):
        page = _preview(desk, draft, do="add:free")
        assert page.status_code == 200
        assert draft.lines.count() == 1
        values = form_values(page.content.decode())
        values |= {
            "new-1-name_en": "Training course",
            "new-1-unit_price": "500",
            "new-1-quantity": "2",
            "new-1-tax": "services:0.06",
        }
        address = reverse("quotes:save", args=[draft.quote.public_id])
        assert desk.post(address, values | {"new-1-name_en": ""}).status_code == 422
        assert desk.post(address, values).status_code == 302
        added = draft.lines.get(name_en="Training course")
        assert (added.name_zh, added.list_price, added.kind) == ("Training course", None, "service")
        # 2260.00 + 1000 x 1.06
        assert _stored().total_gross == Decimal("3320.00")

    def test_lines_move_within_their_group_and_are_saved_in_the_new_order(self, desk, as_alice):
        rows = [
            line("1", Decimal(1), "0.13", sku="a"),
            line("1", Decimal(1), "0.13", sku="n", kind="switch"),
            line("1", Decimal(1), "0.13", sku="b"),
        ]
        draft = make_draft(as_alice, lines=rows)
        third = draft.lines.get(sku="b")
        values = form_values(_preview(desk, draft, do=f"up:{third.pk}").content.decode())
        assert list(draft.lines.values_list("sku", flat=True)) == ["a", "n", "b"]
        desk.post(reverse("quotes:save", args=[draft.quote.public_id]), values)
        assert list(draft.lines.order_by("position").values_list("sku", flat=True)) == ["b", "a", "n"]

    def test_a_new_line_can_be_dropped_again(self, desk, draft):
        values = form_values(_preview(desk, draft, do="add:free").content.decode())
        address = reverse("quotes:preview", args=[draft.quote.public_id])
        page = desk.post(address, values | {"do": "drop:new-1"}).content.decode()
        assert "new-1-quantity" not in page


class TestPriceBook:
    def test_a_line_from_the_book_keeps_its_list_price(self, desk, as_alice, catalog):
        draft = make_draft(as_alice)
        page = desk.get(draft.quote.get_absolute_url())
        offers = page.context["editor"].offers
        key, offer = next((key, offer) for key, offer in offers.items() if offer.kind == "gpu")
        values = form_values(_preview(desk, draft, do="add:offer", offer=str(key)).content.decode())
        assert values["new-1-price_key"] == str(key)
        values |= {"new-1-unit_price": "1", "new-1-quantity": "8"}
        assert desk.post(reverse("quotes:save", args=[draft.quote.public_id]), values).status_code == 302
        added = draft.lines.get(sku=offer.price.sku)
        assert added.list_price == offer.unit_price
        assert (added.unit_price, added.quantity, added.name_zh) == (1, 8, offer.name_zh)


class TestTwoEditors:
    def test_entries_of_both_are_joined(self, desk, draft):
        mine = payload(desk, draft)
        _save(desk, draft, customer_address="Theirs Road 1")
        address = reverse("quotes:save", args=[draft.quote.public_id])
        response = desk.post(address, mine | {"project": "mine"})
        assert response.status_code == 409
        page = response.content.decode()
        assert "Someone else saved this draft" in page
        values = form_values(page)
        assert (values["project"], values["customer_address"]) == ("mine", "Theirs Road 1")
        assert _stored().project == "集群一期"
        assert desk.post(address, values).status_code == 302
        assert (_stored().project, _stored().customer_address) == ("mine", "Theirs Road 1")

    def test_what_both_changed_is_shown_with_both_values(self, desk, draft):
        mine = payload(desk, draft)
        _save(desk, draft, **{"project": "theirs", "1-quantity": "5"})
        address = reverse("quotes:save", args=[draft.quote.public_id])
        response = desk.post(address, mine | named(draft, {"project": "mine", "1-quantity": "7"}))
        shown = {c.key.rpartition("-")[2]: (c.typed, c.saved) for c in response.context["merge"].conflicts}
        assert shown == {"project": ("mine", "theirs"), "quantity": ("7", "5")}
        values = form_values(response.content.decode())
        key = next(c.key for c in response.context["merge"].conflicts if c.key.endswith("-quantity"))
        assert desk.post(address, values | {"theirs": key}).status_code == 302
        assert _stored().project == "mine"
        assert draft.lines.get().quantity == 5

    def test_lines_that_the_other_added_or_took_out(self, desk, as_alice):
        draft = make_draft(
            as_alice, lines=[line("1", Decimal(5), "0.13", sku="a"), line("1", Decimal(7), "0.13", sku="b")]
        )
        mine = payload(desk, draft)
        theirs = form_values(_preview(desk, draft, do="add:free").content.decode())
        theirs |= {"new-1-name_en": "Added", "new-1-unit_price": "9"} | named(draft, {"1-is_removed": "on"})
        address = reverse("quotes:save", args=[draft.quote.public_id])
        assert desk.post(address, theirs).status_code == 302
        response = desk.post(address, mine | named(draft, {"2-quantity": "3"}))
        assert response.status_code == 409
        assert response.context["merge"].lost_lines == ("a (1 × 5)",)
        assert desk.post(address, form_values(response.content.decode())).status_code == 302
        assert list(draft.lines.values_list("name_en", "sku", "quantity")) == [
            ("Sample server", "b", 3),
            ("Added", "", 1),
        ]

    def test_clauses_are_joined_as_a_whole(self, desk, draft):
        mine = payload(desk, draft)
        _save(desk, draft, **{"clause-warranty-months": "24"})
        address = reverse("quotes:save", args=[draft.quote.public_id])
        response = desk.post(address, mine | {"project": "mine"})
        values = form_values(response.content.decode())
        assert values["clause-warranty-months"] == "24"
        assert desk.post(address, values).status_code == 302
        assert _stored().clauses["warranty"]["months"] == 24


class TestByHand:
    def test_a_draft_without_a_sizing(self, desk, db):
        address = reverse("quotes:new-by-hand")
        values = {"basis": "rental", "currency": "CNY", "language": "en", "customer_name": "样例客户（演示）"}
        key = {"creation_key": "7d9f5c1e-6a86-4f39-9c39-0c8d7d5f9a01"}
        response = desk.post(address, values | key)
        assert response.status_code == 422
        assert "A rental needs its term" in response.content.decode()
        for _click in range(2):
            assert desk.post(address, values | key | {"term_months": "12"}).status_code == 302
        assert (_stored().term_months, _stored().lines.count()) == (12, 0)
        assert desk.get(_stored().quote.get_absolute_url()).status_code == 200


def test_the_timeline_tells_what_changed(desk, draft):
    _save(desk, draft, **{"project": "二期", "1-quantity": "3"})
    page = desk.get(draft.quote.get_absolute_url()).content.decode()
    assert "集群一期 → 二期" in page
    assert AuditEntry.objects.filter(action="edit").count() == 1


def test_a_quantity_off_the_sizing_is_shown_with_both_numbers(desk, draft):
    _save(desk, draft, **{"1-quantity": "3", "1-change_reason": "one spare"})
    page = desk.get(draft.quote.get_absolute_url()).content.decode()
    assert "sized 2, quoted 3" in page
    assert "Differs from the sizing" in page

"""Drafts, edits, issue, revisions and what follows, as the desk does them."""

from __future__ import annotations

import hashlib
import uuid
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone, translation

from quotes import access, snapshot
from quotes.models import AuditEntry, NumberSeries, QuoteDocument, QuoteRevision
from quotes.numbers import NumberLostError, held_number, take
from quotes.paper import paper_of
from quotes.services import (
    IssueRefusedError,
    LineEdit,
    StaleEditError,
    issue_faults,
    quote_accept,
    quote_answer_by_customer,
    quote_cancel,
    quote_decline,
    quote_duplicate,
    quote_edit,
    quote_issue,
    quote_mark_sent,
    quote_revise,
    quote_share,
    quote_withdraw,
)
from quotes.services.lifecycle import ReasonMissingError
from quotes.states import Action, State, TransitionError
from tests import factories
from tests.quotes.drafts import CUSTOMER, PROOF, line, make_draft

D = Decimal


def _bytes(content):
    return f"%PDF {content['number']}".encode()


def _issue(actor, revision, **changes):
    return quote_issue(actor=actor, revision=revision, render=_bytes, **changes)


def _edit(revision, position=1, **changes):
    row = revision.lines.get(position=position)
    names = ("quantity", "period_count", "unit_price", "discount_fraction", "tax_rate", "change_reason")
    return LineEdit(position=position, **({name: getattr(row, name) for name in names} | changes))


class TestCreation:
    def test_totals_stand_beside_the_draft(self, as_alice):
        # 2 x 1000.00 = 2000.00, 13 % = 260.00
        draft = make_draft(as_alice)
        assert (draft.total_net, draft.total_gross, draft.number) == (D("2000.00"), D("2260.00"), None)

    def test_the_same_key_twice_gives_one_quote(self, as_alice):
        key = uuid.uuid4()
        from quotes.services import quote_create

        content = {"basis": "purchase", "currency": "CNY"}
        first = quote_create(actor=as_alice, lines=[line("1", D(1), "0")], content=content, creation_key=key)
        second = quote_create(actor=as_alice, lines=[line("9", D(9), "0")], content=content, creation_key=key)
        assert first.pk == second.pk
        assert QuoteRevision.objects.count() == 1

    def test_a_viewer_cannot_make_one(self, parties):
        viewer = access.actor_of(factories.staff("vera", "finance_viewer"))
        with pytest.raises(access.NotAllowedError):
            make_draft(viewer)


class TestEditing:
    def test_lines_and_fields_change_and_are_logged(self, as_alice):
        draft = make_draft(as_alice)
        after = quote_edit(
            actor=as_alice,
            revision=draft,
            expected_version=1,
            fields={"project": "P1", "discount_fraction": D("0.1")},
            lines=[_edit(draft, unit_price=D("500.00"))],
        )
        # 2 x 500.00 less 10 % = 900.00; 13 % = 117.00
        assert (after.total_net, after.total_gross, after.content_version) == (D("900.00"), D("1017.00"), 2)
        entry = AuditEntry.objects.get(action="edit")
        assert entry.after["project"] == "P1"
        (line,) = draft.lines.all()
        assert entry.after["lines"] == [{"line": line.pk, "position": 1, "unit_price": ["1000.0000", "500.00"]}]

    def test_an_old_version_overwrites_nothing(self, as_alice):
        draft = make_draft(as_alice)
        quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={"project": "first"})
        with pytest.raises(StaleEditError):
            quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={"project": "second"})
        assert QuoteRevision.objects.get().project == "first"

    def test_currency_and_sizing_are_not_editable(self, as_alice):
        draft = make_draft(as_alice)
        with pytest.raises(ValueError, match="currency"):
            quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={"currency": "USD"})

    def test_a_line_taken_out_takes_its_parts_along(self, as_alice):
        part = line("8", None, "0.13", kind="gpu", sku="gpu", is_included=True)
        service = line("1", D(10), "0.06", kind="service", sku="service")
        draft = make_draft(as_alice, lines=[line("1", D(100), "0.13"), part, service])
        quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={}, lines=[_edit(draft, is_removed=True)])
        assert list(draft.lines.values_list("sku", flat=True)) == ["service"]

    def test_an_absurd_total_is_refused_and_nothing_kept(self, as_alice):
        draft = make_draft(as_alice)
        edit = _edit(draft, quantity=D(1_000_000), unit_price=D(1_000_000_000))
        with translation.override("en"), pytest.raises(ValidationError, match="above the largest"):
            quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={}, lines=[edit])
        assert QuoteRevision.objects.get().total_gross == D("2260.00")

    def test_another_representative_cannot_edit(self, as_alice):
        draft = make_draft(as_alice)
        with pytest.raises(access.NotAllowedError):
            quote_edit(
                actor=access.actor_of(factories.bob()), revision=draft, expected_version=1, fields={"project": "x"}
            )

    def test_an_issued_quote_is_not_edited(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        with pytest.raises(TransitionError):
            quote_edit(actor=as_alice, revision=issued, expected_version=1, fields={"project": "x"})


class TestIssue:
    def test_number_snapshot_and_pdf_come_together(self, as_alice):
        draft = make_draft(as_alice)
        assert not NumberSeries.objects.exists()
        issued = _issue(as_alice, draft)
        year = issued.seller.today(timezone.now()).year
        assert issued.number == issued.quote.number == f"Q-{year}-000001"
        assert snapshot.digest(issued.snapshot) == issued.snapshot_sha256
        content = bytes(issued.document.pdf)
        assert content == f"%PDF {issued.number}".encode()
        assert hashlib.sha256(content).hexdigest() == issued.pdf_sha256 == issued.document.sha256
        assert snapshot.parse(issued.snapshot)["totals"]["gross"] == {"amount": "2260.00", "currency": "CNY"}

    def test_numbers_follow_each_other(self, as_alice):
        numbers = [_issue(as_alice, make_draft(as_alice)).number for _ in range(3)]
        assert [number[-6:] for number in numbers] == ["000001", "000002", "000003"]

    def test_a_failing_renderer_leaves_the_draft_and_the_number(self, as_alice):
        draft = make_draft(as_alice)

        def broken(content):
            raise RuntimeError("no ink")

        with pytest.raises(RuntimeError):
            quote_issue(actor=as_alice, revision=draft, render=broken)
        stored = QuoteRevision.objects.get(pk=draft.pk)
        assert (stored.state, stored.number, stored.snapshot) == ("draft", None, "")
        assert not QuoteDocument.objects.exists()
        assert _issue(as_alice, draft).number.endswith("-000001")

    def test_a_draft_edited_while_it_is_rendered_is_not_issued(self, as_alice):
        draft = make_draft(as_alice)

        def slow(content):
            quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={"project": "meanwhile"})
            return _bytes(content)

        with pytest.raises(StaleEditError):
            quote_issue(actor=as_alice, revision=draft, render=slow)
        assert QuoteRevision.objects.get().state == "draft"
        assert NumberSeries.objects.get().next_value == 1

    def test_a_worker_whose_claim_lapsed_begins_again(self, as_alice):
        draft, other = make_draft(as_alice), make_draft(as_alice)
        calls = []

        def slow_once(content):
            calls.append(content["number"])
            if len(calls) == 1:  # the claim lapses, and someone else is quicker
                NumberSeries.objects.update(held_until=timezone.now() - timedelta(seconds=1))
                _issue(as_alice, other)
            return _bytes(content)

        issued = quote_issue(actor=as_alice, revision=draft, render=slow_once)
        assert [number[-6:] for number in calls] == ["000001", "000002"]
        assert issued.number.endswith("000002")
        assert QuoteRevision.objects.get(pk=other.pk).number.endswith("000001")

    def test_taking_a_number_twice_is_refused(self, db):
        with held_number("Q-2026") as held:
            take(held)
            with pytest.raises(NumberLostError):
                take(held)

    def test_a_series_that_stays_busy_changes_nothing(self, as_alice, monkeypatch):
        from quotes import numbers

        monkeypatch.setattr(numbers, "WAIT_SECONDS", 0.0)
        draft, other = make_draft(as_alice), make_draft(as_alice)

        def nested(content):
            with pytest.raises(numbers.SeriesBusyError):
                _issue(as_alice, other)
            return _bytes(content)

        assert quote_issue(actor=as_alice, revision=draft, render=nested).number.endswith("000001")
        assert QuoteRevision.objects.get(pk=other.pk).state == "draft"

    def test_issuing_twice_is_refused(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        with pytest.raises(TransitionError):
            _issue(as_alice, issued)
        assert NumberSeries.objects.get().next_value == 2

    def test_live_tables_are_not_read_afterwards(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        issued.seller.name_zh = "另一家公司"
        issued.seller.save()
        issued.terms.body_zh = "另一套条款"
        issued.terms.save()
        text = QuoteRevision.objects.get().snapshot
        assert "另一家公司" not in text
        assert "另一套条款" not in text
        assert "样例智算科技" in text


class TestFaults:
    def _codes(self, revision):
        return [fault.code for fault in issue_faults(revision, list(revision.lines.all()), timezone.now())]

    def test_a_whole_draft_has_none(self, as_alice):
        assert self._codes(make_draft(as_alice)) == []

    def test_a_missing_price_names_sku_book_and_date(self, as_alice):
        draft = make_draft(as_alice, lines=[line("1", D(5), "0.13"), line("1", None, "0.13", sku="sku-9")])
        with pytest.raises(IssueRefusedError) as caught:
            _issue(as_alice, draft)
        (fault,) = caught.value.faults
        assert fault.params == {"sku": "sku-9", "book": "book-1", "date": draft.pricing_date.isoformat()}
        for word in fault.params.values():
            assert word in fault.message

    def test_a_fault_names_the_line_by_the_number_on_the_paper(self, as_alice):
        rows = [
            line("1", D(5), "0.06", kind="service", sku="svc"),  # printed last: services stand under the hardware
            line("1", D(5), "0.13"),
            line("8", None, "0.13", kind="gpu", sku="part", is_included=True),  # a part has no number
            line("1", None, "0.13", kind="switch", sku="sku-9"),
        ]
        draft = make_draft(as_alice, lines=rows)
        with translation.override("en"):
            (fault,) = issue_faults(draft, list(draft.lines.all()), timezone.now())
        assert fault.message.startswith("Line 2, sku-9:")
        printed = [(row.position, row.sku) for row in paper_of(snapshot.build(draft, list(draft.lines.all()))).rows]
        assert (2, "sku-9") in printed

    def test_missing_parts_are_named(self, as_alice):
        draft = make_draft(as_alice, lines=[])
        draft.seller = draft.terms = None
        draft.customer_name = " "
        draft.pricing_date -= timedelta(days=60)
        draft.valid_through = draft.pricing_date
        assert self._codes(draft) == [
            "seller_missing",
            "terms_missing",
            "customer_missing",
            "validity_past",
            "no_lines",
        ]

    def test_a_validity_of_ages_is_named(self, as_alice):
        draft = make_draft(as_alice)
        draft.valid_through = date(9999, 12, 31)
        assert self._codes(draft) == ["validity_far"]

    def test_a_changed_quantity_needs_its_reason(self, as_alice):
        draft = make_draft(as_alice)
        draft = quote_edit(
            actor=as_alice, revision=draft, expected_version=1, fields={}, lines=[_edit(draft, quantity=D(3))]
        )
        assert self._codes(draft) == ["reason_missing"]
        draft = quote_edit(
            actor=as_alice,
            revision=draft,
            expected_version=2,
            fields={},
            lines=[_edit(draft, change_reason="customer wants a spare")],
        )
        assert self._codes(draft) == []

    def test_letters_outside_the_font_are_named(self, as_alice):
        draft = make_draft(as_alice, project="𠮷 \N{ROCKET}")
        (fault,) = issue_faults(draft, list(draft.lines.all()), timezone.now())
        assert fault.code == "letters_missing"
        assert "U+20BB7" in fault.message
        assert "U+1F680" in fault.message


class TestRevisions:
    def test_the_old_one_stands_until_the_new_one_is_issued(self, as_alice):
        first = _issue(as_alice, make_draft(as_alice))
        second = quote_revise(actor=as_alice, revision=first)
        assert quote_revise(actor=as_alice, revision=first).pk == second.pk  # a second click
        assert QuoteRevision.objects.get(pk=first.pk).state == "issued"
        issued = _issue(as_alice, second)
        assert issued.number == f"{first.number}-R2"
        assert QuoteRevision.objects.get(pk=first.pk).state == "superseded"
        assert NumberSeries.objects.get().next_value == 2

    def test_a_revision_copies_content_but_no_fate(self, as_alice):
        first = _issue(as_alice, make_draft(as_alice, project="P"))
        second = quote_revise(actor=as_alice, revision=first)
        assert (second.project, second.customer_name, second.total_gross) == ("P", CUSTOMER.customer_name, D("2260.00"))
        assert (second.number, second.snapshot, second.issued_at, second.state) == (None, "", None, "draft")

    def test_accepted_meanwhile_the_revision_is_not_issued(self, as_alice):
        first = _issue(as_alice, make_draft(as_alice))
        second = quote_revise(actor=as_alice, revision=first)
        quote_accept(actor=as_alice, revision=first, reason="signed copy", proof=PROOF)
        with pytest.raises(TransitionError):
            _issue(as_alice, second)
        assert QuoteRevision.objects.get(pk=first.pk).state == "accepted"
        assert QuoteRevision.objects.get(pk=second.pk).state == "draft"

    def test_after_a_cancelled_draft_another_can_be_made(self, as_alice):
        first = _issue(as_alice, make_draft(as_alice))
        quote_cancel(actor=as_alice, revision=quote_revise(actor=as_alice, revision=first))
        assert quote_revise(actor=as_alice, revision=first).revision_index == 3

    def test_a_copy_is_a_new_quote(self, as_alice):
        first = _issue(as_alice, make_draft(as_alice, project="P"))
        copy = quote_duplicate(actor=as_alice, revision=first)
        assert copy.quote_id != first.quote_id
        assert (copy.project, copy.number, copy.state, copy.lines.count()) == ("P", None, "draft", 1)


class TestLife:
    def test_sent_accepted(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        assert quote_mark_sent(actor=as_alice, revision=issued, reason="by hand").state == "sent"
        accepted = quote_accept(actor=as_alice, revision=issued, reason="signed copy of today", proof=PROOF)
        assert (accepted.state, accepted.decision["reason"]) == ("accepted", "signed copy of today")
        with pytest.raises(TransitionError):
            quote_decline(actor=as_alice, revision=issued, reason="changed mind")

    def test_steps_need_a_reason(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        with pytest.raises(ReasonMissingError):
            quote_mark_sent(actor=as_alice, revision=issued, reason="  ")

    def test_only_a_manager_withdraws(self, as_alice, as_carol):
        issued = _issue(as_alice, make_draft(as_alice))
        with pytest.raises(access.NotAllowedError):
            quote_withdraw(actor=as_alice, revision=issued, reason="x")
        assert quote_withdraw(actor=as_carol, revision=issued, reason="project stopped").state == "withdrawn"

    def test_every_step_is_in_the_log(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        quote_share(actor=as_alice, revision=issued)
        quote_mark_sent(actor=as_alice, revision=issued, reason="by hand")
        assert list(AuditEntry.objects.values_list("action", flat=True)) == ["create", "issue", "share", "mark_sent"]

    def test_expiry_is_the_end_of_the_sellers_day(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        limit = issued.expires_at
        assert issued.effective_state(limit - timedelta(seconds=1)) is State.ISSUED
        assert issued.effective_state(limit) is State.EXPIRED


class TestCustomersAnswer:
    def _answer(self, revision, action=Action.ACCEPT, pdf=None):
        return quote_answer_by_customer(
            actor=access.Actor(text="Buyer"),
            revision=revision,
            action=action,
            pdf_sha256=pdf or revision.pdf_sha256,
            statement={"name": "Buyer"},
        )

    def test_accept_twice_is_one_acceptance(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        first = self._answer(issued)
        second = self._answer(issued)
        assert first.decided_at == second.decided_at
        assert AuditEntry.objects.filter(action="accept").count() == 1

    def test_another_document_is_refused(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        with pytest.raises(TransitionError):
            self._answer(issued, pdf="0" * 64)
        assert QuoteRevision.objects.get().state == "issued"

    def test_one_second_late_is_refused(self, as_alice, monkeypatch):
        issued = _issue(as_alice, make_draft(as_alice))
        from quotes.services import lifecycle

        monkeypatch.setattr(lifecycle.timezone, "now", lambda: issued.expires_at)
        with pytest.raises(TransitionError):
            self._answer(issued)
        monkeypatch.setattr(lifecycle.timezone, "now", lambda: issued.expires_at - timedelta(seconds=1))
        assert self._answer(issued).state == "accepted"

    def test_after_a_no_there_is_no_yes(self, as_alice):
        issued = _issue(as_alice, make_draft(as_alice))
        self._answer(issued, Action.DECLINE)
        with pytest.raises(TransitionError):
            self._answer(issued)

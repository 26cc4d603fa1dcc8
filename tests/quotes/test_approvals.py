"""Which approvals a quote needs, by whom, and what voids them; the figures are worked by hand beside each case."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import translation

from quotes import access
from quotes.models import ApprovalRequest, ApprovalRule, AuditEntry, Customer, DiscountLimit, QuoteRevision
from quotes.services import (
    AddedLine,
    IssueRefusedError,
    LineEdit,
    ReasonMissingError,
    StaleEditError,
    approvals_needed,
    content_sha256,
    open_requests_for,
    quote_approve,
    quote_edit,
    quote_issue,
    quote_recall,
    quote_reject,
    quote_submit,
)
from quotes.states import State
from tests import factories
from tests.quotes.drafts import line, make_draft

D = Decimal


def _bytes(content):
    return f"%PDF {content['number']}".encode()


def _issue(actor, revision):
    return quote_issue(actor=actor, revision=revision, render=_bytes)


def _needs(revision):
    return {
        (need.rule_code, need.product_group): need.measured
        for need in approvals_needed(QuoteRevision.objects.select_related("quote__owner", "terms").get(pk=revision.pk))
    }


DISCOUNT = ("discount-above-limit", "compute")


@pytest.fixture
def fay(parties):
    """Finance and legal."""
    return access.actor_of(factories.staff("fay", "finance_viewer"))


@pytest.fixture
def discounted(as_alice):
    """10 % off the whole: above a representative's 5 %."""
    return make_draft(as_alice, discount_fraction=D("0.1"), discount_reason="volume")


class TestEffectiveDiscount:
    """The same 10 % off in every disguise; 5 % is alice's own limit."""

    def test_at_list_price_nothing_is_needed(self, as_alice):
        assert _needs(make_draft(as_alice)) == {}

    def test_exactly_the_limit_is_still_her_own(self, as_alice):
        assert _needs(make_draft(as_alice, discount_fraction=D("0.05"))) == {}
        assert DISCOUNT in _needs(make_draft(as_alice, discount_fraction=D("0.05001")))

    def test_on_the_whole_as_a_fraction(self, discounted):
        assert _needs(discounted) == {DISCOUNT: D("0.100000")}

    def test_on_the_whole_as_an_amount(self, as_alice):
        # 200.00 of 2 x 1000.00
        assert _needs(make_draft(as_alice, discount_amount=D(200))) == {DISCOUNT: D("0.100000")}

    @pytest.mark.parametrize(
        "changes",
        [{"unit_price": D(900)}, {"discount_fraction": D("0.1")}, {"discount_amount": D(200)}],
        ids=lambda changes: next(iter(changes)),
    )
    def test_on_the_line(self, as_alice, changes):
        price = changes.get("unit_price", D(1000))
        others = {name: value for name, value in changes.items() if name != "unit_price"}
        draft = make_draft(as_alice, lines=[line("2", price, "0.13", list_price=D(1000), **others)])
        assert _needs(draft) == {DISCOUNT: D("0.100000")}

    def test_line_and_whole_together(self, as_alice):
        # 4 % and 4 %: 1 - 0.96 x 0.96 = 0.0784, though neither alone is above 5 %
        draft = make_draft(
            as_alice, discount_fraction=D("0.04"), lines=[line("1", D(1000), "0.13", discount_fraction=D("0.04"))]
        )
        assert _needs(draft) == {DISCOUNT: D("0.078400")}

    def test_a_line_for_nothing(self, as_alice):
        gift = line("1", D(0), "0.13", list_price=D(300), kind="switch", sku="gift")
        assert _needs(make_draft(as_alice, lines=[line("9", D(1000), "0.13"), gift])) == {
            ("discount-above-limit", "network"): D("1.000000")
        }

    def test_months_for_nothing(self, as_alice):
        # 12 months agreed, 10 billed: 1 - 10/12
        rent = line("1", D(600), "0.13", unit="server_month", period_count=10)
        draft = make_draft(as_alice, basis="rental", term_months=12, lines=[rent])
        assert _needs(draft) == {DISCOUNT: D("0.166667")}

    def test_a_price_entered_with_tax_is_measured_without_it(self, as_alice):
        # 1017.00 with 13 % is 900.00 net, against a list price of 1000.00 net
        draft = make_draft(as_alice, prices_include_tax=True, lines=[line("1", D(1017), "0.13", list_price=D(1000))])
        assert _needs(draft) == {DISCOUNT: D("0.100000")}

    def test_an_option_below_its_price(self, as_alice):
        option = line("1", D(100), "0.13", list_price=D(200), kind="storage", sku="option", is_optional=True)
        assert _needs(make_draft(as_alice, lines=[line("1", D(1000), "0.13"), option])) == {
            ("discount-above-limit", "storage"): D("0.500000")
        }

    def test_groups_have_limits_of_their_own(self, as_alice):
        # services: 10 % is alice's own; the same on a server is not
        service = line("1", D(90), "0.06", list_price=D(100), kind="service", sku="care")
        assert _needs(make_draft(as_alice, lines=[service])) == {}

    def test_no_limit_at_all_means_none(self, as_alice):
        DiscountLimit.objects.all().delete()
        assert DISCOUNT in _needs(make_draft(as_alice, discount_fraction=D("0.00001")))

    def test_her_own_row_comes_before_the_roles(self, as_alice, alice, discounted):
        DiscountLimit.objects.create(role="sales_rep", user=alice, max_fraction=D("0.15"))
        assert _needs(discounted) == {}

    def test_a_quote_of_a_manager_has_the_managers_limit(self, as_carol):
        assert _needs(make_draft(as_carol, discount_fraction=D("0.2"))) == {}
        assert DISCOUNT in _needs(make_draft(as_carol, discount_fraction=D("0.21")))


class TestOtherRules:
    def test_a_price_that_no_book_has(self, as_alice):
        assert ("no-list-price", "") in _needs(
            make_draft(as_alice, lines=[line("1", D(5), "0.13", list_price=None, sku="by-hand")])
        )

    def test_a_line_added_by_hand_has_no_list_price(self, as_alice):
        draft = make_draft(as_alice)
        added = AddedLine(line=line("1", D(5), "0.13", list_price=None, sku="unheard-of"))
        quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={}, added=[added])
        assert ("no-list-price", "") in _needs(draft)

    def test_terms_of_its_own_go_to_finance(self, as_alice):
        draft = make_draft(as_alice, special_terms="No penalty.")
        (need,) = approvals_needed(draft)
        assert (need.rule_code, need.approver_role) == ("terms-changed", "finance_viewer")

    def test_a_clause_against_the_standard_terms(self, as_alice):
        draft = make_draft(as_alice)
        clauses = draft.clauses | {"warranty": {"months": 60}}
        edited = quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={"clauses": clauses})
        assert ("terms-changed", "") in _needs(edited)

    def test_a_late_payment(self, as_alice):
        rows = [{"event": "delivery", "share_of": "total", "fraction": "1", "days": 61}]
        assert _needs(make_draft(as_alice, payment_schedule=rows))[("payment-late", "")] == 61

    @pytest.mark.parametrize(
        ("condition", "threshold", "is_met"),
        [("total_above", D("1999.99"), True), ("total_above", D(2000), False), ("validity_above", D(6), True)],
    )
    def test_thresholds_are_passed_not_reached(self, as_alice, condition, threshold, is_met):
        # 2 x 1000.00 net; sample terms of sale hold 7 days
        ApprovalRule.objects.create(
            code="extra",
            condition=condition,
            threshold=threshold,
            currency="CNY",
            approver_role="sales_manager",
            message_zh="超出 %(limit)s：%(measured)s",
            message_en="%(measured)s above %(limit)s",
        )
        assert (("extra", "") in _needs(make_draft(as_alice))) == is_met

    def test_floor_and_margin(self, as_alice):
        # net 1000.00 for a cost of 960.00: margin 4 %
        draft = make_draft(as_alice, lines=[line("1", D(1000), "0.13")])
        draft.lines.update(floor_price=D("1000.01"), cost_price=D(960))
        ApprovalRule.objects.create(
            code="margin",
            condition="margin_below",
            threshold=D("0.05"),
            approver_role="sales_manager",
            message_zh="毛利 %(measured)s",
            message_en="margin %(measured)s",
        )
        assert _needs(draft) == {("below-floor", "compute"): None, ("margin", ""): D("0.040000")}
        draft.lines.update(floor_price=D(1000), cost_price=D(950))
        assert _needs(draft) == {}

    def test_the_sentence_is_there_in_both_languages(self, discounted):
        (need,) = approvals_needed(discounted)
        assert need.message_en == "The effective discount of “Sample server” is 10%; the seller's own limit is 5%."
        with translation.override("zh-hans"):
            assert need.message == "“样例服务器”的实际折扣为 10%，超出本人权限 5%。"


class TestDecisions:
    def test_issue_without_approval_is_refused_and_says_why(self, as_alice, discounted):
        with pytest.raises(IssueRefusedError) as caught:
            _issue(as_alice, discounted)
        assert [(f.code, f.params["role"]) for f in caught.value.faults] == [("approval_missing", "sales_manager")]
        assert QuoteRevision.objects.get().number is None

    def test_submitted_approved_issued(self, as_alice, as_carol, discounted):
        pending = quote_submit(actor=as_alice, revision=discounted)
        assert pending.state == State.PENDING_APPROVAL
        approved = quote_approve(actor=as_carol, revision=pending, comment="agreed")
        assert approved.state == State.APPROVED
        request = ApprovalRequest.objects.get()
        assert (request.decision, request.decided_by, request.comment) == ("approved", as_carol.user, "agreed")
        assert request.waited is not None
        assert request.waited.total_seconds() >= 0
        assert _issue(as_alice, approved).state == State.ISSUED

    def test_nothing_needed_is_approved_by_submission(self, as_alice):
        assert quote_submit(actor=as_alice, revision=make_draft(as_alice)).state == State.APPROVED
        assert not ApprovalRequest.objects.exists()

    def test_an_incomplete_draft_is_not_submitted(self, as_alice):
        with pytest.raises(IssueRefusedError):
            quote_submit(actor=as_alice, revision=make_draft(as_alice, clauses={}))

    def test_never_by_the_owner_even_with_the_role(self, as_carol):
        draft = make_draft(as_carol, discount_fraction=D("0.3"), discount_reason="pilot")
        dan = factories.staff("dan", "sales_manager")
        DiscountLimit.objects.create(role="sales_manager", user=dan, max_fraction=D("0.5"))
        pending = quote_submit(actor=as_carol, revision=draft)
        with pytest.raises(access.NotAllowedError):
            quote_approve(actor=as_carol, revision=pending)
        assert quote_approve(actor=access.actor_of(dan), revision=pending).state == State.APPROVED

    def test_never_by_one_who_edited_it(self, as_alice, as_carol, discounted):
        quote_edit(actor=as_carol, revision=discounted, expected_version=1, fields={"project": "P"})
        pending = quote_submit(actor=as_alice, revision=discounted)
        assert open_requests_for(as_carol.user, pending) == []
        with pytest.raises(access.NotAllowedError):
            quote_approve(actor=as_carol, revision=pending)

    def test_only_within_the_approvers_own_limit(self, as_alice, as_carol):
        draft = make_draft(as_alice, discount_fraction=D("0.21"), discount_reason="volume")
        pending = quote_submit(actor=as_alice, revision=draft)
        with pytest.raises(access.NotAllowedError):
            quote_approve(actor=as_carol, revision=pending)
        DiscountLimit.objects.create(role="sales_manager", user=as_carol.user, max_fraction=D("0.25"))
        assert quote_approve(actor=as_carol, revision=pending).state == State.APPROVED

    def test_two_roles_must_both_agree(self, as_alice, as_carol, fay):
        draft = make_draft(as_alice, discount_fraction=D("0.1"), discount_reason="volume", special_terms="Capped.")
        pending = quote_submit(actor=as_alice, revision=draft)
        assert quote_approve(actor=as_carol, revision=pending).state == State.PENDING_APPROVAL
        assert [request.rule_code for request in open_requests_for(fay.user, pending)] == ["terms-changed"]
        assert quote_approve(actor=fay, revision=pending).state == State.APPROVED

    def test_a_rejection_needs_a_comment_and_gives_a_draft(self, as_alice, as_carol, discounted):
        pending = quote_submit(actor=as_alice, revision=discounted)
        with pytest.raises(ReasonMissingError):
            quote_reject(actor=as_carol, revision=pending, comment="  ")
        assert quote_reject(actor=as_carol, revision=pending, comment="5 % at most").state == State.DRAFT
        assert ApprovalRequest.objects.get().decision == "rejected"

    def test_recalled_by_its_author(self, as_alice, discounted):
        pending = quote_submit(actor=as_alice, revision=discounted)
        assert quote_recall(actor=as_alice, revision=pending).state == State.DRAFT
        assert ApprovalRequest.objects.get().decision == "recalled"

    def test_what_was_shown_is_what_is_approved(self, as_alice, as_carol, discounted):
        pending = quote_submit(actor=as_alice, revision=discounted)
        with pytest.raises(StaleEditError):
            quote_approve(actor=as_carol, revision=pending, expected_sha256="0" * 64)
        shown = content_sha256(pending, list(pending.lines.all()))
        assert quote_approve(actor=as_carol, revision=pending, expected_sha256=shown).state == State.APPROVED

    def test_each_step_is_in_the_log(self, as_alice, as_carol, discounted):
        pending = quote_submit(actor=as_alice, revision=discounted)
        _issue(as_alice, quote_approve(actor=as_carol, revision=pending))
        entries = AuditEntry.objects.filter(action__in=["submit", "approve", "issue"])
        assert [(e.action, e.actor.username, e.before["state"], e.after["state"]) for e in entries] == [
            ("submit", "alice", "draft", "pending_approval"),
            ("approve", "carol", "pending_approval", "approved"),
            ("issue", "alice", "approved", "issued"),
        ]


class TestVoid:
    @pytest.fixture
    def approved(self, as_alice, as_carol, discounted):
        return quote_approve(actor=as_carol, revision=quote_submit(actor=as_alice, revision=discounted))

    def _edit(self, actor, revision, *, lines=(), **fields):
        return quote_edit(
            actor=actor, revision=revision, expected_version=revision.content_version, fields=fields, lines=lines
        )

    @pytest.mark.parametrize(
        "fields",
        [
            {"discount_fraction": D("0.11")},
            {"tax_mode": "per_line"},
            {"deposit_months": D(3)},
            {"special_terms": "Capped."},
            {"customer_name": "Another firm"},
            {"payment_schedule": [{"event": "delivery", "share_of": "total", "fraction": "1", "days": 0}]},
        ],
        ids=lambda fields: next(iter(fields)),
    )
    def test_a_commercial_change_voids_it(self, as_alice, approved, fields):
        edited = self._edit(as_alice, approved, **fields)
        assert QuoteRevision.objects.get().state == edited.state == State.DRAFT
        with pytest.raises(IssueRefusedError):
            _issue(as_alice, edited)

    def test_validity_voids_it(self, as_alice, approved):
        from datetime import timedelta

        edited = self._edit(as_alice, approved, valid_through=approved.valid_through + timedelta(days=1))
        assert edited.state == State.DRAFT

    @pytest.mark.parametrize(
        "changes", [{"quantity": D(3), "change_reason": "x"}, {"unit_price": D(999)}, {"tax_rate": D("0.06")}], ids=str
    )
    def test_a_changed_line_voids_it(self, as_alice, approved, changes):
        row = approved.lines.get()
        names = ("quantity", "period_count", "unit_price", "discount_fraction", "tax_rate", "change_reason")
        edit = LineEdit(position=1, **({name: getattr(row, name) for name in names} | changes))
        assert self._edit(as_alice, approved, lines=[edit]).state == State.DRAFT

    @pytest.mark.parametrize(
        "fields",
        [
            {"contact_name": "Li"},
            {"contact_email": "li@example.com"},
            {"customer_note": "hello"},
            {"internal_note": "x"},
            {"project": "P"},
            {"paper": "Letter"},
        ],
        ids=lambda fields: next(iter(fields)),
    )
    def test_contacts_and_notes_do_not(self, as_alice, approved, fields):
        edited = self._edit(as_alice, approved, **fields)
        assert edited.state == State.APPROVED
        assert _issue(as_alice, edited).state == State.ISSUED

    def test_while_pending_too(self, as_alice, discounted):
        pending = quote_submit(actor=as_alice, revision=discounted)
        edited = self._edit(as_alice, pending, discount_fraction=D("0.12"))
        assert edited.state == State.DRAFT
        assert ApprovalRequest.objects.get().decision == "void"

    def test_content_changed_behind_the_service_is_not_issued(self, as_alice, approved):
        QuoteRevision.objects.filter(pk=approved.pk).update(discount_fraction=D("0.5"))
        with pytest.raises(IssueRefusedError):
            _issue(as_alice, approved)


def test_habits_of_a_customer_enter_a_new_draft(as_alice):
    Customer.objects.create(name="样例客户（演示）", tax_mode="per_line", paper="Letter", language="en")
    draft = make_draft(as_alice)
    assert (draft.tax_mode, draft.paper, draft.language) == ("per_line", "Letter", "en")

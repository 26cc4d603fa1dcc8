"""Clauses, tax and export control: what a quote must say before it goes out, and what it says afterwards."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from quotes import tax
from quotes.clause_words import CHOICE_LABELS, CLAUSE_LABELS, PART_LABELS, PAYMENT_EVENT_LABELS, PAYMENT_SHARE_LABELS
from quotes.clauses import CLAUSES, Kind, acceptance_tests, clean_clauses, missing_parts
from quotes.models import AuditEntry, QuoteRevision, Terms
from quotes.payments import EVENTS, SHARES
from quotes.services import (
    IssueRefusedError,
    ReasonMissingError,
    issue_faults,
    quote_acknowledge_export,
    quote_edit,
    quote_issue,
)
from quotes.snapshot import parse
from tests.quotes.drafts import line, make_draft

D = Decimal


def _issue(actor, revision):
    return quote_issue(actor=actor, revision=revision, render=lambda content: b"%PDF")


def _codes(revision, now=None):
    from django.utils import timezone

    return [fault.code for fault in issue_faults(revision, list(revision.lines.all()), now or timezone.now())]


class TestMandatory:
    # from the list of what buyers ask for: rented machines come with service, exit and data clauses, bought ones with
    # a warranty, both with acceptance, delivery, ownership, invoice
    BOTH = frozenset({"acceptance", "delivery", "ownership", "invoice"})
    RENTAL = BOTH | {"service_level", "early_exit", "renewal", "data_return", "extras"}
    PURCHASE = BOTH | {"warranty"}

    def test_of_a_rental_and_of_a_purchase(self):
        assert {clause for clause, _part in missing_parts({}, "rental")} == self.RENTAL
        assert {clause for clause, _part in missing_parts({}, "purchase")} == self.PURCHASE

    def test_the_sample_terms_lack_nothing(self, parties):
        for terms in Terms.objects.all():
            assert missing_parts(clean_clauses(terms.clauses), terms.basis) == ()
            assert clean_clauses(terms.clauses) == terms.clauses

    def test_a_missing_one_blocks_issue_and_is_named(self, as_alice):
        draft = make_draft(as_alice)
        clauses = {name: parts for name, parts in draft.clauses.items() if name != "warranty"}
        clauses["invoice"] = {"kind": "commercial"}
        edited = quote_edit(actor=as_alice, revision=draft, expected_version=1, fields={"clauses": clauses})
        with translation.override("en"), pytest.raises(IssueRefusedError) as caught:
            _issue(as_alice, edited)
        faults = {f.params["clause"]: f for f in caught.value.faults if f.code == "clause_missing"}
        assert faults.keys() == {"warranty", "invoice"}
        assert faults["invoice"].message == "The clause “Invoice” lacks: Invoice within, days after payment."
        assert faults["warranty"].params["parts"] == "months"

    def test_a_rental_without_a_term_and_a_quote_without_payments(self, as_alice):
        draft = make_draft(as_alice, basis="rental", payment_schedule=[])
        assert {"term_missing", "payment_schedule_missing"} <= set(_codes(draft))


class TestValues:
    @pytest.mark.parametrize(
        ("raw", "words"),
        [
            ("text", "object of clauses"),
            ({"penalty": {}}, "“penalty” is not a clause"),
            ({"warranty": {"years": 3}}, "no part “years”"),
            ({"warranty": {"months": "36"}}, "whole number from 0 to 120"),
            ({"warranty": {"months": 36.5}}, "whole number"),
            ({"warranty": {"months": True}}, "whole number"),
            ({"warranty": 36}, "give its parts"),
            ({"service_level": {"availability_fraction": "99.5"}}, "a fraction from 0 to 1"),
            ({"service_level": {"availability_fraction": "NaN"}}, "Service level / Availability: “NaN”"),
            ({"service_level": {"credits": [{"below_fraction": "0.99"}]}}, "Credits 1 / Credit of the month's rent"),
            ({"ownership": {"owner": "nobody"}}, "one of seller_keeps"),
            ({"delivery": {"milestones": [{"what": {"en": "Arrival"}, "on": "2026-02-30"}]}}, "a date like"),
            ({"delivery": {"milestones": [{"what": {"fr": "Arrivée"}}]}}, "zh-Hans and en"),
            ({"data_return": {"has_certificate": "yes"}}, "true or false"),
            ({"data_return": {"method": {"en": "x" * 1001}}}, "at most 1000"),
            ({"extras": {"prices": [{}] * 61}}, "at most 60 rows"),
        ],
    )
    def test_a_wrong_one_is_named_with_what_would_pass(self, raw, words):
        with translation.override("en"), pytest.raises(ValidationError, match=words):
            clean_clauses(raw)

    def test_empty_values_are_missing_ones(self):
        raw = {"warranty": {"months": None}, "delivery": {"milestones": [{"what": {"en": "  "}}], "place": {}}}
        assert clean_clauses(raw) == {}

    @given(
        raw=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from([*CLAUSES, *PART_LABELS, "zh-Hans", "x"]), inner, max_size=3)
            ),
            max_leaves=12,
        )
    )
    def test_whatever_comes_is_cleaned_or_refused_and_cleaning_is_done_once(self, raw):
        try:
            cleaned = clean_clauses(raw)
        except ValidationError:
            return
        json.dumps(cleaned)
        assert clean_clauses(cleaned) == cleaned

    def test_every_code_has_its_word(self):
        assert CLAUSE_LABELS.keys() == CLAUSES.keys()
        parts = [pair for clause in CLAUSES.values() for pair in clause.parts.items()]
        parts += [pair for _name, part in parts for pair in part.columns.items()]
        assert {name for name, _part in parts} <= PART_LABELS.keys()
        assert {
            choice for _name, part in parts if part.kind is Kind.CHOICE for choice in part.choices
        } <= CHOICE_LABELS.keys()
        assert (PAYMENT_EVENT_LABELS.keys(), PAYMENT_SHARE_LABELS.keys()) == (EVENTS.keys(), set(SHARES))


def test_the_annex_is_made_of_the_sizing(as_alice):
    def test(name, text):
        row = {"code": "gemm", "name": name, "comparison": "at_least", "threshold": 6e14, "threshold_text": text}
        return {"configuration": {"acceptance": [row | {"tool": "cublas bench"}]}}

    sizing = {
        "by_language": {
            "zh-Hans": test("矩阵乘", "不低于 600 TFLOPS"),
            "en": test("Matrix product", "at least 600 TFLOPS"),
        }
    }
    expected = [
        {
            "code": "gemm",
            "name": {"zh-Hans": "矩阵乘", "en": "Matrix product"},
            "threshold": {"zh-Hans": "不低于 600 TFLOPS", "en": "at least 600 TFLOPS"},
            "tool": "cublas bench",
        }
    ]
    assert acceptance_tests(sizing) == expected
    draft = make_draft(as_alice, sizing=sizing)
    assert draft.clauses["acceptance"]["tests"] == expected
    assert draft.clauses["acceptance"]["window_days"] == 21  # of the sample terms of sale


class TestTax:
    @pytest.mark.parametrize(
        ("country", "category", "on", "rate"),
        [
            # Caishui [2018] 32 and Announcement 39 of 2019: 16 % until 31 March 2019, 13 % from 1 April
            ("CN", "goods", date(2019, 3, 31), "0.16"),
            ("CN", "goods", date(2019, 4, 1), "0.13"),
            ("CN", "lease", date(2026, 11, 30), "0.13"),
            ("CN", "transport_telecom", date(2026, 11, 30), "0.09"),
            ("CN", "services", date(2026, 11, 30), "0.06"),
            ("CN", "zero_rated", date(2026, 11, 30), "0"),
            ("CN", "small_scale", date(2026, 11, 30), "0.03"),
            ("CN", "small_scale_relief", date(2027, 12, 31), "0.01"),
            ("CN", "small_scale_relief", date(2028, 1, 1), None),
            # gov.sg: 8 % in 2023, 9 % from 1 January 2024
            ("SG", "goods", date(2023, 12, 31), "0.08"),
            ("SG", "goods", date(2024, 1, 1), "0.09"),
            ("HK", "not_taxed", date(2026, 11, 30), "0"),
            ("XX", "goods", date(2026, 11, 30), None),
        ],
    )
    def test_the_day_decides(self, parties, country, category, on, rate):
        found = [row.rate for row in tax.rates_on(country, on) if row.category == category]
        assert found == ([] if rate is None else [D(rate)])

    def test_a_rate_off_the_table_blocks_issue_and_names_those_on_it(self, as_alice):
        draft = make_draft(as_alice, lines=[line("1", D(10), "0.17")])
        with translation.override("en"), pytest.raises(IssueRefusedError) as caught:
            _issue(as_alice, draft)
        (fault,) = caught.value.faults
        assert fault.code == "tax_rate_unknown"
        assert "17% is no tax rate of CN for goods" in fault.message
        assert fault.params["rates"] == "13%"

    def test_the_law_of_each_rate_is_frozen_with_the_quote(self, as_alice):
        service = line("1", D(10), "0.06", kind="service", sku="care")
        issued = _issue(as_alice, make_draft(as_alice, lines=[line("1", D(10), "0.13"), service]))
        basis = parse(issued.snapshot)["tax_basis"]
        assert [(row["category"], row["rate"]) for row in basis] == [("goods", "0.13"), ("services", "0.06")]
        assert all(row["legal_note"]["zh-Hans"] and row["source"] for row in basis)


class TestExportControl:
    @pytest.fixture
    def controlled(self, as_alice):
        draft = make_draft(as_alice, lines=[line("1", D(10), "0.13", sku="h100")])
        draft.lines.update(export_note="controlled for China since 2022-10")
        return draft

    def test_issue_waits_for_the_acknowledgement(self, as_alice, controlled):
        assert _codes(controlled) == ["export_unacknowledged"]
        done = quote_acknowledge_export(actor=as_alice, revision=controlled, statement="Licence D-1 seen.")
        assert (done.export_acknowledgement["by"], done.export_acknowledgement["skus"]) == ("alice", ["h100"])
        issued = _issue(as_alice, done)
        content = parse(issued.snapshot)
        assert content["controlled_parts"] == ["h100"]
        assert "Licence D-1" not in issued.snapshot  # between the seller and the authority
        entry = AuditEntry.objects.get(action="acknowledge_export")
        assert (entry.reason, entry.after) == ("Licence D-1 seen.", {"skus": ["h100"]})

    def test_it_holds_for_the_parts_that_were_there(self, as_alice, controlled):
        done = quote_acknowledge_export(actor=as_alice, revision=controlled, statement="Licence seen.")
        done.lines.update(sku="b200")
        assert _codes(done) == ["export_unacknowledged"]

    def test_it_needs_words(self, as_alice, controlled):
        with pytest.raises(ReasonMissingError):
            quote_acknowledge_export(actor=as_alice, revision=controlled, statement=" ")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"discount_amount": D(10)}, "discount_reason_missing"),
        ({"discount_fraction": D("0.01")}, "discount_reason_missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_discount_has_a_reason(as_alice, content, code):
    assert _codes(make_draft(as_alice, **content)) == [code]


@pytest.mark.parametrize(
    "content",
    [
        {"discount_amount": D("2000.01")},
        {"discount_fraction": D(1), "discount_amount": D("0.01")},
        {"lines": [line("1", D(10), "0.13", discount_amount=D("10.01")), line("1", D(99), "0.13")]},
    ],
    ids=["whole", "both", "line"],
)
def test_a_discount_above_the_price_is_refused_and_nothing_kept(as_alice, content):
    with translation.override("en"), pytest.raises(ValidationError, match="larger than the price"):
        make_draft(as_alice, **content)
    assert not QuoteRevision.objects.exists()


def test_converted_prices_need_their_rate(as_alice):
    draft = make_draft(as_alice, lines=[line("1", D(10), "0.13", price_origin="converted")])
    assert _codes(draft) == ["exchange_missing"]
    QuoteRevision.objects.filter(pk=draft.pk).update(
        exchange={"base": "USD", "quote": "CNY", "rate": "7.1", "source": "PBOC", "date": "2026-11-30"}
    )
    stored = QuoteRevision.objects.get(pk=draft.pk)
    assert _codes(stored) == []
    assert parse(_issue(as_alice, stored).snapshot)["exchange"]["source"] == "PBOC"

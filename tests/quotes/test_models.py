"""Constraints hold in the database, and nothing issued can be changed by any way through the models."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from quotes.models import (
    AuditEntry,
    FrozenError,
    QuoteDocument,
    QuoteLine,
    QuoteRevision,
    SellerEntity,
    end_of_day,
)
from quotes.services import ProofFile, quote_accept, quote_issue
from tests.quotes.drafts import make_draft

D = Decimal


def _bytes(snapshot):
    return f"%PDF {snapshot['number']}".encode()


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice)


@pytest.fixture
def issued(as_alice, draft):
    return quote_issue(actor=as_alice, revision=draft, render=_bytes)


class TestConstraints:
    @pytest.mark.parametrize(
        "changes",
        [
            {"state": "issued"},  # without number, snapshot and hashes
            {"state": "unheard_of"},
            {"basis": "gift"},
            {"currency": "XXX"},
            {"discount_fraction": D("1.01")},
            {"valid_through": date(2020, 1, 1)},
            {"number": "Q-1"},  # a draft has none
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_a_revision_that_makes_no_sense_is_refused(self, draft, changes):
        with pytest.raises(IntegrityError), transaction.atomic():
            _raw(draft, changes)

    @pytest.mark.parametrize(
        "changes",
        [
            {"quantity": D(0)},
            {"quantity": D(1_000_001)},
            {"unit_price": D("-0.01")},
            {"unit_price": D(1_000_000_001)},
            {"discount_fraction": D("-0.1")},
            {"tax_rate": D("1.5")},
            {"is_included": True},  # with a price of its own
            {"period_count": 0},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_a_line_that_makes_no_sense_is_refused(self, draft, changes):
        with pytest.raises(IntegrityError), transaction.atomic():
            draft.lines.update(**changes)

    def test_two_drafts_without_number_live_side_by_side(self, as_alice, draft):
        assert make_draft(as_alice).number is None
        assert draft.number is None

    def test_one_open_draft_per_quote(self, draft):
        copy = QuoteRevision.objects.get(pk=draft.pk)
        copy.pk, copy.revision_index = None, 2
        copy._state.adding = True
        with pytest.raises(IntegrityError), transaction.atomic():
            copy.save()


def _raw(revision, changes):
    """Past every guard of ours: what the database itself says."""
    from django.db.models.query import QuerySet

    QuerySet(QuoteRevision).filter(pk=revision.pk).update(**changes)


class TestFrozen:
    def test_save_of_content_is_refused(self, issued):
        issued.customer_name = "Someone else"
        with pytest.raises(FrozenError, match="revise it"):
            issued.save()
        with pytest.raises(FrozenError):
            issued.save(update_fields=["customer_name"])

    def test_a_stale_copy_cannot_save_over_it(self, as_alice, draft):
        stale = QuoteRevision.objects.get(pk=draft.pk)
        quote_issue(actor=as_alice, revision=draft, render=_bytes)
        with pytest.raises(FrozenError):
            stale.save()

    @pytest.mark.parametrize("field", ["total_gross", "snapshot", "number", "discount_fraction", "pdf_sha256"])
    def test_bulk_update_is_refused(self, issued, field):
        with pytest.raises(FrozenError):
            QuoteRevision.objects.filter(pk=issued.pk).update(**{field: getattr(issued, field)})
        with pytest.raises(FrozenError):
            QuoteRevision.objects.bulk_update([issued], [field])

    def test_deletion_is_refused(self, issued):
        for delete in (issued.delete, QuoteRevision.objects.all().delete, issued.lines.all().delete):
            with pytest.raises(FrozenError):
                delete()

    def test_lines_are_refused(self, issued):
        line = issued.lines.get()
        line.unit_price = D(1)
        for act in (
            line.save,
            line.delete,
            lambda: QuoteLine.objects.filter(pk=line.pk).update(unit_price=D(1)),
            lambda: QuoteLine.objects.bulk_update([line], ["unit_price"]),
            lambda: QuoteLine.objects.bulk_create([QuoteLine(revision=issued, position=9)]),
        ):
            with pytest.raises(FrozenError), transaction.atomic():
                act()
        assert issued.lines.get().unit_price == D("1000.00")

    def test_documents_and_log_are_append_only(self, issued):
        for row in (issued.document, AuditEntry.objects.filter(revision=issued).last()):
            with pytest.raises(FrozenError):
                row.save()
            with pytest.raises(FrozenError):
                row.delete()
        for rows in (QuoteDocument.objects.all(), AuditEntry.objects.all()):
            with pytest.raises(FrozenError):
                rows.update(created_at=None)
            with pytest.raises(FrozenError):
                rows.delete()

    def test_the_internal_note_may_still_change(self, issued):
        issued.internal_note = "called"
        issued.save(update_fields=["internal_note"])
        assert QuoteRevision.objects.get(pk=issued.pk).internal_note == "called"


class TestTheDatabaseItselfRefuses:
    """Statements that go past all of the models' guards."""

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE quotes_quoterevision SET customer_name = 'x'",
            "UPDATE quotes_quoterevision SET total_gross = 1",
            "UPDATE quotes_quoterevision SET snapshot = 'x'",
            "UPDATE quotes_quoterevision SET number = 'x'",
            "UPDATE quotes_quoterevision SET expires_at = '2099-01-01'",
            "UPDATE quotes_quoteline SET unit_price = 1",
            "UPDATE quotes_quotedocument SET sha256 = sha256",
            "UPDATE quotes_auditentry SET reason = 'x'",
            "UPDATE quotes_quote SET number = 'x'",
            "UPDATE quotes_quoterevision SET clauses = '{}'",
            "UPDATE quotes_quoterevision SET payment_schedule = '[]'",
            "UPDATE quotes_quoterevision SET tax_basis = '[]'",
            "UPDATE quotes_quoterevision SET special_terms = 'x'",
            "UPDATE quotes_quoteline SET tax_category = 'goods'",
            "DELETE FROM quotes_quotedocument",
            "DELETE FROM quotes_auditentry",
            "DELETE FROM quotes_quoteline",
            "DELETE FROM quotes_quoterevision",
            "DELETE FROM quotes_quote",
        ],
    )
    def test_raw_statements(self, issued, statement):
        with pytest.raises(IntegrityError, match="do not change"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    def test_a_line_slipped_in_afterwards(self, issued):
        columns = [field.column for field in QuoteLine._meta.local_fields if field.column != "id"]
        values = ", ".join("9" if name == "position" else name for name in columns)
        statement = f"INSERT INTO quotes_quoteline ({', '.join(columns)}) SELECT {values} FROM quotes_quoteline"  # noqa: S608  (our own names)
        with pytest.raises(IntegrityError, match="do not change"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    def test_a_line_moved_in_from_a_draft(self, issued, as_alice):
        line = make_draft(as_alice).lines.get()
        statement = f"UPDATE quotes_quoteline SET revision_id = {issued.pk}, position = 9 WHERE id = {line.pk}"  # noqa: S608  (our own numbers)
        with pytest.raises(IntegrityError, match="do not change"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    @pytest.mark.parametrize(
        "statement", ["UPDATE quotes_acceptanceproof SET name = 'x'", "DELETE FROM quotes_acceptanceproof"]
    )
    def test_a_proof_of_acceptance(self, issued, as_alice, statement):
        proof = ProofFile(name="order.pdf", content=b"%PDF-1.7")
        quote_accept(actor=as_alice, revision=issued, reason="signed order", proof=proof)
        with pytest.raises(IntegrityError, match="do not change"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    def test_the_lines_of_a_draft_can_be_taken_out(self, draft):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM quotes_quoteline")
        assert not draft.lines.exists()

    def test_drafts_and_states_still_move(self, draft, as_alice):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE quotes_quoterevision SET customer_name = 'x'")
            cursor.execute("UPDATE quotes_quoteline SET unit_price = unit_price + 1")
        quote_issue(actor=as_alice, revision=draft, render=_bytes)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE quotes_quoterevision SET state = 'sent'")
        assert QuoteRevision.objects.get().state == "sent"


def test_the_day_ends_at_the_sellers_place():
    # Shanghai is UTC+8 all year: midnight after 31 December is 16:00 UTC of that day.
    assert end_of_day(date(2026, 12, 31), "Asia/Shanghai").isoformat() == "2026-12-31T16:00:00+00:00"


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", ""])
def test_a_seller_lives_in_a_time_zone_that_exists(parties, zone):
    seller = SellerEntity.objects.get()
    seller.time_zone = zone
    with pytest.raises(ValidationError):
        seller.full_clean()

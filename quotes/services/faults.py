"""What stands against issuing a draft, each named in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from advisor import fonts
from catalog.models import PriceBook
from quotes import snapshot, tax
from quotes.clause_words import CLAUSE_LABELS, PART_LABELS
from quotes.clauses import missing_parts
from quotes.models import MAX_LINES, TAX_CATEGORIES, Basis, QuoteLine, QuoteRevision
from quotes.paper import line_numbers
from quotes.wording import percent

MAX_VALIDITY_DAYS = 366
CONVERTED = "converted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that stands against issue, in words that name what to do."""

    code: str
    message: str
    params: dict[str, str] = field(default_factory=dict)


class IssueRefusedError(Exception):
    """The draft is not complete; `faults` say what is missing."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(" ".join(fault.message for fault in faults))


def issue_faults(revision: QuoteRevision, lines: Sequence[QuoteLine], now: datetime) -> tuple[Fault, ...]:
    """All that stands against issuing this draft now, approvals apart."""
    content = snapshot.build(revision, lines)
    return (
        *_content_faults(revision, now),
        *_money_faults(revision, lines),
        *_line_faults(revision, lines, content),
        *_tax_faults(revision, lines, content),
        *_clause_faults(revision),
        *_export_faults(revision, lines),
        *_letter_faults(content),
    )


def _content_faults(revision: QuoteRevision, now: datetime) -> Iterator[Fault]:
    if revision.seller is None:
        yield Fault(code="seller_missing", message=_("The seller is missing. Choose one, or add one in the admin."))
    if revision.terms is None:
        yield Fault(code="terms_missing", message=_("The terms are missing. Choose a version."))
    if not revision.customer_name.strip():
        yield Fault(code="customer_missing", message=_("The customer's name is missing."))
    today = revision.seller.today(now) if revision.seller else timezone.localdate(now)
    if revision.valid_through < today:
        yield Fault(
            code="validity_past",
            message=_("The validity ended on %(day)s. Set a later day.") % {"day": revision.valid_through.isoformat()},
        )
    latest = today + timedelta(days=MAX_VALIDITY_DAYS)
    if revision.valid_through > latest:
        yield Fault(
            code="validity_far",
            message=_("The validity runs to %(day)s. The latest day is %(latest)s.")
            % {"day": revision.valid_through.isoformat(), "latest": latest.isoformat()},
        )


def _money_faults(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> Iterator[Fault]:
    has_line_discount = any(
        (line.discount_fraction or line.discount_amount) and not (line.discount_reason or line.change_reason.strip())
        for line in lines
    )
    has_discount = bool(revision.discount_fraction or revision.discount_amount)
    if (has_line_discount or has_discount) and not revision.discount_reason:
        yield Fault(code="discount_reason_missing", message=_("There is a discount without a reason. Choose one."))
    if not revision.payment_schedule:
        yield Fault(
            code="payment_schedule_missing", message=_("The payment schedule is missing. Say when which part is due.")
        )
    if any(line.price_origin == CONVERTED for line in lines) and not revision.exchange:
        yield Fault(
            code="exchange_missing",
            message=_("Prices were converted from another currency, and the rate with its source is missing."),
        )
    code = str(revision.price_book.get("en", {}).get("code") or "")
    books = PriceBook.objects.filter(code=code)
    if code and not books.filter(status="published").exists() and books.filter(status="retired").exists():
        yield Fault(
            code="price_book_retired",
            message=_("The price book %(book)s was retired. Take the prices of the book in force.") % {"book": code},
            params={"book": code},
        )


def _line_faults(revision: QuoteRevision, lines: Sequence[QuoteLine], content: snapshot.Snapshot) -> Iterator[Fault]:
    """Faults of lines, each named by the number that the paper prints."""
    printed = line_numbers(content)
    sums = snapshot.revision_totals(revision, lines)
    if not sums.totals.line_nets and not sums.missing_positions:
        yield Fault(code="no_lines", message=_("There is no line with a price."))
    if len(lines) > MAX_LINES:
        yield Fault(
            code="too_many_lines",
            message=_("A quote has at most %(limit)d lines; this one has %(count)d.")
            % {"limit": MAX_LINES, "count": len(lines)},
        )
    book = revision.price_book.get("en", {}).get("code") or "—"
    for line in lines:
        if line.position in sums.missing_positions:
            yield Fault(
                code="price_missing",
                message=_(
                    "Line %(number)d, %(sku)s: no price in book %(book)s on %(day)s. Enter one or take the line out."
                )
                % {
                    "number": printed.get(line.position, line.position),
                    "sku": line.sku or line.name_en,
                    "book": book,
                    "day": revision.pricing_date.isoformat(),
                },
                params={"sku": line.sku, "book": book, "date": revision.pricing_date.isoformat()},
            )
        if line.sized_quantity not in (None, line.quantity) and not line.change_reason.strip():
            yield Fault(
                code="reason_missing",
                message=_("Line %(number)d: the quantity differs from the sizing. Say why.")
                % {"number": printed.get(line.position, line.position)},
            )


def _tax_faults(revision: QuoteRevision, lines: Sequence[QuoteLine], content: snapshot.Snapshot) -> Iterator[Fault]:
    if revision.seller is None:
        return
    country, on, printed = revision.seller.country, revision.pricing_date, line_numbers(content)
    for line, category, rates in tax.lines_off_the_table(lines, basis=revision.basis, country=country, on=on):
        allowed = ", ".join(percent(rate) for rate in rates) or "—"
        yield Fault(
            code="tax_rate_unknown",
            message=_(
                "Line %(number)d: %(rate)s is no tax rate of %(country)s for %(category)s on %(day)s. Rates: %(rates)s."
            )
            % {
                "number": printed.get(line.position, line.position),
                "rate": percent(line.tax_rate),
                "country": country,
                "category": dict(TAX_CATEGORIES)[category],
                "day": on.isoformat(),
                "rates": allowed,
            },
            params={"category": category, "rates": allowed},
        )


def _clause_faults(revision: QuoteRevision) -> Iterator[Fault]:
    if revision.basis == Basis.RENTAL and not revision.term_months:
        yield Fault(code="term_missing", message=_("The term of the rental is missing."))
    missing: dict[str, list[str]] = {}
    for clause, part in missing_parts(revision.clauses, revision.basis):
        missing.setdefault(clause, []).append(part)
    for clause, parts in missing.items():
        yield Fault(
            code="clause_missing",
            message=_("The clause “%(clause)s” lacks: %(parts)s.")
            % {"clause": CLAUSE_LABELS[clause], "parts": "; ".join(str(PART_LABELS[part]) for part in parts)},
            params={"clause": clause, "parts": ", ".join(parts)},
        )


def controlled_skus(lines: Sequence[QuoteLine]) -> list[str]:
    """Parts of the quote that the catalogue names as under export control, or to be checked."""
    return sorted({line.sku for line in lines if line.export_note.strip()})


def _export_faults(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> Iterator[Fault]:
    skus = controlled_skus(lines)
    if skus and not set(skus) <= set(revision.export_acknowledgement.get("skus", ())):
        yield Fault(
            code="export_unacknowledged",
            message=_("Parts under export control: %(skus)s. Acknowledge the check of licence and destination first.")
            % {"skus": ", ".join(skus)},
            params={"skus": ", ".join(skus)},
        )


def _letter_faults(content: snapshot.Snapshot) -> Iterator[Fault]:
    """Characters that the shipped font cannot print: they would come out as boxes."""
    missing = fonts.missing_characters(snapshot.canonical(content))
    if missing:
        shown = " ".join(f"{letter} (U+{ord(letter):04X})" for letter in missing[:10])
        yield Fault(
            code="letters_missing",
            message=_("The document's font cannot print: %(letters)s. Write it otherwise.") % {"letters": shown},
        )

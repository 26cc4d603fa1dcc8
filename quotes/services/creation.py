"""New quotes: from a recommendation, from given lines, or as a copy of another."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from catalog.money import TaxMode
from quotes import access
from quotes.clauses import acceptance_tests, clean_clauses
from quotes.drafting import DraftLine, draft_from_answers
from quotes.models import Customer, Language, Paper, Quote, QuoteLine, QuoteRevision, SellerEntity, Terms
from quotes.payments import clean_schedule
from quotes.services.book_prices import add_catalog_facts, exchange_of
from quotes.services.log import log
from quotes.snapshot import revision_totals
from quotes.tax import tax_basis

if TYPE_CHECKING:
    from advisor.answers import RecommendationAnswer
    from advisor.models import Scenario

MAX_TOTAL = Decimal(10) ** 12

# Copied from revision to revision; never number, state, dates, decisions or snapshot.
CONTENT_FIELDS = (
    "basis",
    "language",
    "paper",
    "currency",
    "tax_mode",
    "term_months",
    "discount_fraction",
    "discount_amount",
    "discount_reason",
    "prices_include_tax",
    "project",
    "seller",
    "terms",
    "customer_name",
    "customer_tax_id",
    "customer_address",
    "contact_name",
    "contact_phone",
    "contact_email",
    "delivery_place",
    "customer_note",
    "deposit_months",
    "payment_schedule",
    "clauses",
    "special_terms",
    "exchange",
    "price_book",
    "sizing",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerData:
    """The buyer as printed. Everything may still be empty in a draft."""

    customer_name: str = ""
    customer_tax_id: str = ""
    customer_address: str = ""
    contact_name: str = ""
    contact_phone: str = ""
    contact_email: str = ""
    delivery_place: str = ""


def quote_create_from_recommendation(
    *,
    actor: access.Actor,
    answers: Mapping[str, RecommendationAnswer],
    basis: str,
    language: str = Language.CHINESE,
    customer: CustomerData | None = None,
    project: str = "",
    query: str = "",
    scenario: Scenario | None = None,
    creation_key: uuid.UUID | None = None,
) -> QuoteRevision:
    """A draft of the recommended configuration. `answers` hold the same recommendation in `zh-Hans` and in `en`.

    `scenario` is the saved one that asks this question; the link between the two is kept both ways. Raises
    `NothingToQuoteError` when there is no configuration or no price for this basis.
    """
    draft = draft_from_answers(answers, basis=basis, query=query)
    return quote_create(
        actor=actor,
        lines=draft.lines,
        content={
            "basis": basis,
            "language": language,
            "currency": draft.currency,
            "term_months": draft.term_months,
            "deposit_months": draft.deposit_months,
            "price_book": draft.price_book,
            "sizing": draft.sizing,
            "project": project,
            **asdict(customer or CustomerData()),
        },
        scenario=scenario,
        creation_key=creation_key,
    )


def quote_create(
    *,
    actor: access.Actor,
    lines: Sequence[DraftLine],
    content: Mapping[str, Any],
    scenario: Scenario | None = None,
    creation_key: uuid.UUID | None = None,
) -> QuoteRevision:
    """A draft from lines. The same `creation_key` a second time gives the first draft back."""
    if actor.user is None or not access.may_create(actor.user):
        raise access.NotAllowedError("Making a quote needs another role.")
    key = creation_key or uuid.uuid4()
    existing = created_before(key, actor)
    if existing is not None:
        return existing
    try:
        with transaction.atomic():
            quote = Quote.objects.create(owner=actor.user, creation_key=key, scenario=scenario)
            revision = new_revision(quote, actor, content)
            _store_lines(revision, lines)
            log(actor, "create", revision, after={"basis": revision.basis, "lines": len(lines)})
            return revision
    except IntegrityError:
        existing = created_before(key, actor)
        if existing is None:
            raise
        return existing


def created_before(key: uuid.UUID, actor: access.Actor) -> QuoteRevision | None:
    return QuoteRevision.objects.filter(quote__creation_key=key, quote__owner=actor.user, revision_index=1).first()


def new_revision(quote: Quote, actor: access.Actor, content: Mapping[str, Any]) -> QuoteRevision:
    """The first revision, with seller, terms, validity and the customer's habits where `content` names none."""
    values = dict(content)
    seller = values.pop("seller", None) or SellerEntity.objects.filter(is_default=True).first()
    terms = values.pop("terms", None) or Terms.objects.filter(basis=values["basis"], is_current=True).first()
    now = timezone.now()
    today = seller.today(now) if seller else timezone.localdate(now)
    values.setdefault("pricing_date", today)
    values.setdefault("valid_through", today + timedelta(days=terms.validity_days if terms else 15))
    habits = Customer.objects.filter(name=values.get("customer_name") or None).first()
    values.setdefault("language", habits.language if habits else Language.CHINESE)
    values.setdefault("paper", habits.paper if habits else Paper.A4)
    values.setdefault("tax_mode", habits.tax_mode if habits else TaxMode.PER_RATE)
    values.setdefault("payment_schedule", terms.payment_schedule if terms else [])
    values.setdefault("clauses", _clauses(terms, values.get("sizing", {})))
    values["payment_schedule"] = clean_schedule(values["payment_schedule"])
    values["clauses"] = clean_clauses(values["clauses"])
    revision = QuoteRevision(quote=quote, seller=seller, terms=terms, created_by=actor.user, **values)
    revision.full_clean(exclude=["quote"])
    revision.save()
    return revision


def _clauses(terms: Terms | None, sizing: Mapping[str, Any]) -> dict[str, Any]:
    """The clauses of the terms, with the acceptance tests of the sizing where there is one."""
    clauses: dict[str, Any] = deepcopy(terms.clauses) if terms else {}
    tests = acceptance_tests(sizing)
    if tests:
        clauses.setdefault("acceptance", {})["tests"] = tests
    return clauses


def _store_lines(revision: QuoteRevision, lines: Sequence[DraftLine]) -> None:
    rows = [
        QuoteLine(revision=revision, position=position, **asdict(line)) for position, line in enumerate(lines, start=1)
    ]
    add_catalog_facts(revision, rows)
    for row in rows:
        row.full_clean(exclude=["revision"], validate_unique=False, validate_constraints=False)
    QuoteLine.objects.bulk_create(rows)
    store_totals(revision, rows)


def copy_lines(source: QuoteRevision, target: QuoteRevision) -> list[QuoteLine]:
    """The lines of one revision again in another, with everything that belongs to them."""
    names = [field.attname for field in QuoteLine._meta.local_fields if field.attname not in {"id", "revision_id"}]
    rows = [QuoteLine(revision=target, **{name: getattr(line, name) for name in names}) for line in source.lines.all()]
    return QuoteLine.objects.bulk_create(rows)


def store_totals(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> None:
    """Keep the totals beside the revision, for lists; refuses what no quotation is about."""
    document = revision_totals(revision, lines)
    sums = document.totals
    if abs(sums.gross) >= MAX_TOTAL:
        raise ValidationError(
            _("The total of %(total)s is above the largest that a quote may have, %(limit)s."),
            params={"total": f"{sums.gross:,f}", "limit": f"{MAX_TOTAL:,f}"},
        )
    if sums.net < 0 or any(amounts.net < 0 for amounts in document.lines.values()):
        raise ValidationError(_("The discount is larger than the price. Lower it."))
    revision.total_net, revision.total_gross = sums.net, sums.gross
    country = revision.seller.country if revision.seller else ""
    revision.tax_basis = tax_basis(lines, basis=revision.basis, country=country, on=revision.pricing_date)
    revision.exchange = exchange_of(revision, lines)
    revision.save(update_fields=["total_net", "total_gross", "tax_basis", "exchange", "updated_at"])

"""Prices of today for lines of yesterday: what a copy of a quote, or a draft after a new price book, would cost now."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.http import QueryDict
from django.utils import timezone, translation

from advisor.inputs import body_from_query, parse_recommendation_request
from advisor.services import scenario_search
from catalog.money import round_money
from quotes import access
from quotes.drafting import Draft, NothingToQuoteError, draft_from_answers
from quotes.models import Quote, QuoteLine, QuoteRevision
from quotes.services.approvals import void_approval
from quotes.services.book_prices import EACH, add_catalog_facts, book_in_force
from quotes.services.creation import CONTENT_FIELDS, copy_lines, created_before, new_revision, store_totals
from quotes.services.line_edits import StaleEditError
from quotes.services.log import checked, locked, log
from quotes.states import Action

LANGUAGES = {"zh-Hans": "zh-hans", "en": "en"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """One line's price before and now. `new` None: no book of today has it, so the old one would stand without a list
    price. `is_manual`: the old price was set by hand, and stays unless it is named."""

    position: int
    sku: str
    name_zh: str
    name_en: str
    old: Decimal | None
    old_list: Decimal | None
    new: Decimal | None
    book_code: str
    is_manual: bool
    origin: str = ""
    as_of: date | None = None
    is_indicative: bool = False
    lead_time_days: int | None = None

    @property
    def is_changed(self) -> bool:
        return self.new != self.old_list


@dataclass(frozen=True, slots=True, kw_only=True)
class TodaysPrices:
    """Changes by line, and the book that they come from, as a draft keeps it."""

    changes: tuple[PriceChange, ...]
    price_book: dict[str, Any]


def reprice_preview(revision: QuoteRevision) -> list[PriceChange]:
    """Old and new price of every priced line; nothing is changed."""
    return list(_todays_prices(revision, list(revision.lines.all())).changes)


def quote_duplicate(
    *,
    actor: access.Actor,
    revision: QuoteRevision,
    creation_key: uuid.UUID | None = None,
    reprice: bool = True,
    manual_positions: Collection[int] = (),
) -> QuoteRevision:
    """A new quote with the same customer and lines; validity, terms and, with `reprice`, prices are today's.

    Number, state, dates, approvals, acceptance and snapshot are not copied. Prices set by hand stay, except at
    `manual_positions`.
    """
    checked(actor, Action.DUPLICATE, revision)
    if actor.user is None:
        raise access.NotAllowedError("A quote is made by a member of staff.")
    key = creation_key or uuid.uuid4()
    existing = created_before(key, actor)
    if existing is not None:
        return existing
    left_out = {"terms", "seller", "exchange"}
    content = {name: getattr(revision, name) for name in CONTENT_FIELDS if name not in left_out}
    prices = _todays_prices(revision, list(revision.lines.all())) if reprice else None
    with transaction.atomic():
        quote = Quote.objects.create(owner=actor.user, creation_key=key, scenario=revision.quote.scenario)
        if prices is None:
            content["exchange"] = revision.exchange
        draft = new_revision(quote, actor, content)
        rows = copy_lines(revision, draft)
        changes = _apply(draft, rows, prices, manual_positions) if prices else []
        store_totals(draft, rows)
        log(
            actor,
            "duplicate",
            draft,
            before={"copied_from": str(revision)},
            after={"lines": len(rows), "repriced": reprice, "prices": changes},
        )
        return draft


def quote_reprice(
    *, actor: access.Actor, revision: QuoteRevision, expected_version: int, manual_positions: Collection[int] = ()
) -> QuoteRevision:
    """Give a draft the prices of today's book; its pricing date becomes today."""
    with transaction.atomic():
        current = locked(revision)
        checked(actor, Action.EDIT, current)
        if current.content_version != expected_version:
            raise StaleEditError(f"The draft is at version {current.content_version}, not {expected_version}.")
        rows = list(current.lines.all())
        changes = _apply(current, rows, _todays_prices(current, rows), manual_positions)
        today = current.seller.today(timezone.now()) if current.seller else timezone.localdate()
        before = current.pricing_date
        current.pricing_date = today
        current.valid_through = max(current.valid_through, today)
        current.content_version += 1
        current.save()
        store_totals(current, rows)
        void_approval(actor, current, rows)
        log(
            actor,
            "reprice",
            current,
            before={"pricing_date": before.isoformat()},
            after={"pricing_date": today.isoformat(), "prices": changes},
        )
        return current


def _apply(
    draft: QuoteRevision, rows: Sequence[QuoteLine], prices: TodaysPrices, manual_positions: Collection[int]
) -> list[dict[str, Any]]:
    """Put the new prices into stored lines; returns the changes as the log keeps them."""
    by_position = {change.position: change for change in prices.changes}
    logged = []
    for row in rows:
        change = by_position.get(row.position)
        if change is None:
            continue
        row.list_price = change.new
        if change.new is not None:
            row.price_origin, row.price_as_of = change.origin, change.as_of
            row.is_indicative, row.lead_time_days = change.is_indicative, change.lead_time_days
            if not change.is_manual or row.position in manual_positions:
                row.unit_price = change.new
        logged.append({"position": row.position, "unit_price": [str(change.old), str(row.unit_price)]})
    draft.price_book, draft.exchange = prices.price_book or draft.price_book, {}
    draft.save(update_fields=["price_book", "exchange", "updated_at"])
    add_catalog_facts(draft, rows)
    names = ["list_price", "unit_price", "price_origin", "price_as_of", "is_indicative", "lead_time_days"]
    QuoteLine.objects.bulk_update(rows, [*names, "floor_price", "cost_price", "export_note"])
    return logged


def _todays_prices(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> TodaysPrices:
    """Prices by the sizing's own query where there is one, else by the rows of the book in force."""
    draft = _todays_draft(revision)
    sized = (
        {(line.sku, line.kind, line.unit): line for line in draft.lines if line.unit_price is not None} if draft else {}
    )
    today = revision.seller.today(timezone.now()) if revision.seller else timezone.localdate()
    book = book_in_force(basis=revision.basis, currency=revision.currency, on=today)
    rows = {row.sku: row for row in book.prices.filter(unit=EACH, term_months=None, condition="")} if book else {}
    changes = []
    for line in lines:
        if line.is_included:
            continue
        found: Any = sized.get((line.sku, line.kind, line.unit))
        row = rows.get(line.sku) if line.unit == EACH else None
        new: Decimal | None = None
        details: dict[str, Any] = {}
        if found is not None:
            new = found.unit_price
            details = {
                "origin": found.price_origin,
                "as_of": found.price_as_of,
                "is_indicative": found.is_indicative,
                "lead_time_days": found.lead_time_days,
            }
        elif row is not None and book is not None:
            new = round_money(row.amount, revision.currency)
            details = {
                "origin": row.origin_mark,
                "as_of": row.as_of,
                "is_indicative": row.is_indicative or book.is_indicative,
                "lead_time_days": row.lead_time_days,
            }
        changes.append(
            PriceChange(
                position=line.position,
                sku=line.sku,
                name_zh=line.name_zh,
                name_en=line.name_en,
                old=line.unit_price,
                old_list=line.list_price,
                new=new,
                book_code=book.code if book else "",
                is_manual=line.unit_price != line.list_price,
                **details,
            )
        )
    return TodaysPrices(changes=tuple(changes), price_book=_book_names(draft, book))


def _book_names(draft: Draft | None, book: Any) -> dict[str, Any]:
    if draft is not None:
        return draft.price_book
    if book is None:
        return {}
    names: Mapping[str, str] = {"zh-Hans": book.name_zh, "en": book.name_en}
    as_of = book.valid_from.isoformat()
    return {language: {"code": book.code, "name": name, "as_of": as_of} for language, name in names.items()}


def _todays_draft(revision: QuoteRevision) -> Draft | None:
    """What the sizing behind the quote gives today; None for hand-made quotes and where it has no answer any more."""
    query = str(revision.sizing.get("query", ""))
    if not query:
        return None
    checked_request = parse_recommendation_request(body_from_query(QueryDict(query)))
    answers = {}
    for language, code in LANGUAGES.items():
        with translation.override(code):
            answers[language] = scenario_search(checked=checked_request)
    try:
        draft = draft_from_answers(answers, basis=revision.basis, query=query)
    except NothingToQuoteError:
        return None
    return draft if (draft.currency, draft.term_months) == (revision.currency, revision.term_months) else None

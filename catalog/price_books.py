"""Life of a price book: draft, published (frozen), retired; and how the demonstration books get in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from catalog.models import Price, PriceBook
from catalog.price_records import BookRecord, PriceRecord
from catalog.revisions import PRICE_FIELDS, content_hash, revision_record


class PriceBookError(ValueError):
    """Why a book cannot be published, closed or retired; `code` is stable, the text is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class BookOutcome:
    code: str
    version: int
    price_count: int
    state: str  # created | unchanged | kept_out


def locked_market(basis: str, currency: str) -> list[PriceBook]:
    """Every book of a basis and currency under lock, so that two publications cannot pass each other.

    A draft that is to be published is one of these rows, so on PostgreSQL the second publisher waits here; on SQLite
    the transaction holds the only write lock.
    """
    books = PriceBook.objects.select_for_update().for_market(basis=basis, currency=currency)
    return list(books.order_by("pk"))


def book_content_hash(book: PriceBook) -> str:
    return content_hash(list(book.prices.order_by(*PRICE_FIELDS[:4]).values_list(*PRICE_FIELDS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a publication does to another book in force: ends it at a day, or takes it out of use from its first day."""

    book: PriceBook
    closed_on: date | None  # None: retired


def publication_effects(book: PriceBook) -> list[Effect]:
    """Books that make room for this one: those that start earlier end where it starts, one of the same day retires.

    PriceBookError where a book that starts later would be run over: its author has to decide.
    """
    rivals = PriceBook.objects.published().for_market(basis=book.basis, currency=book.currency).exclude(pk=book.pk)
    effects = []
    for rival in rivals.overlapping(book.valid_from, book.valid_until):
        if rival.valid_from > book.valid_from:
            message = _("%(book)s starts on %(day)s, within the days of this book. Give this one an end, or retire it.")
            raise PriceBookError("overlaps", message % {"book": rival, "day": rival.valid_from.isoformat()})
        is_earlier = rival.valid_from < book.valid_from
        effects.append(Effect(book=rival, closed_on=book.valid_from if is_earlier else None))
    return effects


@transaction.atomic
def price_book_publish(*, book: PriceBook, is_replacing: bool = False, reason: str = "", author: str = "") -> PriceBook:
    """Freezes a draft. Refused when it is empty, has a rate without source and date, or shares a day with another
    published book of its market; `is_replacing` ends or retires those that it takes the place of."""
    market = locked_market(book.basis, book.currency)
    fresh = next((candidate for candidate in market if candidate.pk == book.pk), None)
    if fresh is None or fresh.status != PriceBook.Status.DRAFT:
        raise PriceBookError("not_a_draft", _("Only a draft can be published."))
    if not fresh.prices.exists():
        raise PriceBookError("no_prices", _("The book has no prices."))
    if fresh.exchange_rate is not None and not (fresh.exchange_rate_source and fresh.exchange_rate_date):
        raise PriceBookError("rate_without_source", _("The exchange rate needs its source and its date."))
    if is_replacing:
        for effect in publication_effects(fresh):
            _make_room(effect)
    rivals = PriceBook.objects.published().for_market(basis=fresh.basis, currency=fresh.currency)
    rival = rivals.overlapping(fresh.valid_from, fresh.valid_until).first()
    if rival is not None:
        message = _("%(book)s holds on days of this book. Close or retire it first.")
        raise PriceBookError("overlaps", message % {"book": rival})
    fresh.content_hash = book_content_hash(fresh)
    fresh.status, fresh.published_at = PriceBook.Status.PUBLISHED, timezone.now()
    fresh.published_by, fresh.reason = author[:150], reason[:500]
    try:
        fresh.full_clean()
    except ValidationError as error:
        raise PriceBookError("invalid", " ".join(error.messages)) from None
    fresh.save()
    revision_record(reason=reason or f"published {fresh.code} v{fresh.version}", author=author)
    return fresh


def _make_room(effect: Effect) -> None:
    if effect.closed_on is None:
        effect.book.status = PriceBook.Status.RETIRED
    else:
        effect.book.valid_until = effect.closed_on
    effect.book.save(update_fields=["status", "valid_until"])


def book_before(book: PriceBook) -> PriceBook | None:
    """The book of the market that was published last before this one: what a roll-back brings back."""
    if book.published_at is None:
        return None
    earlier = PriceBook.objects.for_market(basis=book.basis, currency=book.currency).exclude(pk=book.pk)
    return earlier.filter(published_at__lt=book.published_at).order_by("-published_at", "-version").first()


@transaction.atomic
def price_book_roll_back(*, book: PriceBook, on: date, reason: str, author: str = "") -> PriceBook:
    """Puts the prices of the book before back in force from a day on, as a new version of that book.

    What rests on `book` keeps it: books stay as they were published, so a roll-back moves forward.
    """
    fresh = next(candidate for candidate in locked_market(book.basis, book.currency) if candidate.pk == book.pk)
    if fresh.status != PriceBook.Status.PUBLISHED:
        raise PriceBookError("not_published", _("Only a published book can be rolled back."))
    previous = book_before(fresh)
    if previous is None:
        raise PriceBookError("nothing_before", _("There is no earlier book of this basis and currency."))
    start = max(on, fresh.valid_from)
    if fresh.valid_until is not None and fresh.valid_until <= start:
        message = _("%(book)s ended on %(day)s. Roll back the book that is in force.")
        raise PriceBookError("ended", message % {"book": fresh, "day": fresh.valid_until.isoformat()})
    draft = price_book_draft(book=previous)
    draft.valid_from, draft.valid_until = start, fresh.valid_until
    draft.save(update_fields=["valid_from", "valid_until"])
    return price_book_publish(book=draft, is_replacing=True, reason=reason, author=author)


@transaction.atomic
def price_book_close(*, book: PriceBook, valid_until: date, author: str = "") -> PriceBook:
    """Ends a published book before `valid_until`, so that the next one can start there. Prices stay as they are."""
    fresh = next(candidate for candidate in locked_market(book.basis, book.currency) if candidate.pk == book.pk)
    if fresh.status != PriceBook.Status.PUBLISHED:
        raise PriceBookError("not_published", _("Only a published book can be closed."))
    if valid_until <= fresh.valid_from:
        raise PriceBookError("ends_before_start", _("The book must end after it starts."))
    if fresh.valid_until is not None and valid_until > fresh.valid_until:
        raise PriceBookError("extends", _("A published book can only be shortened."))
    fresh.valid_until = valid_until
    fresh.save(update_fields=["valid_until"])
    revision_record(reason=f"closed {fresh.code} v{fresh.version}", author=author)
    return fresh


@transaction.atomic
def price_book_retire(*, book: PriceBook, reason: str = "", author: str = "") -> PriceBook:
    """Takes a published book out of use; quotes that rest on it keep it."""
    fresh = next(candidate for candidate in locked_market(book.basis, book.currency) if candidate.pk == book.pk)
    if fresh.status != PriceBook.Status.PUBLISHED:
        raise PriceBookError("not_published", _("Only a published book can be retired."))
    fresh.status = PriceBook.Status.RETIRED
    fresh.save(update_fields=["status"])
    revision_record(reason=reason or f"retired {fresh.code} v{fresh.version}", author=author)
    return fresh


@transaction.atomic
def price_book_draft(*, book: PriceBook, records: Iterable[PriceRecord] | None = None) -> PriceBook:
    """A copy as the next version, with its prices or those given; published, it takes the old one's place."""
    locked_market(book.basis, book.currency)
    version = max(PriceBook.objects.filter(code=book.code).values_list("version", flat=True)) + 1
    names = [*HEAD_FIELDS, "code"]
    draft = PriceBook.objects.create(version=version, based_on=book, **{name: getattr(book, name) for name in names})
    rows: Iterable[Any] = book.prices.all() if records is None else records
    Price.objects.bulk_create((_price(draft, row) for row in rows), batch_size=500)
    return draft


@transaction.atomic
def price_book_refill(*, book: PriceBook, records: Iterable[PriceRecord]) -> PriceBook:
    """A draft's prices as a file says."""
    fresh = next(candidate for candidate in locked_market(book.basis, book.currency) if candidate.pk == book.pk)
    if fresh.status != PriceBook.Status.DRAFT:
        raise PriceBookError("not_a_draft", _("Only a draft's prices can be changed."))
    fresh.prices.all().delete()
    Price.objects.bulk_create((_price(fresh, row) for row in records), batch_size=500)
    return fresh


@transaction.atomic
def price_book_import(*, record: BookRecord, is_published: bool = False) -> PriceBook:
    """A price list as the next version of its code: a draft, or published where the book in force is closed for it."""
    market = locked_market(record.basis, record.currency)
    versions = [row.version for row in PriceBook.objects.filter(code=record.code)]
    book = _draft(record, version=max(versions, default=0) + 1)
    try:
        book.full_clean()
        prices = [_price(book, price) for price in record.prices]
        for price in prices:
            price.clean_fields(exclude=["book"])
    except ValidationError as error:
        raise PriceBookError("invalid", " ".join(error.messages)) from None
    book.save()
    Price.objects.bulk_create(prices)
    if not is_published:
        return book
    for row in market:
        if row.status == PriceBook.Status.PUBLISHED and row.valid_until is None and row.valid_from < book.valid_from:
            price_book_close(book=row, valid_until=book.valid_from)
    return price_book_publish(book=book)


def _price(book: PriceBook, record: PriceRecord | Price) -> Price:
    return Price(book=book, **{name: getattr(record, name) for name in PRICE_FIELDS})


def price_books_write(records: Iterable[BookRecord]) -> tuple[BookOutcome, ...]:
    """Brings each record in as the published version of its code; call inside the loader's transaction."""
    return tuple(_write_book(record) for record in records)


def _write_book(record: BookRecord) -> BookOutcome:
    """Same content: nothing happens. New content: a new version; the old one retires and stays for its quotes.

    A seller's own book of the market always wins, under whichever code: the demonstration book is kept out.
    """
    market = locked_market(record.basis, record.currency)
    versions = [book for book in market if book.code == record.code]
    published = [book for book in market if book.status == PriceBook.Status.PUBLISHED]
    present = next((book for book in published if book.code == record.code), None)
    count = len(record.prices)
    wanted = _draft(record, version=max((book.version for book in versions), default=0) + 1)
    if present is not None and _is_same(present, record, wanted):
        return BookOutcome(code=record.code, version=present.version, price_count=count, state="unchanged")
    if any(book.code != record.code or book.published_by for book in published):
        return BookOutcome(code=record.code, version=0, price_count=count, state="kept_out")
    if present is not None:
        present.status = PriceBook.Status.RETIRED
        present.save(update_fields=["status"])
    wanted.save()
    Price.objects.bulk_create(_price(wanted, price) for price in record.prices)
    wanted.content_hash = book_content_hash(wanted)
    wanted.status, wanted.published_at = PriceBook.Status.PUBLISHED, timezone.now()
    wanted.save()
    return BookOutcome(code=record.code, version=wanted.version, price_count=count, state="created")


HEAD_FIELDS: tuple[str, ...] = (
    "name_zh",
    "name_en",
    "basis",
    "currency",
    "valid_from",
    "is_indicative",
    "exchange_rate",
)
HEAD_FIELDS += ("exchange_rate_source", "exchange_rate_date", "note_zh", "note_en")


def _draft(record: BookRecord, *, version: int) -> PriceBook:
    return PriceBook(code=record.code, version=version, **{name: getattr(record, name) for name in HEAD_FIELDS})


def _is_same(present: PriceBook, record: BookRecord, wanted: PriceBook) -> bool:
    if any(getattr(present, name) != getattr(wanted, name) for name in HEAD_FIELDS):
        return False
    stored = {
        tuple(row[:4]): tuple(row[4:]) for row in present.prices.values_list(*PRICE_FIELDS)
    }  # key: sku, unit, term, condition
    asked = {
        tuple(getattr(price, name) for name in PRICE_FIELDS[:4]): tuple(
            getattr(price, name) for name in PRICE_FIELDS[4:]
        )
        for price in record.prices
    }
    return stored == asked

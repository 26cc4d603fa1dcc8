"""Brings a seller's price list in as a new version of a book: all faults with their lines, all or nothing."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from catalog.price_diffs import price_diff
from catalog.price_files import HEADERS, read_prices
from catalog.price_records import BookRecord, PriceRecord
from catalog.price_words import diff_rows
from catalog.records import CatalogFileError
from catalog.services import PriceBookError, known_skus, price_book_import, price_book_on


def decimal(raw: str) -> Decimal:
    try:
        return Decimal(raw)
    except InvalidOperation:
        raise ValueError(raw) from None


class Command(BaseCommand):
    help = (
        "Loads a price list (CSV with the columns "
        + ", ".join(HEADERS)
        + ") as the next version of a price book: a draft, or with --publish in force from --valid-from, where the "
        "book that holds without an end is closed. All or nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--code", required=True, help="stays the same from version to version")
        parser.add_argument("--basis", required=True, choices=["rental", "purchase", "cloud"])
        parser.add_argument("--currency", required=True, choices=["CNY", "USD"])
        parser.add_argument("--valid-from", required=True, type=date.fromisoformat, metavar="YYYY-MM-DD")
        parser.add_argument("--name-zh", help="default: the code")
        parser.add_argument("--name-en", help="default: the code")
        parser.add_argument("--indicative", action="store_true", help="prices are printed as indicative")
        parser.add_argument("--exchange-rate", type=decimal, metavar="CNY_PER_USD")
        parser.add_argument("--exchange-rate-source", default="")
        parser.add_argument("--exchange-rate-date", type=date.fromisoformat, metavar="YYYY-MM-DD")
        parser.add_argument("--publish", action="store_true")
        parser.add_argument("--dry-run", action="store_true", help="check the file, write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            prices = read_prices(options["file"], known_skus=known_skus())
            if options["dry_run"]:
                self.write_difference(options, prices)
                self.stdout.write(_("%(count)d prices are right; nothing was written.") % {"count": len(prices)})
                return
            book = price_book_import(record=self.record(options, prices), is_published=options["publish"])
        except CatalogFileError as error:
            for fault in error.faults:
                self.stderr.write(str(fault))
            raise CommandError(_("%(count)d faults; nothing was written.") % {"count": len(error.faults)}) from None
        except PriceBookError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{book}: {len(prices)} {_('prices')}, {book.get_status_display()}")

    def write_difference(self, options: dict[str, Any], prices: tuple[PriceRecord, ...]) -> None:
        """Row by row against the book that holds on the first day."""
        book = price_book_on(basis=options["basis"], currency=options["currency"], on=options["valid_from"])
        diff = price_diff(book.prices.all() if book else (), prices)
        for row in diff_rows(diff.rows):
            self.stdout.write(f"{row.sku} {row.item}: {row.before} -> {row.after} {row.percent} {row.others}".rstrip())
        counts = {"new": len(diff.added), "gone": len(diff.removed), "changed": len(diff.changed)}
        self.stdout.write(_("%(new)d new, %(gone)d gone, %(changed)d changed.") % counts)

    @staticmethod
    def record(options: dict[str, Any], prices: Any) -> BookRecord:
        return BookRecord(
            code=options["code"],
            name_zh=options["name_zh"] or options["code"],
            name_en=options["name_en"] or options["code"],
            basis=options["basis"],
            currency=options["currency"],
            valid_from=options["valid_from"],
            is_indicative=options["indicative"],
            exchange_rate=options["exchange_rate"],
            exchange_rate_source=options["exchange_rate_source"],
            exchange_rate_date=options["exchange_rate_date"],
            note_zh="",
            note_en="",
            prices=prices,
        )

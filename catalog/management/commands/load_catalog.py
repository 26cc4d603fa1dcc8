"""Loads or updates the catalogue from CSV files: every fault with file and line; all or nothing."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from catalog.records import CatalogFileError, read_catalog
from catalog.services import LoadReport, catalog_load

DEFAULT_FOLDER = Path(__file__).resolve().parent.parent.parent / "data"


class Command(BaseCommand):
    help = (
        "Loads or updates the catalogue and the demonstration price books from CSV files. "
        "A row is written when the file says something new about it; edits made here stay till then, or till --reset. "
        "A part that has gone from the files retires. All or nothing; the same files twice change nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER, metavar="DIR", help="CSV folder")
        parser.add_argument("--dry-run", action="store_true", help="check and count, write nothing")
        parser.add_argument("--reset", action="store_true", help="write rows that were edited here too")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if not folder.is_dir():
            raise CommandError(_("%(folder)s is not a folder.") % {"folder": folder})
        try:
            records = read_catalog(folder)
            report = catalog_load(records=records, is_dry_run=options["dry_run"], is_reset=options["reset"])
        except CatalogFileError as error:
            for fault in error.faults:
                self.stderr.write(str(fault))
            raise CommandError(_("%(count)d faults; nothing was written.") % {"count": len(error.faults)}) from None
        self.report(report)

    def report(self, report: LoadReport) -> None:
        line = "{:<20}{:>9}{:>9}{:>11}{:>9}"
        self.stdout.write(line.format(_("kind"), _("new"), _("changed"), _("unchanged"), _("retired")))
        for row in report.counts:
            self.stdout.write(line.format(row.kind, row.created, row.updated, row.unchanged, row.retired))
        states = {
            "created": _("published"),
            "unchanged": _("unchanged"),
            "kept_out": _("kept out: another published book holds"),
        }
        for book in report.books:
            self.stdout.write(f"{book.code} v{book.version}: {book.price_count} {_('prices')}, {states[book.state]}")
        state = _("new revision") if report.is_new_revision else _("nothing changed")
        self.stdout.write(f"{_('revision')} {report.revision}: {state}")
        if report.is_dry_run:
            self.stdout.write(_("Dry run: nothing was written."))

"""Parts of the catalogue -> one workbook, or a folder of CSV files, in the columns that `import_catalog` reads."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from catalog.part_files import SHEETS, written_table
from catalog.sheet_writing import csv_bytes, xlsx_bytes


class Command(BaseCommand):
    help = "Writes every part, one sheet a kind: FILE.xlsx is a workbook, anything else a folder of CSV files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", type=Path, metavar="FILE.xlsx|FOLDER")
        parser.add_argument("--with-retired", action="store_true", help="retired parts too")

    def handle(self, *args: Any, **options: Any) -> None:
        target: Path = options["target"]
        tables = []
        for sheet in SHEETS.values():
            parts = sheet.model._default_manager.with_specs()  # type: ignore[attr-defined]  # a PartQuerySet
            tables.append(written_table(sheet, parts if options["with_retired"] else parts.active()))
        try:
            if target.suffix == ".xlsx":
                target.write_bytes(xlsx_bytes(tables))
            else:
                target.mkdir(parents=True, exist_ok=True)
                for table in tables:
                    (target / f"{table.name}.csv").write_bytes(csv_bytes(table))
        except OSError as error:
            raise CommandError(f"{target}: {error.strerror or error}") from None
        self.stdout.write(
            _("%(count)d kinds of parts written to %(target)s.") % {"count": len(tables), "target": target}
        )

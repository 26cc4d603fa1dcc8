"""Spreadsheets of parts -> what they would change, as a draft, or published at once."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from catalog.cell_habits import DecimalMark
from catalog.change_plans import Plan, plan_of_sheets
from catalog.change_words import changed_row
from catalog.drafts import DraftError, draft_create, draft_publish
from catalog.part_files import SHEETS
from catalog.sheet_reading import ENCODINGS, Sheet, SheetError, read_sheets


class Command(BaseCommand):
    help = (
        "Reads CSV or XLSX files in the columns of `export_catalog` and prints every row that they would change. "
        "With --author the changes become a draft, with --publish too a revision. One fault, and nothing is kept."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument("--kind", default="", choices=["", *SHEETS], help="default: by sheet, file name or columns")
        parser.add_argument("--decimal-mark", default="", choices=["", ".", ","], help="default: found out")
        parser.add_argument("--encoding", default="", choices=["", *ENCODINGS], help="of CSV files; default: found out")
        parser.add_argument("--dry-run", action="store_true", help="print the difference, keep nothing")
        parser.add_argument("--author", default="", metavar="USER", help="whose draft it becomes")
        parser.add_argument("--publish", action="store_true")
        parser.add_argument("--reason", default="", help="stands in the history of every row; needed to publish")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = self.plan(options)
        for row in plan.rows:
            action = pgettext("change", "added") if row.is_new else pgettext("change", "changed")
            shown = changed_row(kind=row.kind, key=row.key, action=action, before=row.before, after=row.after)
            fields = "; ".join(f"{field.label}: {field.before} -> {field.after}" for field in shown.fields)
            self.stdout.write(f"{row.kind} {row.key} {action}: {fields}")
        counts = {"added": plan.new_count, "changed": plan.changed_count, "unchanged": plan.unchanged_count}
        self.stdout.write(_("%(added)d added, %(changed)d changed, %(unchanged)d as they are.") % counts)
        if options["dry_run"] or not options["author"] or not plan.rows:
            return
        try:
            author = User.objects.get(username=options["author"])
            title = ", ".join(path.name for path in options["files"])
            draft = draft_create(plan=plan, title=title, author=author)
            if options["publish"]:
                revision = draft_publish(draft=draft, reason=options["reason"], author=author)
                self.stdout.write(_("Published as catalogue revision %(code)s.") % {"code": revision.code})
            else:
                self.stdout.write(_("Kept as draft %(number)d.") % {"number": draft.pk})
        except User.DoesNotExist:
            raise CommandError(_("There is no user “%(name)s”.") % {"name": options["author"]}) from None
        except DraftError as error:
            raise CommandError(str(error)) from None

    def plan(self, options: dict[str, Any]) -> Plan:
        sheets: list[Sheet] = []
        try:
            for path in options["files"]:
                sheets += read_sheets(path.read_bytes(), path.name, encoding=options["encoding"])
        except (OSError, SheetError) as error:
            raise CommandError(str(error)) from None
        mark = DecimalMark(options["decimal_mark"]) if options["decimal_mark"] else None
        plan = plan_of_sheets(sheets, kind=options["kind"], mark=mark)
        if plan.faults:
            for fault in plan.faults:
                self.stderr.write(str(fault))
            raise CommandError(_("%(count)d faults; nothing was written.") % {"count": len(plan.faults)})
        return plan

"""Lists gaps and duplicates of the quote numbers; exit code 1 when there is one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from quotes.numbers import check_series


class Command(BaseCommand):
    help = "Checks that quote numbers are consecutive, given once, and each with its document."

    def handle(self, *args: Any, **options: Any) -> None:
        reports = check_series()
        for report in reports:
            verdict = "whole" if report.is_whole else "NOT WHOLE"
            self.stdout.write(f"{report.series}: {report.issued_count} issued, next {report.next_value}, {verdict}")
            for name in ("gaps", "duplicates", "beyond_counter", "without_document"):
                found = getattr(report, name)
                if found:
                    self.stdout.write(f"  {name.replace('_', ' ')}: {', '.join(map(str, found))}")
        if not all(report.is_whole for report in reports):
            raise CommandError("Quote numbers are not whole.")

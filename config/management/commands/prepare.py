"""Everything between an empty database and a site that answers, in one process; running it again changes nothing."""

from __future__ import annotations

import io
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandParser, call_command
from django.utils import translation

from advisor.validation_page import validation
from config.static_files import collect_if_changed


class Command(BaseCommand):
    help = "Migrates, loads the catalogue, packs static files and, on an empty database, makes demo users and quotes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-demo", action="store_true", help="leave an empty database without demo data")

    def handle(self, *args: Any, no_demo: bool = False, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        report = io.StringIO()
        with translation.override("en"):  # as the rest of what the set-up prints
            call_command("load_catalog", stdout=report)
        self.stdout.write(report.getvalue().strip().rpartition("\n")[2])  # its last line: the revision, new or not
        if not settings.DEBUG and collect_if_changed():
            self.stdout.write("static files packed")
        validation()  # stored for the page, which else computes it for its first visitor
        if not no_demo and not get_user_model().objects.exists():
            call_command("seed_demo", stdout=self.stdout)

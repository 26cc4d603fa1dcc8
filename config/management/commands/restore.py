"""Thin: asks, and lets config.backup put the archive back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser, call_command

from config.backup import BackupError, backup_restore


class Command(BaseCommand):
    help = "Replaces the database and the attachments by those of an archive, then migrates. Stop the site first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, file: Path, yes: bool = False, **options: Any) -> None:
        if not yes:
            if not sys.stdin.isatty():
                raise CommandError("This replaces all data. Say so with --yes.")
            if input(f"Replace all data by {file}? Type yes: ").strip() != "yes":
                raise CommandError("Nothing was changed.")
        try:
            manifest = backup_restore(path=file)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from None
        call_command("migrate", verbosity=0, interactive=False)
        self.stdout.write(f"Restored the state of {manifest['created']}.")

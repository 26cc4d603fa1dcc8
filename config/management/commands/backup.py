"""Thin: names the archive and lets config.backup write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.backup import BackupError, backup_create


class Command(BaseCommand):
    help = "Writes the database and the attachments into one archive."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="default: a name with the time in .var/backups/")

    def handle(self, *args: Any, file: Path | None = None, **options: Any) -> None:
        now = timezone.localtime()
        path = file or Path(settings.VAR_DIR) / "backups" / f"{now:%Y-%m-%d-%H%M%S}.tar.gz"
        try:
            backup_create(path=path, now=now)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")

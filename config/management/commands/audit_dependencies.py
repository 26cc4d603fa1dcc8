"""Thin: asks for the lock file's packages and reports."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from config.audit import UnreachableError, findings, pinned

SERVICE = "https://api.osv.dev"


class Command(BaseCommand):
    help = "Asks a vulnerability service about every locked package; says so when the service does not answer."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--service", default=SERVICE, help=f"address of an OSV service, default {SERVICE}")

    def handle(self, *args: Any, service: str = SERVICE, **options: Any) -> None:
        packages = pinned(settings.BASE_DIR / "requirements.txt")
        try:
            found = findings(packages, service)
        except UnreachableError as error:
            self.stdout.write(f"Skipped: {service} does not answer ({error}).")
            return
        if found:
            raise CommandError("\n".join(f"{item.name} {item.version}: {', '.join(item.faults)}" for item in found))
        self.stdout.write(f"No known faults in {len(packages)} packages.")

"""Send what waits in the outbox."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import close_old_connections

from quotes.models import MailState
from quotes.services.mails import reminder_mails
from quotes.services.sending import deliver_due

PAUSE_SECONDS = 15
REMIND_EVERY_SECONDS = 3600


class Command(BaseCommand):
    help = (
        "Sends the mails that are due, each with its retries, and reminds of quotes that expire in 7 or 2 days. "
        "With --loop it goes on until it is stopped; several may run side by side."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--loop", action="store_true", help="go on until stopped")
        parser.add_argument("--no-reminders", action="store_true", help="send only what waits already")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        if options["loop"]:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stop.set())  # the mail in hand is finished first
        reminded_at: float | None = None
        while not stop.is_set():
            now = time.monotonic()
            if not options["no_reminders"] and (reminded_at is None or now - reminded_at > REMIND_EVERY_SECONDS):
                reminder_mails()
                reminded_at = now
            self._report()
            if not options["loop"]:
                return
            close_old_connections()
            stop.wait(PAUSE_SECONDS)

    def _report(self) -> None:
        for mail in deliver_due():
            outcome = "accepted" if mail.state == MailState.ACCEPTED else f"{mail.state}: {mail.failure}"
            self.stdout.write(f"{mail.kind} to {mail.recipient}: {outcome}")

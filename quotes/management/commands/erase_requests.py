"""Take personal data out of requests: at the person's wish, or when its time is over."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from quotes.models import QuoteRequest
from quotes.services.requests import expired_requests, requests_erase
from quotes.services.tokens import kept_answers_drop


class Command(BaseCommand):
    help = (
        "Erases name, company, address, telephone and message of requests, by reference, by e-mail address, or of all "
        "that are past REQUEST_RETENTION_DAYS; with --expired the API's kept answers go too once their day is over. "
        "The sizing stays; quotes made from a request are named."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--reference", help="one request, such as A-7K2MXW4P")
        which.add_argument("--email", help="every request of this e-mail address")
        which.add_argument("--expired", action="store_true", help="every request past its retention")

    def handle(self, *args: Any, **options: Any) -> None:
        rows = QuoteRequest.objects.filter(erased_at__isnull=True)
        if options["reference"]:
            rows = rows.filter(reference=options["reference"].strip().upper())
        elif options["email"]:
            rows = rows.filter(email__iexact=options["email"].strip())
        else:
            rows = expired_requests()
            self.stdout.write(f"Kept answers of the API dropped: {kept_answers_drop()}")
        quotes = [
            (request.reference, request.quote)
            for request in rows.filter(quote__isnull=False).select_related("quote").defer("answers")
        ]
        count = requests_erase(rows)
        if not count and not options["expired"]:
            raise CommandError("No request with contact data matches.")
        self.stdout.write(f"Erased: {count}")
        for reference, quote in quotes:
            self.stdout.write(f"{reference}: the quote {quote} is a business record and keeps its customer.")

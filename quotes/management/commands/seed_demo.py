"""Demo staff of each role, a sample seller with terms and customers, and quotes in every state that exists."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand

from quotes import access
from quotes.models import Quote
from quotes.pdf import PdfUnavailableError
from quotes.samples import SAMPLES, seed_parties, seed_quote
from quotes.states import Role

DEMO_USERS: dict[str, Role | None] = {
    "demo-rep": Role.SALES_REP,
    "demo-manager": Role.SALES_MANAGER,
    "demo-catalog": Role.CATALOG_EDITOR,
    "demo-finance": Role.FINANCE_VIEWER,
    "demo-admin": None,  # superuser
}
LOGIN_FILE = Path(settings.BASE_DIR) / ".demo-login"


class Command(BaseCommand):
    help = (
        "Makes demo staff of each role, a sample seller with terms and customers, and quotes in every state. "
        "The password is random and goes to .demo-login. Run again, it makes what is missing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        users = self._users()
        seed_parties()
        if Quote.objects.filter(owner=users["demo-rep"]).exists():
            self.stdout.write("The demo quotes exist already.")
            return
        seller, manager = (access.actor_of(users[name]) for name in ("demo-rep", "demo-manager"))
        for sample in SAMPLES:
            try:
                revision = seed_quote(sample, seller=seller, manager=manager)
            except PdfUnavailableError as error:
                self.stderr.write(f"Stopped at the sample “{sample.key}”: {error}")
                return
            self.stdout.write(f"{sample.key}: {revision.number or 'no number'}")

    def _users(self) -> dict[str, User]:
        """The demo accounts; one new random password for all of them whenever one is missing."""
        existing = {user.username: user for user in User.objects.filter(username__in=DEMO_USERS)}
        if len(existing) == len(DEMO_USERS) and LOGIN_FILE.is_file():
            return existing
        password = secrets.token_urlsafe(12)
        for name, role in DEMO_USERS.items():
            user = existing.get(name) or User(username=name, email=f"{name}@seller.example")
            user.is_staff, user.is_superuser = True, role is None
            user.set_password(password)
            user.save()
            if role is not None:
                user.groups.set([Group.objects.get_or_create(name=str(role))[0]])
            existing[name] = user
        for role in set(Role) - {Role.ADMIN}:  # an administrator is a superuser, not a group
            Group.objects.get_or_create(name=str(role))
        lines = [f"password (all): {password}", *(f"{name} ({role or 'admin'})" for name, role in DEMO_USERS.items())]
        _write_private(LOGIN_FILE, "\n".join(lines) + "\n")
        self.stdout.write(f"Demo login written to {LOGIN_FILE.name}")
        return existing


def _write_private(path: Path, text: str) -> None:
    """Readable by the owner only from the first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)

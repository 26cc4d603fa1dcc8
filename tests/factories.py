"""Few, valid and the same in every run: people by name, everything else from the catalogue's own loader."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import Group, User

PASSWORD = "not-a-real-password"
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def staff(name: str, *roles: str, **changes: Any) -> User:
    """A member of staff in the groups of these roles (`quotes.states.Role`)."""
    user = User.objects.create_user(
        username=name, email=f"{name}@example.com", password=PASSWORD, **({"is_staff": True} | changes)
    )
    user.groups.set([Group.objects.get_or_create(name=str(role))[0] for role in roles])
    return user


def alice() -> User:
    """Sells."""
    return staff("alice", "sales_rep")


def bob() -> User:
    """Sells too; Alice's quotes are not his."""
    return staff("bob", "sales_rep")


def carol() -> User:
    """Approves."""
    return staff("carol", "sales_manager")


def charlie() -> User:
    """Has an account and no role."""
    return staff("charlie", is_staff=False)


def root() -> User:
    return staff("root", is_superuser=True)

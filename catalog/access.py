"""Who keeps the catalogue, who publishes it, and who sees floor prices and cost: the only place that answers it.

The names of the groups are those of the quotes' roles, which this app does not import.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User

Person = User | AnonymousUser

EDITORS = frozenset({"catalog_editor"})
PUBLISHERS = frozenset({"sales_manager"})
SEES_COSTS = frozenset({"catalog_editor", "sales_manager", "finance_viewer"})
KEEPERS = EDITORS | SEES_COSTS


def _is_in(user: Person, groups: frozenset[str]) -> bool:
    """One query a request: the groups are kept on the user object."""
    if not user.is_active or not user.is_staff:
        return False
    if user.is_superuser:
        return True
    known: frozenset[str] | None = user.__dict__.get("catalog_groups")
    if known is None:
        known = user.__dict__["catalog_groups"] = frozenset(user.groups.values_list("name", flat=True))
    return bool(known & groups)


def may_edit(user: Person) -> bool:
    """Prepare drafts of parts and of price books, by form or by file."""
    return _is_in(user, EDITORS)


def may_publish(user: Person) -> bool:
    """Put drafts in force, retire books, go back to an earlier one: not the editor who wrote them, unless both."""
    return _is_in(user, PUBLISHERS)


def may_see_costs(user: Person) -> bool:
    """Floor prices and cost."""
    return _is_in(user, SEES_COSTS)


def may_see_desk(user: Person) -> bool:
    """Drafts, books that are not in force, and who changed what."""
    return _is_in(user, KEEPERS)


def name_of(user: Person) -> str:
    return (user.get_full_name() if isinstance(user, User) else "") or user.get_username()

"""Who sees and does what with quotes: the only place that answers it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Q
from django.http import Http404
from django.utils import timezone

from advisor.models import Scenario
from quotes.models import QuoteRevision, RevisionQuerySet
from quotes.states import RIGHTS, TRANSITIONS, Action, Role

AnyUser = AbstractBaseUser | AnonymousUser


class NotAllowedError(Exception):
    """The user sees the quote but has no right to the action; HTTP 403."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts, as the log records it: staff, a token of theirs, a customer by their own statement, the system."""

    user: User | None = None
    text: str = ""
    kind: str = "user"  # user | token | customer | system
    token_name: str = ""
    request_id: str = ""
    address: str | None = None
    roles: frozenset[Role] = field(default=frozenset())


def roles_of(user: AnyUser) -> frozenset[Role]:
    """The roles of an active member of staff by groups; a superuser is an administrator besides."""
    if not isinstance(user, User) or not user.is_active or not user.is_staff:
        return frozenset()
    known = {str(role) for role in Role}
    roles = {Role(name) for name in user.groups.values_list("name", flat=True) if name in known}
    return frozenset(roles | {Role.ADMIN} if user.is_superuser else roles)


def actor_of(user: User, *, request_id: str = "", address: str | None = None, token_name: str = "") -> Actor:
    """A member of staff, or the API token named `token_name` that acts for one."""
    return Actor(
        user=user,
        kind="token" if token_name else "user",
        token_name=token_name,
        request_id=request_id,
        address=address,
        roles=roles_of(user),
    )


def may_open_desk(user: AnyUser) -> bool:
    """Whether any quote page is open to the user."""
    return any(Action.VIEW in RIGHTS[role] for role in roles_of(user))


def may_create(user: AnyUser) -> bool:
    return any(Action.EDIT in RIGHTS[role] for role in roles_of(user))


def visible_revisions(user: AnyUser) -> RevisionQuerySet:
    """The revisions that a user may see: a representative the own and the shared ones, managers and viewers all."""
    roles = roles_of(user)
    revisions = QuoteRevision.objects.select_related("quote", "quote__owner", "seller", "terms")
    if roles & {Role.SALES_MANAGER, Role.FINANCE_VIEWER, Role.ADMIN}:
        return revisions
    if Role.SALES_REP in roles and isinstance(user, User):
        return revisions.filter(Q(quote__owner=user) | Q(quote__is_shared=True))
    return revisions.none()


def revision_for(user: AnyUser, public_id: uuid.UUID, revision_index: int | None = None) -> QuoteRevision:
    """One revision, the newest by default; what the user may not see does not exist (404)."""
    revisions = visible_revisions(user).filter(quote__public_id=public_id)
    if revision_index is not None:
        revisions = revisions.filter(revision_index=revision_index)
    revision = revisions.order_by("-revision_index").first()
    if revision is None:
        raise Http404("No such quote.")
    return revision


def revisions_of_scenario(user: AnyUser, scenario: Scenario) -> RevisionQuerySet:
    """The quotes made from a saved scenario that the user may see, each by its newest revision."""
    return visible_revisions(user).current().filter(quote__scenario=scenario).order_by("-quote__created_at")


def require(actor: Actor, action: Action, revision: QuoteRevision) -> None:
    """Raises `NotAllowedError` when none of the actor's roles carries the action for this quote."""
    if not _has_right(actor.roles, action, revision, actor.user):
        raise NotAllowedError(f"{action} needs another role.")


def open_actions(user: User, revision: QuoteRevision) -> frozenset[Action]:
    """What state and rights together leave open: the buttons of the page."""
    roles = roles_of(user)
    state = revision.effective_state(timezone.now())
    return frozenset(
        action for action in Action if (state, action) in TRANSITIONS and _has_right(roles, action, revision, user)
    )


def _has_right(roles: frozenset[Role], action: Action, revision: QuoteRevision, user: User | None) -> bool:
    for role in roles:
        if action not in RIGHTS[role]:
            continue
        is_own = user is not None and revision.quote.owner_id == user.pk
        if role is Role.SALES_REP and not is_own and not (action is Action.VIEW and revision.quote.is_shared):
            continue
        return True
    return False

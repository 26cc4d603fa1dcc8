"""Who may decide on an approval: by role and own limit, and never an author; and whether there is anybody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from quotes import access, approval
from quotes.approval import ApprovalNeed, Limit
from quotes.models import ApprovalRequest, AuditEntry, DiscountLimit, QuoteRevision
from quotes.states import Role

Decision = ApprovalRequest.Decision
# Whose hands shaped the content: none of them approves it.
_AUTHORING = ("create", "edit", "duplicate", "revise", "submit")


def limits_in_force() -> list[Limit]:
    names = Limit.__dataclass_fields__
    return [Limit(**row) for row in DiscountLimit.objects.values(*names)]


def authors_of(revision: QuoteRevision) -> frozenset[int]:
    """Everybody who made, edited or submitted this revision, and the owner of the quote."""
    rows = AuditEntry.objects.filter(revision=revision, action__in=_AUTHORING, actor__isnull=False)
    named = {revision.quote.owner_id, revision.created_by_id, *rows.values_list("actor_id", flat=True)}
    return frozenset(named)


def open_requests_for(user: User, revision: QuoteRevision) -> list[ApprovalRequest]:
    """The pending requests that this person may decide: role, own limit, and not an author."""
    roles = access.roles_of(user)
    pending = list(revision.approval_requests.filter(decision=Decision.PENDING))
    if not pending or user.pk in authors_of(revision):
        return []
    return [request for request in pending if _covers(user, roles, request)]


def _covers(user: User, roles: frozenset[Role], request: ApprovalRequest) -> bool:
    if request.approver_role not in {str(role) for role in roles}:
        return False
    if request.condition != "discount" or request.measured is None:
        return True
    approver_roles = frozenset({request.approver_role})
    limit = approval.limit_of(limits_in_force(), user_id=user.pk, roles=approver_roles, group=request.product_group)
    return request.measured <= limit


def with_obstacles(
    needs: Sequence[ApprovalNeed], revision: QuoteRevision, limits: Sequence[Limit]
) -> tuple[ApprovalNeed, ...]:
    """The same needs; one that nobody at all may agree to says so, with the way out."""
    if not needs:
        return ()
    roles = {need.approver_role for need in needs}
    members = User.objects.filter(is_active=True, is_staff=True, groups__name__in=roles)
    authors = authors_of(revision)
    approvers: dict[str, list[int]] = defaultdict(list)
    for role, user_id in members.values_list("groups__name", "pk"):
        if user_id not in authors:
            approvers[role].append(user_id)
    return tuple(replace(need, obstacle=_obstacle(need, approvers[need.approver_role], limits)) for need in needs)


def _obstacle(need: ApprovalNeed, approvers: Sequence[int], limits: Sequence[Limit]) -> str:
    if not approvers:
        return _(
            "Nobody may agree to this: no one but the authors has the role that is asked. "
            "Have an administrator give it to another person."
        )
    if need.condition != "discount" or need.measured is None:
        return ""
    roles = frozenset({need.approver_role})
    highest = max(
        approval.limit_of(limits, user_id=user_id, roles=roles, group=need.product_group) for user_id in approvers
    )
    if need.measured <= highest:
        return ""
    return _(
        "Nobody may agree to this: the highest limit of those asked is %(limit)s. "
        "Lower the discount, or have an administrator raise a limit."
    ) % {"limit": approval.percent(highest)}

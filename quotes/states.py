"""The life of a quote as a table: which action leads from which state to which, and who may take it."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    DRAFT = "draft"
    PENDING_APPROVAL = "pending_approval"
    APPROVED = "approved"
    ISSUED = "issued"
    SENT = "sent"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    EXPIRED = "expired"  # computed at read from the validity; never stored
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"
    CANCELLED = "cancelled"


class Action(StrEnum):
    VIEW = "view"
    EDIT = "edit"
    SUBMIT = "submit"
    RECALL = "recall"
    APPROVE = "approve"
    REJECT = "reject"
    CANCEL = "cancel"
    ISSUE = "issue"
    MARK_SENT = "mark_sent"
    SHARE = "share"
    ACCEPT = "accept"
    DECLINE = "decline"
    WITHDRAW = "withdraw"
    REVISE = "revise"
    DUPLICATE = "duplicate"


class Role(StrEnum):
    """Names of the groups that carry the rights. A superuser is an administrator, who sees all and changes nothing."""

    SALES_REP = "sales_rep"
    SALES_MANAGER = "sales_manager"
    CATALOG_EDITOR = "catalog_editor"
    FINANCE_VIEWER = "finance_viewer"
    ADMIN = "admin"


# Content is still being written in these; in all others it is frozen (or was never issued and is dead).
OPEN_STATES = frozenset({State.DRAFT, State.PENDING_APPROVAL, State.APPROVED})
# A number, a snapshot and PDF bytes exist in these, and only in these.
ISSUED_STATES = frozenset(
    {State.ISSUED, State.SENT, State.ACCEPTED, State.DECLINED, State.EXPIRED, State.SUPERSEDED, State.WITHDRAWN}
)
# The customer may still say yes to these.
LIVE_STATES = frozenset({State.ISSUED, State.SENT})

# (effective state, action) -> the state afterwards. What is not listed is refused.
# SUBMIT leads on to `approved` at once when nothing needs approval, APPROVE when nobody else is asked; an EDIT that
# touches what was submitted or approved leads back to `draft` (FALLS_BACK_TO). ISSUE of a draft is submit and issue in
# one step, open only where nothing needs approval.
# REVISE and DUPLICATE make a new draft and leave this revision as it is until the new one is issued.
TRANSITIONS: dict[tuple[State, Action], State] = {
    (State.DRAFT, Action.EDIT): State.DRAFT,
    (State.DRAFT, Action.SUBMIT): State.PENDING_APPROVAL,
    (State.DRAFT, Action.ISSUE): State.ISSUED,
    (State.DRAFT, Action.CANCEL): State.CANCELLED,
    (State.PENDING_APPROVAL, Action.EDIT): State.PENDING_APPROVAL,
    (State.PENDING_APPROVAL, Action.RECALL): State.DRAFT,
    (State.PENDING_APPROVAL, Action.APPROVE): State.APPROVED,
    (State.PENDING_APPROVAL, Action.REJECT): State.DRAFT,
    (State.PENDING_APPROVAL, Action.CANCEL): State.CANCELLED,
    (State.APPROVED, Action.EDIT): State.APPROVED,
    (State.APPROVED, Action.RECALL): State.DRAFT,
    (State.APPROVED, Action.ISSUE): State.ISSUED,
    (State.ISSUED, Action.MARK_SENT): State.SENT,
    (State.ISSUED, Action.ACCEPT): State.ACCEPTED,
    (State.ISSUED, Action.DECLINE): State.DECLINED,
    (State.ISSUED, Action.WITHDRAW): State.WITHDRAWN,
    (State.SENT, Action.ACCEPT): State.ACCEPTED,
    (State.SENT, Action.DECLINE): State.DECLINED,
    (State.SENT, Action.WITHDRAW): State.WITHDRAWN,
    (State.EXPIRED, Action.WITHDRAW): State.WITHDRAWN,
    (State.ISSUED, Action.SHARE): State.ISSUED,
    (State.SENT, Action.SHARE): State.SENT,
    (State.ISSUED, Action.REVISE): State.ISSUED,
    (State.SENT, Action.REVISE): State.SENT,
    (State.EXPIRED, Action.REVISE): State.EXPIRED,
    (State.DECLINED, Action.REVISE): State.DECLINED,
    **{(state, Action.DUPLICATE): state for state in State},
    **{(state, Action.VIEW): state for state in State},
}

FALLS_BACK_TO = State.DRAFT

_DESK = frozenset(
    {
        Action.VIEW,
        Action.EDIT,
        Action.SUBMIT,
        Action.RECALL,
        Action.CANCEL,
        Action.ISSUE,
        Action.MARK_SENT,
        Action.SHARE,
        Action.ACCEPT,
        Action.DECLINE,
        Action.REVISE,
        Action.DUPLICATE,
    }
)
# What a role may do with the quotes that it may see; a representative sees the own ones only.
RIGHTS: dict[Role, frozenset[Action]] = {
    Role.SALES_REP: _DESK,
    Role.SALES_MANAGER: _DESK | {Action.WITHDRAW, Action.APPROVE, Action.REJECT},
    # decides on what its rules ask of it (terms, payment), and only that
    Role.FINANCE_VIEWER: frozenset({Action.VIEW, Action.APPROVE, Action.REJECT}),
    Role.CATALOG_EDITOR: frozenset(),
    Role.ADMIN: frozenset({Action.VIEW}),
}


class TransitionError(Exception):
    """The action is not open in this state; HTTP 409."""

    def __init__(self, state: State, action: Action) -> None:
        self.state, self.action = state, action
        super().__init__(f"A quote in state {state} does not allow the action {action}.")


def state_after(state: State, action: Action) -> State:
    """The state that `action` leads to; raises `TransitionError` where the table has no entry."""
    try:
        return TRANSITIONS[state, action]
    except KeyError:
        raise TransitionError(state, action) from None

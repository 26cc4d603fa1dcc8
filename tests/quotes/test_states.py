"""The table of states and rights, cell by cell, against the table of the requirements."""

from __future__ import annotations

import itertools

import pytest

from quotes.states import ISSUED_STATES, LIVE_STATES, RIGHTS, Action, Role, State, TransitionError, state_after

A, S = Action, State

# Written from the requirements (states and guards of a quote), not from the code: what each state leaves open.
OPEN = {
    S.DRAFT: {A.EDIT: S.DRAFT, A.SUBMIT: S.PENDING_APPROVAL, A.ISSUE: S.ISSUED, A.CANCEL: S.CANCELLED},
    S.PENDING_APPROVAL: {
        A.EDIT: S.PENDING_APPROVAL,
        A.RECALL: S.DRAFT,
        A.APPROVE: S.APPROVED,
        A.REJECT: S.DRAFT,
        A.CANCEL: S.CANCELLED,
    },
    S.APPROVED: {A.EDIT: S.APPROVED, A.RECALL: S.DRAFT, A.ISSUE: S.ISSUED},
    S.ISSUED: {
        A.MARK_SENT: S.SENT,
        A.SHARE: S.ISSUED,
        A.ACCEPT: S.ACCEPTED,
        A.DECLINE: S.DECLINED,
        A.WITHDRAW: S.WITHDRAWN,
        A.REVISE: S.ISSUED,
    },
    S.SENT: {
        A.SHARE: S.SENT,
        A.ACCEPT: S.ACCEPTED,
        A.DECLINE: S.DECLINED,
        A.WITHDRAW: S.WITHDRAWN,
        A.REVISE: S.SENT,
    },
    S.ACCEPTED: {},
    S.DECLINED: {A.REVISE: S.DECLINED},
    S.EXPIRED: {A.REVISE: S.EXPIRED, A.WITHDRAW: S.WITHDRAWN},
    S.SUPERSEDED: {},
    S.WITHDRAWN: {},
    S.CANCELLED: {},
}
ALWAYS = {A.VIEW, A.DUPLICATE}


@pytest.mark.parametrize(("state", "action"), list(itertools.product(State, Action)), ids=str)
def test_every_cell(state, action):
    expected = state if action in ALWAYS else OPEN[state].get(action)
    if expected is None:
        with pytest.raises(TransitionError) as caught:
            state_after(state, action)
        assert (caught.value.state, caught.value.action) == (state, action)
    else:
        assert state_after(state, action) is expected


def test_codes_are_those_of_the_contract():
    contract = (
        "draft, pending_approval, approved, issued, sent, accepted, declined, expired, superseded, withdrawn, cancelled"
    )
    assert [str(state) for state in State] == contract.split(", ")


# From the table of rights: what each role may do with a quote that it sees.
BY_ROLE = {
    Role.SALES_REP: set(A) - {A.APPROVE, A.REJECT, A.WITHDRAW},
    Role.SALES_MANAGER: set(A),
    Role.FINANCE_VIEWER: {A.VIEW, A.APPROVE, A.REJECT},
    Role.CATALOG_EDITOR: set(),
    Role.ADMIN: {A.VIEW},
}


@pytest.mark.parametrize(("role", "action"), list(itertools.product(Role, Action)), ids=str)
def test_every_right(role, action):
    assert (action in RIGHTS[role]) == (action in BY_ROLE[role])


def test_live_states_are_issued_ones():
    assert LIVE_STATES < ISSUED_STATES
    assert not ISSUED_STATES & {S.DRAFT, S.PENDING_APPROVAL, S.APPROVED, S.CANCELLED}

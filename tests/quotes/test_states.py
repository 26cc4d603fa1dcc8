"""The table of states and rights, cell by cell, against the table of the requirements."""

from __future__ import annotations

import itertools

import pytest

from quotes.states import ISSUED_STATES, LIVE_STATES, RIGHTS, Action, Role, State, TransitionError, state_after

A, S = Action, State

# Written from the requirements (states and guards of a quote), not from the code: what each state leaves open.
OPEN = {
    S.DRAFT: {A.EDIT: S.DRAFT, A.ISSUE: S.ISSUED, A.CANCEL: S.CANCELLED},
    S.PENDING_APPROVAL: {A.CANCEL: S.CANCELLED},
    S.APPROVED: {A.ISSUE: S.ISSUED, A.CANCEL: S.CANCELLED},
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


def test_only_managers_withdraw_and_viewers_only_view():
    assert {role for role in Role if A.WITHDRAW in RIGHTS[role]} == {Role.SALES_MANAGER}
    assert RIGHTS[Role.FINANCE_VIEWER] == {A.VIEW}
    assert RIGHTS[Role.CATALOG_EDITOR] == set()


def test_live_states_are_issued_ones():
    assert LIVE_STATES < ISSUED_STATES
    assert not ISSUED_STATES & {S.DRAFT, S.PENDING_APPROVAL, S.APPROVED, S.CANCELLED}

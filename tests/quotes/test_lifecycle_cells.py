"""Every cell of state x action x role, through the services: who may, what follows, and what is refused how."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from django.http import Http404
from django.utils import timezone

from quotes import access, services
from quotes.models import QuoteRevision
from quotes.states import Action, Role, State, TransitionError
from tests import factories
from tests.quotes.drafts import PROOF, make_draft
from tests.quotes.test_states import ALWAYS, BY_ROLE, OPEN

D, A, S = Decimal, Action, State


def _bytes(content):
    return f"%PDF {content['number']}".encode()


def _issue(actor, revision, **changes):
    return services.quote_issue(actor=actor, revision=revision, render=_bytes, **changes)


@pytest.fixture
def people(parties):
    """One of each role; alice sells and owns the quotes."""
    names = {
        Role.SALES_REP: ("alice", "sales_rep"),
        Role.SALES_MANAGER: ("carol", "sales_manager"),
        Role.CATALOG_EDITOR: ("ed", "catalog_editor"),
        Role.FINANCE_VIEWER: ("fay", "finance_viewer"),
    }
    users = {role: factories.staff(name, group) for role, (name, group) in names.items()}
    return users | {Role.ADMIN: factories.staff("root", is_superuser=True)}


def _in_state(state: State, people) -> QuoteRevision:
    """A quote of alice's that has come to this state by the services."""
    alice, carol, fay = (
        access.actor_of(people[role]) for role in (Role.SALES_REP, Role.SALES_MANAGER, Role.FINANCE_VIEWER)
    )
    if state in {S.PENDING_APPROVAL, S.APPROVED}:
        # 10 % off: above alice's 5 %, within carol's 20 %; terms of its own: fay's business
        draft = make_draft(alice, discount_fraction=D("0.1"), discount_reason="volume", special_terms="Penalty capped.")
        pending = services.quote_submit(actor=alice, revision=draft)
        if state is S.PENDING_APPROVAL:
            return pending
        services.quote_approve(actor=carol, revision=pending)
        return services.quote_approve(actor=fay, revision=pending)
    draft = make_draft(alice)
    if state is S.DRAFT:
        return draft
    if state is S.CANCELLED:
        return services.quote_cancel(actor=alice, revision=draft)
    if state is S.EXPIRED:
        then = timezone.now() - timedelta(days=40)
        draft.pricing_date, draft.valid_through = then.date(), then.date() + timedelta(days=15)
        draft.save()
        return _issue(alice, draft, now=then)
    issued = _issue(alice, draft)
    if state is S.SUPERSEDED:
        _issue(alice, services.quote_revise(actor=alice, revision=issued))
    step = {
        S.SENT: lambda: services.quote_mark_sent(actor=alice, revision=issued, reason="by hand"),
        S.ACCEPTED: lambda: services.quote_accept(actor=alice, revision=issued, reason="order 1", proof=PROOF),
        S.DECLINED: lambda: services.quote_decline(actor=alice, revision=issued, reason="price", reason_code="price"),
        S.WITHDRAWN: lambda: services.quote_withdraw(actor=carol, revision=issued, reason="typo"),
    }.get(state)
    if step:
        step()
    return QuoteRevision.objects.get(pk=issued.pk)


def _act(action: Action, actor, revision):
    """Call the service behind an action."""
    revision = QuoteRevision.objects.select_related("quote").get(pk=revision.pk)
    given = {"actor": actor, "revision": revision}
    calls = {
        A.VIEW: lambda: access.revision_for(actor.user, revision.quote.public_id, revision.revision_index),
        A.EDIT: lambda: services.quote_edit(
            **given, expected_version=revision.content_version, fields={"contact_name": "Li"}
        ),
        A.SUBMIT: lambda: services.quote_submit(**given),
        A.RECALL: lambda: services.quote_recall(**given),
        A.APPROVE: lambda: services.quote_approve(**given),
        A.REJECT: lambda: services.quote_reject(**given, comment="too cheap"),
        A.CANCEL: lambda: services.quote_cancel(**given),
        A.ISSUE: lambda: services.quote_issue(**given, render=_bytes),
        A.MARK_SENT: lambda: services.quote_mark_sent(**given, reason="by hand"),
        A.SHARE: lambda: services.quote_share(**given),
        A.ACCEPT: lambda: services.quote_accept(**given, reason="order 1", proof=PROOF),
        A.DECLINE: lambda: services.quote_decline(**given, reason="no budget", reason_code="budget"),
        A.WITHDRAW: lambda: services.quote_withdraw(**given, reason="typo"),
        A.REVISE: lambda: services.quote_revise(**given),
        A.DUPLICATE: lambda: services.quote_duplicate(**given, reprice=False),
    }
    return calls[action]()


def _after(state: State, action: Action) -> State:
    """What the cell leads to here: a draft that needs nobody is approved by submission, one of two approvals waits."""
    if (state, action) == (S.DRAFT, A.SUBMIT):
        return S.APPROVED
    if (state, action) == (S.PENDING_APPROVAL, A.APPROVE):
        return S.PENDING_APPROVAL
    return state if action in ALWAYS else OPEN[state][action]


@pytest.mark.parametrize("state", list(State), ids=str)
def test_every_cell_through_the_services(state, people):
    revision = _in_state(state, people)
    assert revision.effective_state(timezone.now()) is state
    for role, user in people.items():
        actor = access.actor_of(user)
        for action in Action:
            cell = f"{state} {action} {role}"
            with transaction.atomic():
                if action not in BY_ROLE[role]:
                    with pytest.raises((access.NotAllowedError, Http404)):
                        _act(action, actor, revision)
                elif action not in ALWAYS and action not in OPEN[state]:
                    with pytest.raises(TransitionError):
                        _act(action, actor, revision)
                else:
                    _act(action, actor, revision)
                    found = QuoteRevision.objects.get(pk=revision.pk).effective_state(timezone.now())
                    assert found is _after(state, action), cell
                transaction.set_rollback(True)


@pytest.mark.parametrize("state", [S.DRAFT, S.ISSUED], ids=str)
def test_another_representative_finds_nothing_and_does_nothing(state, people):
    revision = _in_state(state, people)
    bob = access.actor_of(factories.bob())
    with pytest.raises(Http404):
        access.revision_for(bob.user, revision.quote.public_id)
    for action in set(Action) - {A.VIEW}:
        with pytest.raises(access.NotAllowedError):
            _act(action, bob, revision)


def test_a_shared_quote_is_seen_by_the_other_representatives_and_not_changed(people):
    revision = _in_state(S.DRAFT, people)
    alice, bob = access.actor_of(people[Role.SALES_REP]), access.actor_of(factories.bob())
    services.quote_set_shared(actor=alice, revision=revision, is_shared=True)
    assert access.revision_for(bob.user, revision.quote.public_id).pk == revision.pk
    with pytest.raises(access.NotAllowedError):
        _act(A.EDIT, bob, revision)
    services.quote_set_shared(actor=alice, revision=revision, is_shared=False)
    with pytest.raises(Http404):
        access.revision_for(bob.user, revision.quote.public_id)

"""Staff, quotes, a request, a draft of the catalogue and a scenario, committed for the pages behind the login."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore

from advisor.scenarios import scenario_save
from catalog.drafts import draft_create
from catalog.models import CatalogRevision
from quotes import access
from quotes.models import Basis
from quotes.samples import ONE_SERVER, SAMPLES, seed_parties, seed_quote
from quotes.services import quote_share
from quotes.services.requests import RequestData, request_receive
from quotes.sizing_basis import answers_of_query
from tests import factories
from tests.catalog.test_import import edited, exported, plan_of

SHOWN_STATES = {"pending_approval", "approved", "sent", "superseded"}


def made() -> dict[str, Any]:
    """What the addresses of the pages name; quotes come from the samples, one kind of server on offer."""
    seed_parties()
    alice, carol, root = factories.alice(), factories.carol(), factories.root()
    seller, manager = access.actor_of(alice), access.actor_of(carol)
    quotes = {
        sample.key: seed_quote(sample, seller=seller, manager=manager)
        for sample in SAMPLES
        if sample.key in SHOWN_STATES
    }
    draft = next(sample for sample in SAMPLES if sample.query == ONE_SERVER and sample.steps == ("cancel",))
    quotes["draft"] = seed_quote(_without_steps(draft), seller=seller, manager=manager)
    answers, query = answers_of_query(ONE_SERVER)
    lead = request_receive(
        data=RequestData(
            company="样例客户（演示）",
            contact_name="王样例",
            email="wang@customer.example",
            basis=Basis.RENTAL,
            language="zh-Hans",
            message="机房在临港。",
        ),
        answers=answers,
        query=query,
        address="192.0.2.1",
    )
    plan = plan_of(edited(exported("gpus"), gpus__nvidia_l4_24gb__tdp_w=75))
    return {
        **{key: str(revision.quote.public_id) for key, revision in quotes.items()},
        "token": quote_share(actor=seller, revision=quotes["sent"]),
        "code": json.loads(quotes["sent"].snapshot)["verification"]["code"],
        "lead": lead.reference,
        "catalog_draft": draft_create(plan=plan, title="gpus.xlsx", author=root).pk,
        "catalog_revision": CatalogRevision.objects.latest("pk").pk,
        "scenario": str(scenario_save(owner=alice, name="7B", query=ONE_SERVER).public_id),
        "sessions": {user.username: _session(user) for user in (alice, carol, root)},
    }


def _without_steps(sample: Any) -> Any:
    return type(sample)(**{name: getattr(sample, name) for name in sample.__dataclass_fields__} | {"steps": ()})


def _session(user: User) -> dict[str, str]:
    """The cookie of somebody who has logged in."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return {"name": settings.SESSION_COOKIE_NAME, "value": str(session.session_key)}

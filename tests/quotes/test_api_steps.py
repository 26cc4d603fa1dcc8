"""Each step of `/api/v1/quotes/{id}/…`, the states that allow it, and the OpenAPI document."""

from __future__ import annotations

import re
from datetime import timedelta

import jsonschema
import pytest
from django.utils import timezone, translation

from advisor.api.documents import document
from quotes import access
from quotes.api import examples
from quotes.models import OutboxMail, QuoteRevision
from quotes.services import quote_issue, quote_withdraw
from tests.quotes.api_calls import QUOTES, STEPS, Api, path, pdf_bytes, problem
from tests.quotes.drafts import make_draft


@pytest.fixture
def api(alice):
    return Api(alice)


@pytest.fixture
def draft(as_alice):
    return make_draft(as_alice, project="集群一期", internal_note="floor 900", contact_email="buyer@customer.example")


@pytest.fixture
def issued(as_alice, draft):
    return quote_issue(actor=as_alice, revision=draft, render=pdf_bytes)


@pytest.fixture
def _fast_pdf(monkeypatch):
    monkeypatch.setattr(quote_issue, "__kwdefaults__", quote_issue.__kwdefaults__ | {"render": pdf_bytes})


@pytest.mark.usefixtures("_fast_pdf")
class TestSteps:
    def test_from_draft_to_sent(self, api, draft, mailoutbox, django_capture_on_commit_callbacks):
        assert api.post(path(draft, "submit")).json()["state"] == "approved"
        body = api.post(path(draft, "issue"), Idempotency_Key="i-1").json()
        assert body["state"] == "issued"
        assert re.fullmatch(r"Q-\d{4}-\d{6}", body["number"])
        with django_capture_on_commit_callbacks(execute=True):
            response = api.post(path(draft, "send"), examples.SEND, Idempotency_Key="s-1")
        assert response.status_code == 200
        assert api.get(path(draft)).json()["state"] == "sent"
        assert mailoutbox[0].to == ["wang@customer.example"]

    def test_a_hand_over_counts_as_sent(self, api, issued, mailoutbox):
        assert api.post(path(issued, "send"), examples.HANDED_OVER).json()["state"] == "sent"
        assert not OutboxMail.objects.exists()

    @pytest.mark.parametrize(
        "body", [{}, {"recipients": []}, {"recipients": ["x"]}, examples.SEND | examples.HANDED_OVER]
    )
    def test_sending_says_to_whom(self, api, issued, body):
        problem(api.post(path(issued, "send"), body), 422, "invalid_request")
        assert not OutboxMail.objects.exists()

    def test_an_incomplete_draft_is_not_issued(self, api, as_alice):
        revision = make_draft(as_alice, lines=[("2", None, "0.13")])
        errors = problem(api.post(path(revision, "issue"), Idempotency_Key="i"), 422, "invalid_request")["errors"]
        assert "price_missing" in {row["code"] for row in errors}
        assert not QuoteRevision.objects.exclude(number=None).exists()

    def test_a_revision_leaves_the_issued_one_standing(self, api, issued):
        body = api.post(path(issued, "revise")).json()
        assert (body["revision"], body["state"], body["number"]) == (2, "draft", None)
        again = api.post(path(issued, "issue"), Idempotency_Key="r2").json()
        assert again["number"] == f"{issued.number}-R2"
        assert api.get(path(issued) + "?revision=1").json()["state"] == "superseded"

    def test_a_duplicate_is_a_new_quote(self, api, issued):
        body = api.post(path(issued, "duplicate"), {"reprice": False}).json()
        assert body["id"] != str(issued.quote.public_id)
        assert (body["state"], body["number"], body["totals"]["gross"]["amount"]) == ("draft", None, "2260.00")

    def test_a_manager_withdraws_with_a_reason(self, carol, issued):
        manager = Api(carol)
        problem(manager.post(path(issued, "withdraw"), {}), 422, "invalid_request")
        assert manager.post(path(issued, "withdraw"), examples.REASON).json()["state"] == "withdrawn"
        problem(manager.post(path(issued, "withdraw"), examples.REASON), 409, "state_conflict")

    def test_nobody_approves_what_is_not_pending(self, carol, draft):
        for step, body in (("approve", {}), ("reject", {"comment": "no"})):
            problem(Api(carol).post(path(draft, step), body), 409, "state_conflict")

    def test_a_rejection_needs_its_comment(self, carol, draft):
        problem(Api(carol).post(path(draft, "reject"), {}), 422, "invalid_request")

    def test_what_was_done_is_logged_with_the_token(self, api, draft):
        api.post(path(draft, "issue"), Idempotency_Key="i")
        entry = draft.quote.audit_entries.filter(action="issue").get()
        assert entry.actor.username == "alice"
        assert (entry.actor_kind, entry.token_name) == ("token", f"{api.secret[:10]} test")
        assert entry.request_id

    @pytest.mark.parametrize("state", ["draft", "issued", "withdrawn"])
    def test_wrong_states_are_conflicts(self, api, as_carol, draft, state):
        revision = draft
        if state != "draft":
            revision = quote_issue(actor=api_actor(draft), revision=draft, render=pdf_bytes)
        if state == "withdrawn":
            quote_withdraw(actor=as_carol, revision=revision, reason="x")
        wrong = {"draft": ["send", "revise"], "issued": ["submit", "issue"], "withdrawn": ["send", "revise", "issue"]}
        for step in wrong[state]:
            body = examples.SEND if step == "send" else {}
            problem(api.post(path(revision, step), body, Idempotency_Key=step), 409, "state_conflict")

    def test_an_expired_one_is_not_sent(self, api, as_alice, draft):
        past = timezone.now() - timedelta(days=40)
        draft.pricing_date, draft.valid_through = past.date(), past.date() + timedelta(days=5)
        draft.save()
        old = quote_issue(actor=as_alice, revision=draft, render=pdf_bytes, now=past)
        assert api.get(path(old)).json()["state"] == "expired"
        problem(api.post(path(old, "send"), examples.SEND), 409, "state_conflict")


def api_actor(revision):
    return access.actor_of(revision.quote.owner)


class TestTheDocument:
    @pytest.fixture
    def openapi(self):
        with translation.override("en"):
            return document("en")

    def test_names_every_operation_and_its_token(self, openapi):
        assert openapi["components"]["securitySchemes"]["staffToken"]["scheme"] == "bearer"
        paths = {address for address in openapi["paths"] if address.startswith(QUOTES)}
        item = f"{QUOTES}/{{public_id}}"
        assert paths == {QUOTES, item, f"{item}/pdf", *(f"{item}/{step}" for step in STEPS)}
        for address in paths:
            for operation in openapi["paths"][address].values():
                assert operation["security"] == [{"staffToken": []}]
                assert {"401", "403"} <= set(operation["responses"])
            if "post" in openapi["paths"][address]:
                assert {"409", "412", "422"} <= set(openapi["paths"][address]["post"]["responses"])

    def test_answers_follow_their_schema(self, openapi, api, draft, issued):
        shapes = openapi["components"]
        for address, name in ((path(issued), "QuoteAnswer"), (path(draft), "QuoteAnswer"), (QUOTES, "QuotePage")):
            jsonschema.validate(api.get(address).json(), {**shapes["schemas"][name], "components": shapes})

    @pytest.mark.usefixtures("catalog", "_fast_pdf")
    def test_examples_are_executed(self, openapi, api, carol, draft, issued):
        create = openapi["paths"][QUOTES]["post"]["requestBody"]["content"]["application/json"]
        for example in create["examples"].values():
            jsonschema.validate(example["value"], {**create["schema"], "components": openapi["components"]})
            assert api.post(QUOTES, example["value"]).status_code == 201
        manager = Api(carol)
        for step, status in (("send", 200), ("duplicate", 201), ("withdraw", 200)):
            posted = openapi["paths"][f"{QUOTES}/{{public_id}}/{step}"]["post"]
            (example,) = posted["requestBody"]["content"]["application/json"]["examples"].values()
            response = manager.post(path(issued, step), example["value"])
            assert response.status_code == status, response.content

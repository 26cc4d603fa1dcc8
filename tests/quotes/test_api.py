"""`/api/v1/quotes`: who gets in, what a quote says, each step, and every refusal as a problem."""

from __future__ import annotations

import hashlib

import pytest
from django.test import Client
from django.urls import reverse

from quotes.api import examples
from quotes.models import Quote, Scope
from quotes.services import quote_issue
from tests import factories
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


class TestWhoGetsIn:
    def _routes(self, revision):
        yield from (("get", QUOTES), ("post", QUOTES), ("get", path(revision)), ("patch", path(revision)))
        yield "get", path(revision, "pdf")
        yield from (("post", path(revision, step)) for step in STEPS)

    @pytest.mark.parametrize(
        "header", [None, "Bearer", "Bearer gca_guess", "Basic YTpi", "Bearer a b", "Token x", "\x00"]
    )
    def test_nobody_without_a_token(self, issued, header):
        client = Client(**({"HTTP_AUTHORIZATION": header} if header else {}))
        for method, address in self._routes(issued):
            response = getattr(client, method)(address, content_type="application/json")
            body = problem(response, 401, "not_authenticated" if header is None else "authentication_failed")
            assert response["WWW-Authenticate"].startswith("Bearer")
            assert body["instance"] == address

    def test_a_session_opens_nothing(self, client, alice, issued):
        client.force_login(alice)
        assert client.get(QUOTES).status_code == 401

    @pytest.mark.parametrize("person", ["bob", "editor"])
    def test_quotes_of_others_do_not_exist(self, issued, person):
        user = factories.bob() if person == "bob" else factories.staff("eve", "sales_rep")
        other = Api(user)
        for method, address in self._routes(issued):
            if address == QUOTES:
                continue
            headers = {"Idempotency-Key": "k", "If-Match": "*"}
            response = getattr(other.client, method)(address, content_type="application/json", headers=headers)
            problem(response, 404, "not_found")
        assert other.get(QUOTES).json()["count"] == 0
        issued.refresh_from_db()
        assert issued.state == "issued"

    def test_a_guessed_id_does_not_exist(self, api, issued):
        problem(api.get(f"{QUOTES}/{'0' * 8}-0000-4000-8000-{'0' * 12}"), 404, "not_found")
        problem(api.get(f"{QUOTES}/1"), 404, "not_found")

    @pytest.mark.parametrize(
        ("scope", "step"),
        [
            *(("draft", step) for step in ("submit", "revise", "duplicate")),
            *(("issue", step) for step in ("issue", "send", "withdraw")),
            *(("approve", step) for step in ("approve", "reject")),
        ],
    )
    def test_each_step_needs_its_scope(self, alice, issued, scope, step):
        without = Api(alice, *(set(Scope.values) - {scope}))
        body = problem(without.post(path(issued, step), Idempotency_Key="k"), 403, "scope_missing")
        assert scope in body["detail"]

    def test_reading_and_drafting_need_theirs(self, alice, issued):
        problem(Api(alice, "draft").get(QUOTES), 403, "scope_missing")
        problem(Api(alice, "draft").get(path(issued, "pdf")), 403, "scope_missing")
        problem(Api(alice, "read").post(QUOTES, examples.FROM_LINES), 403, "scope_missing")
        problem(Api(alice, "read").patch(path(issued), {}, If_Match="*"), 403, "scope_missing")

    def test_a_scope_gives_no_right_that_the_owner_lacks(self, api, issued):
        """A representative does not withdraw, whatever the token says."""
        problem(api.post(path(issued, "withdraw"), examples.REASON), 403, "not_allowed")
        issued.refresh_from_db()
        assert issued.state == "issued"

    def test_no_other_site_may_read_it(self, api, issued):
        response = api.get(path(issued), Origin="https://evil.example")
        assert "Access-Control-Allow-Origin" not in response
        assert response["Cache-Control"] == "private, no-store"


class TestReading:
    def test_a_draft_with_its_totals(self, api, draft):
        body = api.get(path(draft)).json()
        assert (body["state"], body["number"], body["revision"]) == ("draft", None, 1)
        assert body["lines"][0]["unit_price"] == {"amount": "1000.00", "currency": "CNY"}
        assert body["totals"]["gross"] == {"amount": "2260.00", "currency": "CNY"}  # 2 x 1000.00 x 1.13
        assert body["totals"]["tax"] == {"amount": "260.00", "currency": "CNY"}
        assert body["customer"]["name"] == "样例客户（演示）"
        assert {"edit", "issue"} <= set(body["actions"])
        assert body["pdf_sha256"] is None

    def test_no_cost_and_no_internal_note(self, api, draft, issued):
        for text in (api.get(path(issued)).content.decode(), api.get(QUOTES).content.decode()):
            for name in ("internal", "floor", "cost", "margin", "900.00"):
                assert name not in text

    def test_money_is_a_string_everywhere(self, api, issued):
        def money(value, name=""):
            if isinstance(value, dict):
                if set(value) == {"amount", "currency"}:
                    assert isinstance(value["amount"], str), name
                for key, inner in value.items():
                    yield from money(inner, key)
            elif isinstance(value, list):
                for inner in value:
                    yield from money(inner, name)
            elif isinstance(value, float):
                yield name

        assert list(money(api.get(path(issued)).json())) == []
        assert list(money(api.get(QUOTES).json())) == []

    def test_an_issued_one_from_its_snapshot(self, api, issued):
        body = api.get(path(issued)).json()
        assert (body["state"], body["number"]) == ("issued", issued.number)
        assert body["snapshot_sha256"] == issued.snapshot_sha256
        assert (body["faults"], body["approvals_needed"]) == ([], [])

    def test_the_pdf_byte_for_byte(self, api, issued):
        for accept in ("*/*", "application/pdf", "application/json"):
            response = api.get(path(issued, "pdf"), Accept=accept)
            assert response.status_code == 200
            assert response["Content-Type"] == "application/pdf"
            assert hashlib.sha256(response.content).hexdigest() == issued.pdf_sha256

    def test_an_older_revision_by_its_index(self, api, issued):
        api.post(path(issued, "revise"))
        assert api.get(path(issued)).json()["revision"] == 2
        older = api.get(path(issued) + "?revision=1").json()
        assert (older["revision"], older["state"]) == (1, "issued")
        assert [row["revision"] for row in older["revisions"]] == [1, 2]
        problem(api.get(path(issued) + "?revision=3"), 404, "not_found")
        problem(api.get(path(issued) + "?revision=x"), 422, "invalid_request")

    def test_the_list_filters_and_pages(self, api, as_alice, issued):
        for number in range(3):
            make_draft(as_alice, project=f"P{number}")
        assert api.get(QUOTES).json()["count"] == 4
        page = api.get(QUOTES + "?state=draft&page_size=2").json()
        assert (page["count"], len(page["results"])) == (3, 2)
        assert "page=2" in page["next"]
        assert [row["project"] for row in api.get(QUOTES + "?q=P1").json()["results"]] == ["P1"]
        assert api.get(QUOTES + "?state=issued").json()["results"][0]["number"] == issued.number
        assert page["engine_version"]

    @pytest.mark.parametrize("query", ["state=lost", "colour=red", "basis=gift", "page=99"])
    def test_an_unusable_filter_is_named(self, api, draft, query):
        response = api.get(f"{QUOTES}?{query}")
        assert response.status_code in {404, 422}
        assert response["Content-Type"] == "application/problem+json"

    def test_the_list_takes_few_queries(self, api, as_alice, django_assert_max_num_queries):
        for number in range(5):
            make_draft(as_alice, project=f"P{number}")
        with django_assert_max_num_queries(9):
            api.get(QUOTES)


class TestDrafting:
    @pytest.mark.usefixtures("catalog")
    def test_from_a_recommendation(self, api, alice):
        response = api.post(QUOTES, examples.FROM_RECOMMENDATION)
        body = response.json()
        assert response.status_code == 201, body
        assert (body["basis"], body["term_months"], body["language"]) == ("rental", 12, "zh-Hans+en")
        assert body["customer"]["contact_name"] == "王样例"
        assert "parameters=7e9" in body["sizing"]["query"]
        recommendation = api.post("/api/v1/recommendations", examples.FROM_RECOMMENDATION["recommendation"]).json()
        assert body["totals"]["gross"] == recommendation["recommended"]["prices"]["rental"]["total"]
        assert body["engine_version"] == recommendation["engine_version"]
        assert Quote.objects.get().owner == alice

    def test_from_lines(self, api):
        body = api.post(QUOTES, examples.FROM_LINES | {"paper": "Letter", "customer_note": "a\nb"}).json()
        assert body["totals"]["net"] == {"amount": "42000.00", "currency": "CNY"}  # 12 x 3500.00
        assert body["totals"]["gross"] == {"amount": "44520.00", "currency": "CNY"}  # x 1.06
        assert (body["paper"], body["customer_note"], body["state"]) == ("Letter", "a\nb", "draft")

    def _line(self, **changes):
        return examples.FROM_LINES | {"lines": [examples.FROM_LINES["lines"][0] | changes]}

    @pytest.mark.parametrize(
        ("body", "pointer", "code"),
        [
            ({}, "/basis", "required"),
            ({"basis": "gift"}, "/basis", "invalid_choice"),
            ({"basis": "rental"}, "", "one_of"),
            (examples.FROM_LINES | {"colour": "red"}, "/colour", "unknown_field"),
            (examples.FROM_LINES | {"lines": []}, "/lines", "min_length"),
            (examples.FROM_LINES | {"currency": "XXX"}, "/currency", "invalid_choice"),
            (examples.FROM_LINES | {"project": "a\nb"}, "/project", "control_character"),
            (examples.FROM_LINES | {"customer": {"contact_email": "x"}}, "/customer/contact_email", "invalid"),
            (examples.FROM_LINES | {"valid_through": "2026-02-30"}, "/valid_through", "invalid"),
            (examples.FROM_LINES | {"recommendation": {}}, "", "one_of"),
            (
                {"basis": "rental", "recommendation": {"model": {"parameters": "x"}}},
                "/recommendation/model/parameters",
                "quantity_not_a_number",
            ),
        ],
    )
    def test_names_what_is_wrong(self, api, body, pointer, code):
        errors = problem(api.post(QUOTES, body), 422, "invalid_request")["errors"]
        assert (pointer, code) in [(row["pointer"], row["code"]) for row in errors], errors
        assert not Quote.objects.exists()

    @pytest.mark.parametrize(
        "changes",
        [
            {"quantity": "0"},
            {"quantity": "-1"},
            {"quantity": "NaN"},
            {"quantity": "Infinity"},
            {"quantity": "1e400"},
            {"quantity": "=1+1"},
            {"quantity": "1.0001"},
            {"quantity": 10**30},
            {"tax_rate": "1.5"},
            {"tax_rate": "-0.1"},
            {"unit_price": {"amount": "-1", "currency": "CNY"}},
            {"unit_price": {"amount": "1", "currency": "USD"}},
            {"unit_price": "1"},
            {"unit": "=cmd"},
            {"kind": "dragon"},
            {"name": {"en": "only one"}},
            {"name": {"zh-Hans": "甲", "en": "A", "fr": "B"}},
            {"period_count": 0},
            {"period_count": 1.5},
            {"discount_fraction": "2"},
        ],
    )
    def test_refuses_absurd_lines(self, api, changes):
        problem(api.post(QUOTES, self._line(**changes)), 422, "invalid_request")
        assert not Quote.objects.exists()

    @pytest.mark.parametrize("body", ["", "[]", "null", "{", '{"basis": "rental", "basis": "purchase"}', "\xff"])
    def test_refuses_what_is_no_object(self, api, body):
        response = api.client.post(QUOTES, body.encode("latin-1"), content_type="application/json")
        assert response.status_code in {400, 422}
        assert response["Content-Type"] == "application/problem+json"

    def test_an_absurd_total_is_refused(self, api):
        line = self._line(quantity="1000000", unit_price={"amount": "1000000000", "currency": "CNY"})
        problem(api.post(QUOTES, line), 422, "invalid_request")
        assert not Quote.objects.exists()


class TestChanging:
    def test_needs_the_version(self, api, draft):
        problem(api.patch(path(draft), examples.CHANGE), 428, "if_match_required")

    def test_keeps_what_is_not_named(self, api, draft):
        etag = api.get(path(draft))["ETag"]
        response = api.patch(path(draft), examples.CHANGE, If_Match=etag)
        body = response.json()
        assert response.status_code == 200, body
        assert (body["project"], body["customer"]["contact_phone"]) == ("二期", "+86 21 5555 0100")
        assert body["customer"]["name"] == "样例客户（演示）"
        assert response["ETag"] != etag

    def test_two_writers_do_not_lose_a_change(self, api, draft):
        etag = api.get(path(draft))["ETag"]
        api.patch(path(draft), {"project": "first"}, If_Match=etag)
        problem(api.patch(path(draft), {"project": "second"}, If_Match=etag), 412, "etag_mismatch")
        draft.refresh_from_db()
        assert draft.project == "first"

    def test_the_version_is_honoured_by_every_step(self, api, issued):
        problem(api.post(path(issued, "revise"), If_Match='"other"'), 412, "etag_mismatch")
        etag = "W/" + api.get(path(issued))["ETag"]  # as a packed answer carries it
        assert api.post(path(issued, "revise"), If_Match=etag).status_code == 201

    def test_an_issued_quote_does_not_change(self, api, issued):
        problem(api.patch(path(issued), {"project": "x"}, If_Match="*"), 409, "state_conflict")


def test_the_route_of_the_desk_and_of_the_api_are_two(api, issued):
    assert reverse("quotes:detail", args=[issued.quote.public_id]) != path(issued)

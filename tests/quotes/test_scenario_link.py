"""A quote and the saved scenario it was made from lead to each other, each to those who may see it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from advisor.models import Scenario
from quotes.models import Quote
from quotes.samples import ONE_SERVER
from quotes.services import quote_duplicate
from tests import factories

pytestmark = pytest.mark.usefixtures("catalog")


@pytest.fixture
def desk(client, alice):
    client.force_login(alice)
    client.cookies["lang"] = "en"
    return client


@pytest.fixture
def bob(parties):
    """Sells too, on his own."""
    return factories.bob()


@pytest.fixture
def scenario(desk):
    desk.post("/scenarios/save", {"name": "Hospital 7B", "query": ONE_SERVER})
    return Scenario.objects.get()


def made_from(desk, scenario):
    """The way a representative goes: the scenario's page, its button, the form."""
    address = desk.get(scenario.get_absolute_url()).context["quote_links"][0]["url"]
    page = desk.get(address)
    assert "Hospital 7B" in page.content.decode()
    key = page.context["form"]["creation_key"].value()
    response = desk.post(address, {"creation_key": key, "language": "en", "customer_name": "Sample Ltd."})
    assert response.status_code == 302
    return Quote.objects.latest("pk")


def other_desk(user):
    client = Client()
    client.force_login(user)
    client.cookies["lang"] = "en"
    return client


def test_from_the_scenario_to_its_quote_and_back(desk, scenario):
    quote = made_from(desk, scenario)
    assert quote.scenario == scenario
    assert scenario.get_absolute_url() in desk.get(quote.get_absolute_url()).content.decode()
    text = desk.get(scenario.get_absolute_url()).content.decode()
    assert quote.get_absolute_url() in text
    assert "Sample Ltd." in text


def test_each_end_is_shown_only_to_who_may_see_it(desk, scenario, bob, carol):
    quote = made_from(desk, scenario)
    of_carol = other_desk(carol).get(quote.get_absolute_url())
    assert of_carol.status_code == 200
    assert "Hospital 7B" not in of_carol.content.decode()
    assert other_desk(bob).get(quote.get_absolute_url()).status_code == 404
    own = Scenario.objects.get()
    own.owner, own.public_id, own.pk = bob, Scenario._meta.get_field("public_id").get_default(), None
    own.save(force_insert=True)
    Quote.objects.filter(pk=quote.pk).update(scenario=own)
    assert quote.get_absolute_url() not in other_desk(bob).get(own.get_absolute_url()).content.decode()


@pytest.mark.parametrize("case", ["another question", "another's scenario", "no scenario", "no id"])
def test_a_wrong_scenario_is_passed_over(desk, scenario, bob, case):
    query, public_id = ONE_SERVER, str(scenario.public_id)
    if case == "another question":
        query = urlencode({**{k: v[0] for k, v in parse_qs(ONE_SERVER).items()}, "tokens": "3e11"})
    elif case == "another's scenario":
        Scenario.objects.update(owner=bob)
    elif case == "no scenario":
        public_id = "00000000-0000-4000-8000-000000000000"
    else:
        public_id = "' OR 1=1"
    address = f"{reverse('quotes:new')}?{query}&{urlencode({'basis': 'rental', 'scenario': public_id})}"
    page = desk.get(address)
    assert page.context["scenario"] is None
    key = page.context["form"]["creation_key"].value()
    assert desk.post(address, {"creation_key": key, "language": "en"}).status_code == 302
    assert Quote.objects.get().scenario is None


def test_the_link_stays_with_a_copy_and_leaves_the_sizing_alone(desk, scenario, as_alice):
    quote = made_from(desk, scenario)
    revision = quote.revisions.get()
    assert "scenario" not in parse_qs(revision.sizing["query"])
    assert quote_duplicate(actor=as_alice, revision=revision, reprice=False).quote.scenario == scenario
    assert urlsplit(desk.get(scenario.get_absolute_url()).context["sizing_url"]).path == "/"

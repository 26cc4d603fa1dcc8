"""People, seller and terms of the quote tests."""

from __future__ import annotations

import pytest

from quotes import access
from quotes.samples import seed_parties
from tests import factories


@pytest.fixture
def parties(db):
    """The sample seller and terms."""
    seed_parties()


@pytest.fixture
def alice(parties):
    """Sells."""
    return factories.alice()


@pytest.fixture
def carol(parties):
    """Manages sales."""
    return factories.carol()


@pytest.fixture
def as_alice(alice):
    return access.actor_of(alice)


@pytest.fixture
def as_carol(carol):
    return access.actor_of(carol)

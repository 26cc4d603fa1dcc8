"""The demo: every role, every state, a private password file; run again, it changes nothing."""

from __future__ import annotations

import io
import re
import stat

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from quotes.management.commands import seed_demo
from quotes.models import QuoteRevision, SellerEntity, Terms
from quotes.samples import SAMPLES, seed_parties
from quotes.states import Role, State


@pytest.fixture
def login_file(tmp_path, monkeypatch):
    path = tmp_path / ".demo-login"
    monkeypatch.setattr(seed_demo, "LOGIN_FILE", path)
    return path


@pytest.mark.slow
def test_the_demo_has_every_role_and_every_state(catalog, login_file):
    call_command("seed_demo", stdout=io.StringIO())
    text = login_file.read_text()
    password = re.search(r"password \(all\): (\S+)", text)[1]
    assert stat.S_IMODE(login_file.stat().st_mode) == 0o600
    for name, role in seed_demo.DEMO_USERS.items():
        assert name in text
        user = authenticate(username=name, password=password)
        assert user is not None
        assert {group.name for group in user.groups.all()} == ({str(role)} if role else set())
    assert {role for role in seed_demo.DEMO_USERS.values() if role} == set(Role) - {Role.ADMIN}
    states = {revision.effective_state(timezone.now()) for revision in QuoteRevision.objects.all()}
    assert states == set(State)
    before = list(QuoteRevision.objects.values_list("pk", "updated_at"))
    call_command("seed_demo", stdout=io.StringIO())
    assert list(QuoteRevision.objects.values_list("pk", "updated_at")) == before
    assert login_file.read_text() == text
    assert User.objects.count() == len(seed_demo.DEMO_USERS)


def test_an_edited_seller_is_left_alone(db):
    seed_parties()
    SellerEntity.objects.update(name_zh="真正的公司")
    Terms.objects.filter(basis="rental").update(version="own", code="own")
    seed_parties()
    assert SellerEntity.objects.get().name_zh == "真正的公司"
    assert Terms.objects.get(basis="rental", is_current=True).code == "own"


def test_samples_name_no_real_firm(db):
    from quotes.samples import parties

    names = [customer["customer_name"] for customer in parties()["customers"]]
    assert all("演示" in name or "demonstration" in name for name in names)
    assert {sample.language for sample in SAMPLES} == {"zh-Hans", "en", "zh-Hans+en"}

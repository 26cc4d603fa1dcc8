"""The limit per address and minute."""

from __future__ import annotations

import pytest
from django.test import RequestFactory, override_settings
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class Empty(APIView):
    def get(self, request: Request) -> Response:
        return Response({})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    now = {"now": 1_200.0 + 45.0}  # 45 s into a minute
    monkeypatch.setattr("config.visitors.time.time", lambda: now["now"])
    return now


def ask(address: str = "192.0.2.1"):
    return Empty.as_view()(RequestFactory().get("/api/v1/x", REMOTE_ADDR=address))


@override_settings(API_REQUESTS_PER_MINUTE=2)
def test_over_the_limit_is_429_with_the_seconds_left(clock: dict[str, float]) -> None:
    assert [ask().status_code for _turn in range(3)] == [200, 200, 429]
    response = ask()
    assert response["Retry-After"] == "15"
    assert response.data["code"] == "throttled"
    assert ask("192.0.2.2").status_code == 200, "another address has its own count"
    clock["now"] += 15
    assert ask().status_code == 200, "the next minute begins anew"


@override_settings(API_REQUESTS_PER_MINUTE=0)
def test_zero_is_no_limit() -> None:
    assert {ask().status_code for _turn in range(30)} == {200}

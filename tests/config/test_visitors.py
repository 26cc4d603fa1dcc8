"""The address of a visitor and the counters that go by it."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import RequestFactory
from rest_framework.settings import api_settings

from config.visitors import Counter, client_address


@pytest.mark.parametrize(
    ("proxies", "remote", "forwarded", "address"),
    [
        (0, "192.0.2.1", "203.0.113.9", "192.0.2.1"),  # what a visitor writes himself is not believed
        (1, "10.0.0.1", "198.51.100.7, 203.0.113.9", "203.0.113.9"),
        (2, "10.0.0.1", "198.51.100.7, 203.0.113.9", "198.51.100.7"),
        (1, "10.0.0.1", "2001:db8::1", "2001:db8::1"),
        (1, "10.0.0.1", "203.0.113.9:4711", ""),  # no address, so none goes into the log
        (0, "", "", ""),  # a socket of the file system
    ],
)
def test_the_address_is_the_one_our_own_proxy_saw(monkeypatch, proxies, remote, forwarded, address) -> None:
    monkeypatch.setattr(api_settings, "NUM_PROXIES", proxies)
    request = RequestFactory().get("/", REMOTE_ADDR=remote, headers={"X-Forwarded-For": forwarded})
    assert client_address(request) == address


def test_a_counter_begins_anew_with_its_window_and_for_each_name(monkeypatch) -> None:
    now = {"now": 1000.0}
    monkeypatch.setattr("config.visitors.time.time", lambda: now["now"])
    counter = Counter(name="tries", window_seconds=100)
    assert [counter.add("a"), counter.add("a"), counter.add("b")] == [1, 2, 1]
    assert counter.count("a") == 2
    assert Counter(name="others", window_seconds=100).count("a") == 0
    now["now"] = 1099.0
    assert counter.seconds_left() == 1.0
    now["now"] = 1100.0
    assert counter.count("a") == 0
    assert counter.add("a") == 1
    counter.clear("a")
    assert counter.count("a") == 0


def test_a_count_that_the_cache_dropped_begins_again(monkeypatch) -> None:
    counter = Counter(name="tries", window_seconds=100)
    monkeypatch.setattr(cache, "add", lambda *args, **kwargs: True)  # and gone before it is counted
    assert counter.add("a") == 1
    assert counter.count("a") == 1

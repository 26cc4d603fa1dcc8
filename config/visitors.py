"""Where a request comes from, and how often: one rule for the address and one for counting, which all doors share."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from django.core.cache import cache
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:
    from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The visitor's network address; forwarded ones count only behind the stated number of proxies (NUM_PROXIES).

    Empty where the server was told none.
    """
    text = BaseThrottle().get_ident(request) or ""  # type: ignore[arg-type]  # reads META only
    try:
        return str(ip_address(text))
    except ValueError:  # a socket's path, or a proxy that adds a port: nothing that a log could hold as an address
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """Counts something in a window of fixed length. Several worker processes share it only through REDIS_URL."""

    name: str
    window_seconds: int

    def add(self, what: str) -> int:
        """One more; how many there are in this window."""
        key = self._key(what)
        cache.add(key, 0, timeout=2 * self.window_seconds)
        try:
            return int(cache.incr(key))
        except ValueError:  # evicted between the two calls: begin again
            cache.set(key, 1, timeout=2 * self.window_seconds)
            return 1

    def count(self, what: str) -> int:
        return int(cache.get(self._key(what), 0))

    def clear(self, what: str) -> None:
        cache.delete(self._key(what))

    def seconds_left(self) -> float:
        """Until the next window, for Retry-After."""
        return self.window_seconds - time.time() % self.window_seconds

    def _key(self, what: str) -> str:
        digest = hashlib.sha256(what.encode()).hexdigest()
        return f"{self.name}:{digest}:{int(time.time()) // self.window_seconds}"

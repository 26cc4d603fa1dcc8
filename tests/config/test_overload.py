"""Load shedding: who waits too long is told to come back; probes are never turned away."""

from __future__ import annotations

import threading

from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings

from config.overload import OverloadMiddleware


class SlowSite:
    """Holds every request to /slow until it is let go."""

    def __init__(self) -> None:
        self.entered, self.let_go = threading.Event(), threading.Event()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/slow":
            self.entered.set()
            assert self.let_go.wait(10)
        return HttpResponse("done")


@override_settings(CONCURRENT_REQUESTS=1, QUEUE_SECONDS=0)
def test_a_full_process_answers_503_with_retry_after_and_recovers() -> None:
    site, get = SlowSite(), RequestFactory().get
    middleware = OverloadMiddleware(site)
    busy = threading.Thread(target=middleware, args=(get("/slow"),))
    busy.start()
    try:
        assert site.entered.wait(10)
        page, api = middleware(get("/other")), middleware(get("/api/v1/gpus"))
        assert (page.status_code, api.status_code) == (503, 503)
        assert page["Retry-After"] == api["Retry-After"] == "5"
        assert api["Content-Type"] == "application/problem+json"
        assert middleware(get("/healthz")).status_code == 200
        assert middleware(get("/readyz")).status_code == 200
    finally:
        site.let_go.set()
        busy.join(10)
    assert middleware(get("/other")).status_code == 200


@override_settings(CONCURRENT_REQUESTS=1, QUEUE_SECONDS=10)
def test_a_waiting_request_gets_its_turn() -> None:
    site, get = SlowSite(), RequestFactory().get
    middleware = OverloadMiddleware(site)
    busy = threading.Thread(target=middleware, args=(get("/slow"),))
    busy.start()
    assert site.entered.wait(10)
    threading.Timer(0.2, site.let_go.set).start()
    assert middleware(get("/other")).status_code == 200
    busy.join(10)


@override_settings(CONCURRENT_REQUESTS=1, QUEUE_SECONDS=0)
def test_a_failing_request_gives_its_place_back() -> None:
    def fail(request: HttpRequest) -> HttpResponse:
        raise RuntimeError

    middleware = OverloadMiddleware(fail)
    for _attempt in range(3):
        try:
            middleware(RequestFactory().get("/"))
        except RuntimeError:
            continue
        raise AssertionError("the error must reach Django")

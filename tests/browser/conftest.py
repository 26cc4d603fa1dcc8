"""Debian's Chromium on a live server with the loaded catalogue; every journey fails on a console or policy error."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test.testcases import LiveServerThread
from playwright.sync_api import BrowserContext, ConsoleMessage, Page

# Playwright's synchronous interface runs an event loop in this thread, which Django takes for asynchronous code
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# the answers that a journey provokes on purpose appear in the console as failed loads
PROVOKED = ("422", "ERR_FAILED", "htmx:sendError", "htmx:sendAbort", "htmx:afterRequest")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            # makes pytest-django create the test database; the journeys only read from it
            item.add_marker(pytest.mark.django_db)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    return {"executable_path": chromium, "args": list(FLAGS)}


@pytest.fixture(scope="session")
def site(loaded_catalog: None, django_db_blocker: Any) -> Iterator[str]:
    """Address of a server over the test database; journeys read only, so that it lives for the session."""
    with django_db_blocker.unblock():
        server = LiveServerThread("localhost", static_handler=StaticFilesHandler)
        server.daemon = True
        server.start()
        server.is_ready.wait()
        assert server.error is None, server.error
        yield f"http://localhost:{server.port}"
        server.terminate()


@pytest.fixture
def browser_context_args(site: str) -> dict[str, Any]:
    return {"base_url": site, "locale": "en", "viewport": {"width": 1280, "height": 900}}


@pytest.fixture
def context(context: BrowserContext) -> Iterator[BrowserContext]:
    """Watches every page: nothing may fail in the console, and nothing may be asked of a third party."""
    faults: list[str] = []

    def watch(page: Page) -> None:
        page.on("console", lambda message: faults.append(message.text) if _is_fault(message, page) else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if not _is_own(request.url) else None)

    context.on("page", watch)
    yield context
    unexpected = [fault for fault in faults if not any(mark in fault for mark in PROVOKED)]
    assert not unexpected, unexpected


def _is_fault(message: ConsoleMessage, page: Page) -> bool:
    """An error, unless it is that the page which the test asked for came with its own 404."""
    is_the_page = "404" in message.text and message.location.get("url") == page.url
    return message.type == "error" and not is_the_page


def _is_own(url: str) -> bool:
    return url.startswith(("http://localhost:", "data:", "about:"))


@pytest.fixture(scope="session")
def axe_source() -> str:
    """The accessibility checker axe-core 4.14.1, kept beside the tests so that they need no network."""
    return (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")

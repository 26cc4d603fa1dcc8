"""Debian's Chromium on a live server with the loaded catalogue; every journey fails on a console or policy error."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test.testcases import LiveServerThread
from playwright.sync_api import BrowserContext, Page

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
AXE_PACKAGE = "axe-core@4.14.1"
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
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if not _is_own(request.url) else None)

    context.on("page", watch)
    yield context
    unexpected = [fault for fault in faults if not any(mark in fault for mark in PROVOKED)]
    assert not unexpected, unexpected


def _is_own(url: str) -> bool:
    return url.startswith(("http://localhost:", "data:", "about:"))


@pytest.fixture(scope="session")
def axe_source() -> str:
    """The accessibility checker, fetched once into the git-ignored folder; skipped where that cannot be done."""
    folder = settings.VAR_DIR / "axe"
    script = folder / "package" / "axe.min.js"
    if not script.exists():
        npm, tar = shutil.which("npm"), shutil.which("tar")
        if npm is None or tar is None:
            pytest.skip("axe-core is not at hand and npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run([npm, "pack", "--silent", AXE_PACKAGE], cwd=folder, capture_output=True, text=True)
        if packed.returncode != 0:
            pytest.skip(f"axe-core could not be fetched: {packed.stderr.strip()[:200]}")
        subprocess.run([tar, "-xzf", packed.stdout.strip().splitlines()[-1]], cwd=folder, check=True)
    return str(script.read_text(encoding="utf-8"))

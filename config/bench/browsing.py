"""First paint and answer to a press in Chromium, over loopback; without Chromium the figures stay empty."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

from config.bench.load import serving
from config.bench.measure import Figure
from config.bench.pages import PAGES
from config.static_files import collect_if_changed

TURNS = 3
MAX_PAINT_MS = 1000.0
MAX_PRESS_MS = 200.0
# the page's own clock: the largest paint since the visit began, and the first press with the paint after it
_WATCH = """() => {
    window.seen = {paint: 0, press: 0};
    const observe = (type, note) => new PerformanceObserver(list => list.getEntries().forEach(note))
        .observe({type, buffered: true});
    observe("largest-contentful-paint", entry => { seen.paint = entry.startTime; });
    observe("first-input", entry => { seen.press = entry.duration; });
}"""


def figures() -> Iterator[Figure]:
    collect_if_changed()
    chromium = shutil.which("chromium")
    for name in ("form", "result"):
        found, note = (_measured(chromium, PAGES[name]), "") if chromium else (None, " Chromium is not installed")
        for key, label, limit in (
            ("paint", "largest paint", MAX_PAINT_MS),
            ("press", "answer to a press", MAX_PRESS_MS),
        ):
            yield Figure(
                path=(f"{key}_ms", name),
                label=f"/ ({name}), {label} in Chromium",
                value=found[key] if found else None,
                unit="ms",
                limit=limit,
                note=note,
            )


def _measured(chromium: str, address: str) -> dict[str, float]:
    """The best of a few visits, each with an empty cache: other work on the machine is not ours."""
    from playwright.sync_api import sync_playwright

    with serving() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        visits = [_visit(browser, f"http://127.0.0.1:{server.port}{address}") for _turn in range(TURNS + 1)]
        browser.close()
    return {key: min(visit[key] for visit in visits[1:]) for key in ("paint", "press")}


def _visit(browser: Any, url: str) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url)
    page.evaluate(_WATCH)
    page.locator(".job__more > summary").click()
    page.wait_for_timeout(400)
    seen: dict[str, float] = page.evaluate("window.seen")
    page.close()
    return seen

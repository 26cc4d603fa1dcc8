"""An automated checker finds nothing serious on any public page, in both languages and both colour schemes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.test_sizing import CASE

PATHS = ["/?", f"{CASE}&", "/?v=1&parameters=8x7B&", f"/compare{CASE[1:]}&", "/method?", "/validation?"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "zh-Hans"])
@pytest.mark.parametrize("path", PATHS, ids=["empty", "answer", "fault", "compare", "method", "validation"])
def test_no_serious_finding(page: Page, axe_source: str, path: str, lang: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # the literal comes by parametrize
    page.goto(f"{path}lang={lang}")
    for details in page.locator("details").all():
        details.evaluate("node => { node.open = true; }")
    page.evaluate(axe_source)
    findings = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [
        (finding["id"], [node["target"] for node in finding["nodes"]][:5])
        for finding in findings
        if finding["impact"] in {"serious", "critical"}
    ]
    assert not serious, serious

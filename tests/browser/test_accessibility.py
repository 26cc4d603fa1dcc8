"""An automated checker finds nothing serious on any public page, in both languages and both colour schemes."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from tests.browser.test_sizing import CASE

SCENARIO = quote(CASE[2:])
PATHS = {
    "empty": "/?",
    "answer": f"{CASE}&",
    "fault": "/?v=1&parameters=8x7B&",
    "compare": f"/compare{CASE[1:]}&",
    "scenarios": f"/compare?s={SCENARIO}&s={SCENARIO}&",
    "method": "/method?",
    "validation": "/validation?",
    "glossary": "/glossary?",
    "embed": "/embed?",
    "frame": f"/embed/sizer{CASE[1:]}&",
}
# each page in both languages and both schemes once, not in all four pairs
PAIRS = [("en", "light"), ("zh-Hans", "dark")]


@pytest.mark.parametrize(("lang", "scheme"), PAIRS)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
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

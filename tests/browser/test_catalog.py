"""The catalogue in a real browser: filters without a reload, sorting without JavaScript, narrow screens, axe."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

PATHS = ["", "gpus/", "servers/?search=dell", "gpus/nvidia-h20-96gb/", "services/svc-ops-24x7/", "tiers/billion/"]
PATHS += ["model-architectures/deepseek-v3/", "price-books/demo-purchase-cny/"]
PATHS.append("gpus/compare/?sku=nvidia-h100-sxm5-80gb&sku=amd-mi300x-192gb")


def with_language(path: str, lang: str) -> str:
    return f"/catalog/{path}{'&' if '?' in path else '?'}lang={lang}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "zh-Hans"])
@pytest.mark.parametrize("path", PATHS)
def test_no_serious_finding(page: Page, axe_source: str, path: str, lang: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # the literal comes by parametrize
    page.goto(with_language(path, lang))
    page.evaluate(axe_source)
    findings = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [
        (finding["id"], [node["target"] for node in finding["nodes"]][:5])
        for finding in findings
        if finding["impact"] in {"serious", "critical"}
    ]
    assert not serious, serious


@pytest.mark.parametrize("path", PATHS)
def test_nothing_overflows_at_320_pixels(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 320, "height": 800})
    page.goto(with_language(path, "zh-Hans"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_filter_narrows_the_table_in_place_and_the_address_follows(page: Page) -> None:
    page.goto("/catalog/gpus/?lang=en")
    page.get_by_label("Vendor").select_option("AMD")
    expect(page.locator("#rows tbody tr")).to_have_count(5)
    expect(page).to_have_url(re.compile(r"vendor=AMD"))
    expect(page.locator("#live")).to_have_text("5 entries")
    page.get_by_label("Search").fill("mi355")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    page.reload()
    expect(page.locator("#rows tbody tr")).to_have_count(1)


def test_without_javascript_filter_and_order_work(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=site, locale="en")
    page = context.new_page()
    page.goto("/catalog/gpus/")
    page.get_by_label("Search").fill("mi3")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#rows tbody tr")).to_have_count(4)
    page.get_by_role("link", name="TDP").click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_count(1)
    expect(page.locator("#rows tbody tr")).to_have_count(4)
    context.close()

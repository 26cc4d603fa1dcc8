"""The catalogue in a real browser: filters without a reload, sorting without JavaScript."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect


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

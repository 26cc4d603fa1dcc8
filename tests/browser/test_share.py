"""Taking a result along: the list of recent sizings that stays in the browser, and the button that copies the link."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.test_sizing import CASE, answered

OTHER = CASE.replace("1e11", "2e11")
STRANGE = ("{", "[1, null]", '{"a": 1}', '[{"query": "//evil.example/", "title": "<img src=x onerror=alert(1)>"}]')


def test_recent_sizings_stay_in_the_browser_until_cleared(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url + (request.post_data or "")))
    for case in (CASE, OTHER):
        page.goto(f"{case}&lang=en")
        answered(page)
    page.goto("/method?lang=en")
    page.goto("/?lang=en")
    recent = page.locator("[data-recent]")
    expect(recent).to_contain_text("Kept in this browser only")
    links = recent.locator("ul a")
    expect(links).to_have_count(2)
    expect(links.first).to_contain_text("7B · 200B tokens → ")
    links.last.click()
    answered(page)
    expect(page.locator("#id_tokens")).to_have_value("100B")
    assert all("recent" not in str(cookie) for cookie in page.context.cookies())
    assert not [text for text in sent if "recent" in text]
    page.goto("/?lang=en")
    recent.get_by_role("button", name="Clear the list").click()
    expect(recent).to_be_hidden()
    assert page.evaluate("localStorage.length") == 0
    page.reload()
    expect(recent).to_be_hidden()


def test_a_recent_sizing_is_put_beside_another(page: Page) -> None:
    for case in (CASE, OTHER):
        page.goto(f"{case}&lang=en")
        answered(page)
    page.get_by_role("link", name="Put it beside another scenario").click()
    page.locator("[data-recent] li", has_text="100B").get_by_role("link", name="put beside").click()
    expect(page.locator("table.compare thead th[scope=col] > a")).to_have_text(["Scenario A", "Scenario B"])


def test_what_stands_in_the_storage_is_text_and_no_more(page: Page) -> None:
    page.goto("/?lang=en")
    for text in STRANGE:
        page.evaluate("text => localStorage.setItem('recent-sizings', text)", text)
        page.reload()
    link = page.locator("[data-recent] ul a")
    expect(link).to_have_text("<img src=x onerror=alert(1)>")
    assert link.evaluate("node => node.origin") == page.evaluate("location.origin")


def test_the_link_is_copied_with_one_press(context: BrowserContext, page: Page) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{CASE}&lang=en")
    answered(page)
    page.get_by_role("button", name="Copy the link").click()
    expect(page.locator("[data-copied]")).to_be_visible()
    assert "&seen=" in page.evaluate("navigator.clipboard.readText()")
    assert not [url for url in asked if "/share.svg" in url]  # the picture comes when its fold is opened
    page.locator("summary", has_text="QR code").click()
    width = page.locator("img.qr").evaluate("async (node) => { await node.decode(); return node.naturalWidth; }")
    assert width > 0


def test_without_javascript_there_is_the_link_and_no_list(browser: Browser, site: str) -> None:
    with browser.new_context(base_url=site, java_script_enabled=False) as quiet:
        page = quiet.new_page()
        page.goto(f"{CASE}&lang=en")
        expect(page.locator("[data-recent]")).to_be_hidden()
        expect(page.get_by_role("button", name="Copy the link")).to_be_hidden()
        expect(page.get_by_role("link", name="Send by e-mail")).to_be_visible()

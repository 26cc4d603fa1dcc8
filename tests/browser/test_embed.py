"""The sizer on somebody else's page: another origin, its own small server, nothing of ours on it but the element."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

PATIENCE = 30_000


@pytest.fixture
def foreign(site: str) -> Iterator[str]:
    element = '<gpu-sizer lang="en" theme="{theme}" query="parameters=7e9&tokens=1e11&deadline_days=30{gpu}">'
    html = (
        '<!doctype html><html lang="en"><title>Foreign</title><link rel="icon" href="data:,">'
        + element.format(theme="dark", gpu="&gpu=nvidia-h100-sxm5-80gb")
        + f'<a href="{site}/">GPU sizing</a></gpu-sizer>'
        + element.format(theme="light", gpu="&gpu=nvidia-h200-sxm5-141gb")
        + f'</gpu-sizer><script src="{site}/embed.js" defer></script></html>'
    ).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, *_arguments: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_two_sizers_on_a_foreign_page_fit_their_content_and_set_no_cookie(page: Page, foreign: str) -> None:
    page.goto(foreign)
    for place, (theme, gpu) in enumerate((("dark", "H100"), ("light", "H200"))):
        holder = page.locator("gpu-sizer").nth(place).locator("iframe")
        holder.scroll_into_view_if_needed()
        frame = holder.content_frame
        expect(frame.locator("[data-result]")).to_contain_text(gpu, timeout=PATIENCE)
        expect(frame.locator("html")).to_have_attribute("lang", "en")
        expect(frame.locator("html")).to_have_attribute("data-theme", theme)
        # the frame is measured again when its styles have come: asked until both agree, for a limited time
        for _attempt in range(50):
            inside = frame.locator("body").evaluate("node => Math.ceil(node.getBoundingClientRect().height)")
            outside = holder.evaluate("node => getComputedStyle(node).height")
            if outside == f"{inside}px":
                break
            page.wait_for_timeout(100)
        assert outside == f"{inside}px"
    assert page.context.cookies() == []


def test_by_keyboard_alone_and_another_answer(page: Page, foreign: str) -> None:
    page.goto(foreign)
    frame = page.locator("iframe").first.content_frame
    expect(frame.locator("[data-result]")).to_be_visible(timeout=PATIENCE)
    page.evaluate("document.addEventListener('gpu-sizer-result', (event) => { window.told = event.detail; })")
    for _step in range(6):
        page.keyboard.press("Tab")
        if frame.locator("#id_parameters:focus").count():
            break
    expect(frame.locator("#id_parameters")).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("13B")
    page.keyboard.press("Enter")
    expect(frame.locator("#id_parameters")).to_have_value("13B", timeout=PATIENCE)
    expect(frame.locator("[data-result]")).to_be_visible(timeout=PATIENCE)
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    told = page.evaluate("window.told")
    assert told["gpu"] == "nvidia-h100-sxm5-80gb"
    assert "13e9" in told["url"] or "1.3e10" in told["url"]


def test_without_javascript_the_plain_link_remains(browser: Browser, foreign: str) -> None:
    with browser.new_context(java_script_enabled=False) as quiet:
        page = quiet.new_page()
        page.goto(foreign)
        expect(page.get_by_role("link", name="GPU sizing")).to_be_visible()

"""The result as people use it: four questions, assumptions in place, words explained, the slider, the frame, speed."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from tests.browser.test_sizing import CASE, GPU, PATIENCE, answered, fill, query_of

JOB = f"/?v=1&parameters=7e9&tokens=1e11&gpu={GPU}"
QUESTIONS = {
    "deadline": "&deadline_days=30",
    "cluster": "&gpu_count=64",
    "budget": "&deadline_days=30&budget=1e6",
    "site": "&deadline_days=30&max_it_kilowatts=200&max_racks=20&cooling=air",
}
HEADLINES = {
    "en": re.compile(r"\d GPUs\..*Expected [\d.]+", re.DOTALL),
    "zh-Hans": re.compile(r"\d\s*张\s*GPU.*预计", re.DOTALL),
}


@pytest.mark.parametrize("lang", HEADLINES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_its_answer(page: Page, question: str, lang: str) -> None:
    page.goto(f"{JOB}{QUESTIONS[question]}&lang={lang}")
    expect(page.locator("#result-heading")).to_have_text(HEADLINES[lang])
    if question == "cluster":
        expect(page.locator("#result-heading")).to_contain_text("64")
    if question in {"budget", "site"}:
        limits = page.locator("#part-limits + p + .scroll tbody tr")
        assert limits.count() >= (3 if question == "budget" else 4)


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no-script"])
def test_an_assumption_is_changed_in_place(
    browser: Browser, browser_context_args: dict[str, Any], has_script: bool
) -> None:
    context = browser.new_context(**browser_context_args | {"java_script_enabled": has_script})
    page = context.new_page()
    page.goto(f"{CASE}&lang=en")
    row = page.locator("#assumption-sequence_length")
    row.locator("summary").click()
    row.locator("input[name=sequence_length]").fill("8k")
    row.locator("button").click()
    expect(page.locator("#assumption-sequence_length")).to_contain_text("yours")
    asked = query_of(page)
    assert asked["sequence_length"] == ["8k"]
    assert asked["parameters"] == ["7e9"]
    context.close()


def test_a_word_is_explained_by_keyboard(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    page.locator("button[popovertarget=term-mfu]").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#term-mfu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#term-mfu")).not_to_be_visible()


def test_a_reason_opens_its_calculation(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    page.locator("#part-why + ul a").first.click()
    expect(page.locator("#calc-training_seconds pre")).to_be_visible()


def test_the_slider_moves_number_and_days_together(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    bare = float(page.locator("[data-loss]").get_attribute("data-bare-seconds") or 0) / 86_400
    page.locator("#loss-range").evaluate(
        "node => { node.value = '20'; node.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(page.locator("#loss-text")).to_have_value("20%")
    shown = page.locator(".loss__days").inner_text().split()[0]
    assert float(shown) == pytest.approx(bare / 0.8, rel=0.006)
    page.locator("[data-loss] button").click()
    expect(page.locator("#part-deployment")).to_contain_text("20.0%")


def test_a_late_answer_does_not_replace_a_newer_one(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    held: list[Route] = []
    page.route(re.compile("tokens=2T"), lambda route: held.append(route))
    fill(page, tokens="2T")
    page.locator("#id_tokens").press("Enter")
    expect(page.locator("#result")).to_have_class(re.compile("htmx-request"))
    fill(page, tokens="4T")
    page.locator("#id_tokens").press("Enter")
    page.wait_for_url(re.compile("tokens=4e12"), timeout=PATIENCE)
    answered(page)
    newest = page.locator("#result-heading").inner_text()
    assert held
    for route in held:  # the older answer comes now, whole, to a request that the page has given up
        with contextlib.suppress(Error):
            route.continue_()
    page.wait_for_timeout(500)
    expect(page.locator("#result-heading")).to_have_text(newest, use_inner_text=True)
    assert query_of(page)["tokens"] == ["4e12"]


def test_the_frame_grows_with_its_answer_and_tells_it(page: Page, site: str) -> None:
    body = (
        "<!doctype html><script src='/embed.js'></script><body>"
        f"<gpu-sizer lang='en' query='{CASE[2:]}'><a href='/'>sizing</a></gpu-sizer>"
        "<gpu-sizer lang='zh-Hans'></gpu-sizer></body>"
    )
    page.route("**/elsewhere.html", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto("/elsewhere.html")
    frame = page.frame_locator("gpu-sizer:nth-of-type(1) iframe")
    expect(frame.locator("[data-result]")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("gpu-sizer iframe")).to_have_count(2)
    first = page.locator("gpu-sizer iframe").first
    expect(first).to_have_attribute("style", re.compile(r"height: \d{3,4}px"), timeout=PATIENCE)
    frame.locator("#id_tokens").fill("200B")
    frame.locator("button[type=submit]").click()
    expect(frame.locator("[data-result]")).to_be_visible(timeout=PATIENCE)
    assert not page.context.cookies()


def test_first_paint_and_first_press_are_quick(page: Page) -> None:
    """The best of three: other work on the machine is not ours."""
    seen = []
    for _turn in range(3):
        page.goto("/?lang=en")
        page.evaluate(
            """() => {
                window.seen = {paint: 0, press: 0};
                const start = performance.getEntriesByType("navigation")[0].responseStart;
                new PerformanceObserver(list => list.getEntries().forEach(entry => {
                    window.seen.paint = entry.startTime - start;
                })).observe({type: "largest-contentful-paint", buffered: true});
                new PerformanceObserver(list => list.getEntries().forEach(entry => {
                    window.seen.press = entry.duration;
                })).observe({type: "first-input", buffered: true});
            }"""
        )
        page.locator(".job__more > summary").click()
        page.wait_for_timeout(400)
        seen.append(page.evaluate("window.seen"))
    assert 0 < min(visit["paint"] for visit in seen) <= 1000
    assert 0 < min(visit["press"] for visit in seen) <= 200


@pytest.mark.parametrize("chosen", ["system", "dark"])
def test_paper_has_the_light_colours_whatever_the_screen_has(page: Page, chosen: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(f"{CASE}&lang=en")
    page.locator(f".theme-switch button[value={chosen}]").click()
    colour = "getComputedStyle(document.body).color"
    on_screen = page.evaluate(colour)
    page.emulate_media(media="print", color_scheme="dark")
    on_paper = page.evaluate(colour)
    page.emulate_media(media="screen", color_scheme="light")
    page.locator(".theme-switch button[value=light]").click()
    assert on_screen != on_paper == page.evaluate(colour)

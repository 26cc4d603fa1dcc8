"""The sizing page as people use it: typing, keyboard only, without JavaScript, back and forward, narrow, offline."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.engine.published_configs import BY_PRESET

GPU = "nvidia-h100-sxm5-80gb"
CASE = f"/?v=1&parameters=7e9&tokens=1e11&deadline_days=30&gpu={GPU}"
ANSWER = re.compile(r"\d[\d,]* GPUs\.")
CONFIGS = {row[0]: row[1] for row in BY_PRESET}
LLAMA_8B, QWEN3_MOE = CONFIGS["llama-3-8b"], CONFIGS["qwen3-235b-a22b"]
PATIENCE = 30_000  # a search on a busy machine


def query_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def answered(page: Page) -> None:
    expect(page.locator("#result[data-state=answer]:not(.htmx-request)")).to_be_visible(timeout=PATIENCE)


def fill(page: Page, **values: str) -> None:
    for name, text in values.items():
        page.locator(f"#id_{name}").fill(text)


def test_typing_a_job_gives_an_answer_in_place(page: Page) -> None:
    page.goto("/?lang=en")
    page.evaluate("window.untouched = true")
    fill(page, parameters="7B", tokens="100B", deadline_days="30")
    page.locator("#id_deadline_days").press("Enter")
    answered(page)
    expect(page.locator("#result-heading")).to_have_text(re.compile(r".*GPUs\..*Expected.*", re.DOTALL))
    assert page.evaluate("window.untouched") is True, "the page was loaded anew"
    assert query_of(page) == {"v": ["1"], "parameters": ["7e9"], "tokens": ["1e11"], "deadline_days": ["30"]}
    expect(page.locator("#live")).to_contain_text("Result updated")
    expect(page.locator("#result-heading")).to_be_focused()


def test_the_same_in_chinese(page: Page) -> None:
    page.goto("/?lang=zh-Hans")
    fill(page, parameters="70亿", tokens="1000亿", deadline_days="30")
    page.get_by_role("button", name="开始测算").first.click()
    answered(page)
    expect(page.locator("#result-heading")).to_contain_text(re.compile(r"张\s*GPU"))
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    assert query_of(page)["parameters"] == ["7e9"]


def test_a_change_updates_by_itself_and_history_walks_through_the_answers(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    first = page.locator("#result-heading").inner_text()
    fill(page, tokens="4T")
    page.locator("#id_deadline_days").focus()  # the change event comes with leaving the field
    page.wait_for_url(re.compile("tokens=4e12"), timeout=PATIENCE)
    answered(page)
    second = page.locator("#result-heading").inner_text()
    assert second != first
    page.go_back()
    expect(page.locator("#result-heading")).to_have_text(first, timeout=PATIENCE, use_inner_text=True)
    expect(page.locator("#id_tokens")).to_have_value("100B")
    expect(page.locator("header")).to_be_visible()
    page.wait_for_load_state()  # going back loads the page anew: its scripts have to listen before the next step
    page.go_forward()
    expect(page.locator("#result-heading")).to_have_text(second, timeout=PATIENCE, use_inner_text=True)
    page.reload()
    expect(page.locator("#result-heading")).to_have_text(second, timeout=PATIENCE, use_inner_text=True)
    expect(page.locator("#id_tokens")).to_have_value("4T")


def test_a_known_model_takes_the_place_of_a_count_and_back(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    page.locator("#id_preset").select_option("llama-3-8b")
    page.wait_for_url(re.compile("preset=llama-3-8b"), timeout=PATIENCE)
    answered(page)
    assert "parameters" not in query_of(page)
    expect(page.locator("#id_parameters")).to_have_value("")
    page.locator("#id_preset").select_option("")
    page.wait_for_url(re.compile("parameters=7e9"), timeout=PATIENCE)
    expect(page.locator("#id_parameters")).to_have_value("7B")
    page.locator("#id_preset").select_option("llama-3-8b")
    page.wait_for_url(re.compile("preset=llama-3-8b"), timeout=PATIENCE)
    fill(page, parameters="13B")
    page.locator("#id_tokens").focus()
    page.wait_for_url(re.compile("parameters=1.3e10"), timeout=PATIENCE)
    expect(page.locator("#id_preset")).to_have_value("")


def test_a_fault_takes_the_focus_loses_nothing_and_goes_when_mended(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    fill(page, parameters="8x7B")
    page.locator("#id_parameters").press("Enter")
    expect(page.locator("#error-summary")).to_be_focused(timeout=PATIENCE)
    expect(page.locator("#id_parameters")).to_have_value("8x7B")
    expect(page.locator("#id_tokens")).to_have_value("100B")
    expect(page.locator("#id_parameters")).to_have_attribute("aria-invalid", "true")
    page.locator("#error-summary a").first.click()
    expect(page.locator("#id_parameters")).to_be_focused()
    fill(page, parameters="13B")
    page.locator("#id_parameters").press("Enter")
    page.wait_for_url(re.compile("parameters=1.3e10"), timeout=PATIENCE)
    answered(page)
    expect(page.locator("#error-summary")).to_have_count(0)
    expect(page.locator(".field--error")).to_have_count(0)


def test_keyboard_alone_reaches_the_answer(page: Page) -> None:
    page.goto("/?lang=en")
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#id_parameters")).to_be_focused()
    page.keyboard.type("7B")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator("#id_tokens")).to_be_focused()
    page.keyboard.type("100B")
    page.keyboard.press("Enter")
    answered(page)
    expect(page.locator("#result-heading")).to_be_focused()
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "the focus is not to be seen"


@pytest.mark.parametrize("lang", ["en", "zh-Hans"])
def test_without_javascript(browser: Browser, browser_context_args: dict[str, Any], lang: str) -> None:
    context = browser.new_context(**browser_context_args | {"java_script_enabled": False})
    page = context.new_page()
    page.goto(f"/?lang={lang}")
    page.locator("#id_parameters").fill("7B")
    page.locator("#id_tokens").fill("100B")
    page.locator("#sizing-form > .button").click()
    expect(page.locator("#result")).to_have_attribute("data-state", "answer")
    page.locator("#id_tokens").fill("1,4T")
    page.locator("#sizing-form > .button").click()
    expect(page.locator("#error-summary")).to_be_visible()
    expect(page.locator("#id_tokens")).to_have_value("1,4T")
    expect(page.locator("#id_parameters")).to_have_value("7B")
    page.locator(".theme-switch button[value=dark]").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    context.close()


def test_a_config_is_pasted_and_uploaded_without_javascript(
    browser: Browser, browser_context_args: dict[str, Any]
) -> None:
    context = browser.new_context(**browser_context_args | {"java_script_enabled": False})
    page = context.new_page()
    page.goto("/?lang=zh-Hans")
    fill(page, parameters="70B", tokens="1,000 亿")
    page.get_by_text("粘贴或上传 config.json").click()
    reader = page.get_by_role("button", name="读取 config.json")
    page.locator("[name=config_text]").fill('{"model_type": "mamba"}')
    reader.click()
    expect(page.locator("#error-summary")).to_contain_text("不支持模型类型 mamba")
    expect(page.locator("[name=config_text]")).to_have_value('{"model_type": "mamba"}')
    expect(page.locator("#id_tokens")).to_have_value("1,000 亿")
    expect(page.locator("#id_parameters")).to_have_value("70B")
    page.locator("[name=config_text]").fill(json.dumps(QWEN3_MOE))
    reader.click()
    expect(page.locator("#result")).to_have_attribute("data-state", "answer")
    assert query_of(page).keys() == {"config", "tokens", "v"}
    expect(page.locator(".job__read")).to_contain_text("qwen3_moe")
    expect(page.locator("#result")).to_contain_text("模型取自您的 config.json（qwen3_moe）")
    content = json.dumps(LLAMA_8B).encode()
    page.locator("[name=config_file]").set_input_files(
        {"name": "config.json", "mimeType": "application/json", "buffer": content}
    )
    reader.click()
    expect(page.locator(".job__read")).to_contain_text("8.03B")
    page.locator("#id_tokens").fill("2000亿")
    page.locator("#id_tokens").press("Enter")
    assert query_of(page)["tokens"] == ["2000亿"]
    assert json.loads(query_of(page)["config"][0])["hidden_size"] == 4096
    context.close()


def test_a_config_in_force_goes_along_and_gives_way_to_another_model(page: Page) -> None:
    page.goto("/?lang=en")
    fill(page, tokens="100B")
    page.get_by_text("Paste or upload a config.json").click()
    page.locator("[name=config_text]").fill(json.dumps(LLAMA_8B))
    page.locator("#id_tokens").press("Enter")  # any button means the pasted file as well
    page.wait_for_url(re.compile("config="), timeout=PATIENCE)
    answered(page)
    page.evaluate("window.untouched = true")
    fill(page, tokens="200B")
    page.locator("#id_tokens").press("Enter")
    page.wait_for_url(re.compile("tokens=2e11"), timeout=PATIENCE)
    answered(page)
    assert page.evaluate("window.untouched") is True, "the page was loaded anew"
    assert "config" in query_of(page)
    page.locator("#id_preset").select_option("llama-3-70b")
    page.wait_for_url(re.compile("preset=llama-3-70b"), timeout=PATIENCE)
    assert "config" not in query_of(page)
    page.locator("#id_config").check()
    page.wait_for_url(re.compile("config="), timeout=PATIENCE)
    assert "preset" not in query_of(page)


def test_a_narrow_screen_folds_the_form_once_there_is_an_answer(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(f"{CASE}&lang=en")
    expect(page.locator("#id_parameters")).not_to_be_visible()
    page.locator("#job > summary").click()
    expect(page.locator("#id_parameters")).to_be_visible()
    expect(page.locator("#job > summary")).to_contain_text("7B")


def test_a_server_that_fails_is_said_and_the_old_answer_stays(page: Page) -> None:
    page.goto(f"{CASE}&lang=en")
    before = page.locator("#result-heading").inner_text()
    page.route("**/?*", lambda route: route.abort())
    fill(page, tokens="4T")
    page.locator("#id_tokens").press("Enter")
    expect(page.locator("#result-failed")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#result-heading")).to_have_text(before, use_inner_text=True)
    page.unroute("**/?*")
    page.locator("#id_tokens").press("Enter")
    page.wait_for_url(re.compile("tokens=4e12"), timeout=PATIENCE)
    answered(page)
    expect(page.locator("#result-failed")).not_to_be_visible()


def test_dark_follows_the_system_and_the_switch_wins(page: Page) -> None:
    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    page.emulate_media(color_scheme="light")
    page.goto("/?lang=en")
    light = background()
    page.emulate_media(color_scheme="dark")
    dark = background()
    assert dark != light
    page.locator(".theme-switch button[value=light]").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert background() == light


def test_first_view_is_quick_and_does_not_jump(page: Page) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{CASE}&lang=en")
    page.wait_for_load_state("networkidle")
    shift = page.evaluate(
        """() => new Promise(done => {
            let sum = 0;
            new PerformanceObserver(list => list.getEntries().forEach(entry => { sum += entry.value; }))
                .observe({type: "layout-shift", buffered: true});
            setTimeout(() => done(sum), 300);
        })"""
    )
    assert shift <= 0.02
    assert len(requests) <= 12

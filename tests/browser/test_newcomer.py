"""A first visit with a question in one's own words: from the empty page to the answer in a few entries."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_sizing import PATIENCE, answered, fill

DAY = 86_400


def days_range(page: Page) -> tuple[float, float]:
    """The low and the high end of the training time."""
    low, high = (
        float(node.get_attribute("value") or 0) / DAY
        for node in page.locator(".figures > div").first.locator("small data").all()
    )
    return low, high


def gpus(page: Page) -> int:
    return int(page.locator("#result-heading data").last.get_attribute("value") or 0)


@pytest.mark.parametrize(
    ("lang", "model", "tokens", "time"),
    [("en", "13B", "300B", "6 weeks"), ("zh-Hans", "130亿", "3000亿", "6周")],
    ids=["en", "zh-Hans"],
)
def test_a_medical_model_in_six_weeks(page: Page, lang: str, model: str, tokens: str, time: str) -> None:
    """6 x 13e9 x 300e9 = 2.34e22 operations in 42 days are 6.4e15 a second: what the GPUs named have to reach."""
    page.goto(f"/?lang={lang}")
    fill(page, parameters=model, tokens=tokens, deadline_days=time)
    page.locator("#id_deadline_days").press("Enter")
    answered(page)
    _low, high = days_range(page)
    assert 0 < high <= 42
    peak = {"A100": 312e12, "H100": 989e12, "H200": 989e12, "H20 ": 148e12, "B200": 2250e12, "B300": 2250e12}
    found = [value for name, value in peak.items() if name in page.locator("#result-heading").inner_text()]
    needed = 6 * 13e9 * 300e9 / (42 * DAY) / found[0]  # whichever GPU is the cheapest
    assert needed / 0.9 < gpus(page) < needed / 0.2, "too few for the work, or several times too many"


@pytest.mark.parametrize("lang", ["en", "zh-Hans"])
def test_four_servers_of_eight_h20(page: Page, lang: str) -> None:
    """6 x 72e9 x 50e9 = 2.16e22 operations on 32 x 148e12 a second: 52.8 days with nothing lost, 211 at a quarter."""
    page.goto(f"/?lang={lang}")
    fill(page, parameters="72B", tokens="50B")
    page.locator(".job__gpus > summary").click()  # “You have a cluster: its GPU and number”
    page.locator("input[name=gpu][value=nvidia-h20-96gb]").check()
    fill(page, gpu_count="32")
    page.locator("#id_gpu_count").press("Enter")
    page.wait_for_url(re.compile("gpu_count=32"), timeout=PATIENCE)
    answered(page)
    expect(page.locator("#result-heading")).to_contain_text("H20")
    assert gpus(page) == 32
    low, high = days_range(page)
    assert 52.8 < low < high < 211

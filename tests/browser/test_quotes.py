"""From a visitor's sizing to an accepted quotation: request, draft, approval, issue, mail, the customer's yes, the PDF;
without a script too."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from django.core import mail
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pypdf import PdfReader

from quotes.models import QuoteRevision
from quotes.request_forms import MIN_AGE
from quotes.samples import seed_parties
from tests import factories
from tests.browser.conftest import PROVOKED

SIZING = "/?v=1&parameters=7e9&tokens=2e11&deadline_days=30&gpu=nvidia-h200-sxm5-141gb&term_months=12"
CUSTOMER = "z@customer.example"
PATIENCE = 60_000  # an issue draws the PDF, on a busy machine


@pytest.fixture
def people(catalog: None, transactional_db: None, site: str) -> None:
    """Alice sells and Carol approves; the seller and the terms of the samples."""
    seed_parties()
    factories.alice()
    factories.carol()


def _context(browser: Browser, site: str, language: str, *, scripts: bool, faults: list[str]) -> BrowserContext:
    context = browser.new_context(
        base_url=site, locale="en", java_script_enabled=scripts, viewport={"width": 1280, "height": 900}
    )
    context.add_cookies([{"name": "lang", "value": language, "url": site}])
    context.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    return context


def _desk(context: BrowserContext, name: str) -> Page:
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto("/accounts/login/?next=/quotes/")
    page.locator("[name=username]").fill(name)
    page.locator("[name=password]").fill(factories.PASSWORD)
    page.locator("main button[type=submit]").click()
    expect(page.locator("h1")).to_be_visible()
    return page


def _confirm(page: Page) -> None:
    """The one button of a step's page."""
    page.locator("main form[method=post] button.button[type=submit]").last.click()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("language", "scripts"), [("en", True), ("zh-hans", False)], ids=["en", "zh-no-script"])
def test_a_visitors_sizing_becomes_an_accepted_quotation(
    browser: Browser, site: str, people: None, language: str, scripts: bool
) -> None:
    faults: list[str] = []
    contexts = [_context(browser, site, language, scripts=scripts, faults=faults) for _person in range(3)]
    reference = _asks_for_a_quote(contexts[2])

    # the lead becomes the draft, with everything carried over
    seller = _desk(contexts[0], "alice")
    seller.goto("/quotes/requests/")
    seller.get_by_role("link", name=reference).click()
    seller.locator("form[action$='/draft/'] button[type=submit]").click()
    expect(seller.locator("#editor [name=customer_name]")).to_have_value("样例客户（演示）")
    expect(seller.locator("#editor [name=contact_email]")).to_have_value(CUSTOMER)
    seller.locator("#editor [name=language]").select_option("zh-Hans+en")
    address = seller.url

    # a discount above the own limit: totals and the needed approval show before anything is saved
    before = seller.locator("#live-part .row--total td").inner_text()
    seller.locator("[name=discount_fraction]").fill("8")
    seller.locator("[name=discount_reason]").select_option("volume")
    if not scripts:
        seller.locator("button[name=do][value=look]").click()
    expect(seller.locator("#live-part .row--total td")).not_to_have_text(before)
    expect(seller.locator("#live-part .quote-needs")).to_contain_text("8%")
    assert QuoteRevision.objects.get().discount_fraction == 0
    seller.locator(".quote-save button.button").first.click()
    expect(seller.locator(".message--success")).to_be_visible()

    _state_the_export_check(seller)
    seller.locator("a[href$='/step/submit/']").click()
    _confirm(seller)
    assert QuoteRevision.objects.get().state == "pending_approval"

    # another person agrees
    manager = _desk(contexts[1], "carol")
    manager.goto(address)
    manager.locator("a[href$='/step/approve/']").click()
    _confirm(manager)
    assert QuoteRevision.objects.get().state == "approved"

    # issue and mail
    seller.goto(address)
    seller.locator("a[href$='/issue/']").click()
    seller.locator("main form button[type=submit]").click()
    expect(seller.locator("h1")).to_contain_text(re.compile(r"Q-\d{4}-\d{6}"))
    seller.locator("a.button[href$='/mail/']").first.click()
    expect(seller.locator("[name=recipients]")).to_have_value(CUSTOMER)
    _confirm(seller)
    expect(seller.locator(".message--success")).to_be_visible()
    revision = QuoteRevision.objects.get()
    assert revision.state == "sent"
    (sent,) = [message for message in mail.outbox if message.to == [CUSTOMER]]
    link = re.search(r"/q/[\w-]{43}/", sent.body)
    assert link is not None, sent.body

    _accepts(contexts[2], link[0])
    revision = QuoteRevision.objects.get()
    assert (revision.state, revision.decision["name"]) == ("accepted", "Zhang San")
    seller.goto(address)
    expect(seller.locator(".timeline")).to_contain_text("Zhang San")
    for context in contexts:
        context.close()
    assert not [fault for fault in faults if not any(mark in fault for mark in PROVOKED)], faults


def _asks_for_a_quote(context: BrowserContext) -> str:
    """A visitor sizes and sends the request form; returns the reference that the thanks name."""
    visitor = context.new_page()
    visitor.set_default_timeout(PATIENCE)
    visitor.goto(SIZING)
    visitor.locator("main a[href^='/request-quote/']").first.click()
    form = visitor.locator("main form[method=post]")
    for name, value in (
        ("company", "样例客户（演示）"),
        ("contact_name", "Zhang San"),
        ("email", CUSTOMER),
        ("destination", "中国 上海"),
    ):
        form.locator(f"[name={name}]").fill(value)
    form.locator("[name=basis][value=purchase]").check()
    form.locator("[name=consent]").check()
    visitor.wait_for_timeout(MIN_AGE.total_seconds() * 1000)  # what is sent faster than a person writes comes back
    form.locator("button[type=submit]").click()
    expect(visitor).to_have_url(re.compile("/request-quote/thanks/"))
    reference = visitor.locator("main strong").inner_text()
    visitor.close()
    return reference


def _state_the_export_check(page: Page) -> None:
    link = page.locator("a[href$='/export-check/']")
    if link.count():
        link.first.click()
        page.locator("[name=statement]").fill("Destination Shanghai, no licence needed for this end user.")
        _confirm(page)


def _accepts(context: BrowserContext, link: str) -> None:
    """The customer reads the PDF and says yes."""
    customer = context.new_page()
    customer.set_default_timeout(PATIENCE)
    customer.goto(link)
    with customer.expect_download() as started:
        customer.locator("main a[href$='/pdf']").first.click()
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(_bytes(started.value))).pages)
    assert "样例客户" in text
    form = customer.locator("form[action$='/accept']")
    for name, value in (
        ("name", "Zhang San"),
        ("title", "CTO"),
        ("company", "样例客户"),
        ("email", CUSTOMER),
    ):
        form.locator(f"[name={name}]").fill(value)
    form.locator("[name=agrees]").check()
    form.locator("button[type=submit]").click()
    expect(customer.locator(".status--ok")).to_be_visible(timeout=PATIENCE)


def _bytes(download: Any) -> bytes:
    with open(download.path(), "rb") as file:
        return file.read()

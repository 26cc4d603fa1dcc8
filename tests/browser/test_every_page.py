"""Every page there is: nothing serious for an automated checker in both languages and colour schemes, and nothing runs
out sideways at 320 pixels or at twice the size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.urls import URLResolver, get_resolver, resolve
from playwright.sync_api import BrowserContext, Page

from tests.browser import world
from tests.browser.test_sizing import CASE, GPU
from tests.conftest import load_catalog_if_empty

SCENARIO = quote(CASE[2:])
CATALOG = "/catalog/"
PUBLIC = {
    "sizing, empty": "/",
    "sizing, answered": CASE,
    "sizing, nothing feasible": f"{CASE.replace('=30&', '=0.01&')}&budget=1",
    "sizing, fault": "/?v=1&parameters=8x7B",
    "compare": f"/compare{CASE[1:]}",
    "compare scenarios": f"/compare?s={SCENARIO}&s={SCENARIO}",
    "method": "/method",
    "validation": "/validation",
    "glossary": "/glossary",
    "embed": "/embed",
    "frame": f"/embed/sizer{CASE[1:]}",
    "offers": "/offers?example=1",
    "upgrade": f"/upgrade?present_gpu={GPU}&present_gpu_count=16&parameters=7e9&tokens=1e12&deadline_days=30",
    "request": f"/request-quote/{CASE[1:]}",
    "request refused": "/request-quote/?parameters=banana",
    "verify": "/v/",
    "verify, unknown": "/v/AAAA-AAAA-AAAA-AAAA",
    "login": "/accounts/login/",
    "API": "/api/docs",
    "not found": "/nowhere",
    "catalogue": CATALOG,
    "table": f"{CATALOG}gpus/",
    "table, searched": f"{CATALOG}servers/?search=dell",
    "part": f"{CATALOG}gpus/nvidia-h20-96gb/",
    "service": f"{CATALOG}services/svc-ops-24x7/",
    "tier": f"{CATALOG}tiers/billion/",
    "model": f"{CATALOG}model-architectures/deepseek-v3/",
    "parts compared": f"{CATALOG}gpus/compare/?sku=nvidia-h100-sxm5-80gb&sku=amd-mi300x-192gb",
    "prices": f"{CATALOG}price-books/demo-purchase-cny/",
    "unverified": f"{CATALOG}unverified/",
    "revisions": f"{CATALOG}revisions/",
}
# who looks, and the address with what the world made
BEHIND_LOGIN = {
    "customer": ("", "/q/{token}/"),
    "verified": ("", "/v/{code}"),
    "thanks": ("", "/request-quote/thanks/{lead}/"),
    "catalogue revision": ("", f"{CATALOG}revisions/{{catalog_revision}}/"),
    "forbidden": ("alice", f"{CATALOG}import/"),
    "quotes": ("alice", "/quotes/"),
    "figures": ("carol", "/quotes/figures/"),
    "new quote": ("alice", f"/quotes/new/{CASE[1:]}&basis=purchase"),
    "new quote by hand": ("alice", "/quotes/new/by-hand/"),
    "editor": ("alice", "/quotes/{draft}/"),
    "submit": ("alice", "/quotes/{draft}/step/submit/"),
    "issue": ("alice", "/quotes/{draft}/issue/"),
    "new prices": ("alice", "/quotes/{draft}/prices/"),
    "export check": ("alice", "/quotes/{draft}/export-check/"),
    "duplicate": ("alice", "/quotes/{draft}/r1/duplicate/"),
    "waiting for approval": ("carol", "/quotes/{pending_approval}/"),
    "approve": ("carol", "/quotes/{pending_approval}/step/approve/"),
    "approved": ("alice", "/quotes/{approved}/"),
    "sent": ("alice", "/quotes/{sent}/"),
    "link for the customer": ("alice", "/quotes/{sent}/share/"),
    "mail": ("alice", "/quotes/{sent}/mail/"),
    "second revision": ("alice", "/quotes/{superseded}/"),
    "first revision": ("alice", "/quotes/{superseded}/r1/"),
    "revisions compared": ("alice", "/quotes/{superseded}/r2/against/r1/"),
    "requests": ("alice", "/quotes/requests/"),
    "one request": ("alice", "/quotes/requests/{lead}/"),
    "mails": ("alice", "/quotes/mail/"),
    "tokens": ("alice", "/quotes/tokens/"),
    "scenarios": ("alice", "/scenarios/"),
    "one scenario": ("alice", "/scenarios/{scenario}/"),
    "import": ("root", f"{CATALOG}import/"),
    "drafts": ("root", f"{CATALOG}drafts/"),
    "one draft": ("root", f"{CATALOG}drafts/{{catalog_draft}}/"),
    "books": ("root", f"{CATALOG}price-books/"),
    "one book": ("root", f"{CATALOG}price-books/demo-purchase-cny/v1/"),
    "administration": ("root", "/admin/"),
}
# steps that only a POST takes, files, and what programs read
NO_PAGE = {
    *("advisor:download", "advisor:embed-loader", "advisor:favicon", "advisor:theme", "healthz", "readyz", "logout"),
    *("advisor:oembed", "advisor:share-qr", "advisor:scenario-changes", "advisor:model-config"),
    *("advisor:scenario-save", "advisor:scenario-step", "catalog:workbook", "token-revoke", "mail-retry"),
    *(
        f"catalog:{name}-{suffix}"
        for name in ("table", "comparison", "price-book", "book")
        for suffix in ("csv", "xlsx")
    ),
    *(f"catalog:book-{step}" for step in ("copy", "publish", "retire", "roll-back", "upload")),
    *("catalog:draft-discard", "catalog:draft-publish", "customer:accept", "customer:decline", "customer:pdf"),
    *(f"quotes:{name}" for name in ("export", "pdf", "proof", "preview", "save", "team", "unshare")),
    *(f"request-{step}" for step in ("assign", "close", "draft", "note", "take")),
}
WIDTHS = (640, 320)  # 1280 at 200 %, and the narrowest phone
PAIRS = (("en", "light"), ("zh-Hans", "dark"))


def names_below(resolver: URLResolver, namespace: str = "") -> Iterator[str]:
    for found in resolver.url_patterns:
        if not isinstance(found, URLResolver):
            yield f"{namespace}{found.name}"
        elif found.namespace != "admin" and not str(found.pattern).startswith("api/"):
            yield from names_below(found, f"{found.namespace}:" if found.namespace else namespace)


def test_no_page_is_left_out() -> None:
    gone = {"token": "t" * 43, "code": "c", "lead": "r", "catalog_draft": 1, "catalog_revision": 1}
    for name in ("draft", "pending_approval", "approved", "sent", "superseded", "scenario"):
        gone[name] = "00000000-0000-0000-0000-000000000000"
    addresses = [*PUBLIC.values(), *(path.format(**gone) for _who, path in BEHIND_LOGIN.values())]
    seen = {resolve(path.split("?")[0]).view_name for path in addresses if path != PUBLIC["not found"]}
    named = {name for name in names_below(get_resolver()) if not name.endswith("None")}
    assert named - seen == NO_PAGE


@pytest.fixture(scope="module")
def made(site: str, django_db_blocker: Any) -> Iterator[dict[str, Any]]:
    """Committed for the server's thread; afterwards the database is as other tests expect it."""
    with django_db_blocker.unblock():
        yield world.made()
        call_command("flush", interactive=False, verbosity=0)
        load_catalog_if_empty()


def look(page: Page, path: str, axe: str) -> list[str]:
    """What is wrong with a page; each language and each colour scheme once, not all four pairs."""
    wrong = []
    for language, scheme in PAIRS:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a plain string in the list
        page.goto(f"{path}{'&' if '?' in path else '?'}lang={language}")
        page.evaluate("for (const node of document.querySelectorAll('details')) node.open = true")
        page.evaluate(axe)
        wrong += [f"{language} {scheme}: {finding}" for finding in findings(page)]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 700})
            if (needed := page.evaluate("document.documentElement.scrollWidth")) > width:
                wrong.append(f"{language}: {needed} pixels wide at {width}")
    return wrong


def findings(page: Page) -> list[str]:
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{finding['id']} at {[node['target'] for node in finding['nodes']][:5]}"
        for finding in found["violations"]
        if finding["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("path", PUBLIC.values(), ids=PUBLIC)
def test_a_public_page(page: Page, axe_source: str, path: str) -> None:
    assert not (wrong := look(page, path, axe_source)), wrong


@pytest.mark.parametrize(("who", "path"), BEHIND_LOGIN.values(), ids=BEHIND_LOGIN)
def test_a_page_with_its_own_address_or_login(
    page: Page, context: BrowserContext, site: str, axe_source: str, made: dict[str, Any], who: str, path: str
) -> None:
    if who:
        context.add_cookies([made["sessions"][who] | {"url": site}])
    assert not (wrong := look(page, path.format(**made), axe_source)), wrong

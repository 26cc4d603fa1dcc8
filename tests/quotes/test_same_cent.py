"""One quote read in six places: desk, customer's page, paper, snapshot, API and CSV say the same to the cent.

Prices are entered with tax, at three rates, with discounts on lines and on the whole; amounts worked by hand:

    16 x 348.35 less 4 %     5573.60 x 0.96 = 5350.656 -> 5350.66     at 13 %   (348.35 x 16 less 4 %: odoo #37896)
    1 x 55.55                                              55.55      at 6 %    (55.55 and 11.11: odoo #36675)
    3 x 11.11 less 1.11                                    32.22      at 9 %
    together 5438.43, less 5 % = 271.9215 -> 271.92; shared 267.53, 2.78 (the cent left: largest remainder), 1.61

    5083.13 x 0.13/1.13 = 584.785 -> 584.78;  52.77 x 0.06/1.06 = 2.987 -> 2.99;  30.61 x 0.09/1.09 = 2.527 -> 2.53
    30, 60 and 10 % of 5166.51: 1549.953, 3099.906, 516.651 -> 1549.95, 3099.91 (the cent left), 516.65
"""

from __future__ import annotations

import csv
import html
import io
import re
from decimal import Decimal

import pypdf
import pytest
from django.urls import reverse

from quotes import files, snapshot
from quotes.models import ApprovalRule
from quotes.services import quote_issue, quote_share
from tests.quotes.api_calls import Api, path
from tests.quotes.drafts import line, make_draft

D = Decimal
NET, TAX, GROSS = "4576.21", "590.30", "5166.51"
GROUPS = {("0.13", "4498.35", "584.78"), ("0.09", "28.08", "2.53"), ("0.06", "49.78", "2.99")}
PAYMENTS = ["1549.95", "3099.91", "516.65"]
WORDS = "人民币伍仟壹佰陆拾陆元伍角壹分"
SHOWN = {NET, GROSS, *PAYMENTS, *(amount for _rate, base, tax in GROUPS for amount in (base, tax))}


@pytest.fixture
def issued(as_alice):
    ApprovalRule.objects.update(is_active=False)
    draft = make_draft(
        as_alice,
        language="zh-Hans+en",
        prices_include_tax=True,
        discount_fraction=D("0.05"),
        discount_reason="volume",
        payment_schedule=[
            {"event": event, "share_of": "total", "fraction": fraction, "days": 0}
            for event, fraction in (("signing", "0.3"), ("before_dispatch", "0.6"), ("acceptance", "0.1"))
        ],
        lines=[
            line("16", D("348.35"), "0.13", discount_fraction=D("0.04")),
            line("1", D("55.55"), "0.06", kind="service", sku="set-up", tax_category="services"),
            line(
                "3",
                D("11.11"),
                "0.09",
                kind="switch",
                sku="line",
                tax_category="transport_telecom",
                discount_amount=D("1.11"),
            ),
        ],
    )
    return quote_issue(actor=as_alice, revision=draft)


def _amounts(text):
    """Every amount with two decimals in a text."""
    return {found.replace(",", "") for found in re.findall(r"(?<![\d.,])\d[\d,]*\.\d\d(?![\d.%])", text)}


def _agrees(text):
    """All figures are there, the words too, and none stands beside them that is a few cents off."""
    found = _amounts(text)
    assert found >= SHOWN, SHOWN - found
    close = {near for near in found - SHOWN for right in SHOWN if 0 < abs(D(near) - D(right)) < D("0.05")}
    assert not close, close
    assert WORDS in re.sub(r"\s+", "", text)


def _page(client, address):
    response = client.get(address)
    assert response.status_code == 200
    return html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode()))


def _agrees_as_data(content):
    totals = content["totals"]
    assert [totals[name]["amount"] for name in ("net", "tax", "gross")] == [NET, TAX, GROSS]
    assert {(row["rate"], row["base"]["amount"], row["tax"]["amount"]) for row in totals["tax_groups"]} == GROUPS
    assert D(totals["subtotal"]["amount"]) - D(totals["discount"]["amount"]) == D(NET)
    assert sum(D(row["net"]["amount"]) for row in content["lines"]) == D(totals["subtotal"]["amount"])
    assert [row["amount"]["amount"] for row in content["payments"]] == PAYMENTS
    assert content["words" if "words" in content else "amount_in_words"]["zh-Hans"] == WORDS


def test_six_readings_of_one_quote(client, alice, as_alice, issued):
    _agrees_as_data(snapshot.parse(issued.snapshot))
    _agrees_as_data(Api(alice).get(path(issued)).json())

    reader = pypdf.PdfReader(io.BytesIO(files.document_bytes(issued)))
    _agrees("\n".join(page.extract_text() for page in reader.pages))

    _agrees(_page(client, reverse("customer:quote", args=[quote_share(actor=as_alice, revision=issued)])))
    client.force_login(alice)
    _agrees(_page(client, issued.get_absolute_url()))

    client.cookies["lang"] = "en"
    body = b"".join(client.get(reverse("quotes:export")).streaming_content).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(body))
    assert [row[name] for name in ("Net total", "Tax", "Total including tax")] == [NET, TAX, GROSS]

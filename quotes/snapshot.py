"""The snapshot: everything that an issued quote prints, as canonical JSON with a version and a hash.

Page, PDF and API of an issued quote read it and nothing else. Drafts are shown through a snapshot made on the spot, so
that both have one way to the paper.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

from catalog.money import TaxMode, money_json, round_money
from catalog.money_words import english_words, rmb_from_words, rmb_words
from quotes.models import Basis, QuoteLine, QuoteRevision, SellerEntity, Terms
from quotes.payments import Instalment, instalments
from quotes.pricing import DocumentTotals, LineAmounts, PricedLine, document_totals, group_of

SCHEMA = 2
TEMPLATE_VERSION = "1"
Snapshot = dict[str, Any]
# What snapshots of the first schema do not say, because nothing of it was printed then.
_FIRST_SCHEMA_LACKED: Snapshot = {
    "discount_reason": "",
    "prices_include_tax": False,
    "tax_basis": [],
    "exchange": {},
    "payments": [],
    "clauses": {},
    "special_terms": "",
    "controlled_parts": [],
    "verification": None,
}


def canonical(snapshot: Snapshot) -> str:
    """One text for one content: sorted keys, no spaces, no NaN."""
    return json.dumps(snapshot, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def parse(text: str) -> Snapshot:
    """Read a stored snapshot; raises ValueError for a schema that this code does not know."""
    snapshot = cast(Snapshot, json.loads(text))
    if snapshot.get("schema") == 1:
        return _FIRST_SCHEMA_LACKED | snapshot
    if snapshot.get("schema") != SCHEMA:
        raise ValueError(f"Snapshot schema {snapshot.get('schema')!r} is not known; known are 1 and {SCHEMA}.")
    return snapshot


def priced(line: QuoteLine) -> PricedLine:
    return PricedLine(
        position=line.position,
        kind=line.kind,
        unit=line.unit,
        quantity=line.quantity,
        period_count=line.period_count,
        unit_price=line.unit_price,
        discount_fraction=line.discount_fraction,
        tax_rate=line.tax_rate,
        is_included=line.is_included,
        is_optional=line.is_optional,
        discount_amount=line.discount_amount,
    )


def revision_totals(revision: QuoteRevision, lines: Sequence[QuoteLine]) -> DocumentTotals:
    return document_totals(
        [priced(line) for line in lines],
        revision.currency,
        discount_fraction=revision.discount_fraction,
        discount_amount=revision.discount_amount,
        prices_include_tax=revision.prices_include_tax,
        tax_mode=TaxMode(revision.tax_mode),
        deposit_months=revision.deposit_months,
        has_monthly_amount=revision.basis == Basis.RENTAL,
    )


def build(
    revision: QuoteRevision,
    lines: Sequence[QuoteLine],
    *,
    number: str | None = None,
    issued_at: datetime | None = None,
    verification: dict[str, str] | None = None,
) -> Snapshot:
    """The snapshot of a revision as it stands; number, time and verification are None for drafts. Reads no table."""
    sums = revision_totals(revision, lines)
    currency = revision.currency
    seller = revision.seller
    zone = seller.time_zone if seller else "Asia/Shanghai"
    return {
        "schema": SCHEMA,
        "template_version": TEMPLATE_VERSION,
        "number": number,
        "revision": revision.revision_index,
        "state_at_making": "issued" if number else "draft",
        "issued_at": issued_at.isoformat() if issued_at else None,
        "issue_date": issued_at.astimezone(ZoneInfo(zone)).date().isoformat() if issued_at else None,
        "valid_through": revision.valid_through.isoformat(),
        "pricing_date": revision.pricing_date.isoformat(),
        "time_zone": zone,
        "language": revision.language,
        "paper": revision.paper,
        "basis": revision.basis,
        "term_months": revision.term_months,
        "currency": currency,
        "tax_mode": revision.tax_mode,
        "project": revision.project,
        "seller": _seller(seller),
        "customer": {
            "name": revision.customer_name,
            "tax_id": revision.customer_tax_id,
            "address": revision.customer_address,
            "contact_name": revision.contact_name,
            "contact_phone": revision.contact_phone,
            "contact_email": revision.contact_email,
            "delivery_place": revision.delivery_place,
        },
        "lines": [_line(line, sums.lines.get(line.position), currency) for line in lines],
        "groups": [{"group": group, "net": money_json(net, currency)} for group, net in sums.groups],
        "discount_fraction": _plain(revision.discount_fraction),
        "discount_amount": money_json(revision.discount_amount, currency),
        "discount_reason": revision.discount_reason,
        "prices_include_tax": revision.prices_include_tax,
        "tax_basis": revision.tax_basis,
        "exchange": revision.exchange,
        "payments": [_payment(row, currency) for row in payments_of(revision, sums)],
        "clauses": revision.clauses,
        "special_terms": revision.special_terms,
        "controlled_parts": sorted({line.sku for line in lines if line.export_note}),
        "totals": _totals(sums, currency),
        "words": amount_words(sums.totals.gross, currency),
        "monthly_net": _money(sums.monthly_net, currency),
        "monthly_gross": _money(sums.monthly_gross, currency),
        "deposit": _money(sums.deposit, currency),
        "deposit_months": _plain(revision.deposit_months),
        "missing_prices": list(sums.missing_positions),
        "price_book": revision.price_book,
        "terms": _terms(revision.terms),
        "customer_note": revision.customer_note,
        "sizing": revision.sizing,
        "verification": verification,
    }


def payments_of(revision: QuoteRevision, sums: DocumentTotals) -> tuple[Instalment, ...]:
    """The payments of a revision; they sum to its gross total."""
    return instalments(
        revision.payment_schedule,
        gross=sums.totals.gross,
        recurring_gross=sums.recurring_gross,
        term_months=revision.term_months,
        currency=revision.currency,
    )


def _payment(row: Instalment, currency: str) -> dict[str, Any]:
    """`parts`: how often which amount falls due; they sum to `amount`."""
    return {
        "event": row.event,
        "days": row.days,
        "share_of": row.share_of,
        "fraction": _plain(row.fraction),
        "amount": money_json(row.amount, currency),
        "parts": [{"count": count, "amount": money_json(amount, currency)} for count, amount in row.parts],
    }


def amount_words(amount: Decimal, currency: str) -> dict[str, str]:
    """The total in words: 人民币大写 for CNY, read back before it is printed; English words for every currency."""
    if amount < 0:  # a draft in the making; it is neither stored nor issued
        return {"en": ""}
    words = {"en": english_words(amount, currency)}
    if currency == "CNY":
        words["zh-Hans"] = rmb_words(amount)
        if rmb_from_words(words["zh-Hans"]) != amount:
            raise ArithmeticError(f"{words['zh-Hans']} does not read back as {amount}.")
    return words


def _plain(value: Decimal | None) -> str | None:
    """A decimal without trailing zeros and without an exponent."""
    if value is None:
        return None
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _money(amount: Decimal | None, currency: str) -> dict[str, str] | None:
    return None if amount is None else money_json(amount, currency)


def _unit_price(amount: Decimal | None, currency: str) -> dict[str, str] | None:
    """A unit price keeps up to four digits where it has them (an hourly price), else the currency's own."""
    if amount is None:
        return None
    rounded = round_money(amount, currency)
    return {"amount": f"{rounded:f}" if rounded == amount else str(_plain(amount)), "currency": currency}


def _line(line: QuoteLine, amounts: LineAmounts | None, currency: str) -> dict[str, Any]:
    return {
        "position": line.position,
        "group": group_of(line.kind),
        "kind": line.kind,
        "sku": line.sku,
        "name": {"zh-Hans": line.name_zh, "en": line.name_en},
        "specification": {"zh-Hans": line.specification_zh, "en": line.specification_en},
        "unit": line.unit,
        "quantity": _plain(line.quantity),
        "period_count": line.period_count,
        "list_price": _unit_price(line.list_price, currency),
        "list_period_count": line.list_period_count,
        "discount_amount": money_json(line.discount_amount, currency),
        "discount_reason": line.discount_reason,
        "tax_category": line.tax_category,
        "unit_price": _unit_price(line.unit_price, currency),
        "discount_fraction": _plain(line.discount_fraction),
        "tax_rate": _plain(line.tax_rate),
        "net": _money(amounts.net if amounts else None, currency),
        "tax": _money(amounts.tax if amounts else None, currency),
        "gross": _money(amounts.gross if amounts else None, currency),
        "is_included": line.is_included,
        "is_optional": line.is_optional,
        "sized_quantity": _plain(line.sized_quantity),
        "source_rule": line.source_rule,
        "reason": {"zh-Hans": line.reason_zh, "en": line.reason_en},
        "price_origin": line.price_origin,
        "price_as_of": line.price_as_of.isoformat() if line.price_as_of else None,
        "is_indicative": line.is_indicative,
        "lead_time_days": line.lead_time_days,
    }


def _totals(sums: DocumentTotals, currency: str) -> dict[str, Any]:
    result = sums.totals
    return {
        "subtotal": money_json(result.subtotal, currency),
        "discount": money_json(result.discount, currency),
        "net": money_json(result.net, currency),
        "tax_groups": [
            {
                "rate": _plain(group.rate),
                "base": money_json(group.base, currency),
                "tax": money_json(group.tax, currency),
            }
            for group in result.tax_groups
        ],
        "tax": money_json(result.tax, currency),
        "gross": money_json(result.gross, currency),
    }


def _seller(seller: SellerEntity | None) -> dict[str, Any] | None:
    if seller is None:
        return None
    return {
        "name": {"zh-Hans": seller.name_zh, "en": seller.name_en},
        "address": {"zh-Hans": seller.address_zh, "en": seller.address_en},
        "phone": seller.phone,
        "email": seller.email,
        "website": seller.website,
        "tax_id": seller.tax_id,
        "country": seller.country,
        "licences": seller.licences,
        "bank_name": {"zh-Hans": seller.bank_name_zh, "en": seller.bank_name_en},
        "bank_account": seller.bank_account,
        "invoice_kind": {"zh-Hans": seller.invoice_kind_zh, "en": seller.invoice_kind_en},
    }


def _terms(terms: Terms | None) -> dict[str, Any] | None:
    if terms is None:
        return None
    return {
        "code": terms.code,
        "version": terms.version,
        "title": {"zh-Hans": terms.title_zh, "en": terms.title_en},
        "paragraphs": {
            "zh-Hans": [text for text in terms.body_zh.splitlines() if text.strip()],
            "en": [text for text in terms.body_en.splitlines() if text.strip()],
        },
    }

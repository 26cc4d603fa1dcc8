"""A snapshot as rows of finished text: what the PDF and the quote pages print. Nothing is computed here, only written.

Money has groups of three and the currency's digits in every language; the code of the currency stands in the column
head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from django.utils import translation
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from catalog.money import format_amount, minor_unit
from quotes import verification
from quotes.appendix import Appendix, appendix_of
from quotes.particulars import Particulars, particulars_of
from quotes.pricing import is_monthly
from quotes.snapshot import Snapshot
from quotes.wording import DJANGO_LANGUAGES, GROUP_LABELS, ROLE_LABELS, percent, unit_label

Text = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the line table; `kind` is group, line, included or subtotal."""

    kind: str
    label: Promise | str = ""
    position: int = 0
    sku: str = ""
    name: Text = field(default_factory=dict)
    specification: Text = field(default_factory=dict)
    role: Promise | str = ""
    quantity: str = ""
    unit: Promise | str = ""
    periods: str = ""
    unit_price: str = ""
    discount: str = ""
    tax_rate: str = ""
    net: str = ""
    is_indicative: bool = False
    is_missing: bool = False

    @property
    def has_specification(self) -> bool:
        return any(self.specification.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxRow:
    rate: str
    base: str
    tax: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How the reader checks the paper: the code in groups, where to type it, and the QR code of both."""

    code: str
    place: str
    qr_code: SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """Everything that the templates print, as text."""

    languages: tuple[str, ...]
    django_languages: tuple[str, ...]
    number: str
    revision: int
    is_draft: bool
    issue_date: date | None
    valid_through: date
    pricing_date: date
    time_zone: str
    currency: str
    basis: str
    term_months: int | None
    rows: tuple[Row, ...]
    options: tuple[Row, ...]
    has_periods: bool
    has_discounts: bool
    has_indicative: bool
    column_count: int
    subtotal: str
    discount: str
    discount_rate: str
    net: str
    tax_rows: tuple[TaxRow, ...]
    tax: str
    gross: str
    monthly_net: str
    monthly_gross: str
    deposit: str
    deposit_months: str
    missing_count: int
    seller: dict[str, Any] | None
    customer: dict[str, str]
    project: str
    customer_note: str
    terms: dict[str, Any] | None
    price_book: dict[str, Any]
    appendices: tuple[tuple[str, Appendix], ...]
    longest_lead_days: int | None
    document_id: str
    seller_name: str
    words_zh: str
    words_en: str
    terms_by_language: tuple[tuple[str, list[str]], ...]
    price_book_text: Text
    verification: Verification | None
    particulars: Particulars

    @property
    def ends_with_subtotal(self) -> bool:
        return bool(self.rows) and self.rows[-1].kind == "subtotal"

    @property
    def terms_pairs(self) -> tuple[tuple[str, ...], ...]:
        """Each clause in both languages; empty on paper in one language."""
        if len(self.terms_by_language) < 2:
            return ()
        return tuple(zip_longest(*(paragraphs for _language, paragraphs in self.terms_by_language), fillvalue=""))

    @property
    def label_span(self) -> int:
        """Columns before the net amount."""
        return self.column_count - 1

    @property
    def included_span(self) -> int:
        """Columns after the unit."""
        return self.column_count - 4


def paper_of(snapshot: Snapshot) -> Paper:
    """The printed form of a snapshot."""
    languages = tuple(snapshot["language"].split("+"))
    currency = snapshot["currency"]
    lines = snapshot["lines"]
    counted = [line for line in lines if not line["is_optional"]]
    totals = snapshot["totals"]
    has_periods = any(line["period_count"] > 1 for line in lines)
    has_discounts = any(Decimal(line["discount_fraction"]) for line in lines)
    by_language = snapshot["sizing"].get("by_language", {})
    return Paper(
        languages=languages,
        django_languages=tuple(DJANGO_LANGUAGES[language] for language in languages),
        number=snapshot["number"] or "",
        revision=snapshot["revision"],
        is_draft=snapshot["number"] is None,
        issue_date=date.fromisoformat(snapshot["issue_date"]) if snapshot["issue_date"] else None,
        valid_through=date.fromisoformat(snapshot["valid_through"]),
        pricing_date=date.fromisoformat(snapshot["pricing_date"]),
        time_zone=snapshot["time_zone"],
        currency=currency,
        basis=snapshot["basis"],
        term_months=snapshot["term_months"],
        rows=tuple(_grouped_rows(counted, snapshot["groups"], currency)),
        options=tuple(
            _row(line, currency, index)
            for index, line in enumerate((line for line in lines if line["is_optional"]), start=1)
        ),
        has_periods=has_periods,
        has_discounts=has_discounts,
        has_indicative=any(line["is_indicative"] and not line["is_included"] for line in lines),
        column_count=7 + has_periods + has_discounts,
        subtotal=_amount(totals["subtotal"]),
        discount=_amount(totals["discount"]) if Decimal(totals["discount"]["amount"]) else "",
        discount_rate=percent(snapshot["discount_fraction"]),
        net=_amount(totals["net"]),
        tax_rows=tuple(
            TaxRow(rate=percent(group["rate"]), base=_amount(group["base"]), tax=_amount(group["tax"]))
            for group in totals["tax_groups"]
        ),
        tax=_amount(totals["tax"]),
        gross=_amount(totals["gross"]),
        monthly_net=_amount(snapshot["monthly_net"]),
        monthly_gross=_amount(snapshot["monthly_gross"]),
        deposit=_amount(snapshot["deposit"]),
        deposit_months=snapshot["deposit_months"] or "",
        missing_count=len(snapshot["missing_prices"]),
        seller=snapshot["seller"],
        customer=snapshot["customer"],
        project=snapshot["project"],
        customer_note=snapshot["customer_note"],
        terms=snapshot["terms"],
        price_book=snapshot["price_book"],
        appendices=tuple(_appendices(languages, by_language)),
        longest_lead_days=max((line["lead_time_days"] or 0 for line in counted), default=0) or None,
        document_id=snapshot["number"] or "DRAFT",
        seller_name=snapshot["seller"]["name"][languages[0]] if snapshot["seller"] else "",
        words_zh=snapshot["words"].get("zh-Hans", "") if "zh-Hans" in languages else "",
        # a foreign currency has no 大写: its English words stand in every language
        words_en=snapshot["words"]["en"] if "en" in languages or "zh-Hans" not in snapshot["words"] else "",
        terms_by_language=tuple(
            (language, snapshot["terms"]["paragraphs"][language]) for language in languages if snapshot["terms"]
        ),
        price_book_text=dict(_price_books(snapshot["price_book"])),
        verification=_verification(snapshot.get("verification"), languages[0]),
        particulars=particulars_of(snapshot),
    )


def _verification(printed: Mapping[str, str] | None, language: str) -> Verification | None:
    """None on drafts, and on quotes issued before codes were printed."""
    if printed is None:
        return None
    with translation.override(DJANGO_LANGUAGES[language]):
        title = gettext("QR code that opens the page which confirms this quotation")
    place = printed["url"].removesuffix(printed["code"]).split("://", 1)[-1]
    return Verification(
        code=verification.grouped(printed["code"]),
        place=place,
        qr_code=verification.qr_code(printed["url"], title),
    )


def _price_books(books: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for language, book in books.items():
        with translation.override(DJANGO_LANGUAGES[language]):
            sentence = gettext("Price list: %(name)s (%(code)s), %(day)s")
        yield language, sentence % {"name": book["name"], "code": book["code"], "day": book["as_of"]}


def _appendices(
    languages: tuple[str, ...], by_language: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Appendix]]:
    for language in languages:
        appendix = appendix_of(by_language.get(language, {}))
        if appendix is not None:
            yield DJANGO_LANGUAGES[language], appendix


def line_numbers(snapshot: Snapshot) -> dict[int, int]:
    """The number that the paper gives to each line, by its position; parts and options have none."""
    counted = [line for line in snapshot["lines"] if not line["is_optional"]]
    numbered = [line for _group, members in _by_group(counted) for line in members if not line["is_included"]]
    return {line["position"]: number for number, line in enumerate(numbered, start=1)}


def _by_group(lines: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Groups in the order of the paper, each with its lines."""
    present = [group for group in GROUP_LABELS if any(line["group"] == group for line in lines)]
    home = {line["position"]: line["group"] for line in lines}
    parent = ""
    for line in lines:  # parts inside a server stand under it, whatever their own kind
        if not line["is_included"]:
            parent = line["group"]
        elif parent:
            home[line["position"]] = parent
    grouped = [(group, [line for line in lines if home[line["position"]] == group]) for group in present]
    return [(group, members) for group, members in grouped if members]


def _grouped_rows(lines: list[dict[str, Any]], groups: list[dict[str, Any]], currency: str) -> Iterator[Row]:
    """Lines under their groups; a group of one line needs no subtotal."""
    subtotals = {group["group"]: _amount(group["net"]) for group in groups}
    present = _by_group(lines)
    index = 0
    for group, members in present:
        if len(present) > 1:
            yield Row(kind="group", label=GROUP_LABELS[group])
        for line in members:
            index += not line["is_included"]
            yield _row(line, currency, index)
        priced = [line for line in members if line["net"]]
        if len(present) > 1 and len(priced) > 1 and group in subtotals:
            yield Row(kind="subtotal", label=GROUP_LABELS[group], net=subtotals[group])


def _row(line: dict[str, Any], currency: str, index: int) -> Row:
    is_included = line["is_included"]
    return Row(
        kind="included" if is_included else "line",
        position=index,
        sku=line["sku"],
        name=line["name"],
        specification=line["specification"],
        quantity=_quantity(line["quantity"]),
        role="" if is_included else ROLE_LABELS.get(line["kind"], ""),
        unit=_unit(line),
        periods=str(line["period_count"]) if is_monthly(line["unit"]) else "",
        unit_price=_unit_price(line["unit_price"], currency),
        discount=percent(line["discount_fraction"]) if Decimal(line["discount_fraction"]) else "",
        tax_rate="" if is_included else percent(line["tax_rate"]),
        net=_amount(line["net"]),
        is_indicative=line["is_indicative"] and not is_included,
        is_missing=line["unit_price"] is None and not is_included,
    )


def _unit(line: dict[str, Any]) -> Promise | str:
    """Where the months have a column of their own, the unit is the thing that is paid for by the month."""
    if line["unit"].endswith("server_month"):
        return unit_label("each", "server")
    if line["unit"] == "month" and line["period_count"] > 1:
        return unit_label("each", line["kind"])
    return unit_label(line["unit"], line["kind"])


def _amount(money: Mapping[str, str] | None) -> str:
    return "" if money is None else format_amount(Decimal(money["amount"]), money["currency"])


def _unit_price(money: Mapping[str, str] | None, currency: str) -> str:
    """With the currency's digits, and more where the price has them."""
    if money is None:
        return ""
    amount = Decimal(money["amount"])
    return f"{amount:,f}" if amount != amount.quantize(minor_unit(currency)) else format_amount(amount, currency)


def _quantity(text: str) -> str:
    return f"{Decimal(text):,f}"

"""From a recommendation to the lines and the sizing basis of a draft; pure functions of plain answers.

Answers come once per language, with the same figures and different words. Lines keep both names, so that the language
of the paper can still be changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.utils import translation

from advisor.calculation import calculation
from quotes.pricing import is_monthly
from quotes.wording import DJANGO_LANGUAGES

if TYPE_CHECKING:
    from advisor.answers import LineAnswer, PriceLineAnswer, PricesAnswer, RecommendationAnswer

CHINESE, ENGLISH = "zh-Hans", "en"
# Not part of the sizing basis: the lines of the quote itself say them.
_LEFT_OUT = frozenset({"prices", "bill_of_materials", "price_problems"})
# Prices of the answer are not those of the quote, so the sums about money stay out.
_CALCULATION_GROUPS = frozenset({"work", "step", "time", "memory", "cluster", "storage"})
_CALCULATION_PRINTED = ("code", "group", "label", "formula", "substituted", "value", "unit", "text")


class NothingToQuoteError(Exception):
    """The recommendation has no configuration or no price for this basis; `reasons` are sentences for the user."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__(" ".join(reasons))


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLine:
    """A line before it is stored."""

    kind: str
    sku: str
    name_zh: str
    name_en: str
    unit: str
    quantity: Decimal
    unit_price: Decimal | None
    tax_rate: Decimal
    period_count: int = 1
    specification_zh: str = ""
    specification_en: str = ""
    is_included: bool = False
    sized_quantity: Decimal | None = None
    source_rule: str = ""
    reason_zh: str = ""
    reason_en: str = ""
    price_origin: str = ""
    price_as_of: date | None = None
    is_indicative: bool = False
    lead_time_days: int | None = None
    list_price: Decimal | None = None  # of the price book; None: no book has the price, which needs approval
    list_period_count: int | None = None
    discount_fraction: Decimal = Decimal(0)
    discount_amount: Decimal = Decimal(0)
    discount_reason: str = ""
    tax_category: str = ""
    is_optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a recommendation gives to a quote."""

    lines: tuple[DraftLine, ...]
    currency: str
    term_months: int | None
    deposit_months: Decimal | None
    price_book: dict[str, Any]
    sizing: dict[str, Any]


def draft_from_answers(answers: Mapping[str, RecommendationAnswer], *, basis: str, query: str) -> Draft:
    """The draft of the recommended configuration; raises `NothingToQuoteError` with the reasons where there is none."""
    prices = {language: _prices(answer, basis) for language, answer in answers.items()}
    first = prices[ENGLISH]
    return Draft(
        lines=_lines(answers, prices),
        currency=first["currency"],
        term_months=first["term_months"] if basis == "rental" else None,
        deposit_months=_deposit_months(first),
        price_book={language: block["price_book"] for language, block in prices.items()},
        sizing={
            "query": query,
            "by_language": {language: _sizing_basis(answer, language) for language, answer in answers.items()},
        },
    )


def _prices(answer: RecommendationAnswer, basis: str) -> PricesAnswer:
    configuration = answer["recommended"]
    if configuration is None:
        raise NothingToQuoteError([problem["message"] for problem in answer["problems"]])
    block = configuration["prices"]["rental"] if basis == "rental" else configuration["prices"]["purchase"]
    if block is None:
        raise NothingToQuoteError([problem["message"] for problem in configuration["price_problems"]])
    return block


def _deposit_months(prices: PricesAnswer) -> Decimal | None:
    """The book's deposit as months of the monthly amount."""
    monthly, deposit = prices["monthly"], prices["deposit"]
    if monthly is None or deposit is None or not Decimal(monthly["amount"]):
        return None
    return (Decimal(deposit["amount"]) / Decimal(monthly["amount"])).quantize(Decimal("0.1"))


def _lines(answers: Mapping[str, RecommendationAnswer], prices: Mapping[str, PricesAnswer]) -> tuple[DraftLine, ...]:
    """Priced lines in the answer's order; under a complete server the parts that its price covers."""
    chinese, english = prices[CHINESE], prices[ENGLISH]
    included = {language: _included_parts(answers[language], prices[language]) for language in (CHINESE, ENGLISH)}
    missing = {row["sku"] for row in english["missing"]}
    lines: list[DraftLine] = []
    for zh, en in zip(chinese["lines"], english["lines"], strict=True):
        lines.append(_priced_line(zh, en, english, is_missing=en["sku"] in missing))
        parts = zip(included[CHINESE].pop(en["sku"], []), included[ENGLISH].pop(en["sku"], []), strict=True)
        lines += [_included_line(zh_part, en_part, lines[-1].tax_rate) for zh_part, en_part in parts]
    return _merged(lines)


def _merged(lines: Sequence[DraftLine]) -> tuple[DraftLine, ...]:
    """One line for one thing at one price: the same cable between two kinds of switch is bought once."""
    merged: dict[tuple[object, ...], DraftLine] = {}
    for number, line in enumerate(lines):
        key: tuple[object, ...] = (line.sku, line.kind, line.unit, line.period_count, line.unit_price, line.tax_rate)
        if line.is_included:  # belongs to the server above it
            key = (*key, number)
        first = merged.get(key)
        merged[key] = line if first is None else _sum(first, line)
    return tuple(merged.values())


def _sum(first: DraftLine, second: DraftLine) -> DraftLine:
    quantity = first.quantity + second.quantity
    return replace(
        first,
        quantity=quantity,
        sized_quantity=quantity,
        reason_zh=_both(first.reason_zh, second.reason_zh),
        reason_en=_both(first.reason_en, second.reason_en),
    )


def _both(first: str, second: str) -> str:
    return first if second in first else f"{first} {second}"


def _included_parts(answer: RecommendationAnswer, prices: PricesAnswer) -> dict[str, list[LineAnswer]]:
    configuration = answer["recommended"]
    priced = {line["sku"] for line in prices["lines"]}
    parts: dict[str, list[LineAnswer]] = {}
    for line in configuration["bill_of_materials"] if configuration else []:
        parent = line["part_of"]
        if parent and parent in priced and line["sku"] not in priced:
            parts.setdefault(parent, []).append(line)
    return parts


def _priced_line(zh: PriceLineAnswer, en: PriceLineAnswer, prices: PricesAnswer, *, is_missing: bool) -> DraftLine:
    price = en["unit_price"]
    is_included = price is None and not is_missing
    periods = (prices["term_months"] or 1) if is_monthly(en["unit"]) and prices["basis"] == "rental" else 1
    # the answer counts unit-months over the whole term; a quote says how many, and for how long
    quantity = Decimal(str(en["quantity"])) / periods
    return DraftLine(
        kind=en["kind"],
        sku=en["sku"],
        name_zh=zh["name"],
        name_en=en["name"],
        unit=en["unit"],
        quantity=quantity,
        sized_quantity=quantity,
        period_count=periods,
        unit_price=Decimal(price["amount"]) if price else None,
        list_price=Decimal(price["amount"]) if price else None,
        list_period_count=periods if is_monthly(en["unit"]) else None,
        tax_rate=Decimal(en["tax_rate"]),
        is_included=is_included,
        source_rule=en["source_rule"],
        reason_zh=zh["reason"],
        reason_en=en["reason"],
        price_origin=en["origin_mark"],
        price_as_of=date.fromisoformat(en["as_of"]) if en["as_of"] else None,
        is_indicative=en["is_indicative"],
        lead_time_days=en.get("lead_time_days"),
    )


def _included_line(zh: LineAnswer, en: LineAnswer, tax_rate: Decimal) -> DraftLine:
    quantity = Decimal(str(en["quantity"]))
    return DraftLine(
        kind=en["kind"],
        sku=en["sku"],
        name_zh=zh["name"],
        name_en=en["name"],
        unit=en["unit"],
        quantity=quantity,
        sized_quantity=quantity,
        unit_price=None,
        tax_rate=tax_rate,
        is_included=True,
        source_rule=en["source_rule"],
        reason_zh=zh["reason"],
        reason_en=en["reason"],
    )


def _sizing_basis(answer: RecommendationAnswer, language: str) -> dict[str, Any]:
    """What the appendix prints: the question, the answer, its figures, how they were computed, assumptions, checks."""
    recommended = answer["recommended"]
    kept = ("tier", "model", "training", "requirement", "explanation", "assumptions", "problems")
    basis: dict[str, Any] = {key: value for key, value in answer.items() if key in kept}
    basis["configuration"] = (
        {key: value for key, value in recommended.items() if key not in _LEFT_OUT} if recommended else None
    )
    with translation.override(DJANGO_LANGUAGES[language]):
        rows = calculation(answer)
    basis["calculation"] = [
        {name: value for name, value in row.items() if name in _CALCULATION_PRINTED}
        for row in rows
        if row["group"] in _CALCULATION_GROUPS
    ]
    basis["engine_version"] = answer["engine_version"]
    basis["catalog_revision"] = answer["catalog_revision"]
    return basis

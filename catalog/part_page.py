"""What the page of one part shows beside its own columns: rates, relations, prices in force."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalog.change_words import ChangedRow, logged_rows
from catalog.kinds import Kind
from catalog.models import CatalogChange, CloudPrice, Gpu, Part, Price, PriceBook, ReferenceBuild, Server, Tier
from catalog.money import format_money
from catalog.presentation import MISSING, PAGE_DIGITS, Cell, cell, facts, label_of, number_text
from catalog.words import word

LINK = re.compile(r"https?://\S+|(?<![\w:/.])(?:[\w-]+\.)+[a-z]{2,}/\S+")
RATES = (("TF32", "tf32"), ("FP16", "fp16"), ("BF16", "bf16"), ("FP8", "fp8"), ("FP4", "fp4"), ("INT8", "int8"))


HOUR = "gpu_hour"
TERMS = (None, 1, 3, 6, 12, 24, 36)  # months; None: on demand
PRICEABLE = {
    "gpus",
    "servers",
    "cpus",
    "memory-modules",
    "ssds",
    "storage-systems",
    "nics",
    "switches",
    "optics-cables",
    "racks",
    "services",
    "reference-builds",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    term_months: int | None  # None: on demand
    amount: str
    exact: str
    is_assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """The prices of a GPU-hour by term in one book; mark and origin of the term that was seen."""

    book: str
    book_url: str
    currency: str
    rungs: tuple[Rung, ...]
    mark: str
    is_indicative: bool
    as_of: date | None
    origin_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    label: str
    unit: str
    dense: Cell
    sparse: Cell | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    sku: str
    book: str
    book_url: str
    item: str
    amount: str
    exact: str
    mark: str
    is_indicative: bool
    as_of: date | None
    origin_text: str
    floor: str = MISSING  # drawn only for those who may see it
    cost: str = MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place where figures were read; a link where the locator is an address."""

    text: str
    url: str


def part_context(kind: Kind, part: Part) -> dict[str, Any]:
    prices = prices_in_force(part)
    unverified = [label_of(type(part), name) for name in part.unverified_fields if _has_label(part, name)]
    return {
        "groups": [(title, facts(part, fields)) for title, fields in kind.groups],
        "rates": rates(part) if isinstance(part, Gpu) else [],
        "related": relations(part),
        "rentals": rental_ladders(prices),
        "prices": merged_rows([price for price in prices if price.unit != HOUR]),
        "is_priceable": kind.code in PRICEABLE,
        "term_months": TERMS[1:],
        "cloud_prices": cloud_rows(part) if isinstance(part, Gpu) else [],
        "sources": sources(part),
        "unverified": unverified,
        "sizing_query": sizing_query(part),
    }


def _has_label(part: Part, name: str) -> bool:
    return name in {field.name for field in part._meta.get_fields()}


def rates(gpu: Gpu) -> list[Rate]:
    """Vector rates first, then tensor rates dense and with sparsity; precisions without hardware are left out."""
    rows = [
        Rate(label=label, unit="TFLOPS", dense=_rate(gpu, field), sparse=None)
        for label, field in (("FP64", "fp64_flops_per_second"), ("FP32", "fp32_dense_flops_per_second"))
    ]
    rows += [
        Rate(
            label=label,
            unit="TOPS" if code == "int8" else "TFLOPS",
            dense=_rate(gpu, f"{code}_dense_flops_per_second"),
            sparse=_rate(gpu, f"{code}_sparse_flops_per_second"),
        )
        for label, code in RATES
    ]
    return [row for row in rows if not row.dense.is_missing or (row.sparse and not row.sparse.is_missing)]


def _rate(gpu: Gpu, field: str) -> Cell:
    return cell(gpu, field, digits=PAGE_DIGITS)


def relations(part: Part) -> list[tuple[str, list[Part]]]:
    """Parts that go together, under a heading."""
    if isinstance(part, Gpu):
        return [(_("Servers that take it"), [row for row in part.servers.all() if row.is_active])]
    if isinstance(part, Server):
        return [(_("GPUs that it takes"), [row for row in part.supported_gpus.all() if row.is_active])]
    if isinstance(part, Tier):
        return [(_("Reference builds"), [row for row in part.builds.all() if row.is_active])]
    if isinstance(part, ReferenceBuild):
        return [(_("Tier"), [part.tier])]
    return []


def prices_in_force(part: Part) -> list[Price]:
    """Prices of the books that hold today: its own, and for a GPU those of complete servers with it."""
    today = timezone.localdate()
    prices = Price.objects.published().effective_on(today).with_specs().exclude(book__basis=PriceBook.Basis.CLOUD)
    wanted = Q(sku=part.sku)
    if isinstance(part, Gpu):
        wanted |= Q(condition=part.sku)
    return list(prices.filter(wanted).order_by("book__basis", "book__currency", "sku", "unit", "term_months"))


def rental_ladders(prices: list[Price]) -> list[Ladder]:
    """The GPU-hour by term, one line for each book."""
    by_book: dict[int, list[Price]] = {}
    for price in prices:
        if price.unit == HOUR:
            by_book.setdefault(price.book_id, []).append(price)
    return [_ladder(rows) for rows in by_book.values()]


def _ladder(rows: list[Price]) -> Ladder:
    by_term = {row.term_months: row for row in rows}
    seen = next((row for row in rows if row.origin_mark != "assumed"), rows[0])
    book = rows[0].book
    return Ladder(
        book=book.name,
        book_url=reverse("catalog:price-book", args=[book.code]),
        currency=book.currency,
        rungs=tuple(
            Rung(
                term_months=term,
                amount=format_money(row.amount, book.currency) if row else MISSING,
                exact=f"{row.amount.normalize():f}" if row else "",
                is_assumed=row is not None and row.origin_mark == "assumed",
            )
            for term, row in ((term, by_term.get(term)) for term in TERMS)
        ),
        mark=word(seen.origin_mark),
        is_indicative=seen.is_indicative,
        as_of=seen.as_of,
        origin_text=seen.origin_text,
    )


def merged_rows(prices: list[Price]) -> list[PriceRow]:
    """Rows of the table; the class price that stands for many servers is one row."""
    groups: dict[tuple[Any, ...], list[Price]] = {}
    for price in prices:
        is_class = price.condition != "" and price.unit == "each"
        key = (price.book_id, price.amount, price.as_of, price.origin_text) if is_class else (price.pk,)
        groups.setdefault(key, []).append(price)
    rows = []
    for group in groups.values():
        row = _price_row(group[0], group[0].book)
        if len(group) > 1:
            count = len(group)
            text = ngettext("Complete server, %(count)d model", "Complete server, %(count)d models", count)
            row = replace(row, item=text % {"count": count})
        rows.append(row)
    return rows


def price_rows(prices: Iterable[Price], book: PriceBook | None = None) -> list[PriceRow]:
    return [_price_row(price, book or price.book) for price in prices]


def _price_row(price: Price, book: PriceBook) -> PriceRow:
    is_fraction = price.unit == "fraction"
    amount = f"{number_text(price.amount * 100, 4)} %" if is_fraction else format_money(price.amount, book.currency)
    return PriceRow(
        sku=price.sku,
        book=book.name,
        book_url=reverse("catalog:price-book", args=[book.code]),
        item=item_of(price),
        amount=amount,
        exact=f"{price.amount.normalize():f}",
        mark=word(price.origin_mark),
        is_indicative=price.is_indicative,
        as_of=price.as_of,
        origin_text=price.origin_text,
        floor=_inner(price.floor_amount, price, book),
        cost=_inner(price.cost_amount, price, book),
    )


def _inner(amount: Decimal | None, price: Price, book: PriceBook) -> str:
    """Floor price or cost in the price's own unit."""
    if amount is None:
        return MISSING
    return f"{number_text(amount * 100, 4)} %" if price.unit == "fraction" else format_money(amount, book.currency)


def item_of(price: Price) -> str:
    """What one amount buys, in words."""
    if price.unit == "fraction":
        return word(price.condition)
    if price.unit == "gpu_hour":
        hour = _("GPU-hour")
        if price.term_months is None:
            text = _("%(unit)s, on demand") % {"unit": hour}
        else:
            term = ngettext("%(count)d month", "%(count)d months", price.term_months) % {"count": price.term_months}
            text = _("%(unit)s, %(term)s") % {"unit": hour, "term": term}
        if price.condition:
            text = f"{text} · {' · '.join(word(part) for part in price.condition.split('/'))}"
        return text
    if price.condition:
        return _("Server %(server)s with %(gpu)s") % {"server": price.sku, "gpu": price.condition}
    return _("each")


def cloud_rows(gpu: Gpu) -> list[dict[str, Any]]:
    """Published cloud prices of a GPU-hour by provider class, newest dates; trend rows stay out."""
    rows = [row for row in gpu.cloud_prices.all() if row.is_newest_only]
    rows.sort(key=lambda row: (row.currency, row.provider_class, row.deployment, row.commitment))
    return [_cloud_row(row) for row in rows]


def _cloud_row(row: CloudPrice) -> dict[str, Any]:
    def money(amount: Decimal) -> str:
        return format_money(amount, row.currency)

    return {
        "provider_class": word(row.provider_class),
        "deployment": word(row.deployment),
        "commitment": word(row.commitment),
        "low": money(row.low_amount),
        "median": money(row.median_amount),
        "high": money(row.high_amount),
        "provider_count": row.provider_count,
        "as_of": row.as_of_to,
    }


def sources(part: Part) -> list[Source]:
    """Title and locators; addresses without a scheme become links too."""
    found = [Source(text=part.source_title, url="")] if part.source_title else []
    for locator in part.source_locator.split("; "):
        if locator.strip():
            found.append(Source(text=locator.strip(), url=_address(locator.strip())))
    return found


HISTORY_LENGTH = 12


def part_history(part: Part) -> list[tuple[CatalogChange, ChangedRow]]:
    """What revisions did to this part, newest first."""
    changes = CatalogChange.objects.filter(kind=part.kind_code, key=part.sku).select_related("revision")
    found = list(changes.order_by("-revision_id")[:HISTORY_LENGTH])
    return list(zip(found, logged_rows(found), strict=True))


def _address(locator: str) -> str:
    """`github:owner/repository@commit:path` and plain addresses as links; anything else stays text."""
    if match := re.fullmatch(r"github:([\w.-]+/[\w.-]+?)(?:@([0-9a-f]+))?(?::(\S+))?", locator):
        repository, commit, path = match.groups()
        if commit and path:
            return f"https://github.com/{repository}/blob/{commit}/{path}"
        return f"https://github.com/{repository}"
    if match := LINK.search(locator):
        address = match[0].rstrip(".,)")
        return address if address.startswith("http") else f"https://{address}"
    return ""


def sizing_query(part: Part) -> str:
    """A link into the sizing page with this part chosen; for a GPU with an example job, to be changed there."""
    if isinstance(part, Gpu) and part.is_sizeable and part.is_active:
        return f"gpu={part.sku}&parameters=70B&tokens=1.4T"
    if part.kind_code == "model-architectures":
        return f"preset={part.sku}"
    return ""

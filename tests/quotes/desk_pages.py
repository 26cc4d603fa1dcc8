"""What the tests of the desk's pages share: an issue without the PDF, the editor as it stands, many quotes at once."""

from __future__ import annotations

from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

from quotes.models import Quote, QuoteLine, QuoteRevision


def fake_pdf(content: dict[str, Any]) -> bytes:
    return f"%PDF {content['number']}".encode()


class _FormReader(HTMLParser):
    """The values that a browser would send for the form with this id."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id, self.is_inside = form_id, False
        self.values: dict[str, str] = {}
        self.select, self.area = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.is_inside = named.get("id") == self.form_id
        if not self.is_inside:
            return
        name = named.get("name", "")
        if tag == "input" and name and ("checked" in named or named.get("type") not in {"checkbox", "radio"}):
            self.values[name] = named.get("value", "")
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select and ("selected" in named or self.select not in self.values):
            self.values[self.select] = named.get("value", "")
        elif tag == "textarea":
            self.area, self.values[name] = name, ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.values[self.area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.is_inside = False
        elif tag == "select":
            self.select = ""
        elif tag == "textarea":
            self.values[self.area] = self.values[self.area].removeprefix("\n")
            self.area = ""


def form_values(page: str, form_id: str = "editor") -> dict[str, str]:
    reader = _FormReader(form_id)
    reader.feed(page)
    return reader.values


def payload(client: Any, revision: QuoteRevision, **changes: Any) -> dict[str, Any]:
    """The editor as a browser would post it, with `changes`; a key of a line is `1-quantity`: its position."""
    values: dict[str, Any] = form_values(client.get(revision.quote.get_absolute_url()).content.decode())
    return {name: value for name, value in (values | named(revision, changes)).items() if value is not None}


def named(revision: QuoteRevision, changes: dict[str, Any]) -> dict[str, Any]:
    """`1-quantity` as the form's own name of the first line's quantity."""
    keys = {str(line.position): f"line-{line.pk}" for line in revision.lines.all()}
    return {
        f"{keys[name.partition('-')[0]]}-{name.partition('-')[2]}" if name.partition("-")[0] in keys else name: value
        for name, value in changes.items()
    }


def fill(owner: Any, draft: QuoteRevision, count: int, *, with_lines: bool = False) -> None:
    """`count` more drafts like this one, written at once; days and totals differ, and every tenth has a line."""
    names = ("basis", "currency", "pricing_date", "valid_through", "seller", "terms", "language", "paper", "tax_mode")
    content = {name: getattr(draft, name) for name in names}
    quotes = Quote.objects.bulk_create([Quote(owner=owner) for _ in range(count)])
    revisions = QuoteRevision.objects.bulk_create(
        [
            QuoteRevision(
                quote=quote,
                created_by=owner,
                customer_name=f"Customer {index}",
                project=f"Project {index % 97}",
                total_net=index,
                total_gross=index,
                **content | {"valid_through": draft.valid_through + timedelta(days=index % 60)},
            )
            for index, quote in enumerate(quotes)
        ]
    )
    if with_lines:
        (line,) = draft.lines.all()
        shared = {"kind": line.kind, "name_zh": line.name_zh, "name_en": line.name_en, "unit": line.unit}
        QuoteLine.objects.bulk_create(
            [
                QuoteLine(
                    revision=revision,
                    position=1,
                    sku=f"sku-{index}",
                    quantity=1,
                    unit_price=1,
                    tax_rate=line.tax_rate,
                    **shared,
                )
                for index, revision in list(enumerate(revisions))[::10]
            ]
        )

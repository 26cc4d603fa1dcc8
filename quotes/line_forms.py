"""One line of the editor: an existing one, or one made by hand from the price book or free."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from quotes.drafting import DraftLine
from quotes.fields import PlainDecimalField
from quotes.forms import HUNDRED, PaperTextMixin
from quotes.models import DISCOUNT_REASONS, MAX_QUANTITY, MAX_UNIT_PRICE, TAX_CATEGORIES, Basis, QuoteLine, TaxRate
from quotes.price_choices import LINE_UNITS, Offer
from quotes.services import AddedLine, LineEdit
from quotes.tax import line_category
from quotes.wording import GROUP_LABELS, unit_label

MAX_PERIODS = 120
# The kind that stands for a group of the paper, for lines that no catalogue names.
KIND_OF_GROUP = {
    "compute": "server",
    "network": "switch",
    "storage": "storage",
    "management": "management_node",
    "facility": "rack",
    "services": "service",
    "other": "other",
}


def tax_choice(category: str, rate: Decimal) -> str:
    return f"{category}:{rate.normalize():f}"


def tax_choices(rates: Sequence[TaxRate]) -> list[tuple[str, str]]:
    """`13% goods`: the rows of the tax table as choices."""
    words = dict(TAX_CATEGORIES)
    return [(tax_choice(row.category, row.rate), tax_label(row.rate, words[row.category])) for row in rates]


def tax_label(rate: Decimal, words: Any) -> str:
    percent = f"{rate * 100:f}"
    return f"{percent.rstrip('0').rstrip('.') if '.' in percent else percent}% {words}".strip()


class LineForm(PaperTextMixin, forms.Form):
    """What may change on a line. The tax rate is chosen from the table, with its category."""

    quantity = PlainDecimalField(label=_("Quantity"), minimum=Decimal("0.001"), maximum=MAX_QUANTITY, decimal_places=3)
    period_count = forms.IntegerField(
        label=_("Periods"), min_value=1, max_value=MAX_PERIODS, widget=forms.TextInput(attrs={"inputmode": "numeric"})
    )
    unit_price = PlainDecimalField(
        label=_("Unit price"), minimum=Decimal(0), maximum=MAX_UNIT_PRICE, decimal_places=4, required=False
    )
    discount_fraction = PlainDecimalField(
        label=_("Discount in percent"),
        minimum=Decimal(0),
        maximum=HUNDRED,
        decimal_places=3,
        scale=HUNDRED,
        required=False,
    )
    tax = forms.ChoiceField(label=_("Tax rate"))
    discount_amount = PlainDecimalField(
        label=_("Discount as an amount"), minimum=Decimal(0), maximum=MAX_UNIT_PRICE, decimal_places=3, required=False
    )
    discount_reason = forms.ChoiceField(
        label=_("Reason of the discount"), required=False, choices=[("", "—"), *DISCOUNT_REASONS]
    )
    change_reason = forms.CharField(label=_("Reason of the change"), max_length=300, required=False)
    is_optional = forms.BooleanField(label=_("Option, outside the total"), required=False)
    is_removed = forms.BooleanField(label=_("Take out"), required=False)

    MAIN: ClassVar[tuple[str, ...]] = ("quantity", "period_count", "unit_price", "discount_fraction", "tax")
    MORE: ClassVar[tuple[str, ...]] = (
        "discount_amount",
        "discount_reason",
        "change_reason",
        "is_optional",
        "is_removed",
    )

    def __init__(self, *args: Any, basis: str, taxes: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.basis = basis
        field = self.fields["tax"]
        if isinstance(field, forms.ChoiceField):
            current = str(self.initial.get("tax", ""))
            known = {value for value, _label in taxes}
            off_table = [(current, _off_table(current))] if current and current not in known else []
            field.choices = [*off_table, *taxes]
        if basis == Basis.PURCHASE:  # what is bought has no months
            self.fields["period_count"].widget = forms.HiddenInput()

    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN if not self[name].is_hidden]

    def more_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MORE]

    def is_more_used(self) -> bool:
        """Whether the folded fields hold anything, or are wrong."""
        return any(
            field.errors or field.value() not in (None, "", False, "0", Decimal(0)) for field in self.more_fields()
        )

    def clean_discount_fraction(self) -> Decimal:
        return self.cleaned_data["discount_fraction"] or Decimal(0)

    def clean_discount_amount(self) -> Decimal:
        return self.cleaned_data["discount_amount"] or Decimal(0)

    def clean_tax(self) -> tuple[str, Decimal]:
        category, _colon, rate = self.cleaned_data["tax"].partition(":")
        return category, Decimal(rate)

    def edit(self, position: int) -> LineEdit:
        data = self.cleaned_data
        category, rate = data["tax"]
        return LineEdit(
            position=position,
            tax_category=category,
            tax_rate=rate,
            **{
                name: data[name]
                for name in (
                    "quantity",
                    "period_count",
                    "unit_price",
                    "discount_fraction",
                    "discount_amount",
                    "discount_reason",
                    "change_reason",
                    "is_optional",
                    "is_removed",
                )
            },
        )


class HandLineForm(LineForm):
    """A line by hand: with `offer` its names come from the price book, without it they are typed."""

    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=300, required=False)
    name_en = forms.CharField(label=_("Name in English"), max_length=300, required=False)
    group = forms.ChoiceField(label=_("Group on the paper"), choices=list(GROUP_LABELS.items()), required=False)
    unit = forms.ChoiceField(
        label=_("Unit"), required=False, choices=[(code, unit_label(code, "")) for code in LINE_UNITS]
    )
    price_key = forms.IntegerField(widget=forms.HiddenInput, required=False)

    NAMES = ("name_zh", "name_en", "group", "unit")
    MORE: ClassVar[tuple[str, ...]] = ("discount_amount", "discount_reason", "change_reason", "is_optional")

    def __init__(self, *args: Any, offer: Offer | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer = offer
        del self.fields["is_removed"]
        if offer is not None:
            for name in self.NAMES:
                del self.fields[name]

    def name_fields(self) -> list[forms.BoundField]:
        return [] if self.offer else [self[name] for name in self.NAMES]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.offer is None and data.get("price_key"):
            self.add_error(None, _("The price book no longer has this price. Drop the line and add it again."))
        elif self.offer is None and not data.get("name_zh") and not data.get("name_en") and not self.errors:
            self.add_error("name_zh", _("Name the line in one language at least."))
        return data

    def added(self) -> AddedLine:
        data = self.cleaned_data
        category, rate = data["tax"]
        return AddedLine(
            line=self._line(rate),
            list_price=self.offer.unit_price if self.offer else None,
            discount_fraction=data["discount_fraction"],
            discount_amount=data["discount_amount"],
            discount_reason=data["discount_reason"],
            tax_category=category,
            change_reason=data["change_reason"],
            is_optional=data["is_optional"],
        )

    def _line(self, rate: Decimal) -> DraftLine:
        data = self.cleaned_data
        if self.offer is not None:
            return self.offer.line(
                quantity=data["quantity"],
                period_count=data["period_count"],
                unit_price=data["unit_price"],
                tax_rate=rate,
            )
        name_zh, name_en = data["name_zh"], data["name_en"]
        return DraftLine(
            kind=KIND_OF_GROUP[data["group"] or "other"],
            sku="",
            name_zh=name_zh or name_en,
            name_en=name_en or name_zh,
            unit=data["unit"] or "each",
            quantity=data["quantity"],
            period_count=data["period_count"],
            unit_price=data["unit_price"],
            tax_rate=rate,
        )


def initial_of(line: QuoteLine, basis: str) -> dict[str, Any]:
    """A stored line as the form shows it."""
    names = ("quantity", "period_count", "unit_price", "discount_fraction", "discount_reason", "change_reason")
    values: dict[str, Any] = {name: getattr(line, name) for name in names}
    return values | {
        "discount_amount": line.discount_amount or None,
        "is_optional": line.is_optional,
        "tax": tax_choice(line_category(line, basis), line.tax_rate),
    }


def _off_table(choice: str) -> str:
    category, _colon, rate = choice.partition(":")
    return tax_label(Decimal(rate), dict(TAX_CATEGORIES).get(category, category))

"""The filters of the desk's list and figures; they stand in the address, and a wrong one is named and left out."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from quotes.fields import PlainDecimalField
from quotes.listing import ANY, DISCOUNT_CLASSES, LOST, OPEN, WON
from quotes.models import CURRENCIES, DECLINE_REASONS, STATE_LABELS, Basis

PAGE_SIZES = (25, 50, 100)
_ALL = ("", _("All"))
_MAX_AMOUNT = Decimal(10) ** 12
OUTCOMES = [(WON, _("Won")), (LOST, _("Lost")), (OPEN, _("Open")), (ANY, _("Won, lost or open"))]


def _day(label: Any) -> forms.DateField:
    return forms.DateField(label=label, required=False, widget=forms.DateInput(attrs={"type": "date"}))


class ListFilterForm(forms.Form):
    """What the list may be narrowed by. `owners` are the names that the user may choose from."""

    SORTS = [
        ("-created", _("Newest first")),
        ("created", _("Oldest first")),
        ("-total", _("Largest first")),
        ("total", _("Smallest first")),
        ("valid", _("Expiring first")),
        ("-valid", _("Expiring last")),
        ("-number", _("Number, highest first")),
        ("number", _("Number, lowest first")),
        ("customer", _("Customer, A to Z")),
        ("-customer", _("Customer, Z to A")),
    ]
    DATES = [
        ("created", _("Made")),
        ("issued", _("First issued")),
        ("decided", _("Decided")),
        ("valid", _("Valid through")),
    ]

    q = forms.CharField(
        label=_("Search"),
        help_text=_("Number, customer, project, part number or owner"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[_ALL, *((str(state), label) for state, label in STATE_LABELS.items())],
    )
    expiring = forms.BooleanField(label=_("Expires within 14 days"), required=False)
    owner = forms.ChoiceField(label=_("Owner"), required=False)
    basis = forms.ChoiceField(label=_("Basis"), required=False, choices=[_ALL, *Basis.choices])
    currency = forms.ChoiceField(label=_("Currency"), required=False, choices=[_ALL, *CURRENCIES[:2]])
    minimum = PlainDecimalField(
        label=_("Total from"), minimum=Decimal(0), maximum=_MAX_AMOUNT, decimal_places=2, required=False
    )
    maximum = PlainDecimalField(
        label=_("Total up to"), minimum=Decimal(0), maximum=_MAX_AMOUNT, decimal_places=2, required=False
    )
    dated = forms.ChoiceField(label=_("Which day"), required=False, choices=DATES)
    since = _day(_("From day"))
    until = _day(_("To day"))
    outcome = forms.ChoiceField(label=_("Outcome"), required=False, choices=[_ALL, *OUTCOMES])
    lost_reason = forms.ChoiceField(
        label=_("Reason of the loss"), required=False, choices=[_ALL, *DECLINE_REASONS], widget=forms.HiddenInput
    )
    discount = forms.TypedChoiceField(
        label=_("Class of discount"),
        required=False,
        coerce=int,
        empty_value=None,
        choices=[(str(index), str(index)) for index in range(len(DISCOUNT_CLASSES))],
        widget=forms.HiddenInput,
    )
    product = forms.CharField(label=_("Main product"), required=False, max_length=100, widget=forms.HiddenInput)
    sort = forms.ChoiceField(label=_("Order"), required=False, choices=SORTS)
    size = forms.TypedChoiceField(
        label=_("Rows on a page"),
        required=False,
        coerce=int,
        empty_value=None,
        choices=[(str(size), str(size)) for size in PAGE_SIZES],
    )

    # what stands in the row that is always open; the rest folds
    FIRST = ("q", "state", "sort")

    def __init__(self, *args: Any, owners: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["owner"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [_ALL, *((name, name) for name in owners)]
        if len(owners) < 2:
            field.widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for low, high, message in (
            ("since", "until", _("The last day is before the first. Exchange them.")),
            ("minimum", "maximum", _("The upper amount is below the lower one. Exchange them.")),
        ):
            first, last = data.get(low), data.get(high)
            if first is not None and last is not None and last < first:
                self.add_error(high, message)
        return data

    def filters(self) -> dict[str, Any]:
        """What can be used; a wrong entry filters nothing and is named in the form."""
        self.is_valid()
        return self.cleaned_data

    def first_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FIRST]

    def more_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self.FIRST]

    def more_count(self) -> int:
        """How many of the folded filters are in use."""
        return sum(1 for field in self.more_fields() if field.name not in {"dated", "size"} and field.data)


class AnalyticsFilterForm(forms.Form):
    """Which quotes the figures are about: one currency, and the days of the first issue."""

    currency = forms.ChoiceField(label=_("Currency"), required=False, choices=CURRENCIES)
    since = _day(_("First issued from"))
    until = _day(_("First issued to"))

    def filters(self) -> dict[str, Any]:
        self.is_valid()
        return self.cleaned_data

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        since, until = data.get("since"), data.get("until")
        if since and until and until < since:
            self.add_error("until", _("The last day is before the first. Exchange them."))
        return data

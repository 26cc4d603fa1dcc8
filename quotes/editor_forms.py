"""The editor's form of the document itself: customer, terms, discount, notes. Lines and clauses have their own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from quotes.fields import PlainDecimalField
from quotes.forms import AUTOCOMPLETE, CUSTOMER_FIELDS, HUNDRED, PaperTextMixin, RevisionModelForm
from quotes.models import DISCOUNT_REASONS, MAX_UNIT_PRICE, Basis, QuoteRevision


class RevisionForm(PaperTextMixin, RevisionModelForm):
    """The editor of a draft, but for its lines, payments and clauses."""

    discount_fraction = PlainDecimalField(
        label=_("Discount on the whole"),
        minimum=Decimal(0),
        maximum=HUNDRED,
        decimal_places=3,
        scale=HUNDRED,
        unit="%",
        required=False,
    )
    discount_amount = PlainDecimalField(
        label=_("Discount on the whole, as an amount"),
        minimum=Decimal(0),
        maximum=MAX_UNIT_PRICE,
        decimal_places=3,
        required=False,
    )
    deposit_months = PlainDecimalField(
        label=_("Deposit in months"),
        minimum=Decimal(0),
        maximum=Decimal(24),
        decimal_places=1,
        required=False,
    )
    expected_version = forms.IntegerField(label=_("Version of the draft"), widget=forms.HiddenInput)

    CUSTOMER = ("project", *CUSTOMER_FIELDS)
    DOCUMENT = ("language", "paper", "valid_through", "seller", "terms", "deposit_months")
    MONEY = ("prices_include_tax", "tax_mode", "discount_fraction", "discount_amount", "discount_reason")

    class Meta:
        model = QuoteRevision
        fields = [
            "project",
            "language",
            "paper",
            "valid_through",
            "seller",
            "terms",
            "tax_mode",
            "prices_include_tax",
            "discount_fraction",
            "discount_amount",
            "discount_reason",
            "deposit_months",
            *CUSTOMER_FIELDS,
            "special_terms",
            "customer_note",
            "internal_note",
        ]
        labels = {
            "customer_note": _("Note to the customer"),
            "internal_note": _("Internal note"),
            "special_terms": _("Terms beside the standard ones"),
        }
        help_texts = {
            "customer_note": _("Printed on the quotation."),
            "internal_note": _("For the desk alone: never on the paper, on the customer's page or in the API."),
            "prices_include_tax": _("The unit prices below are entered with tax; net amounts are computed from them."),
        }
        widgets = {
            "valid_through": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            "customer_note": forms.Textarea(attrs={"rows": 3}),
            "internal_note": forms.Textarea(attrs={"rows": 3}),
            "special_terms": forms.Textarea(attrs={"rows": 3}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["expected_version"] = self.instance.content_version
        for name in ("discount_amount",):
            self.initial[name] = self.initial.get(name) or None
        for name, token in AUTOCOMPLETE.items():
            self.fields[name].widget.attrs["autocomplete"] = token
        if self.instance.basis == Basis.PURCHASE:
            del self.fields["deposit_months"]
        reason = self.fields["discount_reason"]
        if isinstance(reason, forms.ChoiceField):
            reason.choices = [("", "—"), *DISCOUNT_REASONS]
        terms = self.fields["terms"]
        if isinstance(terms, forms.ModelChoiceField) and terms.queryset is not None:
            terms.queryset = terms.queryset.filter(basis=self.instance.basis)

    def customer_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.CUSTOMER]

    def document_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.DOCUMENT if name in self.fields]

    def money_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MONEY]

    def clean_discount_fraction(self) -> Decimal:
        return self.cleaned_data["discount_fraction"] or Decimal(0)

    def clean_discount_amount(self) -> Decimal:
        return self.cleaned_data["discount_amount"] or Decimal(0)

    def edits(self) -> dict[str, Any]:
        """New values by field, without the form's own."""
        return {name: value for name, value in self.cleaned_data.items() if name != "expected_version"}

    def _post_clean(self) -> None:
        """The service validates the whole revision under lock; the form's instance stays as it was read."""

"""What the desk accepts from outside; forms hand back domain values."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from quotes.fields import paper_text
from quotes.models import CURRENCIES, DECLINE_REASONS, Basis, QuoteRevision
from quotes.services import CustomerData

if TYPE_CHECKING:
    RevisionModelForm = forms.ModelForm[QuoteRevision]
else:
    RevisionModelForm = forms.ModelForm

CUSTOMER_FIELDS = tuple(CustomerData.__dataclass_fields__)
AUTOCOMPLETE = {
    "customer_name": "organization",
    "customer_address": "street-address",
    "contact_name": "name",
    "contact_phone": "tel",
    "contact_email": "email",
}
_LONG_TEXTS = {"customer_note", "internal_note", "special_terms"}
HUNDRED = Decimal(100)


def _text(autocomplete: str) -> forms.TextInput:
    return forms.TextInput(attrs={"autocomplete": autocomplete})


class PaperTextMixin(forms.BaseForm):
    """Cleans every text field for the paper."""

    def _clean_fields(self) -> None:
        super()._clean_fields()  # type: ignore[misc]
        for name, value in list(self.cleaned_data.items()):
            if isinstance(value, str):
                try:
                    self.cleaned_data[name] = paper_text(value, has_lines=name in _LONG_TEXTS)
                except forms.ValidationError as error:
                    self.add_error(name, error)


class NewQuoteForm(PaperTextMixin, RevisionModelForm):
    """The draft from a recommendation: who it is for and in which language."""

    creation_key = forms.UUIDField(widget=forms.HiddenInput)

    class Meta:
        model = QuoteRevision
        fields = ["language", "project", *CUSTOMER_FIELDS]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("creation_key", uuid.uuid4())
        for name, token in AUTOCOMPLETE.items():
            self.fields[name].widget.attrs["autocomplete"] = token

    def customer(self) -> CustomerData:
        return CustomerData(**{name: self.cleaned_data[name] for name in CUSTOMER_FIELDS})


class HandQuoteForm(NewQuoteForm):
    """A draft without a sizing: what is sold, in which currency, to whom."""

    basis = forms.ChoiceField(label=_("Basis"), choices=Basis.choices)
    currency = forms.ChoiceField(label=_("Currency"), choices=CURRENCIES[:2])
    term_months = forms.IntegerField(
        label=_("Term in months"),
        help_text=_("For a rental: 1 to 120."),
        min_value=1,
        max_value=120,
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )

    field_order = ("basis", "currency", "term_months", "language", "project")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("basis") == Basis.RENTAL and data.get("term_months") is None and "term_months" not in self.errors:
            self.add_error("term_months", _("A rental needs its term in months."))
        return data

    def content(self) -> dict[str, Any]:
        """The columns of the draft."""
        names = ("basis", "currency", "language", "project", *CUSTOMER_FIELDS)
        term = self.cleaned_data["term_months"] if self.cleaned_data["basis"] == Basis.RENTAL else None
        return {name: self.cleaned_data[name] for name in names} | {"term_months": term}


class AcceptForm(PaperTextMixin, forms.Form):
    """The customer's yes: who says it, to which document."""

    name = forms.CharField(label=_("Your name"), max_length=100, widget=_text("name"))
    title = forms.CharField(label=_("Your position"), max_length=100, widget=_text("organization-title"))
    company = forms.CharField(label=_("Company"), max_length=200, widget=_text("organization"))
    email = forms.EmailField(label=_("E-mail"), widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    agrees = forms.BooleanField(label=_("I accept the quotation and its terms for the company."))
    pdf_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def statement(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("name", "title", "company", "email")}


class DeclineForm(PaperTextMixin, forms.Form):
    """The customer's no: its reason of the list, none chosen beforehand, and in words, which another reason needs."""

    name = forms.CharField(label=_("Your name"), max_length=100, widget=_text("name"))
    reason_code = forms.ChoiceField(label=_("Reason"), choices=[("", "—"), *DECLINE_REASONS])
    reason = forms.CharField(
        label=_("In your words"), max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    pdf_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("reason_code") == "other" and not data.get("reason", "").strip() and "reason" not in self.errors:
            self.add_error("reason", _("Say which reason it is, in a sentence."))
        return data

    def statement(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("name", "reason_code", "reason")}

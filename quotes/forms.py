"""What the desk accepts from outside; forms hand back domain values."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from quotes.fields import PlainDecimalField, paper_text
from quotes.models import MAX_QUANTITY, MAX_UNIT_PRICE, Basis, QuoteLine, QuoteRevision
from quotes.services import CustomerData, LineEdit

if TYPE_CHECKING:
    RevisionModelForm = forms.ModelForm[QuoteRevision]
else:
    RevisionModelForm = forms.ModelForm

CUSTOMER_FIELDS = tuple(CustomerData.__dataclass_fields__)
_AUTOCOMPLETE = {
    "customer_name": "organization",
    "customer_address": "street-address",
    "contact_name": "name",
    "contact_phone": "tel",
    "contact_email": "email",
}
_LONG_TEXTS = {"customer_note", "internal_note"}
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
        for name, token in _AUTOCOMPLETE.items():
            self.fields[name].widget.attrs["autocomplete"] = token

    def customer(self) -> CustomerData:
        return CustomerData(**{name: self.cleaned_data[name] for name in CUSTOMER_FIELDS})


class RevisionForm(PaperTextMixin, RevisionModelForm):
    """The editor of a draft, but for its lines."""

    discount_fraction = PlainDecimalField(
        label=_("Discount on the whole"),
        minimum=Decimal(0),
        maximum=HUNDRED,
        decimal_places=3,
        scale=HUNDRED,
        unit="%",
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
            "discount_fraction",
            "deposit_months",
            *CUSTOMER_FIELDS,
            "customer_note",
            "internal_note",
        ]
        widgets = {
            "valid_through": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            "customer_note": forms.Textarea(attrs={"rows": 3}),
            "internal_note": forms.Textarea(attrs={"rows": 3}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["expected_version"] = self.instance.content_version
        for name, token in _AUTOCOMPLETE.items():
            self.fields[name].widget.attrs["autocomplete"] = token
        if self.instance.basis == Basis.PURCHASE:
            del self.fields["deposit_months"]
        terms = self.fields["terms"]
        if isinstance(terms, forms.ModelChoiceField) and terms.queryset is not None:
            terms.queryset = terms.queryset.filter(basis=self.instance.basis)

    def clean_discount_fraction(self) -> Decimal:
        return self.cleaned_data["discount_fraction"] or Decimal(0)

    def edits(self) -> dict[str, Any]:
        """New values by field, without the form's own."""
        return {name: value for name, value in self.cleaned_data.items() if name != "expected_version"}

    def _post_clean(self) -> None:
        """The service validates the whole revision under lock; the form's instance stays as it was read."""


class LineForm(PaperTextMixin, forms.Form):
    """One line of the editor."""

    position = forms.IntegerField(widget=forms.HiddenInput, min_value=1)
    quantity = PlainDecimalField(label=_("Quantity"), minimum=Decimal("0.001"), maximum=MAX_QUANTITY, decimal_places=3)
    period_count = forms.IntegerField(
        label=_("Periods"), min_value=1, max_value=120, widget=forms.TextInput(attrs={"inputmode": "numeric"})
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
    tax_rate = PlainDecimalField(
        label=_("Tax rate in percent"), minimum=Decimal(0), maximum=HUNDRED, decimal_places=2, scale=HUNDRED
    )
    change_reason = forms.CharField(label=_("Reason of the change"), max_length=300, required=False)
    is_removed = forms.BooleanField(label=_("Take out"), required=False)

    def edit(self) -> LineEdit:
        data = self.cleaned_data
        return LineEdit(
            position=data["position"],
            quantity=data["quantity"],
            period_count=data["period_count"],
            unit_price=data["unit_price"],
            discount_fraction=data["discount_fraction"] or Decimal(0),
            tax_rate=data["tax_rate"],
            change_reason=data["change_reason"],
            is_removed=data["is_removed"],
        )


LINE_FIELDS = ("position", "quantity", "period_count", "unit_price", "discount_fraction", "tax_rate", "change_reason")


@dataclass(frozen=True, slots=True)
class EditableLine:
    """A line and its form; lines inside another one's price have none."""

    line: QuoteLine
    form: LineForm | None


def line_forms(lines: Sequence[QuoteLine], data: Any = None) -> list[EditableLine]:
    """A form for each line that has its own price."""
    return [EditableLine(line, None if line.is_included else _line_form(line, data)) for line in lines]


def _line_form(line: QuoteLine, data: Any) -> LineForm:
    form = LineForm(
        data,
        prefix=f"line-{line.position}",
        initial={name: getattr(line, name) for name in LINE_FIELDS},
        auto_id=f"id_line_{line.position}_%s",
    )
    if line.revision.basis == Basis.PURCHASE:  # what is bought has no months
        form.fields["period_count"].widget = forms.HiddenInput()
    if line.unit_price is None:
        form.fields["unit_price"].widget.attrs["placeholder"] = _("price missing")
    return form


class ReasonForm(PaperTextMixin, forms.Form):
    """A step that needs its reason in words."""

    reason = forms.CharField(
        label=_("Reason"), max_length=1000, widget=forms.Textarea(attrs={"rows": 3}), required=True
    )


class NoReasonForm(forms.Form):
    """A step that needs a yes only."""


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
    """The customer's no, with its reason."""

    REASONS = [
        ("price", _("Price")),
        ("time", _("Delivery time")),
        ("technical", _("Technical reasons")),
        ("other_offer", _("Another offer")),
        ("project", _("The project was changed or dropped")),
        ("other", _("Another reason")),
    ]
    name = forms.CharField(label=_("Your name"), max_length=100, widget=_text("name"))
    reason_code = forms.ChoiceField(label=_("Reason"), choices=REASONS)
    reason = forms.CharField(
        label=_("In your words"), max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    pdf_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def statement(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("name", "reason_code", "reason")}

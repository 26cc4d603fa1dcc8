"""Forms of the steps in a quote's life: most need a reason in words, some more."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from quotes.forms import PaperTextMixin
from quotes.models import DECLINE_REASONS
from quotes.services import ProofFile
from quotes.services.lifecycle import MAX_PROOF_BYTES


class YesForm(forms.Form):
    """A step that needs a yes only."""


class ReasonForm(PaperTextMixin, forms.Form):
    """A step that needs its reason in words."""

    reason = forms.CharField(
        label=_("Reason"), max_length=1000, widget=forms.Textarea(attrs={"rows": 3}), required=True
    )


class OptionalReasonForm(ReasonForm):
    """A step whose reason may be left out."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = False


class ApproveForm(PaperTextMixin, forms.Form):
    """The approver's yes to the content that was shown."""

    comment = forms.CharField(
        label=_("Comment"), max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    expected_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)


class RejectForm(PaperTextMixin, forms.Form):
    comment = forms.CharField(
        label=_("What has to change"), max_length=1000, widget=forms.Textarea(attrs={"rows": 3}), required=True
    )


class DeclinedForm(ReasonForm):
    """The customer's no as the desk heard it."""

    reason_code = forms.ChoiceField(label=_("Reason of the list"), choices=[("", "—"), *DECLINE_REASONS])
    reason = forms.CharField(
        label=_("In the customer's words"), max_length=1000, widget=forms.Textarea(attrs={"rows": 3})
    )

    field_order = ("reason_code", "reason")


class AcceptedForm(ReasonForm):
    """The customer's yes as the desk got it, with the paper that proves it."""

    reason = forms.CharField(
        label=_("What proves it"),
        help_text=_("For example: order 4500012345 of 3 December, signed and sealed."),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    proof = forms.FileField(
        label=_("The signed order"),
        help_text=_("PDF, PNG or JPEG, at most 10 MB. It is kept with the quote and never changed."),
        widget=forms.ClearableFileInput(attrs={"accept": "application/pdf,image/png,image/jpeg"}),
    )

    def clean_proof(self) -> ProofFile:
        upload = self.cleaned_data["proof"]
        if upload.size > MAX_PROOF_BYTES:
            raise forms.ValidationError(_("The file is larger than 10 MB. Scan it with fewer dots per inch."))
        return ProofFile(name=str(upload.name)[:200], content=upload.read())


class ExportForm(PaperTextMixin, forms.Form):
    """What was checked about the controlled parts before the quote may go out."""

    statement = forms.CharField(
        label=_("What was checked"),
        help_text=_("Destination, end user and the licence, or why none is needed."),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class DuplicateForm(forms.Form):
    """Which prices the copy takes."""

    prices = forms.ChoiceField(
        label=_("Prices of the copy"),
        choices=[("today", _("Of today's price book")), ("old", _("As they are in this quote"))],
        initial="today",
        widget=forms.RadioSelect,
    )
    creation_key = forms.UUIDField(widget=forms.HiddenInput)

"""What a visitor sends when asking for a quote, and what the desk writes to a request.

Programs that fill in forms are met without a third party: a field that people do not see, and a signed time stamp that
is too young for a program's speed. Neither drops anything: what was typed comes back with the step to take.
"""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from quotes.consent import CONSENT_TEXTS, CONSENT_VERSION
from quotes.fields import paper_text
from quotes.models import Basis
from quotes.services.requests import RequestData

STAMP_SALT = "quotes.request-stamp"
MIN_AGE = timedelta(seconds=3)
MAX_AGE = timedelta(hours=24)
FURTHEST = timedelta(days=3 * 366)
_LONG_TEXTS = {"message", "note"}
_PHONE = RegexValidator(re.compile(r"^(?:\D*\d){5}"), _("Write a telephone number such as +86 21 5555 0100."))


def new_stamp() -> str:
    return signing.TimestampSigner(salt=STAMP_SALT).sign(secrets.token_urlsafe(8))


def _text(autocomplete: str) -> forms.TextInput:
    return forms.TextInput(attrs={"autocomplete": autocomplete})


class CleanTextMixin(forms.BaseForm):
    """Refuses control characters, line breaks in one-line fields among them."""

    def _clean_fields(self) -> None:
        super()._clean_fields()  # type: ignore[misc]
        for name, value in list(self.cleaned_data.items()):
            if isinstance(value, str):
                try:
                    self.cleaned_data[name] = paper_text(value, has_lines=name in _LONG_TEXTS)
                except forms.ValidationError as error:
                    self.add_error(name, error)


class RequestForm(CleanTextMixin, forms.Form):
    """Contact, wishes and consent."""

    company = forms.CharField(label=_("Company"), max_length=200, widget=_text("organization"))
    contact_name = forms.CharField(label=_("Your name"), max_length=100, widget=_text("name"))
    email = forms.EmailField(
        label=_("E-mail"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    phone = forms.CharField(
        label=_("Telephone"),
        help_text=_("Optional."),
        max_length=50,
        required=False,
        validators=[_PHONE],
        widget=forms.TextInput(attrs={"autocomplete": "tel", "inputmode": "tel"}),
    )
    destination = forms.CharField(
        label=_("Country and place of delivery or use"),
        help_text=_("Decides tax, freight and whether an export licence is needed."),
        max_length=200,
        widget=_text("country-name"),
    )
    basis = forms.ChoiceField(label=_("Rent or buy"), choices=Basis.choices, widget=forms.RadioSelect)
    wanted_by = forms.DateField(
        label=_("Wanted by"),
        help_text=_("Optional. The day on which the cluster is to be ready."),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    message = forms.CharField(
        label=_("Message"),
        help_text=_("Optional. What the sizing does not say: site, software, payment, acceptance."),
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    consent = forms.BooleanField(label=_("I agree"))
    # not seen by people, nor read out to them
    website = forms.CharField(
        label=_("Leave this field empty"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "tabindex": "-1"}),
    )
    is_person = forms.BooleanField(label=_("I am a person and filled this in myself"), required=False)
    stamp = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, *, basis: str = Basis.RENTAL) -> None:
        self.was_trapped = bool(data and (data.get("website", "").strip() or data.get("is_person")))
        if data is not None:
            data = data.copy()
            data["website"] = ""
        super().__init__(data, initial={"stamp": new_stamp(), "basis": basis}, auto_id="id_request_%s")
        self.fields["consent"].help_text = self.consent_text

    @property
    def consent_text(self) -> str:
        return str(CONSENT_TEXTS[CONSENT_VERSION]) % {"days": f"{settings.REQUEST_RETENTION_DAYS:,}"}

    def clean_wanted_by(self) -> Any:
        day = self.cleaned_data["wanted_by"]
        today = timezone.localdate()
        if day and not today <= day <= today + FURTHEST:
            raise forms.ValidationError(
                _("%(day)s cannot be: write a day from %(today)s to %(latest)s."),
                params={
                    "day": day.isoformat(),
                    "today": today.isoformat(),
                    "latest": (today + FURTHEST).isoformat(),
                },
            )
        return day

    def clean(self) -> None:
        self._check_stamp()
        if self.was_trapped and not self.cleaned_data.get("is_person"):
            self.add_error(
                "is_person",
                _("A hidden field was filled in, as programs do. Tick the box and send it once more."),
            )

    def request_data(self, language: str) -> RequestData:
        names = ("company", "contact_name", "email", "phone", "destination", "basis", "wanted_by", "message")
        return RequestData(language=language, **{name: self.cleaned_data[name] for name in names})

    def _check_stamp(self) -> None:
        """A stamp of ours, neither younger than a person writes nor older than a day."""
        raw = self.cleaned_data.get("stamp", "")
        signer = signing.TimestampSigner(salt=STAMP_SALT)
        try:
            signer.unsign(raw, max_age=MAX_AGE)
        except signing.SignatureExpired:
            self._stamp_anew(_("This page was open for more than a day. Check your entries and send it once more."))
            return
        except signing.BadSignature:
            self._stamp_anew(_("The form did not come from this page. Check your entries and send it once more."))
            return
        try:
            signer.unsign(raw, max_age=MIN_AGE)
        except signing.SignatureExpired:
            return
        self.add_error(None, _("This was sent faster than a person writes. Wait three seconds and send it once more."))

    def _stamp_anew(self, message: Any) -> None:
        self.add_error(None, message)
        data = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
        data["stamp"] = new_stamp()
        self.data = data


class RequestNoteForm(CleanTextMixin, forms.Form):
    note = forms.CharField(
        label=_("Internal note"), max_length=5000, required=False, widget=forms.Textarea(attrs={"rows": 4})
    )


class RequestCloseForm(CleanTextMixin, forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=300)


class RequestAssignForm(forms.Form):
    """Whom a manager gives the request to."""

    assignee = forms.ModelChoiceField(label=_("Seller"), queryset=User.objects.none())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["assignee"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101  (for the type checker)
        field.queryset = User.objects.filter(
            is_active=True, is_staff=True, groups__name__in=["sales_rep", "sales_manager"]
        ).distinct()


class RequestDraftForm(forms.Form):
    """Which figures the draft is made from."""

    figures = forms.ChoiceField(
        label=pgettext_lazy("request", "Figures"),
        choices=[("today", _("of today")), ("then", _("as the customer saw them"))],
        widget=forms.RadioSelect,
    )
    creation_key = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["figures"], self.initial["creation_key"] = "today", uuid.uuid4()


class MailQuoteForm(CleanTextMixin, forms.Form):
    """Who gets the quote by mail."""

    recipients = forms.CharField(
        label=_("Recipients"),
        help_text=_("E-mail addresses separated by commas; each gets a link of their own."),
        max_length=1000,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "email"}),
    )
    message = forms.CharField(
        label=_("Message"), max_length=2000, required=False, widget=forms.Textarea(attrs={"rows": 4})
    )

    def clean_recipients(self) -> list[str]:
        field = forms.EmailField(max_length=254)
        addresses = [part.strip() for part in re.split(r"[,;，；\s]+", self.cleaned_data["recipients"]) if part.strip()]
        if not 1 <= len(addresses) <= 10:
            raise forms.ValidationError(_("Write 1 to 10 addresses."))
        for address in addresses:
            try:
                field.clean(address)
            except forms.ValidationError:
                raise forms.ValidationError(
                    _("“%(address)s” is not an e-mail address."), params={"address": address}
                ) from None
        return addresses

"""A new API token: its name, what it may do, and when it ends."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from quotes.models import Scope
from quotes.request_forms import CleanTextMixin


class TokenForm(CleanTextMixin, forms.Form):
    name = forms.CharField(
        label=pgettext_lazy("token", "Name"),
        help_text=_("Which program uses it."),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=pgettext_lazy("token", "May"),
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.READ],
    )
    days = forms.ChoiceField(
        label=_("Ends after"),
        choices=[("30", _("30 days")), ("90", _("90 days")), ("365", pgettext_lazy("token", "a year"))],
        initial="90",
    )

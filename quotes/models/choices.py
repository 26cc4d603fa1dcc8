"""Codes and their words, shared by models, forms and pages."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.money import MINOR_UNITS, TaxMode
from quotes.states import ISSUED_STATES, State


class Basis(models.TextChoices):
    RENTAL = "rental", _("Rental")
    PURCHASE = "purchase", _("Purchase")


class Language(models.TextChoices):
    CHINESE = "zh-Hans", _("Chinese")
    ENGLISH = "en", _("English")
    BILINGUAL = "zh-Hans+en", _("Chinese and English")


class Paper(models.TextChoices):
    A4 = "A4", "A4"
    LETTER = "Letter", "Letter"


STATE_LABELS = {
    State.DRAFT: pgettext_lazy("quote state", "Draft"),
    State.PENDING_APPROVAL: pgettext_lazy("quote state", "Pending approval"),
    State.APPROVED: pgettext_lazy("quote state", "Approved"),
    State.ISSUED: pgettext_lazy("quote state", "Issued"),
    State.SENT: pgettext_lazy("quote state", "Sent"),
    State.ACCEPTED: pgettext_lazy("quote state", "Accepted"),
    State.DECLINED: pgettext_lazy("quote state", "Declined"),
    State.EXPIRED: pgettext_lazy("quote state", "Expired"),
    State.SUPERSEDED: pgettext_lazy("quote state", "Superseded"),
    State.WITHDRAWN: pgettext_lazy("quote state", "Withdrawn"),
    State.CANCELLED: pgettext_lazy("quote state", "Cancelled"),
}
CURRENCIES = [(code, code) for code in MINOR_UNITS]
TAX_MODES = [(TaxMode.PER_RATE, _("once per tax rate")), (TaxMode.PER_LINE, _("line by line"))]
ISSUED_STORED = sorted(ISSUED_STATES - {State.EXPIRED})
STORED_STATES = [(state, STATE_LABELS[state]) for state in State if state is not State.EXPIRED]

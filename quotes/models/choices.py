"""Codes and their words, shared by models, forms and pages."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.money import MINOR_UNITS, TaxMode
from quotes.pricing import GROUPS
from quotes.states import ISSUED_STATES, Role, State
from quotes.wording import GROUP_LABELS


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
DISCOUNT_REASONS = [
    ("volume", _("quantity")),
    ("competition", _("an offer of a competitor")),
    ("strategic", _("strategic customer")),
    ("pilot", _("pilot project")),
    ("bundle", _("bundle with other lines")),
    ("prepayment", _("early payment")),
    ("goodwill", _("goodwill after a fault of ours")),
    ("other", _("another reason")),
]
DECLINE_REASONS = [
    ("price", _("price")),
    ("delivery_time", _("delivery time")),
    ("specification", _("specification does not fit")),
    ("terms", _("terms of contract")),
    ("competitor", _("another supplier chosen")),
    ("budget", _("no budget")),
    ("postponed", _("project postponed or ended")),
    ("other", _("another reason")),
]
TAX_CATEGORIES = [
    ("goods", _("goods")),
    ("lease", _("lease of movable goods")),
    ("transport_telecom", _("transport, building, basic telecommunication")),
    ("services", _("services")),
    ("zero_rated", _("exports, zero rate")),
    ("small_scale", _("small-scale taxpayer, simplified")),
    ("small_scale_relief", _("small-scale taxpayer, reduced for a time")),
    ("not_taxed", _("no tax on sales")),
]
ROLE_LABELS = {
    Role.SALES_REP: pgettext_lazy("role", "sales representative"),
    Role.SALES_MANAGER: pgettext_lazy("role", "sales manager"),
    Role.CATALOG_EDITOR: pgettext_lazy("role", "catalogue editor"),
    Role.FINANCE_VIEWER: pgettext_lazy("role", "finance and legal"),
    Role.ADMIN: pgettext_lazy("role", "administrator"),
}
APPROVER_ROLES = [(str(role), ROLE_LABELS[role]) for role in (Role.SALES_MANAGER, Role.FINANCE_VIEWER)]
LIMITED_ROLES = [(str(role), ROLE_LABELS[role]) for role in (Role.SALES_REP, Role.SALES_MANAGER)]
PRODUCT_GROUPS = [(group, GROUP_LABELS[group]) for group in GROUPS]
CURRENCIES = [(code, code) for code in MINOR_UNITS]
TAX_MODES = [(TaxMode.PER_RATE, _("once per tax rate")), (TaxMode.PER_LINE, _("line by line"))]
ISSUED_STORED = sorted(ISSUED_STATES - {State.EXPIRED})
STORED_STATES = [(state, STATE_LABELS[state]) for state in State if state is not State.EXPIRED]

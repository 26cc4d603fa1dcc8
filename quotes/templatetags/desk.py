"""Words and shapes of the desk's pages."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from quotes.models import STATE_LABELS
from quotes.states import Action, State

register = template.Library()

_KINDS = {
    State.DRAFT: "note",
    State.PENDING_APPROVAL: "check",
    State.APPROVED: "ok",
    State.ISSUED: "ok",
    State.SENT: "ok",
    State.ACCEPTED: "ok",
    State.DECLINED: "blocks",
    State.EXPIRED: "check",
    State.SUPERSEDED: "note",
    State.WITHDRAWN: "blocks",
    State.CANCELLED: "note",
}
_ACTION_LABELS: dict[str, Promise] = {
    "create": pgettext_lazy("log", "draft made"),
    Action.EDIT: pgettext_lazy("log", "edited"),
    Action.CANCEL: pgettext_lazy("log", "cancelled"),
    Action.ISSUE: pgettext_lazy("log", "issued"),
    Action.MARK_SENT: pgettext_lazy("log", "handed over"),
    Action.SHARE: pgettext_lazy("log", "link made"),
    "unshare": pgettext_lazy("log", "links closed"),
    Action.ACCEPT: pgettext_lazy("log", "accepted"),
    Action.DECLINE: pgettext_lazy("log", "declined"),
    Action.WITHDRAW: pgettext_lazy("log", "withdrawn"),
    Action.REVISE: pgettext_lazy("log", "revision begun"),
    "supersede": pgettext_lazy("log", "superseded"),
}
BASIS_LABELS = {"rental": _("Rental"), "purchase": _("Purchase")}


@register.filter
def state_label(state: str) -> Any:
    return STATE_LABELS.get(State(state), state)


@register.filter
def state_kind(state: str) -> str:
    return _KINDS[State(state)]


@register.filter
def log_label(action: str) -> Any:
    return _ACTION_LABELS.get(action, action)


@register.filter
def basis_label(basis: str) -> Any:
    return BASIS_LABELS.get(basis, basis)

"""Words and shapes of the desk's pages."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django import template
from django.core.exceptions import FieldDoesNotExist
from django.http import QueryDict
from django.template import Context
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.change_words import in_order
from quotes.analytics import NO_ANSWER
from quotes.clause_words import PAYMENT_EVENT_LABELS
from quotes.models import DECLINE_REASONS, ROLE_LABELS, STATE_LABELS, QuoteLine, QuoteRevision
from quotes.states import Action, Role, State
from quotes.wording import percent

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
    Action.SUBMIT: pgettext_lazy("log", "sent for approval"),
    Action.RECALL: pgettext_lazy("log", "taken back"),
    Action.APPROVE: pgettext_lazy("log", "approved"),
    Action.REJECT: pgettext_lazy("log", "rejected"),
    "void_approval": pgettext_lazy("log", "approval void: the content changed"),
    "duplicate": pgettext_lazy("log", "copied from another quote"),
    "reprice": pgettext_lazy("log", "repriced"),
    "acknowledge_export": pgettext_lazy("log", "export check recorded"),
    "share_in_team": pgettext_lazy("log", "shown to other representatives, or hidden"),
    Action.REVISE: pgettext_lazy("log", "revision begun"),
    "supersede": pgettext_lazy("log", "superseded"),
}
_LOST_REASONS: dict[str, Any] = {**dict(DECLINE_REASONS), NO_ANSWER: _("No answer before it expired")}
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


@register.simple_tag(takes_context=True)
def sort_head(context: Context, key: str, label: Any, order: str, css: str = "") -> SafeString:
    """A column's head whose link sorts by it, or the other way round when it does already; the query's rest stays."""
    query: QueryDict = context["request"].GET.copy()
    ascending, descending = key, f"-{key}"
    first = descending if key in {"total", "number"} else ascending
    query["sort"] = (descending if order == ascending else ascending) if order in {ascending, descending} else first
    query.pop("page", None)
    direction = {ascending: "ascending", descending: "descending"}.get(order, "none")
    return format_html(
        '<th scope="col" class="sortable {}" aria-sort="{}"><a href="?{}">{}</a></th>',
        css,
        direction,
        query.urlencode(),
        label,
    )


@register.filter
def share_text(value: float | None) -> str:
    """A share in percent with one digit; a dash where there is nothing to divide."""
    return "—" if value is None else f"{value * 100:.1f}%"


@register.filter
def days_text(value: float | None) -> str:
    return "—" if value is None else f"{value:.1f}"


def size_label(index: str, limits: Any) -> str:
    """`1,000,000 – 10,000,000`: a class of totals in words of figures."""
    position = int(index)
    if position == 0:
        return f"< {limits[0]:,f}"
    low = f"{limits[position - 1]:,f}"
    return f"\N{GREATER-THAN OR EQUAL TO} {low}" if position == len(limits) else f"{low} – {limits[position]:,f}"


def discount_label(index: str, limits: Any) -> Any:
    position = int(index)
    if position == 0:
        return _("none")
    low, high = (f"{limits[place] * 100:f}".rstrip("0").rstrip(".") or "0" for place in (position - 1, position))
    return f"{low}–{high}%" if position < len(limits) - 1 else f"> {low}%"


@register.filter
def reason_label(code: str) -> Any:
    return _LOST_REASONS.get(code, code)


@register.simple_tag(takes_context=True)
def tally_query(context: Context, kind: str, key: str) -> SafeString:
    """What narrows the list to one row of the figures, behind the query that all rows share."""
    if kind == "month":
        first = date.fromisoformat(f"{key}-01")
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        since, until = context["since"] or first, context["until"] or last
        parts = {"dated": "issued", "since": max(first, since), "until": min(last, until)}
    elif kind == "size":
        limits, place = context["size_classes"], int(key)
        parts = {"minimum": limits[place - 1]} if place else {}
        parts |= {"maximum": limits[place] - Decimal("0.01")} if place < len(limits) else {}
    else:
        parts = {kind: key}
    return format_html("&amp;{}", urlencode(parts))


@register.simple_tag(takes_context=True)
def tally_label(context: Context, kind: str, key: str) -> Any:
    if kind == "size":
        return size_label(key, context["size_classes"])
    if kind == "discount":
        return discount_label(key, context["discount_classes"])
    return basis_label(key) if kind == "basis" else key


@register.filter
def role_label(role: str) -> Any:
    return ROLE_LABELS.get(Role(role), role) if role in set(Role) else role


@register.filter
def decision_kind(decision: str) -> str:
    return {"approved": "ok", "rejected": "blocks", "pending": "check"}.get(decision, "note")


@register.filter
def payment_event(event: str) -> Any:
    return PAYMENT_EVENT_LABELS.get(event, event)


@register.simple_tag(takes_context=True)
def name_of(context: Context, names: Any) -> str:
    """A name stored in both languages, in that of the page."""
    return str(names["en"] if context.get("html_lang") == "en" else names["zh-Hans"])


@register.simple_tag
def revision_name(revision: Any) -> str:
    return revision.number or _("Revision %(index)d (draft)") % {"index": revision.revision_index}


@register.filter
def log_changes(entry: Any) -> list[str]:
    """What an entry of the log changed, in words: fields, then lines."""
    changes = []
    for name in in_order(QuoteRevision, entry.after):
        new = entry.after[name]
        if name in {"lines", "prices"} and isinstance(new, list):
            changes += [_line_change(change) for change in new]
        elif name in entry.before and name not in {"state", "clauses", "payment_schedule"}:
            changes.append(f"{_field_label(name)}: {_short(entry.before[name], name)} → {_short(new, name)}")
        elif name in {"clauses", "payment_schedule"}:
            changes.append(str(_field_label(name)))
    return changes


def _line_change(change: dict[str, Any]) -> str:
    if "removed" in change:
        return _("%(line)s taken out") % {"line": change["removed"]}
    if "added" in change:
        return _("%(line)s added, quantity %(quantity)s") % {"line": change["added"], "quantity": change["quantity"]}
    if "order" in change:
        return str(_("Lines put in another order"))
    pairs = [
        f"{_field_label(name, QuoteLine)}: {_short(pair[0], name)} → {_short(pair[1], name)}"
        for name in in_order(QuoteLine, change)
        if isinstance(pair := change[name], list) and len(pair) == 2
    ]
    return _("Line %(position)s: %(changes)s") % {"position": change.get("position", ""), "changes": "; ".join(pairs)}


def _field_label(name: str, model: Any = QuoteRevision) -> Any:
    if name == "skus":
        return _("parts under export control")
    try:
        return model._meta.get_field(name).verbose_name
    except FieldDoesNotExist:
        return name


def _short(value: Any, name: str) -> str:
    """A value of the log for people: names instead of a list, percent instead of a fraction."""
    if value in (None, "", []):
        return "—"
    if name.endswith("_fraction"):
        return percent(str(value))
    text = ", ".join(str(part) for part in value) if isinstance(value, list) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"

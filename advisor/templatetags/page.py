"""What the frame of every page shows: the navigation, the engine's version and the catalogue's revision."""

from __future__ import annotations

from typing import Any, TypedDict

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from advisor.engine import ENGINE_VERSION

register = template.Library()


class NavItem(TypedDict):
    url: str
    label: str
    is_current: bool


@register.simple_tag(takes_context=True)
def nav_items(context: dict[str, Any]) -> list[NavItem]:
    """The main sections; a section whose address does not exist is left out. Quotes are for staff."""
    request = context.get("request")
    path = request.path if request else ""
    user = context.get("user")
    sections = [
        ("advisor:sizing", _("Sizing")),
        ("catalog:index", _("Catalogue")),
        ("advisor:validation", _("Validation")),
        ("advisor:method", _("Method")),
        ("api-docs", _("API")),
    ]
    if user is not None and user.is_staff:
        sections.append(("quotes:list", _("Quotes")))
    items: list[NavItem] = []
    for name, label in sections:
        try:
            url = reverse(name)
        except NoReverseMatch:
            continue
        is_current = path == url if url == "/" else path.startswith(url)
        items.append({"url": url, "label": label, "is_current": is_current})
    return items


@register.simple_tag
def engine_version() -> str:
    return ENGINE_VERSION


@register.simple_tag
def catalog_revision() -> str:
    try:
        from catalog.services import current_revision
    except ImportError:
        return ""
    return current_revision()

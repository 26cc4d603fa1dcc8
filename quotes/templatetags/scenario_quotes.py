"""The quotes made from a saved scenario, on the scenario's page, which knows nothing of quotes."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.translation import gettext as _

from advisor.models import Scenario
from catalog.money import money_json
from quotes.access import revisions_of_scenario
from quotes.models import STATE_LABELS

register = template.Library()


@register.simple_tag(takes_context=True)
def quotes_of(context: Context, scenario: Scenario) -> list[dict[str, Any]]:
    now = timezone.now()
    return [
        {
            "name": revision.number or _("Draft of %(day)s") % {"day": revision.quote.created_at.date().isoformat()},
            "url": revision.quote.get_absolute_url(),
            "state": STATE_LABELS[revision.effective_state(now)],
            "customer": revision.customer_name,
            "total": money_json(revision.total_gross, revision.currency),
            "owner": revision.quote.owner.get_username(),
        }
        for revision in revisions_of_scenario(context["request"].user, scenario)
    ]

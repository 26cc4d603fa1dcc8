"""What an answer's prices and days leave out, for this case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

# SKUs of the bill of materials that take a line off the list begin like this
OPERATIONS = ("svc-ops",)


def exclusions(answer: Mapping[str, Any]) -> list[str]:
    """Sentences; what the bill of materials holds is not said to be missing."""
    best = answer["recommended"]
    bill = best["bill_of_materials"] if best else []
    lines = [
        _("Data: collecting, cleaning, licences for it."),
        _("Experiments, failed runs and evaluation before and after this one run."),
        _("The site: building work, the feed to the room, permits."),
        _("Delivery: freight, insurance, customs and import duties."),
        _("Licences of commercial software; the stack named here is free of charge unless a line says otherwise."),
    ]
    if not any(line["sku"].startswith(OPERATIONS) for line in bill):
        lines.append(_("Staff that operates the cluster."))
    if best and any(price and not price["is_complete"] for price in best["prices"].values()):
        lines.append(
            _("The lines without a price: the totals leave them out, and the list under the prices names them.")
        )
    return lines

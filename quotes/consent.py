"""What a visitor agrees to when asking for a quote, by version: a request keeps the version that it agreed to."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

CONSENT_VERSION = "2026-11"
# A changed text is a new version; old ones stay, because stored requests name them.
CONSENT_TEXTS: dict[str, Promise] = {
    "2026-11": _(
        "I agree that the seller stores these contact details with this sizing to prepare a quotation and to answer "
        "me. They are kept for %(days)s days at most, are given to nobody else, and are deleted at my request."
    ),
}

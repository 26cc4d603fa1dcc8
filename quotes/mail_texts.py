"""What mails say: one template for each kind, written in the language of the quote, twice for a bilingual one."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from quotes.models import Language, MailKind

LINK_PLACE = "[[link]]"  # where the customer's link comes in, at the moment of sending
RULE = "-" * 60
MAX_SUBJECT = 200
_DJANGO_CODES = {
    Language.CHINESE: ("zh-hans",),
    Language.ENGLISH: ("en",),
    Language.BILINGUAL: ("zh-hans", "en"),
}


class HeaderRefusedError(ValueError):
    """A control character, such as a line break, in what becomes a header of the mail."""


def header_text(text: str) -> str:
    """Text fit for a header; raises `HeaderRefusedError`."""
    for letter in text:
        if unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}:
            raise HeaderRefusedError(f"U+{ord(letter):04X} may not stand in a mail's header.")
    return text.strip()


def mail_text(kind: MailKind, language: str, context: Mapping[str, Any]) -> tuple[str, str]:
    """Subject and body. `context` has the names that the kind's template and subject use."""
    subjects, bodies = [], []
    for code in _DJANGO_CODES[Language(language)]:
        with translation.override(code):
            subjects.append(_subject(kind) % {name: str(value) for name, value in context.items()})
            body = render_to_string(f"requests/mail/{kind}.txt", dict(context))
            bodies.append(body.strip() + "\n")
    subject = " / ".join(dict.fromkeys(subjects))
    return header_text(subject)[:MAX_SUBJECT], f"\n{RULE}\n\n".join(bodies)


def _subject(kind: MailKind) -> str:
    match kind:
        case MailKind.QUOTE:
            return _("Quotation %(number)s from %(seller)s")
        case MailKind.ACCEPTED:
            return _("Quotation %(number)s accepted")
        case MailKind.DECLINED:
            return _("Quotation %(number)s declined")
        case MailKind.REQUEST:
            return _("New request %(reference)s")
        case MailKind.EXPIRY:
            return _("Quotation %(number)s expires on %(day)s")

"""Codes that lead from the paper to the page which confirms it: how they are made, written, read and drawn."""

from __future__ import annotations

import secrets

import segno
from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from quotes.models import QuoteRevision

# Crockford's base 32: no letter that is read as a digit, so that a code can be typed from paper
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
CODE_LENGTH = 20  # 100 bits: not to be guessed
GROUP_LENGTH = 5
MISREAD = str.maketrans({"i": "1", "l": "1", "o": "0"})


def new_code() -> str:
    """A code nobody can guess."""
    return "".join(secrets.choice(ALPHABET) for _position in range(CODE_LENGTH))


def new_verification() -> dict[str, str]:
    """What an issued quotation carries: its code, and where it is checked."""
    code = new_code()
    return {"code": code, "url": address_of(code)}


def grouped(code: str) -> str:
    """As it is printed: groups of five."""
    return "-".join(code[start : start + GROUP_LENGTH] for start in range(0, len(code), GROUP_LENGTH))


def read_code(text: str) -> str:
    """The code in what someone typed: case, gaps and the usual misreadings do not matter; empty when it is none."""
    code = "".join(text.split()).replace("-", "").lower().translate(MISREAD)
    return code if len(code) == CODE_LENGTH and set(code) <= set(ALPHABET) else ""


def address_of(code: str) -> str:
    """Where the code is checked, as it stands in the QR code."""
    return f"{settings.PUBLIC_URL}{reverse('verification:code', args=[code])}"


def revision_of(code: str) -> QuoteRevision | None:
    """The issued revision of a code, or None."""
    return QuoteRevision.objects.select_related("quote").filter(verification__code=code).first()


def qr_code(address: str, title: str) -> SafeString:
    """The address as inline SVG with a text for those who cannot see it; error correction M, quiet zone of 4."""
    drawn = segno.make(address, error="m", micro=False)
    svg = drawn.svg_inline(title=title, svgclass="qr", lineclass=None, omitsize=True, border=4, dark="#000")
    # segno escapes the title and writes nothing else from outside
    return mark_safe(svg.replace("<svg ", '<svg role="img" ', 1))  # noqa: S308

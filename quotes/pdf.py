"""Snapshot to PDF bytes."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils import translation

from advisor.pdf_rendering import APT_LINE, PdfUnavailableError, pdf_bytes
from quotes.paper import paper_of
from quotes.snapshot import Snapshot

__all__ = ["APT_LINE", "PdfUnavailableError", "render", "render_html"]

STYLESHEETS = ("css/tokens.css", "css/pdf/quote.css")
PAGE_SIZES = {"A4": "@page { size: A4 }", "Letter": "@page { size: Letter }"}


def render(snapshot: Snapshot) -> bytes:
    """The PDF of a snapshot: the same bytes for the same snapshot."""
    html = render_html(snapshot)
    return pdf_bytes(html, stylesheets=STYLESHEETS, page_css=PAGE_SIZES[snapshot["paper"]])


def render_html(snapshot: Snapshot) -> str:
    """The document's HTML, in the quote's language whatever the language of who asks."""
    paper = paper_of(snapshot)
    with translation.override(paper.django_languages[0]):
        return render_to_string(
            "quotes/pdf/quote.html", {"paper": paper, "languages": paper.languages, "snapshot": snapshot}
        )

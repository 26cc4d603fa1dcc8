"""HTML to PDF bytes; the only module that imports WeasyPrint, and only when a PDF is made.

Without its system libraries the site runs and the PDF answers with what to install. The renderer sees the project's
fonts and stylesheets and nothing else: no network, no file outside `static/`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from advisor import fonts

if TYPE_CHECKING:
    from weasyprint.urls import URLFetcher

APT_LINE = "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
PDF_VARIANT = "pdf/ua-1"
_CONTENT_TYPES = {".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".ttf": "font/ttf"}
# Threads do not make the renderer faster, and its memory adds up: one document at a time in a process.
_one_at_a_time = threading.Lock()


class PdfUnavailableError(Exception):
    """The libraries that make PDFs are not installed; the message has the line that installs them."""


def pdf_bytes(html: str, *, stylesheets: Sequence[str], page_css: str = "") -> bytes:
    """The PDF of a document: the same bytes for the same text. `stylesheets` are paths below `static/`."""
    weasyprint = weasyprint_module()
    fetcher = static_fetcher()
    sheets = [weasyprint.CSS(url=f"static:///{path}", url_fetcher=fetcher) for path in stylesheets]
    if page_css:
        sheets.append(weasyprint.CSS(string=page_css, url_fetcher=fetcher))
    with _one_at_a_time:
        document = weasyprint.HTML(string=html, base_url="static:///", url_fetcher=fetcher)
        content: bytes = document.write_pdf(stylesheets=sheets, pdf_variant=PDF_VARIANT)
    return content


def weasyprint_module() -> Any:
    fonts.use_shipped_fonts_only()
    # it reports every step and every rule it does not know; what matters raises
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    logging.getLogger("weasyprint.progress").setLevel(logging.ERROR)
    try:
        import weasyprint
    except OSError as error:
        message = _("PDFs need system libraries that are not installed. As root: %(line)s") % {"line": APT_LINE}
        raise PdfUnavailableError(message) from error
    return weasyprint


def static_fetcher() -> URLFetcher:
    """A fetcher that serves `static:` addresses below the project's static folder and aborts on any other."""
    from weasyprint.urls import FatalURLFetchingError, URLFetcher, URLFetcherResponse

    root = (Path(settings.BASE_DIR) / "static").resolve()

    class StaticFetcher(URLFetcher):  # type: ignore[misc]
        def fetch(self, url: str, headers: dict[str, str] | None = None) -> Any:
            parts = urlsplit(url)
            path = (root / unquote(parts.path).lstrip("/")).resolve()
            content_type = _CONTENT_TYPES.get(path.suffix)
            is_ours = parts.scheme == "static" and not parts.netloc and path.is_relative_to(root)
            if not is_ours or content_type is None or not path.is_file():
                raise FatalURLFetchingError(f"Not a file of the document: {url[:200]}")
            return URLFetcherResponse(url, path.read_bytes(), {"Content-Type": content_type})

    return StaticFetcher(allowed_protocols={"static"}, allow_redirects=False, fail_on_errors=True)

"""A quote's PDF as a download: stored bytes checked against their hash, a file name that keeps Chinese."""

from __future__ import annotations

import hashlib
import re

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from quotes import pdf, snapshot
from quotes.models import QuoteRevision

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\s]+')
_NAME_LENGTH = 60


class DamagedDocumentError(Exception):
    """The stored bytes are not the ones that were issued."""


def document_bytes(revision: QuoteRevision) -> bytes:
    """The issued bytes, checked; a draft's are made now."""
    if not revision.is_frozen:
        return pdf.render(snapshot.build(revision, list(revision.lines.all())))
    content = bytes(revision.document.pdf)
    if hashlib.sha256(content).hexdigest() != revision.pdf_sha256:
        raise DamagedDocumentError(revision.number)
    return content


def file_name(revision: QuoteRevision) -> str:
    """`Quotation_Q-2026-000123_客户.pdf`: safe on every file system."""
    customer = _UNSAFE.sub("_", revision.customer_name).strip("._")[:_NAME_LENGTH]
    return "_".join(part for part in ("Quotation", revision.number or "DRAFT", customer) if part) + ".pdf"


def pdf_response(revision: QuoteRevision) -> HttpResponse:
    response = HttpResponse(document_bytes(revision), content_type="application/pdf")
    response["Content-Disposition"] = content_disposition_header(True, file_name(revision)) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    if revision.pdf_sha256:
        response["ETag"] = f'"{revision.pdf_sha256}"'
    return response

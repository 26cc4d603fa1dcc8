"""What the services refuse, as problems of the API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException, PermissionDenied

from advisor.inputs import InputError
from config.api_errors import Unprocessable
from quotes import access, numbers, pdf
from quotes.drafting import NothingToQuoteError
from quotes.files import DamagedDocumentError
from quotes.mail_texts import HeaderRefusedError
from quotes.models import STATE_LABELS
from quotes.services import IssueRefusedError, ReasonMissingError, StaleEditError
from quotes.states import TransitionError

BUSY_SECONDS = 10


class Conflict(APIException):
    status_code = 409
    default_code = "state_conflict"

    def __init__(self, detail: str, code: str | None = None, wait: int | None = None) -> None:
        super().__init__(detail, code)
        self.wait = wait


class PreconditionFailed(APIException):
    status_code = 412
    default_code = "etag_mismatch"


class PreconditionRequired(APIException):
    status_code = 428
    default_code = "if_match_required"


class Unavailable(APIException):
    status_code = 503
    default_code = "unavailable"
    wait = BUSY_SECONDS


class BadRequest(APIException):
    status_code = 400
    default_code = "bad_request"


def fault(code: str, detail: str, pointer: str = "") -> dict[str, Any]:
    return {"pointer": pointer, "code": code, "detail": detail}


def refusal(error: Exception) -> Exception:
    """The problem that says what a service refused; other errors come back as they are."""
    match error:
        case TransitionError():
            return Conflict(
                _("A quote in the state “%(state)s” does not allow the action %(action)s.")
                % {"state": STATE_LABELS[error.state], "action": str(error.action)}
            )
        case access.NotAllowedError():
            return PermissionDenied(_("Your role does not allow this action on this quote."), code="not_allowed")
        case StaleEditError():
            return PreconditionFailed(_("The quote was changed meanwhile. Read it again, then repeat your change."))
        case IssueRefusedError():
            return Unprocessable([fault(row.code, row.message) for row in error.faults])
        case NothingToQuoteError():
            return Unprocessable([fault("nothing_to_quote", reason, "/recommendation") for reason in error.reasons])
        case InputError():
            rows = error.as_dicts()
            return Unprocessable([row | {"pointer": f"/recommendation{row['pointer']}"} for row in rows])
        case ReasonMissingError():
            return Unprocessable([fault("required", _("This step needs its reason in words."), "/reason")])
        case HeaderRefusedError():
            sentence = _("A line break or control character may not stand here.")
            return Unprocessable([fault("control_character", sentence)])
        case ValidationError():
            return Unprocessable(list(_model_faults(error)))
        case numbers.SeriesBusyError() | numbers.NumberLostError():
            return Unavailable(
                _("Other quotes are being issued right now. Nothing was changed; issue it again in a moment."),
                code="numbers_busy",
            )
        case pdf.PdfUnavailableError():
            return Unavailable(str(error), code="pdf_unavailable")
        case DamagedDocumentError():
            return Unavailable(_("The stored PDF is damaged. It must be restored from a backup."), "document_damaged")
    return error


def _model_faults(error: ValidationError) -> Iterable[dict[str, Any]]:
    if hasattr(error, "error_dict"):
        for name, errors in error.message_dict.items():
            pointer = "" if name == "__all__" else f"/{name}"
            yield from (fault("invalid", str(message), pointer) for message in errors)
    else:
        yield from (fault("invalid", str(message)) for message in error.messages)

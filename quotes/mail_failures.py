"""Why a mail did not go, and whether it is worth trying again."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MAX_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`reason` is a code of `REASONS`, or the server's own words."""

    reason: str
    is_final: bool
    is_unreachable: bool = False


REASONS: dict[str, Promise] = {
    "unreachable": _("The mail server does not answer. Check EMAIL_URL and the network."),
    "timeout": _("The mail server did not answer in time."),
    "login": _("The mail server refused our login. Check the name and password in EMAIL_URL."),
    "certificate": _("The mail server's certificate is not trusted."),
    "not_taken": _("The mail server took nothing and gave no reason."),
    "not_open": _("The quote could no longer be answered when the mail was to go, so it was not sent."),
    "link_closed": _("The link in this mail was closed before it went. Send the quote once more for a new link."),
    "document_damaged": _("The stored PDF is damaged. Restore it from a backup before sending."),
    "header": _("The address or subject holds a character that no mail may carry."),
    "gave_up": _("Each try broke off without an answer."),
    "internal": _("Sending failed on our side; the log has the details."),
}


def failure_words(reason: str) -> Promise | str:
    """A sentence for a code; the server's own words as they are."""
    return REASONS.get(reason, reason)


def failure_of(error: Exception) -> Failure:
    """5xx answers are final, 4xx and silence are not (RFC 5321, section 4.2.1)."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            replies = list(error.recipients.values())
            code, words = replies[0] if replies else (0, b"")
            return Failure(reason=_server_words(code, words), is_final=bool(replies) and _is_final(code))
        case smtplib.SMTPAuthenticationError():
            return Failure(reason="login", is_final=False)
        case smtplib.SMTPConnectError():
            return Failure(reason="unreachable", is_final=False, is_unreachable=True)
        case smtplib.SMTPResponseException():
            return Failure(reason=_server_words(error.smtp_code, error.smtp_error), is_final=_is_final(error.smtp_code))
        case smtplib.SMTPServerDisconnected():  # what smtplib makes of a silence in the middle, too
            reason = "timeout" if "timed out" in str(error) else "unreachable"
            return Failure(reason=reason, is_final=False, is_unreachable=True)
        case ssl.SSLCertVerificationError():
            return Failure(reason="certificate", is_final=False, is_unreachable=True)
        case TimeoutError():
            return Failure(reason="timeout", is_final=False, is_unreachable=True)
        case OSError():
            return Failure(reason="unreachable", is_final=False, is_unreachable=True)
        case _:
            return Failure(reason="internal", is_final=False)


def _is_final(code: int) -> bool:
    return 500 <= code < 600


def _server_words(code: int, words: bytes | str) -> str:
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    return " ".join(f"{code} {text}".split())[:MAX_REASON]

"""What may be done with quotes. Every change checks right and state, and is logged in its own transaction."""

from __future__ import annotations

from quotes.services.creation import CustomerData, quote_create, quote_create_from_recommendation, quote_duplicate
from quotes.services.editing import quote_cancel, quote_edit, quote_revise
from quotes.services.issuing import Fault, IssueRefusedError, issue_faults, quote_issue
from quotes.services.lifecycle import (
    quote_accept,
    quote_answer_by_customer,
    quote_decline,
    quote_mark_sent,
    quote_share,
    quote_unshare,
    quote_withdraw,
)
from quotes.services.line_edits import AddedLine, LineEdit, StaleEditError
from quotes.services.log import require_open

__all__ = [
    "AddedLine",
    "CustomerData",
    "Fault",
    "IssueRefusedError",
    "LineEdit",
    "StaleEditError",
    "issue_faults",
    "quote_accept",
    "quote_answer_by_customer",
    "quote_cancel",
    "quote_create",
    "quote_create_from_recommendation",
    "quote_decline",
    "quote_duplicate",
    "quote_edit",
    "quote_issue",
    "quote_mark_sent",
    "quote_revise",
    "quote_share",
    "quote_unshare",
    "quote_withdraw",
    "require_open",
]

"""What may be done with quotes. Every change checks right and state, and is logged in its own transaction."""

from __future__ import annotations

from quotes.approval import ApprovalNeed
from quotes.services.approvals import (
    approvals_needed,
    content_sha256,
    quote_approve,
    quote_recall,
    quote_reject,
    quote_submit,
)
from quotes.services.approvers import open_requests_for
from quotes.services.creation import CustomerData, quote_create, quote_create_from_recommendation
from quotes.services.editing import quote_cancel, quote_edit, quote_revise
from quotes.services.faults import Fault, IssueRefusedError, controlled_skus, issue_faults
from quotes.services.issuing import quote_issue
from quotes.services.lifecycle import (
    ProofFile,
    quote_accept,
    quote_acknowledge_export,
    quote_answer_by_customer,
    quote_decline,
    quote_mark_sent,
    quote_set_shared,
    quote_share,
    quote_unshare,
    quote_withdraw,
)
from quotes.services.line_edits import AddedLine, LineEdit, StaleEditError
from quotes.services.log import ReasonMissingError, require_open
from quotes.services.repricing import PriceChange, quote_duplicate, quote_reprice, reprice_preview

__all__ = [
    "AddedLine",
    "ApprovalNeed",
    "CustomerData",
    "Fault",
    "IssueRefusedError",
    "LineEdit",
    "PriceChange",
    "ProofFile",
    "ReasonMissingError",
    "StaleEditError",
    "approvals_needed",
    "content_sha256",
    "controlled_skus",
    "issue_faults",
    "open_requests_for",
    "quote_accept",
    "quote_acknowledge_export",
    "quote_answer_by_customer",
    "quote_approve",
    "quote_cancel",
    "quote_create",
    "quote_create_from_recommendation",
    "quote_decline",
    "quote_duplicate",
    "quote_edit",
    "quote_issue",
    "quote_mark_sent",
    "quote_recall",
    "quote_reject",
    "quote_reprice",
    "quote_revise",
    "quote_set_shared",
    "quote_share",
    "quote_submit",
    "quote_unshare",
    "quote_withdraw",
    "reprice_preview",
    "require_open",
]

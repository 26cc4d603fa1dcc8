"""What is promised: quotes, their numbered revisions with lines, the frozen documents, and the log of who did what.

A revision is written while it is a draft. At issue it gets number, snapshot and PDF in one transaction; from then on
only the columns of its life cycle may change: `save`, `update`, `bulk_update` and `delete` refuse the rest.
"""

from __future__ import annotations

from quotes.models.approvals import ApprovalRequest, ApprovalRule, Condition, DiscountLimit
from quotes.models.choices import (
    CURRENCIES,
    DECLINE_REASONS,
    DISCOUNT_REASONS,
    ROLE_LABELS,
    STATE_LABELS,
    TAX_CATEGORIES,
    TAX_MODES,
    Basis,
    Language,
    Paper,
)
from quotes.models.frozen import FrozenError
from quotes.models.lines import MAX_LINES, MAX_QUANTITY, MAX_UNIT_PRICE, QuoteLine
from quotes.models.outbox import MailKind, MailState, OutboxMail
from quotes.models.parties import SellerEntity, Terms
from quotes.models.records import (
    AcceptanceProof,
    AuditEntry,
    CustomerLink,
    QuoteDocument,
    link_digest,
    new_link_token,
)
from quotes.models.requests import QuoteRequest, RequestState
from quotes.models.revisions import NumberSeries, Quote, QuoteRevision, RevisionQuerySet, end_of_day
from quotes.models.taxes import Customer, TaxRate
from quotes.models.tokens import ApiToken, IdempotentCall, Scope
from quotes.models.verification import VerificationCode

__all__ = [
    "CURRENCIES",
    "DECLINE_REASONS",
    "DISCOUNT_REASONS",
    "MAX_LINES",
    "MAX_QUANTITY",
    "MAX_UNIT_PRICE",
    "ROLE_LABELS",
    "STATE_LABELS",
    "TAX_CATEGORIES",
    "TAX_MODES",
    "AcceptanceProof",
    "ApiToken",
    "ApprovalRequest",
    "ApprovalRule",
    "AuditEntry",
    "Basis",
    "Condition",
    "Customer",
    "CustomerLink",
    "DiscountLimit",
    "FrozenError",
    "IdempotentCall",
    "Language",
    "MailKind",
    "MailState",
    "NumberSeries",
    "OutboxMail",
    "Paper",
    "Quote",
    "QuoteDocument",
    "QuoteLine",
    "QuoteRequest",
    "QuoteRevision",
    "RequestState",
    "RevisionQuerySet",
    "Scope",
    "SellerEntity",
    "TaxRate",
    "Terms",
    "VerificationCode",
    "end_of_day",
    "link_digest",
    "new_link_token",
]

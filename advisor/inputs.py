"""The shared input schema: the table of fields, and the readers that page, API, links and commands all use.

The parts: `input_fields` (the table), `input_reading` (one value), `input_rules` (several fields), `input_parsing`
(a body), `input_query` (a link), `input_types` (results and faults).
"""

from __future__ import annotations

from advisor.input_fields import BY_QUERY, TABLE
from advisor.input_kinds import ESTIMATE, RECOMMENDATION, FieldKind, InputField
from advisor.input_parsing import parse_estimate_request, parse_recommendation_request
from advisor.input_query import body_from_query, query_from_body
from advisor.input_types import (
    CheckedEstimate,
    CheckedRecommendation,
    CheckedTraining,
    InputError,
    InputFault,
    ModelChoice,
)

__all__ = [
    "BY_QUERY",
    "ESTIMATE",
    "RECOMMENDATION",
    "TABLE",
    "CheckedEstimate",
    "CheckedRecommendation",
    "CheckedTraining",
    "FieldKind",
    "InputError",
    "InputFault",
    "InputField",
    "ModelChoice",
    "body_from_query",
    "parse_estimate_request",
    "parse_recommendation_request",
    "query_from_body",
]

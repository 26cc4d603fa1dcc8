"""`explain=true`: the answer with its calculation, formula and numbers of each figure, as the page opens it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from advisor.calculation import calculation, estimate_calculation
from advisor.inputs import CheckedRecommendation
from advisor.services import scenario_search
from config.api_errors import Unprocessable

EXPLAIN = "explain"
EXPLAIN_PARAMETER = OpenApiParameter(
    EXPLAIN, OpenApiTypes.BOOL, description="Adds `calculation`: formula, numbers and value of each figure."
)
_WORDS = {"": False, "false": False, "0": False, "true": True, "1": True}


def wants_explanation(request: Request) -> bool:
    """Raises Unprocessable for what is neither true nor false."""
    text = request.query_params.get(EXPLAIN, "").lower()
    if text not in _WORDS:
        detail = _("explain is true or false, not “%(value)s”.") % {"value": text[:20]}
        raise Unprocessable([{"pointer": f"/{EXPLAIN}", "code": "not_a_flag", "detail": detail}])
    return _WORDS[text]


def explained_search(checked: CheckedRecommendation, explains: bool) -> Mapping[str, Any]:
    answer = scenario_search(checked=checked)
    if not explains:
        return answer
    return {**answer, "calculation": calculation(answer, deadline_seconds=checked.deadline_seconds)}


def explained_estimate(answer: Mapping[str, Any], explains: bool) -> Mapping[str, Any]:
    return {**answer, "calculation": estimate_calculation(answer)} if explains else answer

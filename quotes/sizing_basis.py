"""The recommendation that a query string of the sizing page asks for, in the two languages of a quote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import QueryDict
from django.utils import translation

from advisor.inputs import InputError, body_from_query, parse_recommendation_request, query_from_body
from advisor.services import scenario_search
from quotes.wording import DJANGO_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.answers import RecommendationAnswer

# what a draft is made from, and what says how good the answer was; the rest is asked again in a moment
KEPT = (
    *("tier", "model", "training", "requirement", "recommended", "explanation", "assumptions", "problems"),
    *("engine_version", "catalog_revision"),
)


def answers_of_query(query: str) -> tuple[dict[str, RecommendationAnswer], str]:
    """Today's answers by language, and the canonical query. Raises `InputError` as the sizing page does."""
    return answers_of_body(body_from_query(QueryDict(query)))


def answers_of_body(body: Mapping[str, Any]) -> tuple[dict[str, RecommendationAnswer], str]:
    """The same for a request of the API, whose query is empty where a link cannot carry it. Raises `InputError`."""
    checked = parse_recommendation_request(body)
    answers = {}
    for language, code in DJANGO_LANGUAGES.items():
        with translation.override(code):
            answers[language] = scenario_search(checked=checked)
    try:
        query = query_from_body(body)
    except InputError:  # a whole model configuration does not go into a link
        query = ""
    return answers, query


def kept_answers(answers: Mapping[str, RecommendationAnswer]) -> dict[str, dict[str, Any]]:
    """The part of the answers that is stored with a request."""
    return {
        language: {name: value for name, value in answer.items() if name in KEPT}
        for language, answer in answers.items()
    }


def reasons_against_draft(answer: Mapping[str, Any], basis: str) -> list[str]:
    """Why these answers give no quote, in their own language: no configuration, or no price for this basis."""
    configuration = answer["recommended"]
    if configuration is None:
        return [problem["message"] for problem in answer["problems"]]
    if configuration["prices"][basis] is None:
        return [problem["message"] for problem in configuration["price_problems"]]
    return []

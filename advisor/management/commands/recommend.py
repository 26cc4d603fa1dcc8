"""The API's `recommendations` on the command line."""

from __future__ import annotations

from typing import Any

from advisor.inputs import parse_recommendation_request
from advisor.management.json_command import JsonCommand
from advisor.services import scenario_search


class Command(JsonCommand):
    help = "Which cluster to take: request JSON in, answer JSON out."

    def answer(self, body: Any) -> Any:
        return scenario_search(checked=parse_recommendation_request(body))

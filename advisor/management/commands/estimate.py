"""The API's `estimates` on the command line."""

from __future__ import annotations

from typing import Any

from advisor.inputs import parse_estimate_request
from advisor.management.json_command import JsonCommand
from advisor.services import scenario_estimate


class Command(JsonCommand):
    help = "One job on one stated cluster: request JSON in, answer JSON out."

    def answer(self, body: Any) -> Any:
        return scenario_estimate(checked=parse_estimate_request(body))

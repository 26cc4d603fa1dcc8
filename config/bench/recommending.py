"""A whole recommendation over every sizeable GPU, nothing of it cached."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.cache import cache
from django.utils import translation

from advisor.inputs import parse_recommendation_request
from advisor.services import scenario_search
from config.bench.measure import Figure, percentile, seconds_of

JOBS = {
    "7B x 2T": {"parameters": "7B", "tokens": "2T"},
    "70B x 15T": {"parameters": "70B", "tokens": "15T"},
    "405B x 15T": {"parameters": "405B", "tokens": "15T"},
    "671B-A37B x 14.8T": {"parameters": "671B", "active_parameters": "37B", "tokens": "14.8T"},
}
REPEATS = 20
DEADLINE_DAYS = 90


def body_of(job: dict[str, str]) -> dict[str, object]:
    model = {name: value for name, value in job.items() if name != "tokens"}
    target = {"deadline_days": DEADLINE_DAYS}
    return {"model": model, "training": {"tokens": job["tokens"]}, "target": target}


def figures() -> Iterator[Figure]:
    with translation.override("en"):
        for name, job in JOBS.items():
            checked = parse_recommendation_request(body_of(job))
            scenario_search(checked=checked)  # the catalogue is read and the modules are imported once per process
            times = []
            for _turn in range(REPEATS):
                cache.clear()
                times.append(1000 * seconds_of(lambda checked=checked: scenario_search(checked=checked)))  # type: ignore[misc]
            label = f"recommendation {name}, all GPUs"
            yield Figure(
                path=("recommendation_ms", name, "p50"), label=f"{label}, p50", value=percentile(times, 0.5), unit="ms"
            )
            yield Figure(
                path=("recommendation_ms", name, "p95"),
                label=f"{label}, p95",
                value=percentile(times, 0.95),
                unit="ms",
                limit=300.0,
            )

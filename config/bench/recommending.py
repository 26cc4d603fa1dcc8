"""A whole recommendation over every sizeable GPU, nothing of it cached."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

from django.core.cache import cache
from django.utils import translation

from advisor.inputs import parse_estimate_request, parse_recommendation_request
from advisor.services import scenario_estimate, scenario_search
from config.bench.measure import Figure, percentile, processor_seconds_of

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
    gc.collect()
    gc.freeze()  # as in a worker (config/gunicorn_conf.py)
    with translation.override("en"):
        for name, job in JOBS.items():
            checked = parse_recommendation_request(body_of(job))
            scenario_search(checked=checked)  # the catalogue is read and the modules are imported once per process
            walls, works = [], []
            for _turn in range(REPEATS):
                cache.clear()
                begin = time.perf_counter()
                works.append(1000 * processor_seconds_of(lambda checked=checked: scenario_search(checked=checked)))  # type: ignore[misc]
                walls.append(1000 * (time.perf_counter() - begin))
            for share, limit in ((0.5, None), (0.95, 300.0)):
                yield Figure(
                    path=("recommendation_ms", name, f"p{share * 100:.0f}"),
                    label=f"recommendation {name}, all GPUs, p{share * 100:.0f}",
                    value=percentile(walls, share),
                    unit="ms",
                    limit=limit,
                    note=f" {percentile(works, share):.0f} ms of it work",
                )
        yield from _sensitivity()


def _sensitivity() -> Iterator[Figure]:
    """Six inputs, the table of tokens by GPUs and the break points of one estimate, everything computed anew."""
    body = {
        "model": {"parameters": "70B"},
        "training": {"tokens": "1.4T"},
        "cluster": {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 512},
    }
    plain, whole = (parse_estimate_request(body | extra) for extra in ({}, {"sensitivity": True}))
    added = []
    for _turn in range(REPEATS):
        spans = []
        for checked in (plain, whole):
            cache.clear()
            spans.append(1000 * processor_seconds_of(lambda checked=checked: scenario_estimate(checked=checked)))  # type: ignore[misc]
        added.append(spans[1] - spans[0])
    yield Figure(
        path=("sensitivity_ms", "p95"),
        label="sensitivity of an estimate, p95 of work",
        value=percentile(added, 0.95),
        unit="ms",
        limit=300.0,
    )

"""Requests per second of estimates and cached answers, as shares of an empty view in the same server and run."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from urllib.parse import urlencode

from config.bench.load import LoadError, Shot, requests_per_second, serving, status_of
from config.bench.measure import Figure

EMPTY_PATH = "/api/v1/bench-empty"  # of config.bench.site, which only the measured server may import
ROUNDS = 3
ROUND_SECONDS = 3.0
ESTIMATE = {
    "model": {"parameters": "70B"},
    "training": {"tokens": "{n}e6", "sequence_length": 4096, "global_batch_size": 1024},
    "cluster": {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 512, "gpus_per_server": 8},
    "layout": {
        "tensor_parallel": 8,
        "pipeline_parallel": 4,
        "virtual_stage_count": 1,
        "context_parallel": 1,
        "expert_parallel": 1,
        "zero_stage": 1,
        "micro_batch_size": 1,
        "recomputation": "selective",
        "uses_sequence_parallel": True,
    },
}
QUERY = {"v": 1, "parameters": "70e9", "tokens": "1.4e12", "deadline_days": 30}
# name -> what is asked, its label, the share of the empty view that it must reach
SHOTS = {
    "empty": (Shot(path=EMPTY_PATH), "empty view", None),
    "estimate": (
        Shot(path="/api/v1/estimates", body=json.dumps(ESTIMATE).replace('"{n}e6"', "{n}000000")),
        "distinct estimates, layout stated",
        0.25,
    ),
    "repeated_estimate": (
        Shot(path="/api/v1/estimates", body=json.dumps(ESTIMATE).replace('"{n}e6"', "1400000000000")),
        "the same estimate again",
        0.8,
    ),
    "cached_recommendation": (
        Shot(path="/api/v1/recommendations?" + urlencode(QUERY)),
        "cached GET of a recommendation",
        0.8,
    ),
}
FIRST_TOKENS = 1_000_000  # times 1e6: 1 T tokens and upwards


def figures() -> Iterator[Figure]:
    rates: dict[str, list[float]] = {name: [] for name in SHOTS}
    with serving() as server:
        for shot, _label, _share in SHOTS.values():
            if status_of(server.port, shot) != 200:
                raise LoadError(f"{shot.path} is not answered.")
            requests_per_second(server.port, shot, ROUND_SECONDS, 1)  # each worker fills its cache
        for turn in range(ROUNDS):  # interleaved: what else the machine does hits all alike
            for name, (shot, _label, _share) in SHOTS.items():
                first = FIRST_TOKENS + turn * 1_000_000
                rates[name].append(requests_per_second(server.port, shot, ROUND_SECONDS, first))
        peak = server.worker_peak_mib()
    empty = statistics.median(rates["empty"])
    for name, (_shot, label, share) in SHOTS.items():
        rate = statistics.median(rates[name])
        yield Figure(path=("requests_per_second", name), label=label, value=rate, unit="/s")
        if share is not None:
            yield Figure(
                path=("share_of_empty_view", name),
                label="  as a share of the empty view",
                value=rate / empty,
                unit="",
                limit=share,
                is_floor=True,
            )
    yield Figure(path=("worker_peak_memory_mib",), label="  peak memory of a worker", value=peak, unit="MiB")

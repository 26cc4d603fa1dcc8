"""Times, percentiles and the shape of one measured figure."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table; `path` is its place in the JSON, `limit` what it must reach, in the same unit."""

    path: tuple[str, ...]
    label: str
    value: float | int | None
    unit: str
    limit: float | None = None
    is_floor: bool = False  # the limit is a least value, not a most
    note: str = ""

    @property
    def is_met(self) -> bool | None:
        if self.limit is None or self.value is None:
            return None
        return self.value >= self.limit if self.is_floor else self.value <= self.limit

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def seconds_of(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def processor_seconds_of(function: Callable[[], object]) -> float:
    """Time of this process's own work, whatever else the machine does meanwhile."""
    begin = time.process_time()
    function()
    return time.process_time() - begin


def best_core_seconds(function: Callable[[], object], repeats: int) -> float:
    """Time of one core, the least of several runs: what else the machine does can only add."""
    gc.collect()
    return min(processor_seconds_of(function) for _turn in range(repeats))


def best_seconds(function: Callable[[], object], repeats: int) -> float:
    return min(seconds_of(function) for _turn in range(repeats))


def percentile(values: Sequence[float], fraction: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * round(fraction * 100) // 100))
    return ordered[rank - 1]


def peak_memory_mib() -> float:
    """Largest resident size of this process so far; Linux counts in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

"""Storage of one run: data set, checkpoints, rates, and whether local drives or which shared system carries them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from advisor.answers import LineAnswer
from advisor.catalog_language import joined
from advisor.engine import storage as engine
from advisor.engine.compatibility_software import WORKLOAD_RULES
from advisor.engine.flops import adapter_parameter_count
from advisor.engine.parameters import parameter_count
from advisor.engine.reliability import assumed_number
from advisor.engine.specs import Method, ModelSpec, TrainingPlan
from advisor.engine.storage import StorageCount, StorageNeed, StorageOffer
from advisor.engine.units import BYTES_16BIT
from advisor.figures import format_gb
from advisor.network_parts import line
from advisor.parts import Parts, StoragePart

STALL_FRACTION = 0.01
# Sensor data that arrives while training runs: bytes per second; a planning value, shown with every real-time answer.
REAL_TIME_INGEST_BYTES_PER_SECOND = 1e9
LOCAL_KINDS = ("local NVMe",)
RESTART_READ_SECONDS = 300.0  # a restart should read its checkpoint within five minutes; planning value


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSizes:
    """Bytes and rates that the run needs, before any part is chosen."""

    checkpoint_bytes: float
    weight_bytes: float
    kept_count: int
    retained_bytes: float
    dataset_bytes: float | None
    bytes_per_token: float
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    interval_seconds: float | None

    @property
    def capacity_bytes(self) -> float:
        return self.retained_bytes + (self.dataset_bytes or 0.0)

    def local_bytes(self, server_count: int) -> float:
        """What one server's drives hold: all of it alone; in a cluster its share of the data and a checkpoint."""
        if server_count == 1:
            return self.capacity_bytes
        return ((self.dataset_bytes or 0.0) + self.checkpoint_bytes) / server_count


def storage_sizes(
    model: ModelSpec,
    plan: TrainingPlan,
    *,
    unique_tokens: float | None,
    tokens_per_second: float | None,
    interval_seconds: float | None,
    workload: str = "general",
    real_time: bool = False,
) -> StorageSizes:
    count = float(parameter_count(model))
    trained = float(adapter_parameter_count(model, plan)) if plan.method in (Method.LORA, Method.QLORA) else count
    checkpoint = float(engine.checkpoint_bytes(plan, count, trained))
    weight_bytes = trained * BYTES_16BIT
    kept = int(assumed_number(engine.DEFAULT_KEPT_CHECKPOINTS))
    per_token = float(engine.token_bytes(model.vocab_size)) if model.vocab_size else float(BYTES_16BIT)
    # media behind the tokens: the loader reads their bytes, not the identifiers alone
    per_token *= WORKLOAD_RULES[workload].loader_factor
    ingest = REAL_TIME_INGEST_BYTES_PER_SECOND if real_time else 0.0
    has_interval = interval_seconds is not None and math.isfinite(interval_seconds) and interval_seconds > 0
    return StorageSizes(
        checkpoint_bytes=checkpoint,
        weight_bytes=weight_bytes,
        kept_count=kept,
        retained_bytes=engine.retention_bytes(checkpoint, kept, 0, weight_bytes),
        dataset_bytes=None if unique_tokens is None else float(engine.dataset_bytes(unique_tokens, per_token)),
        bytes_per_token=per_token,
        read_bytes_per_second=(
            None
            if tokens_per_second is None
            else float(engine.loader_bytes_per_second(tokens_per_second, per_token, ingest))
        ),
        write_bytes_per_second=(
            float(engine.write_bytes_per_second(checkpoint, interval_seconds, STALL_FRACTION, True))
            if interval_seconds is not None and has_interval
            else None
        ),
        interval_seconds=interval_seconds if has_interval else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageChoice:
    system: StoragePart | None
    count: int
    answer: dict[str, Any]
    lines: tuple[LineAnswer, ...]
    missing: tuple[str, ...]


def storage_choice(
    parts: Parts,
    sizes: StorageSizes,
    *,
    server_count: int,
    local_bytes: float,
    priced_skus: frozenset[str] = frozenset(),
) -> StorageChoice:
    """Local drives for one server that holds it all, else the shared system that needs the fewest units."""
    placement = engine.storage_placement(server_count, sizes.dataset_bytes or 0.0, sizes.retained_bytes, local_bytes)
    if placement.kind == "local":
        reason = _("Local drives of %(local)s hold data set and %(kept)d checkpoints, %(needed)s.") % {
            "local": format_gb(local_bytes),
            "kept": sizes.kept_count,
            "needed": format_gb(placement.needed_bytes),
        }
        answer = _answer(sizes, "local", None, 0, reason)
        return StorageChoice(system=None, count=0, answer=answer, lines=(), missing=())
    need = StorageNeed(
        capacity_bytes=sizes.capacity_bytes,
        read_bytes_per_second=max(sizes.read_bytes_per_second or 0.0, sizes.checkpoint_bytes / RESTART_READ_SECONDS),
        write_bytes_per_second=sizes.write_bytes_per_second or 0.0,
    )
    chosen = _smallest(parts, need, priced_skus)
    why = {
        "shared_checkpoint": _("Checkpoints of several servers must outlive any one of them."),
        "dataset_exceeds_local": _("Data set and checkpoints of %(needed)s exceed the local drives of %(local)s.")
        % {"needed": format_gb(placement.needed_bytes), "local": format_gb(local_bytes)},
    }[placement.reason]
    if chosen is None:
        text = _("No storage system of the catalogue publishes capacity, read and write rate together.")
        return StorageChoice(
            system=None, count=0, answer=_answer(sizes, "distributed", None, 0, why), lines=(), missing=(text,)
        )
    system, count = chosen
    reason = joined(why, _deciding(need, system, count))
    entry = line(
        system,
        "storage",
        count.count or 1,
        reason,
        _("Capacity, read and write together; reads fast enough to reload a checkpoint within %(minutes)d minutes.")
        % {"minutes": round(RESTART_READ_SECONDS / 60)},
    )
    return StorageChoice(
        system=system,
        count=count.count or 1,
        answer=_answer(sizes, "distributed", system, count.count or 1, reason),
        lines=(entry,),
        missing=(),
    )


def _smallest(parts: Parts, need: StorageNeed, priced: frozenset[str]) -> tuple[StoragePart, StorageCount] | None:
    """System and count; fewest units first, then named by a reference build, then the least capacity to spare."""
    named = {sku for build in parts.builds.values() for sku in build.part_skus}
    found = []
    for system in parts.storage.values():
        if system.kind in LOCAL_KINDS:
            continue
        count = engine.storage_system_count(
            need,
            StorageOffer(
                sku=system.sku,
                capacity_bytes=system.capacity_bytes,
                read_bytes_per_second=system.read_bytes_per_second,
                write_bytes_per_second=system.write_bytes_per_second,
            ),
        )
        if count.count is not None:
            found.append((system, count))
    if not found:
        return None
    return min(
        found,
        key=lambda pair: (
            pair[0].sku not in priced,
            pair[1].count or 0,
            pair[0].sku not in named,
            pair[0].capacity_bytes or 0.0,
            pair[0].sku,
        ),
    )


def _deciding(need: StorageNeed, system: StoragePart, count: StorageCount) -> str:
    """The figure that decides how many, as a sentence."""
    pairs = {
        "capacity": (need.capacity_bytes, system.capacity_bytes, ""),
        "read": (need.read_bytes_per_second, system.read_bytes_per_second, "/s"),
        "write": (need.write_bytes_per_second, system.write_bytes_per_second, "/s"),
    }
    words = {"capacity": _("capacity"), "read": _("read rate"), "write": _("write rate")}
    needed, given, unit = pairs.get(count.binding, pairs["capacity"])
    return _("The %(what)s decides: %(needed)s needed, %(given)s a unit.") % {
        "what": words.get(count.binding, words["capacity"]),
        "needed": f"{format_gb(needed)}{unit}",
        "given": f"{format_gb(given or 0.0)}{unit}",
    }


def _answer(sizes: StorageSizes, placement: str, system: StoragePart | None, count: int, reason: str) -> dict[str, Any]:
    return {
        "placement": placement,
        "reason": reason,
        "dataset_bytes": sizes.dataset_bytes,
        "bytes_per_token": sizes.bytes_per_token,
        "checkpoint_bytes": sizes.checkpoint_bytes,
        "checkpoint_interval_seconds": sizes.interval_seconds,
        "write_bytes_per_second": sizes.write_bytes_per_second,
        "read_bytes_per_second": sizes.read_bytes_per_second,
        "kept_checkpoint_count": sizes.kept_count,
        "retention_bytes": sizes.retained_bytes,
        "capacity_bytes": sizes.capacity_bytes,
        "system": system.sku if system else None,
        "system_count": count,
        "system_read_bytes_per_second": system.read_bytes_per_second if system else None,
        "system_write_bytes_per_second": system.write_bytes_per_second if system else None,
        "system_basis": system.basis if system else "",
    }

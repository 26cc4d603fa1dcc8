"""The answer's sensitivity as the page draws it: a tornado of the strongest inputs, and days by tokens and GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor import figures
from advisor.templatetags.page import assumption_value

LARGE = 1_000_000  # counts below are written out: a sequence of 4,096 tokens is not 4.1K


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One end of an input's range: its value, the days it gives (None: `reason` says why), its bar in percent."""

    value: str
    days: float | None
    change: float | None
    reason: str
    start: float
    length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TornadoRow:
    label: str
    base: str
    origin: str
    source: str
    low: Side
    high: Side
    prices: tuple[Mapping[str, str] | None, Mapping[str, str] | None]

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.low, self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Tornado:
    """Bars from the expected days outwards; `base_at` is where they stand, in percent of the width."""

    rows: tuple[TornadoRow, ...]
    base_days: float
    base_at: float
    strongest: TornadoRow


def tornado(sensitivity: Mapping[str, Any] | None, origins: Mapping[str, str] | None = None) -> Tornado | None:
    """None where there is nothing to vary; `origins` are those of the list of assumptions, by name."""
    items = [item for item in (sensitivity or {}).get("inputs", ()) if item["base"]["training_days"] is not None]
    if not items:
        return None
    base = float(items[0]["base"]["training_days"])
    ends = [item[side]["training_days"] for item in items for side in ("low", "high")]
    known = [float(days) for days in ends if days is not None]
    first, last = min([base, *known]), max([base, *known])
    span = (last - first) or 1.0

    def place(days: float) -> float:
        return 100 * (days - first) / span

    rows = tuple(_row(item, base, place, (origins or {}).get(item.get("name", ""), "")) for item in items)
    return Tornado(rows=rows, base_days=base, base_at=place(base), strongest=rows[0])


def _row(item: Mapping[str, Any], base: float, place: Any, origin: str) -> TornadoRow:
    return TornadoRow(
        label=item["label"],
        base=_value(item, "base"),
        origin=origin or item.get("origin", ""),
        source=item.get("source", ""),
        low=_side(item, "low", base, place),
        high=_side(item, "high", base, place),
        prices=(item["low"]["price"], item["high"]["price"]),
    )


def _value(item: Mapping[str, Any], side: str) -> str:
    value, unit = item[side]["value"], item["unit"]
    if unit == "1":
        return figures.format_percent(value)
    if unit in {"", "tokens"} and value >= 1000:
        return figures.format_si_count(value) if value >= LARGE else figures.format_count(value)
    return assumption_value({"value": float(value), "unit": unit})


def _side(item: Mapping[str, Any], side: str, base: float, place: Any) -> Side:
    days = item[side]["training_days"]
    if days is None:
        reason = item[side].get("reason") or ""
        return Side(value=_value(item, side), days=None, change=None, reason=reason, start=0.0, length=0.0)
    low, high = sorted((place(base), place(float(days))))
    return Side(
        value=_value(item, side), days=float(days), change=float(days) - base, reason="", start=low, length=high - low
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTable:
    """Days by tokens (rows) and GPUs (columns)."""

    gpu_counts: tuple[int, ...]
    rows: tuple[tuple[float, tuple[float | None, ...]], ...]


def token_table(sensitivity: Mapping[str, Any] | None) -> TokenTable | None:
    table = (sensitivity or {}).get("tokens_by_gpu_count")
    if not table or not table["tokens"] or not table["gpu_counts"]:
        return None
    rows = zip(table["tokens"], table["training_days"], strict=True)
    return TokenTable(
        gpu_counts=tuple(table["gpu_counts"]), rows=tuple((float(tokens), tuple(days)) for tokens, days in rows)
    )

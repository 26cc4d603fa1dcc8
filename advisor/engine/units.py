"""The only home of unit factors and data-type sizes."""

from __future__ import annotations

KIBI = 2**10
MEBI = 2**20
GIBI = 2**30
KILO, MEGA, GIGA, TERA, PETA, EXA = 1e3, 1e6, 1e9, 1e12, 1e15, 1e18
BITS_PER_BYTE = 8
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_DAY = 86400.0
HOURS_PER_MONTH = 730.0  # 8760 / 12; the price files use the same
JOULES_PER_KWH = 3.6e6

BYTES_FP32 = 4
BYTES_16BIT = 2
BYTES_FP8 = 1


def bytes_per_second_from_gbit(gbit_per_second: float) -> float:
    """Bytes per second of a link rate given in Gbit/s (decimal)."""
    return gbit_per_second * GIGA / BITS_PER_BYTE

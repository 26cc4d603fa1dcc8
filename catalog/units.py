"""The catalogue files speak the datasheets' units; from here on everything is in base units."""

from __future__ import annotations

KILO, MEGA, GIGA, TERA = 10**3, 10**6, 10**9, 10**12
MEBI, GIBI = 2**20, 2**30
BITS_PER_BYTE = 8
SECONDS_PER_MINUTE, SECONDS_PER_HOUR = 60, 3600
HOURS_PER_MONTH = 730  # 8 760 h / 12; some indices count 720

"""The stored constants of the engine: read once from advisor/data/calibration.toml."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from advisor.engine.calibration import Calibration

CALIBRATION_PATH = Path(__file__).resolve().parent / "data" / "calibration.toml"


@lru_cache(maxsize=4)
def calibration_document(path: Path = CALIBRATION_PATH) -> dict[str, Any]:
    """The whole file: `constants`, and where it has them `origin`, `priors` and `residuals`."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=4)
def current_calibration(path: Path = CALIBRATION_PATH) -> Calibration:
    """The constants that every answer rests on."""
    return Calibration.from_mapping(calibration_document(path)["constants"])


@lru_cache(maxsize=4)
def prior_calibration(path: Path = CALIBRATION_PATH) -> Calibration:
    """The physical values that the fit started from and is pulled to."""
    return Calibration.from_mapping(calibration_document(path)["priors"])

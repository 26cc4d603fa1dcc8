"""Leaving sources out: rows without a say, and the upkeep of the stored folds."""

from __future__ import annotations

import json

from advisor import cross_validation
from advisor.calibration_data import current_calibration
from advisor.cross_validation import fingerprint, fold_calibrations, stored_folds


def test_stale_folds_are_not_used(tmp_path, monkeypatch):
    path = tmp_path / "folds.json"
    assert stored_folds(path) is None
    path.write_text(json.dumps({"fingerprint": "of other constants", "without": {}}))
    assert stored_folds(path) is None
    monkeypatch.setattr(cross_validation, "stored_folds", lambda: None)
    monkeypatch.setattr(cross_validation, "calibrations_without_each_source", lambda runs, report: {"anew": len(runs)})
    assert fold_calibrations() == {"anew": 1022}


def test_fresh_folds_come_back_as_constants(tmp_path):
    path = tmp_path / "folds.json"
    constants = cross_validation.asdict(current_calibration())
    path.write_text(json.dumps({"fingerprint": fingerprint(), "without": {"dgxc": constants}}))
    assert stored_folds(path) == {"dgxc": current_calibration()}

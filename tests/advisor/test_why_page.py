"""The reasons for a configuration."""

from __future__ import annotations

import pytest

from advisor.why_page import _fit_reason


@pytest.mark.parametrize(("used", "is_narrow"), [(0.5, False), (0.94, False), (0.96, True), (1.0, True)])
def test_a_fit_with_little_to_spare_is_called_so(used: float, is_narrow: bool) -> None:
    memory = {"total_bytes": used * 80e9, "available_bytes": 80e9}
    reason = _fit_reason({"estimate": {"time": {"mfu": 0.5}, "memory_per_gpu": memory}})
    assert reason is not None
    assert ("little to spare" in reason.text or "余量很小" in reason.text) is is_narrow

"""Static files are packed when they have changed, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config import static_files


@pytest.fixture
def calls(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "base.css").write_text("a {}", encoding="utf-8")
    (tmp_path / "collected").mkdir()
    settings.STATICFILES_DIRS, settings.STATIC_ROOT = [tmp_path / "static"], tmp_path / "collected"
    made: list[str] = []
    monkeypatch.setattr(static_files, "call_command", lambda name, **options: made.append(name))
    return made


def test_a_second_call_has_nothing_to_do(calls: list[str]) -> None:
    assert static_files.collect_if_changed()
    assert not static_files.collect_if_changed()
    assert calls == ["collectstatic"]


@pytest.mark.parametrize("name", ["base.css", "new.css"])
def test_a_changed_or_new_file_is_packed(name: str, calls: list[str], tmp_path: Path) -> None:
    static_files.collect_if_changed()
    (tmp_path / "static" / name).write_text("b { color: red }", encoding="utf-8")
    assert static_files.collect_if_changed()


def test_a_broken_run_begins_again(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(name: str, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(static_files, "call_command", full)
    with pytest.raises(OSError, match="No space"):
        static_files.collect_if_changed()
    monkeypatch.setattr(static_files, "call_command", lambda name, **options: calls.append(name))
    assert static_files.collect_if_changed()

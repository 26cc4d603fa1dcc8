"""The readers of the environment: what they take, and that they name the setting and the cure for what they refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("raw", "value"), [("true", True), ("ON", True), ("1", True), ("no", False), ("0", False)])
def test_a_bool_is_read(raw: str, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAG", raw)
    assert settings.env_bool("FLAG", not value) is value


@pytest.mark.parametrize("raw", ["maybe", "2", "truee"])
def test_an_unknown_bool_is_refused(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAG", raw)
    with pytest.raises(ImproperlyConfigured, match=r"FLAG is .* write true or false"):
        settings.env_bool("FLAG", False)


@pytest.mark.parametrize("raw", ["two", "1.5", "-1"])
def test_a_bad_number_is_refused(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNT", raw)
    with pytest.raises(ImproperlyConfigured, match="COUNT is"):
        settings.env_int("COUNT", 0)


def test_empty_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNT", " ")
    monkeypatch.setenv("HOSTS", " , ")
    assert settings.env_int("COUNT", 7) == 7
    assert settings.env_list("HOSTS", ["localhost"]) == ["localhost"]


def test_a_list_is_split_at_commas_and_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTS", "a.example, b.example,")
    assert settings.env_list("HOSTS", []) == ["a.example", "b.example"]


def test_a_secret_comes_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("from-the-file\n", encoding="utf-8")
    monkeypatch.setenv("KEY", "from-the-environment")
    monkeypatch.setenv("KEY_FILE", str(tmp_path / "key"))
    assert settings.env_secret("KEY") == "from-the-file"


def test_a_secret_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_FILE", str(tmp_path / "missing"))
    with pytest.raises(ImproperlyConfigured, match="KEY_FILE points at"):
        settings.env_secret("KEY")


def test_a_missing_secret_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY", raising=False)
    with pytest.raises(ImproperlyConfigured, match="KEY is not set"):
        settings.env_secret("KEY")


@pytest.mark.parametrize("scheme", ["nonsense", "mysql"])
def test_a_url_of_an_unknown_database_is_refused_without_showing_it(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_URL", f"{scheme}://user:topsecret@host/db")
    with pytest.raises(ImproperlyConfigured, match="SOME_URL is not a URL") as caught:
        settings.env_url("SOME_URL", "", settings.database_config)
    assert "topsecret" not in str(caught.value)


def test_an_unknown_time_zone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELLER_TIME_ZONE", "Asia/Atlantis")
    with pytest.raises(ImproperlyConfigured, match="SELLER_TIME_ZONE is 'Asia/Atlantis'"):
        settings.env_time_zone("SELLER_TIME_ZONE", "Asia/Shanghai")


def test_an_unknown_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "LOUD")
    with pytest.raises(ImproperlyConfigured, match="one of DEBUG, INFO, WARNING, ERROR"):
        settings.env_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))


def test_the_site_does_not_start_with_a_malformed_setting() -> None:
    result = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=os.environ | {"DEBUG": "perhaps", "SECRET_KEY": "x", "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode != 0
    assert "DEBUG is 'perhaps'; write true or false." in result.stderr


@pytest.mark.parametrize("value", ["advisor.example", "ftp://advisor.example", "https://a.example/path", "https://u@a"])
def test_an_address_that_links_cannot_start_with_is_refused(monkeypatch, value):
    monkeypatch.setenv("PUBLIC_URL", value)
    with pytest.raises(ImproperlyConfigured, match="PUBLIC_URL is"):
        settings.env_address("PUBLIC_URL", "")


def test_an_address_loses_its_last_slash(monkeypatch):
    monkeypatch.setenv("PUBLIC_URL", "https://advisor.example/")
    assert settings.env_address("PUBLIC_URL", "") == "https://advisor.example"

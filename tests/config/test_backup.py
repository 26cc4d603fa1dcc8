"""A backup brings everything back, and a damaged one changes nothing."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from config import backup
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def var_dir(tmp_path: Path, settings: Any) -> Any:
    if connection.vendor == "postgresql" and shutil.which("pg_dump") is None:
        pytest.skip("pg_dump is not installed here")
    settings.VAR_DIR = tmp_path / "var"
    (settings.VAR_DIR / "files" / "quotes").mkdir(parents=True)
    return settings.VAR_DIR


def rewrite(path: Path, change: Any) -> None:
    """The archive again, with each member's name and content passed through `change`."""
    with tarfile.open(path, "r:gz") as tar:
        members = [(item, tar.extractfile(item).read()) for item in tar if item.isreg()]  # type: ignore[union-attr]
    with tarfile.open(path, "w:gz") as tar:
        for item, content in members:
            item.name, content = change(item.name, content)
            item.size = len(content)
            tar.addfile(item, io.BytesIO(content))


def test_a_restore_brings_rows_and_files_back(var_dir: Path, tmp_path: Path) -> None:
    factories.alice()
    (var_dir / "files" / "quotes" / "q1.pdf").write_bytes(b"%PDF first")
    archive = tmp_path / "archive.tar.gz"
    call_command("backup", str(archive), stdout=io.StringIO())
    assert archive.stat().st_mode & 0o777 == 0o600

    User.objects.all().delete()
    factories.bob()
    (var_dir / "files" / "quotes" / "q1.pdf").write_bytes(b"%PDF overwritten")
    (var_dir / "files" / "quotes" / "q2.pdf").write_bytes(b"%PDF later")
    call_command("restore", str(archive), yes=True, stdout=io.StringIO())

    assert list(User.objects.values_list("username", flat=True)) == ["alice"]
    assert User.objects.get().check_password(factories.PASSWORD)
    assert (var_dir / "files" / "quotes" / "q1.pdf").read_bytes() == b"%PDF first"
    assert not (var_dir / "files" / "quotes" / "q2.pdf").exists()
    factories.carol()  # the sequences continue after the restored rows


def test_the_default_name_has_the_time_and_lies_in_var(var_dir: Path) -> None:
    call_command("backup", stdout=io.StringIO())
    (archive,) = (var_dir / "backups").glob("20*.tar.gz")
    assert [path.name for path in (var_dir / "backups").iterdir()] == [archive.name], "nothing half-written stays"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda name, content: (name, content[:-9] if name == "database" else content), "does not match its manifest"),
        (lambda name, content: (name.replace("database", "../outside"), content), "which no backup has"),
        (
            lambda name, content: (
                name,
                content if name != "manifest.json" else json.dumps(json.loads(content) | {"vendor": "oracle"}).encode(),
            ),
            "holds a oracle database",
        ),
    ],
    ids=["damaged", "escaping", "other database"],
)
def test_a_faulty_archive_changes_nothing(change: Any, message: str, tmp_path: Path) -> None:
    factories.alice()
    archive = backup.backup_create(path=tmp_path / "a.tar.gz", now=factories.NOON)
    rewrite(archive, change)
    factories.bob()
    with pytest.raises(CommandError, match=message):
        call_command("restore", str(archive), yes=True)
    assert User.objects.count() == 2


def test_a_cut_archive_changes_nothing(tmp_path: Path) -> None:
    factories.alice()
    archive = backup.backup_create(path=tmp_path / "a.tar.gz", now=factories.NOON)
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(CommandError, match="not a complete backup"):
        call_command("restore", str(archive), yes=True)
    assert User.objects.count() == 1


def test_a_restore_without_a_terminal_needs_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    with pytest.raises(CommandError, match="--yes"):
        call_command("restore", str(tmp_path / "a.tar.gz"))


def test_a_full_disk_leaves_no_archive(var_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "add", full)
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", str(tmp_path / "out" / "a.tar.gz"))
    assert list((tmp_path / "out").iterdir()) == []

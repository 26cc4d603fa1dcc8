"""One archive of the database and the attachments, and the way back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "database"
FILES = "files"


class BackupError(Exception):
    """What stops a backup or a restore, as a sentence."""


def files_folder() -> Path:
    """Where attachments and issued documents lie, if they lie on a disk."""
    return Path(settings.VAR_DIR) / FILES


def backup_create(*, path: Path, now: datetime) -> Path:
    """Writes the archive beside its name first, so that a broken run leaves no half archive under it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        dump, archive = Path(folder) / DATABASE, Path(folder) / "archive.tar.gz"
        dump_database(dump)
        manifest = {
            "format": FORMAT,
            "vendor": connection.vendor,
            "created": now.isoformat(),
            "database_sha256": file_hash(dump),
            "migrations": sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations()),
        }
        (Path(folder) / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(Path(folder) / MANIFEST, MANIFEST)
            tar.add(dump, DATABASE)
            if files_folder().is_dir():
                tar.add(files_folder(), FILES)
        archive.chmod(0o600)
        archive.replace(path)
    return path


def backup_restore(*, path: Path) -> dict[str, Any]:
    """Puts an archive back once it has been read to its end; returns its manifest."""
    with tempfile.TemporaryDirectory(dir=settings.VAR_DIR) as name:
        folder = Path(name)
        manifest = unpack(path, folder)
        connections.close_all()
        load_database(folder / DATABASE)
        if (folder / FILES).is_dir():
            old = folder / "old-files"
            if files_folder().exists():
                files_folder().rename(old)
            (folder / FILES).rename(files_folder())
    return manifest


def unpack(path: Path, folder: Path) -> dict[str, Any]:
    """Plain files only, all below the folder; refuses an archive that is damaged or of another kind of database."""
    try:
        with tarfile.open(path, "r:gz") as tar:
            for member in tar:
                inside = PurePosixPath(member.name)
                if member.isdir():
                    continue
                if not member.isreg() or inside.is_absolute() or ".." in inside.parts:
                    raise BackupError(f"{path} holds {member.name!r}, which no backup has.")
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                assert source is not None  # noqa: S101 - a regular member always has content; this is for the type
                with target.open("wb") as out:
                    shutil.copyfileobj(source, out)
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, EOFError, tarfile.TarError, ValueError) as error:
        raise BackupError(f"{path} is not a complete backup: {error}.") from None
    if manifest.get("format") != FORMAT or manifest.get("database_sha256") != file_hash(folder / DATABASE):
        raise BackupError(f"{path} is damaged: its database does not match its manifest.")
    if manifest["vendor"] != connection.vendor:
        raise BackupError(f"{path} holds a {manifest['vendor']} database, this site uses {connection.vendor}.")
    return manifest


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def dump_database(path: Path) -> None:
    if connection.vendor == "sqlite":
        # the backup API takes a consistent copy while others write
        with closing(sqlite3.connect(database_name())) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
    else:
        run_postgres("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={path}")


def load_database(path: Path) -> None:
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(database_name(), timeout=20)) as target:
            source.backup(target)
    else:
        run_postgres(
            "pg_restore", "--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", str(path)
        )


def database_name() -> str:
    return str(connection.settings_dict["NAME"])


def run_postgres(program: str, *arguments: str) -> None:
    """PostgreSQL's own programs; the password goes by the environment, where no process list shows it."""
    executable = shutil.which(program)
    if executable is None:
        raise BackupError(f"{program} is not installed: apt-get install postgresql-client")
    values = connection.settings_dict
    environment = os.environ | {
        "PGHOST": str(values["HOST"] or ""),
        "PGPORT": str(values["PORT"] or ""),
        "PGUSER": str(values["USER"] or ""),
        "PGPASSWORD": str(values["PASSWORD"] or ""),
    }
    environment = {name: value for name, value in environment.items() if value or not name.startswith("PG")}
    result = subprocess.run(  # noqa: S603 - a fixed program with our own arguments
        [executable, f"--dbname={database_name()}", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise BackupError(f"{program} failed: {result.stderr.strip()[-500:]}")

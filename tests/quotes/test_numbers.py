"""Numbers under load: distinct and consecutive with many issuing at once and one killed in the middle."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from quotes.models import NumberSeries
from quotes.numbers import check_series
from quotes.services import quote_issue
from tests.quotes.drafts import make_draft

ROOT = Path(__file__).resolve().parents[2]
COUNT = 50
SERVER_URL = os.environ.get("TEST_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/test")


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tests.quotes.issue_many", *map(str, arguments)]


def _run(database_url: str, *arguments: object) -> str:
    environment = os.environ | {"DATABASE_URL": database_url, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        _command(*arguments), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _start(database_url: str, *arguments: object) -> subprocess.Popen[str]:
    environment = os.environ | {"DATABASE_URL": database_url, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        _command(*arguments), cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def sqlite_url(tmp_path, django_db_setup):
    """A copy of the test database, so that nothing is migrated anew."""
    if connection.vendor != "sqlite":
        pytest.skip("tried in the run on SQLite")
    target = tmp_path / "quotes.sqlite3"
    with (
        closing(sqlite3.connect(connection.settings_dict["NAME"])) as migrated,
        closing(sqlite3.connect(target)) as own,
    ):
        migrated.backup(own)
    return f"sqlite:///{target}"


@pytest.fixture
def postgresql_urls():
    """Two databases, migrated once."""
    import psycopg

    names = [f"quotes_{uuid.uuid4().hex[:12]}" for _ in range(2)]
    urls = [f"{SERVER_URL.rsplit('/', 1)[0]}/{name}" for name in names]
    try:
        server = psycopg.connect(SERVER_URL, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        pytest.skip(f"no PostgreSQL answers at {SERVER_URL}")
    with server:
        server.execute(f'CREATE DATABASE "{names[0]}"')
        try:
            _run(urls[0], "migrate")
            server.execute(f'CREATE DATABASE "{names[1]}" TEMPLATE "{names[0]}"')
            yield urls
        finally:
            for name in names:
                server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _check_fifty_and_a_kill(url: str) -> None:
    """51 drafts: the worker of one is killed while it holds a number; then 50 are issued at once by two processes."""
    killed = _start(url, "prepare", COUNT + 1, "hang", COUNT)
    assert killed.stdout is not None
    held = killed.stdout.readline().strip()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert held.endswith("-000001"), killed.stderr.read()[-2000:] if killed.stderr else ""

    workers = [_start(url, "issue", 0, COUNT // 2), _start(url, "issue", COUNT // 2, COUNT)]
    outcomes = [worker.communicate(timeout=240) for worker in workers]
    for output, errors in outcomes:
        assert output, errors[-2000:]
        assert json.loads(output)["failures"] == []

    # the killed one is whole, and gets the next number
    told = _run(url, "report", "issue", COUNT, COUNT + 1, "report")
    found, last = (json.loads(report) for report in (told[: told.index("}{")] + "}", told[told.rindex('{"states"') :]))
    year = held.split("-")[1]
    expected = [f"Q-{year}-{value:06d}" for value in range(1, COUNT + 1)]
    assert sorted(number for number in found["numbers"] if number) == expected
    assert found["numbers"] == found["quote_numbers"]
    assert sorted(found["snapshot_numbers"]) == expected
    assert found["documents"] == {number: f"%PDF {number}" for number in expected}
    assert found["states"] == ["issued"] * COUNT + ["draft"]
    assert found["next"] == COUNT + 1

    assert last["numbers"][COUNT] == f"Q-{year}-{COUNT + 1:06d}"


def _check_killed_at_every_point(url: str) -> None:
    """Six drafts, six workers killed at six moments: nothing half done, and then 1 to 6 without gap or duplicate."""
    told = _run(url, "prepare", 6, "kills", "report").split("\n")
    year = datetime.now(ZoneInfo("Asia/Shanghai")).year
    assert told[:6] == [
        "held draft -",
        "rendering draft -",
        "taken draft -",
        "stored draft -",
        "logged draft -",
        f"committed issued Q-{year}-000001",
    ]
    found = json.loads(told[6])
    expected = [f"Q-{year}-{value:06d}" for value in range(1, 7)]
    assert sorted(found["numbers"]) == expected == sorted(found["documents"])
    assert found["documents"] == {number: f"%PDF {number}" for number in expected}
    assert found["is_whole"] is True


def test_killed_at_every_point_on_sqlite(sqlite_url):
    _check_killed_at_every_point(sqlite_url)


class TestCheck:
    @pytest.fixture
    def issued(self, as_alice):
        return [
            quote_issue(actor=as_alice, revision=make_draft(as_alice), render=lambda content: b"%PDF") for _ in range(3)
        ]

    def test_a_whole_series(self, issued):
        (report,) = check_series()
        assert (report.issued_count, report.next_value, report.is_whole) == (3, 4, True)
        call_command("check_numbers", stdout=io.StringIO())

    def test_a_gap_and_a_number_beyond_the_counter_are_listed(self, issued):
        series = NumberSeries.objects.get()
        series.next_value = 6
        series.save()
        (report,) = check_series()
        assert (report.gaps, report.is_whole) == ((4, 5), False)
        with pytest.raises(CommandError):
            call_command("check_numbers", stdout=io.StringIO())
        series.next_value = 3
        series.save()
        (report,) = check_series()
        assert report.beyond_counter == (issued[2].number,)

    def test_no_series_is_whole(self, db):
        assert check_series() == []


def test_fifty_at_once_and_a_killed_worker_on_sqlite(sqlite_url):
    _check_fifty_and_a_kill(sqlite_url)


@pytest.mark.slow
def test_fifty_at_once_and_killed_at_every_point_on_postgresql(postgresql_urls):
    _check_fifty_and_a_kill(postgresql_urls[0])
    _check_killed_at_every_point(postgresql_urls[1])

"""Fixtures of every area. The real loader fills the catalogue once per test database, for the tests that ask for it."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.utils import translation
from hypothesis import HealthCheck, settings

from advisor.api.repeats import GIVEN
from catalog import frozen_books
from catalog.revisions import NO_REVISION, current_revision
from quotes import frozen_database

# The same examples in every run, and no verdict by the clock of a busy machine.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

CATALOG_FIXTURES = {"catalog", "loaded_catalog"}
TRANSACTIONAL_FIXTURES = {
    "transactional_db",
    "live_server",
    "django_db_reset_sequences",
    "django_db_serialized_rollback",
}


def is_transactional(item: pytest.Item) -> bool:
    """Whether the test commits, after which pytest-django empties every table."""
    marker = item.get_closest_marker("django_db")
    return bool(TRANSACTIONAL_FIXTURES & set(getattr(item, "fixturenames", ()))) or bool(
        marker and marker.kwargs.get("transaction")
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on an empty catalogue first, then those on the loaded one, then those that commit.

    Within each the slow ones first, so that no worker is left with a long one while the others have finished.
    """

    def turn(item: pytest.Item) -> tuple[int, bool]:
        is_quick = item.get_closest_marker("slow") is None
        if is_transactional(item):
            return 2, is_quick
        return (1 if CATALOG_FIXTURES & set(getattr(item, "fixturenames", ())) else 0), is_quick

    items.sort(key=turn)  # stable: otherwise in the order of the files


@pytest.fixture(scope="session", autouse=True)
def _tables_can_be_emptied() -> Iterator[None]:
    """Tests that commit leave empty tables behind; on SQLite the triggers against deletion stand aside for that.

    PostgreSQL truncates, which row triggers do not see.
    """
    if connection.vendor != "sqlite":
        yield
        return
    operations = type(connection.ops)
    flush = operations.execute_sql_flush

    def flush_without_triggers(self, sql_list: list[str]) -> None:
        with self.connection.schema_editor() as editor:
            for frozen in (frozen_books, frozen_database):
                frozen.remove(apps, editor)
        flush(self, sql_list)
        with self.connection.schema_editor() as editor:
            for frozen in (frozen_books, frozen_database):
                frozen.install(apps, editor)

    operations.execute_sql_flush = flush_without_triggers
    yield
    operations.execute_sql_flush = flush


def load_catalog_if_empty() -> None:
    if current_revision() == NO_REVISION:
        call_command("load_catalog", stdout=io.StringIO())


@pytest.fixture(scope="session")
def loaded_catalog(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> None:
    """The whole catalogue, committed once per test database by the loader that the site uses."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        load_catalog_if_empty()


@pytest.fixture
def catalog(request: pytest.FixtureRequest, loaded_catalog: None, db: None) -> None:
    """The catalogue is loaded. Changes that a test makes to it are rolled back."""
    if is_transactional(request.node):  # the test before it emptied the tables
        load_catalog_if_empty()


@pytest.fixture(autouse=True)
def _clean_surroundings() -> Iterator[None]:
    """No test sees the cache or the language that another one left."""
    cache.clear()
    GIVEN.clear()
    yield
    translation.deactivate()

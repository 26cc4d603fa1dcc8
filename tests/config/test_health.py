"""/healthz and /readyz."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client

from config import checks, health


def test_healthz_needs_no_database(client: Client) -> None:
    # without the db fixture pytest-django refuses every query
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert "no-store" in response["Cache-Control"]


def test_readyz_is_green_with_a_loaded_catalogue(client: Client, catalog: None) -> None:
    response = client.get("/readyz")
    assert response.json() == {
        "status": "ok",
        "checks": {"database": "ok", "migrations": "ok", "catalog": "ok", "fonts": "ok", "cache": "ok"},
    }
    assert response.status_code == 200


@pytest.mark.django_db
def test_readyz_is_red_on_an_empty_catalogue_and_says_what_to_run(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["catalog"] == "the catalogue is empty; run manage.py load_catalog"


def test_readyz_is_red_when_the_database_is_down(
    client: Client, catalog: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError("connection to server at 10.0.0.7 failed")

    with monkeypatch.context() as broken:  # whole again before pytest-django rolls back
        broken.setattr(connection, "cursor", refuse)
        response = client.get("/readyz")
    assert response.status_code == 503
    checks_of = response.json()["checks"]
    assert checks_of["database"] == "the database does not answer (OperationalError)"
    assert checks_of["catalog"].startswith("not checked")
    assert "10.0.0.7" not in response.text, "the driver's words may name hosts"


def test_readyz_is_red_while_a_migration_is_missing(
    client: Client, catalog: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_migrated_databases", set())
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'catalog'")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "catalog." in response.json()["checks"]["migrations"]


def test_readyz_is_red_without_the_fonts(client: Client, catalog: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "FONT_FILES", ("NotoSansSC-Regular.ttf", "Missing.ttf"))
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["fonts"] == "missing in static/fonts: Missing.ttf"


def test_a_missing_font_is_an_error_of_the_system_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "FONT_FILES", ("Missing.ttf",))
    (message,) = checks.fonts_present()
    assert message.id == "config.E001"


def test_missing_pdf_libraries_are_a_warning_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    (message,) = checks.pdf_libraries_present()
    assert message.id == "config.W001"
    assert message.hint == "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"


def test_the_fonts_that_are_checked_are_those_that_are_shipped() -> None:
    folder = settings.BASE_DIR / "static" / "fonts"
    assert {path.name for path in folder.glob("*.ttf")} == set(checks.FONT_FILES)

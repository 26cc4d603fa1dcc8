"""/healthz says that the process lives; /readyz says whether it can serve, and if not, why."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.revisions import NO_REVISION, current_revision
from config.checks import missing_fonts

_migrated_databases: set[str] = set()


def database_fault() -> str | None:
    """A query that answers; the driver's own words may name hosts, so only their kind is told."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return f"the database does not answer ({type(error).__name__})"
    return None


def migrations_fault() -> str | None:
    """Unapplied migrations. A complete plan stays complete while the process lives, so it is worked out once."""
    if connection.alias in _migrated_databases:
        return None
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _backwards in plan[:5])
        return f"{len(plan)} migrations are not applied, first {names}; run manage.py migrate"
    _migrated_databases.add(connection.alias)
    return None


def catalog_fault() -> str | None:
    is_empty = current_revision() == NO_REVISION
    return "the catalogue is empty; run manage.py load_catalog" if is_empty else None


def fonts_fault() -> str | None:
    missing = missing_fonts()
    return f"missing in static/fonts: {', '.join(missing)}" if missing else None


def cache_fault() -> str | None:
    """Only a shared cache can be down; the one in memory cannot."""
    if not settings.REDIS_URL:
        return None
    try:
        cache.set("readyz", "1", 10)
    except Exception as error:  # whichever error the cache's client raises, the answer is the same
        return f"the cache does not answer ({type(error).__name__})"
    return None


# In this order: without a database the next two could only fail in a less telling way.
CHECKS: dict[str, Callable[[], str | None]] = {
    "database": database_fault,
    "migrations": migrations_fault,
    "catalog": catalog_fault,
    "fonts": fonts_fault,
    "cache": cache_fault,
}
NEED_DATABASE = {"migrations", "catalog"}


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when every check passes, else 503 with the reason of each that does not."""
    faults: dict[str, str] = {}
    for name, check in CHECKS.items():
        if name in NEED_DATABASE and faults.keys() & {"database", "migrations"}:
            faults[name] = "not checked: " + faults.get("migrations", faults.get("database", ""))
            continue
        try:
            fault = check()
        except DatabaseError as error:
            fault = f"the database refused a query ({type(error).__name__})"
        if fault:
            faults[name] = fault
    body = {
        "status": "unavailable" if faults else "ok",
        "checks": {name: faults.get(name, "ok") for name in CHECKS},
    }
    return JsonResponse(body, status=503 if faults else 200)

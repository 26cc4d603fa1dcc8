"""Settings of the test suite: an own database, plain static files, a fast hasher, mail and cache in memory."""

from __future__ import annotations

import os

os.environ["SECRET_KEY"] = "tests-only-not-a-secret"
os.environ["DEBUG"] = "false"
# Not from .env: a test run must not depend on the settings of the machine, only on what its caller exports.
os.environ.setdefault("DATABASE_URL", "sqlite://:memory:")
for name in (
    "REDIS_URL",
    "EMAIL_URL",
    "HTTPS",
    "ALLOWED_HOSTS",
    "NUM_PROXIES",
    "API_REQUESTS_PER_MINUTE",
    "SELLER_TIME_ZONE",
):
    os.environ[name] = ""
# The name of this run: its worker processes inherit it, while another run at the same time has its own.
RUN = os.environ.setdefault("TEST_RUN", f"{os.getpid()}_{os.urandom(3).hex()}")

from config.settings import *  # noqa: E402, F403
from config.settings import DATABASES, STORAGES, VAR_DIR  # noqa: E402

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, as in production: threads and processes then meet real locks, which a database in memory does not have.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / f"test_{RUN}.sqlite3")}
else:
    DATABASES["default"]["TEST"] = {"NAME": f"test_{DATABASES['default']['NAME']}_{RUN}"}

DATABASES["default"]["CONN_MAX_AGE"] = 0  # threads of a test must leave nothing open
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
API_REQUESTS_PER_MINUTE = 0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# live_server has no collected manifest; hashed names would be 404
STORAGES = STORAGES | {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

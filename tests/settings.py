"""Settings of the test suite: plain static files, a fast password hasher, mail and cache in memory."""

from __future__ import annotations

import os

os.environ.setdefault("SECRET_KEY", "tests-only-not-a-secret")
os.environ.setdefault("DEBUG", "false")

from config.settings import *  # noqa: E402, F403
from config.settings import STORAGES, VAR_DIR  # noqa: E402

ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# live_server has no collected manifest; hashed names would be 404
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
VAR_DIR.mkdir(exist_ok=True)

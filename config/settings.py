"""All settings, read from the environment and from a git-ignored .env; unknown or malformed values fail at start."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from advisor.engine import ENGINE_VERSION as ENGINE_VERSION  # every API answer names it, the catalogue's too

BASE_DIR = Path(__file__).resolve().parent.parent
environ.Env.read_env(str(BASE_DIR / ".env"))


def env_text(name: str, default: str) -> str:
    """Value of NAME; set but empty counts as not set."""
    return os.environ.get(name, "").strip() or default


def env_secret(name: str, default: str | None = None) -> str:
    """Value of NAME, or the content of the file that NAME_FILE points at (for container secrets)."""
    file_name = os.environ.get(f"{name}_FILE", "").strip()
    if file_name:
        try:
            return Path(file_name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{name}_FILE points at {file_name!r}, which cannot be read: {error}.") from None
    value = env_text(name, default or "")
    if not value and default is None:
        raise ImproperlyConfigured(f"{name} is not set. Run ./dev setup, which writes .env, or set {name}.")
    return value


def env_bool(name: str, default: bool) -> bool:
    raw = os.environ.get(name, "").strip().lower()
    if raw == "":
        return default
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} is {raw!r}; write true or false.")


def env_int(name: str, default: int) -> int:
    raw = os.environ.get(name, "").strip()
    try:
        value = int(raw) if raw else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} is {raw!r}; write a whole number.") from None
    if value < 0:
        raise ImproperlyConfigured(f"{name} is {value}; write a number of at least 0.")
    return value


def env_list(name: str, default: list[str]) -> list[str]:
    return [item.strip() for item in os.environ.get(name, "").split(",") if item.strip()] or default


def env_address(name: str, default: str) -> str:
    """An http(s) address without path, as links outside the site start."""
    value = env_text(name, default).rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path or parts.query or parts.username:
        raise ImproperlyConfigured(f"{name} is {value!r}; write an address such as https://advisor.example.")
    return value


def env_time_zone(name: str, default: str) -> str:
    value = env_text(name, default)
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError):
        raise ImproperlyConfigured(f"{name} is {value!r}; write a name such as Asia/Shanghai.") from None
    return value


def env_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = env_text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name} is {value!r}; write one of {', '.join(choices)}.")
    return value


ENGINES = {"django.db.backends.sqlite3", "django.db.backends.postgresql"}


def database_config(url: str) -> dict[str, Any]:
    config: dict[str, Any] = environ.Env.db_url_config(url)
    if config.get("ENGINE") not in ENGINES:
        raise ValueError("neither SQLite nor PostgreSQL")
    return config


def env_url(name: str, default: str, reader: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """A URL with credentials; the message on a faulty one names the setting and never shows the value."""
    try:
        return reader(env_secret(name, default))
    except (ImproperlyConfigured, KeyError, ValueError, TypeError):
        raise ImproperlyConfigured(f"{name} is not a URL that can be used; .env.example shows the forms.") from None


# Everything that a run leaves behind: database, collected static files, attachments, font cache.
VAR_DIR = Path(env_text("VAR_DIR", str(BASE_DIR / ".var")))
VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)

LOCAL_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
DEBUG = env_bool("DEBUG", False)
SECRET_KEY = env_secret("SECRET_KEY")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", LOCAL_HOSTS)
NUM_PROXIES = env_int("NUM_PROXIES", 0)
# Off where only this machine can ask; a public host without HTTPS must say so with HTTPS=false.
HTTPS = env_bool("HTTPS", not DEBUG and not set(ALLOWED_HOSTS) <= set(LOCAL_HOSTS))
# What links in mails, on paper and in embedding pages start with.
PUBLIC_URL = env_address("PUBLIC_URL", f"http://127.0.0.1:{env_int('PORT', 8000)}")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "config.apps.SiteStaticFiles",
    "rest_framework",
    "drf_spectacular",
    "django_filters",
    "django_htmx",
    "template_partials",
    "csp",
    "config.apps.ConfigConfig",
    "catalog.apps.CatalogConfig",
    "advisor.apps.AdvisorConfig",
    "quotes.apps.QuotesConfig",
]

MIDDLEWARE = [
    "config.middleware.RequestIdMiddleware",
    "config.api_middleware.PublicApiMiddleware",
    "advisor.api.repeats.RepeatedAnswerMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.LanguageMiddleware",
    "config.overload.OverloadMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

# A process works on this many requests at a time; the rest wait, and after QUEUE_SECONDS are told to come back (503).
CONCURRENT_REQUESTS = env_int("CONCURRENT_REQUESTS", 4)
QUEUE_SECONDS = env_int("QUEUE_SECONDS", 5)

CSRF_FAILURE_VIEW = "config.errors.csrf_failure"
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.context.site",
            ],
            "builtins": ["template_partials.templatetags.partials", "django.templatetags.i18n"],
        },
    }
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": env_url("DATABASE_URL", f"sqlite:///{VAR_DIR / 'db.sqlite3'}", database_config)
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # WAL lets readers work beside one writer; IMMEDIATE takes the write lock at BEGIN, so that a transaction
    # waits for its turn instead of failing with "database is locked" when it first writes. With recursive triggers a
    # row that REPLACE puts aside is refused like one that DELETE names.
    DATABASES["default"]["OPTIONS"] = {
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA recursive_triggers=ON;",
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
    }
# opening a connection costs more than most requests do
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql"

REDIS_URL = env_secret("REDIS_URL", "")
# A recommendation takes about 140 kB of a process, and 70 kB more as the API sends it: 400 entries are at most some
# 50 MB a process. When the number is reached, Django drops a third of them.
CACHES: dict[str, dict[str, Any]] = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
        if REDIS_URL
        else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 400}}
    )
}

globals().update(env_url("EMAIL_URL", "consolemail://", environ.Env.email_url_config))  # EMAIL_BACKEND, EMAIL_HOST ...
DEFAULT_FROM_EMAIL = env_text("DEFAULT_FROM_EMAIL", "quotes@localhost")
# Who is told of new requests; none given: every sales manager.
DESK_EMAIL = env_list("DESK_EMAIL", [])
# How long the name and address of who asked for a quote are kept; the page of the request says it.
REQUEST_RETENTION_DAYS = env_int("REQUEST_RETENTION_DAYS", 730)

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/quotes/"
LOGOUT_REDIRECT_URL = "/"

LANGUAGE_CODE = "zh-hans"
LANGUAGES = [("zh-hans", "中文"), ("en", "English")]
LANGUAGE_COOKIE_NAME = "lang"
# one folder an area, each with its own django.po, so that an area's words stand together
LOCALE_AREAS = (
    *("site", "page", "input", "answer", "catalog", "quotes"),
    *("spreadsheets", "parts", "approval", "paper", "outside", "sensitivity"),
)
LOCALE_PATHS = [BASE_DIR / "config" / "locale" / area for area in LOCALE_AREAS]
# The seller's: a quote is valid through the end of its printed day there.
TIME_ZONE = env_time_zone("SELLER_TIME_ZONE", "Asia/Shanghai")
USE_TZ = True
# Money and figures have one formatter of our own: the zh-hans locale has no thousands separator.
USE_THOUSAND_SEPARATOR = False

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # whitenoise warns of a missing one; collectstatic fills it
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # nothing asks for the others, and packing them takes as long again
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": VAR_DIR / "files"}},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # probes come from inside, over plain HTTP
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if NUM_PROXIES else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000  # the editor of a quote with the most lines sends some 7,000

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
    }
}

API_REQUEST_LIMIT_BYTES = 65_536
# Requests a minute from one address; 0 means no limit, as on a developer's own machine.
API_REQUESTS_PER_MINUTE = env_int("API_REQUESTS_PER_MINUTE", 0 if DEBUG else 1200)
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["config.api_parsers.StrictJSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
    "EXCEPTION_HANDLER": "config.api_errors.problem_response",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "config.api_pagination.Pages",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "PAGE_SIZE": 50,
    "NUM_PROXIES": NUM_PROXIES,
    "DEFAULT_THROTTLE_CLASSES": ["config.api_throttle.PerMinute"],
    "COERCE_DECIMAL_TO_STRING": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "GPU cluster advisor",
    "DESCRIPTION": "Sizing of GPU clusters for training: memory, step time, training days, parts and prices.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "quotes.api.schemas.add_quote_components",
        "advisor.api.schemas.add_components",
        "advisor.api.market_schemas.add_market_components",
    ],
}

LOG_LEVEL = env_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "config.log.RequestIdFilter"}},
    "formatters": {"line": {"format": "{asctime} {levelname} {request_id} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request_id"]}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # a line for every step of every document is no news
    "loggers": {name: {"level": "WARNING"} for name in ("weasyprint", "fontTools")},
}

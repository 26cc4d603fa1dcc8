"""What must hold before the site stands on a server: locked versions, a clean deploy check, headers that protect."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [
    Requirement(line)
    for line in PROJECT["dependencies"] + [r for rs in PROJECT["optional-dependencies"].values() for r in rs]
]
# set for the tests in this process, by their settings and for the browser
OF_TESTS = {"TEST_RUN", "DJANGO_ALLOW_ASYNC_UNSAFE"}
PRODUCTION = {
    "DEBUG": "false",
    "HTTPS": "true",
    "ALLOWED_HOSTS": "advisor.example",
    "SECRET_KEY": "zK2-only-for-this-test-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFG",
    "DJANGO_SETTINGS_MODULE": "config.settings",
}


def lock_entries() -> dict[str, tuple[str, int]]:
    """Name -> (pinned version, number of hashes) of requirements.txt."""
    entries: dict[str, tuple[str, int]] = {}
    name = ""
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([A-Za-z0-9][\w.-]*)(?:\[[\w,-]+\])?==([^\s;\\]+)", line):
            name = canonicalize_name(found[1])
            entries[name] = (found[2], 0)
        elif "--hash=sha256:" in line:
            entries[name] = (entries[name][0], entries[name][1] + 1)
    return entries


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.name)
def test_installed_and_locked_versions_are_in_the_stated_range(requirement: Requirement) -> None:
    locked, _hashes = lock_entries()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(locked), f"requirements.txt pins {requirement.name}=={locked}"
    installed = importlib.metadata.version(requirement.name)
    assert requirement.specifier.contains(installed), f"installed: {requirement.name}=={installed}"


def test_every_locked_package_has_hashes() -> None:
    entries = lock_entries()
    assert len(entries) > len(REQUIREMENTS)
    assert not [name for name, (_version, hashes) in entries.items() if not hashes]


def test_requirements_have_a_floor_and_a_ceiling() -> None:
    for requirement in REQUIREMENTS:
        operators = {specifier.operator for specifier in requirement.specifier}
        assert {">=", "<"} <= operators, str(requirement)


def test_the_python_in_use_is_one_of_those_promised() -> None:
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(
        str(Version(".".join(map(str, sys.version_info[:3]))))
    )


def run_manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in OF_TESTS} | PRODUCTION | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_check_deploy_is_clean() -> None:
    result = run_manage("check", "--deploy", "--fail-level", "WARNING")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "no issues" in result.stdout + result.stderr


def test_check_deploy_would_complain_without_https() -> None:
    result = run_manage("check", "--deploy", "--fail-level", "WARNING", HTTPS="false")
    assert result.returncode != 0
    assert "security.W008" in result.stderr, "the clean check must be able to fail"


def directives(policy: str) -> dict[str, list[str]]:
    parts = [part.split() for part in policy.split(";") if part.strip()]
    return {name: values for name, *values in parts}


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/accounts/login/", "/nowhere", "/api/v1/nowhere", "/admin/"])
def test_every_answer_carries_the_protecting_headers(client: Client, path: str) -> None:
    response = client.get(path)
    policy = directives(response["Content-Security-Policy"])
    assert "unsafe-" not in response["Content-Security-Policy"]
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["style-src"] == ["'self'"]
    assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"]
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert re.fullmatch(r"[0-9a-f]{32}", response["X-Request-Id"])


def test_templates_need_no_inline_script_or_style() -> None:
    """The policy would block them silently; here the file and line are named."""
    inline = re.compile(
        r"<script(?![^>]*\bsrc=)[^>]*>|<style\b|\sstyle=|\son[a-z]+=|\shx-on|javascript:", re.IGNORECASE
    )
    allowed = re.compile(r'<script[^>]*type="application/json"')
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        if "pdf" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if inline.search(line) and not allowed.search(line)
    ]
    assert not faults, "\n".join(faults)


def test_cookies_are_protected() -> None:
    assert settings.SESSION_COOKIE_HTTPONLY
    code = (
        "from config import settings as s; "
        "print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS >= 31536000)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | PRODUCTION,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout.split() == ["True"] * 4


def test_no_secret_stands_in_the_repository() -> None:
    """Keys come from the environment; what .env and .demo-login hold is never committed."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {".env", ".demo-login", ".var/"} <= set(ignored)
    source = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
    assert not re.search(r'SECRET_KEY\s*=\s*["\']', source)

"""Known faults of the locked packages, asked of a service that speaks the OSV protocol."""

from __future__ import annotations

import json
import re
import urllib.request
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_SECONDS = 10
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[\w,-]+\])?==([^\s;\\]+)", re.MULTILINE)


class UnreachableError(Exception):
    """The service gave no answer that can be read; nothing is known either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    name: str
    version: str
    faults: tuple[str, ...]  # identifiers, such as CVE or GHSA numbers


def pinned(lock: Path) -> list[tuple[str, str]]:
    """Name and version of every package of a lock file."""
    return PIN.findall(lock.read_text(encoding="utf-8"))


def findings(packages: list[tuple[str, str]], service: str) -> list[Finding]:
    """Packages with known faults. One request for all; UnreachableError when there is no answer."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages]
    request = urllib.request.Request(  # noqa: S310 - the address is the operator's own setting
        f"{service.rstrip('/')}/v1/querybatch",
        data=json.dumps({"queries": queries}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            results = json.load(response)["results"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreachableError(f"{type(error).__name__}: {error}") from None
    if len(results) != len(packages):
        raise UnreachableError(f"asked for {len(packages)} packages, answered for {len(results)}")
    return [
        Finding(name=name, version=version, faults=tuple(fault["id"] for fault in result["vulns"]))
        for (name, version), result in zip(packages, results, strict=True)
        if result.get("vulns")
    ]

"""Collects and packs the static files when they have changed; packing takes seconds, comparing does not."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

STAMP = ".collected"


def fingerprint() -> str:
    """Names, sizes and times of our own files, and the locked versions of the packages that bring theirs."""
    digest = hashlib.sha256((settings.BASE_DIR / "requirements.txt").read_bytes())
    for folder in settings.STATICFILES_DIRS:
        for path in sorted(Path(folder).rglob("*")):
            state = path.stat()
            digest.update(f"{path} {state.st_size} {state.st_mtime_ns}".encode())
    return digest.hexdigest()


def collect_if_changed() -> bool:
    """Whether there was anything to do. The stamp is written last, so a killed run begins again."""
    stamp = Path(settings.STATIC_ROOT) / STAMP
    want = fingerprint()
    if stamp.is_file() and stamp.read_text(encoding="ascii") == want:
        return False
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(want, encoding="ascii")
    return True

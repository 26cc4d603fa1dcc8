"""The fonts that documents are set in: shipped with the project, and the only ones that the renderer sees."""

from __future__ import annotations

import os
import tempfile
import unicodedata
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from django.conf import settings

FAMILY = "Noto Sans SC"
FILES = ("NotoSansSC-Regular.ttf", "NotoSansSC-Bold.ttf")


def folder() -> Path:
    return Path(settings.BASE_DIR) / "static" / "fonts"


def use_shipped_fonts_only() -> None:
    """Point fontconfig at our folder alone; must run before WeasyPrint is first imported in the process.

    The cache lies in a folder that only we can write, not under a guessable name in a shared one.
    """
    var = Path(settings.BASE_DIR) / ".var" / "fontconfig"
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = (
        '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n<fontconfig>'
        f"<dir>{escape(str(folder()))}</dir><cachedir>{escape(str(var / 'cache'))}</cachedir></fontconfig>\n"
    )
    path = var / "fonts.conf"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        # replaced in one step: another worker may be reading it
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=var, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    os.environ["FONTCONFIG_FILE"] = str(path)


@cache
def covered_characters() -> frozenset[int]:
    """Code points that every one of the shipped faces has a glyph for."""
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]

    covered: frozenset[int] | None = None
    for name in FILES:
        with TTFont(folder() / name, lazy=True) as font:
            points = frozenset(font.getBestCmap())
        covered = points if covered is None else covered & points
    return covered or frozenset()


def missing_characters(text: str) -> list[str]:
    """The characters of a text that would be printed as boxes, each once, in order of appearance."""
    covered = covered_characters()
    return [
        letter
        for letter in dict.fromkeys(text)
        if ord(letter) not in covered and letter not in "\n\t" and not unicodedata.category(letter).startswith("Zs")
    ]

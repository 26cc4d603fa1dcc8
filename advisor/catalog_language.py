"""Texts that the catalogue keeps in both languages, in the active one."""

from __future__ import annotations

from django.utils.translation import get_language


def is_chinese() -> bool:
    return (get_language() or "").lower().startswith("zh")


def in_language(english: str, chinese: str) -> str:
    """The catalogue's own text in the active language; English where no Chinese is kept."""
    return chinese if chinese and is_chinese() else english


def joined(*sentences: str) -> str:
    """Sentences one after the other: with a space between them, in Chinese without."""
    return ("" if is_chinese() else " ").join(sentence for sentence in sentences if sentence)

"""Rows of the method page: formulas with links to their sources, and the stored constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.calibration_data import calibration_document
from advisor.method_text import SECTIONS, Section, Text

_FIRST_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
_DOI = re.compile(r"doi:(\S+)")


@dataclass(frozen=True, slots=True)
class FormulaRow:
    name: Text
    formula: Text
    meaning: Text
    source: Text
    link: str


@dataclass(frozen=True, slots=True)
class SectionRows:
    code: str
    title: Text
    intro: Text
    formulas: list[FormulaRow]


@dataclass(frozen=True, slots=True)
class Constant:
    name: str
    value: float


def sections() -> list[SectionRows]:
    return [_rows(section) for section in SECTIONS]


def _rows(section: Section) -> SectionRows:
    rows = [
        FormulaRow(row.name, row.formula, row.meaning, row.source, source_link(str(row.source)))
        for row in section.formulas
    ]
    return SectionRows(section.code, section.title, section.intro, rows)


def source_link(source: str) -> str:
    """Address of the first paper that a source names; empty when it names none."""
    if match := _FIRST_ARXIV.search(source):
        return f"https://arxiv.org/abs/{match[1]}"
    if match := _DOI.search(source):
        return f"https://doi.org/{match[1]}"
    return ""


def constants() -> list[Constant]:
    """The calibrated constants by name; tables by family as `name.family`."""
    return list(_flat(calibration_document()["constants"], ""))


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[Constant]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield Constant(f"{prefix}{name}", float(value))

"""An answer's tables as paper shows them: grouped and rounded for the eye, where a spreadsheet keeps fifteen digits."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from advisor.answer_tables import AnswerTable
from advisor.figures import format_percent, format_significant
from catalog.cells import Shape

# tables whose last column says the bare number and its unit as the page shows them
_SHOWN = frozenset({"summary", "memory", "step"})
_LONG = Decimal(10) ** 12
_DIGITS = {"calculation": 6}  # a reader with a pocket calculator follows these


def paper_tables(tables: list[AnswerTable]) -> list[AnswerTable]:
    return [_shown(table) if table.code in _SHOWN else _rounded(table) for table in tables]


def _shown(table: AnswerTable) -> AnswerTable:
    return AnswerTable(
        code=table.code,
        title=table.title,
        columns=(table.columns[0], table.columns[-1]),
        widths=(50, 50),
        rows=tuple((row[0], row[-1]) for row in table.rows),
    )


def _rounded(table: AnswerTable) -> AnswerTable:
    digits = _DIGITS.get(table.code, 3)
    return AnswerTable(
        code=table.code,
        title=table.title,
        columns=table.columns,
        widths=table.widths,
        rows=tuple(
            tuple(
                _share(cell)
                if column.header == "MFU"
                else paper_number(cell, digits)
                if column.shape == Shape.NUMBER
                else cell
                for cell, column in zip(row, table.columns, strict=True)
            )
            for row in table.rows
        ),
    )


def _share(cell: str) -> str:
    return format_percent(Decimal(cell)) if cell else ""


def paper_number(cell: str, digits: int = 3) -> str:
    """Whole numbers and cents stay exact up to what fits a column; the rest has so many significant digits."""
    try:
        value = Decimal(cell)
    except InvalidOperation:
        return cell
    exponent = value.as_tuple().exponent
    if value.is_finite() and abs(value) >= _LONG:
        text = f"{value:.{digits - 1}e}".replace("e+", "e")
    elif value.is_finite() and isinstance(exponent, int) and exponent in {0, -2}:
        text = f"{value:,f}"
    else:
        text = format_significant(value, digits)
    return f"−{text[1:]}" if text.startswith("-") else text

"""What one row of the table of input fields holds, and how such rows are written."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from advisor.quantities import Kind

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Text: TypeAlias = "str | _StrPromise"
ESTIMATE = "estimate"
RECOMMENDATION = "recommendation"
BOTH = frozenset({ESTIMATE, RECOMMENDATION})


class FieldKind(StrEnum):
    """How a raw value is read."""

    QUANTITY = "quantity"  # a number, or text by the grammar of quantities
    WHOLE = "whole"  # a small whole number: GPUs, group sizes
    FRACTION = "fraction"  # 0..1, or text with a percent sign
    CHOICE = "choice"
    CHOICES = "choices"  # a list of choices
    FLAG = "flag"
    TEXT = "text"  # a key of the catalogue
    TEXTS = "texts"
    OBJECT = "object"  # handed on whole


@dataclass(frozen=True, slots=True, kw_only=True)
class InputField:
    """One row. Bounds are in the unit of the API (`unit`); `scale` takes a bare number to the unit of the engine."""

    name: str
    pointer: str
    kind: FieldKind
    label: Text
    help: Text = ""
    unit: Text = ""
    quantity: Kind = Kind.NUMBER
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    is_minimum_excluded: bool = False
    scale: Decimal = Decimal(1)
    default: str | int | bool | None = None
    default_source: Text = ""
    choices: tuple[tuple[str, Text], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    query: str | None = None
    example: Text = ""  # as a reader of the language writes it
    is_simple: bool = False
    routes: frozenset[str] = BOTH

    @property
    def key(self) -> str:
        """The name in its own object of the body: `tokens` of `/training/tokens`."""
        return self.pointer.rsplit("/", 1)[1]


def choices_of(*pairs: tuple[str, Text]) -> tuple[tuple[str, Text], ...]:
    return pairs


def count_row(name: str, pointer: str, label: Text, low: str, high: str, **rest: object) -> InputField:
    return InputField(
        name=name, pointer=pointer, kind=FieldKind.QUANTITY, label=label,
        minimum=Decimal(low), maximum=Decimal(high), **rest,  # type: ignore[arg-type]
    )  # fmt: skip


def whole_row(name: str, pointer: str, label: Text, low: int, high: int, **rest: object) -> InputField:
    return InputField(
        name=name, pointer=pointer, kind=FieldKind.WHOLE, label=label,
        quantity=Kind.COUNT, minimum=Decimal(low), maximum=Decimal(high), **rest,  # type: ignore[arg-type]
    )  # fmt: skip


def factor_row(name: str, label: Text, low: str, high: str, help: Text) -> InputField:
    return InputField(
        name=name, pointer=f"/deployment/{name}", kind=FieldKind.QUANTITY, label=label, help=help,
        minimum=Decimal(low), maximum=Decimal(high), query=name,
    )  # fmt: skip

"""Reading of the bodies of offers and upgrades: objects, unknown names, and values by their field rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from advisor.input_kinds import FieldKind, InputField, Text
from advisor.input_reading import Refused, make_fault, read_value
from advisor.input_types import InputFault
from advisor.messages import shown
from advisor.quantities import Quantity

MAX_UNKNOWN = 20


def not_an_object(pointer: str, label: Text, value: Any) -> InputFault:
    return make_fault(pointer, "not_an_object", {"field": label, "value": shown(value)})


def unknown_names(pointer: str, node: Mapping[Any, Any], known: tuple[str, ...]) -> Iterator[InputFault]:
    for name in list(node)[:MAX_UNKNOWN]:
        if name not in known:
            place = f"{pointer}/{shown(str(name)).replace('~', '~0').replace('/', '~1')}"
            yield make_fault(place, "unknown_field", {"name": shown(str(name)), "known": ", ".join(known)})


def as_object(pointer: str, raw: Any, known: tuple[str, ...]) -> tuple[Mapping[str, Any], list[InputFault]]:
    """The object's known names; null is an empty object, anything else than an object a fault."""
    if raw is None:
        return {}, []
    if not isinstance(raw, Mapping):
        return {}, [not_an_object(pointer, pointer.rsplit("/", 1)[1], raw)]
    return {name: raw[name] for name in known if name in raw}, list(unknown_names(pointer, raw, known))


def given_values(
    place: str, rows: Mapping[str, InputField], leaves: Mapping[str, Any]
) -> tuple[dict[str, Any], list[InputFault]]:
    """Typed values by the row's name, and the faults; null or an empty text means left out, as in a form."""
    values: dict[str, Any] = {}
    faults: list[InputFault] = []
    for name, row in rows.items():
        raw = leaves.get(row.pointer)
        if raw is None or (isinstance(raw, str) and not raw.strip()):
            continue
        try:
            value = read_value(row, raw)
        except Refused as refused:
            faults.append(make_fault(place + row.pointer, refused.code, refused.params, row))
            continue
        if isinstance(value, Quantity):
            value = int(value.value) if row.kind is FieldKind.WHOLE else value.value
        values[name] = value
    return values, faults


def distinct(faults: Iterable[InputFault]) -> tuple[InputFault, ...]:
    """Each fault once: a faulty model would come back with every part of the request that carries it."""
    seen: dict[tuple[str, str], InputFault] = {}
    for fault in faults:
        seen.setdefault((fault.pointer, fault.code), fault)
    return tuple(seen.values())

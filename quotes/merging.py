"""Two people edited one draft: what the second typed, joined with what the first saved; nothing of either is lost.

The log says what each entry was before the other save. Whoever left an entry at that value did not touch it, so the
other's change is taken; where both changed it, the typed value stays in the editor with the saved one beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from quotes.editor import Editor
from quotes.models import AuditEntry, QuoteLine, QuoteRevision

# Stored as one value each: the beginning of their names in the form, and what they are called.
_BLOCKS = {"clauses": ("clause-", gettext_lazy("Clauses")), "payment_schedule": ("payment-", gettext_lazy("Payments"))}
_RAISES_VERSION = ("edit", "reprice", "acknowledge_export")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """An entry that both changed; `key` is its name in the form, `line` the line's name or ""."""

    key: str
    label: Any
    line: str
    typed: str
    saved: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """`data` is the editor's post with the other's changes in it, at the version that is stored now."""

    data: QueryDict
    conflicts: tuple[Conflict, ...]
    taken: tuple[str, ...]
    lost_lines: tuple[str, ...]
    who: tuple[str, ...]
    when: datetime | None


def merged(editor: Editor, revision: QuoteRevision, lines: list[QuoteLine]) -> Merge:
    """Join a valid editor of an older version with the stored draft."""
    entries = _saved_since(revision, editor.expected_version)
    data = _copied(editor)
    data["expected_version"] = str(revision.content_version)
    conflicts: list[Conflict] = []
    taken: list[str] = []
    stored = Editor(revision, lines)
    typed = editor.form.edits()
    for name, old in _field_bases(entries).items():
        if name in _BLOCKS:
            _merge_block(name, old, editor, stored, data, conflicts, taken)
        if name not in typed:
            continue
        saved = getattr(revision, name)
        bound = stored.form[name]
        if plain(typed[name]) == plain(saved):
            continue
        if plain(typed[name]) == old:
            taken.append(str(bound.label))
            _put(data, name, bound.value())
        else:
            shown = _shown(editor.form[name].value()), _shown(bound.value())
            conflicts.append(Conflict(key=name, label=bound.label, line="", typed=shown[0], saved=shown[1]))
    for row in editor.lines:
        if row.line is not None:
            other = next((own for own in stored.lines if own.key == row.key), None)
            if other is not None:
                _merge_line(row, other, _line_bases(entries, row.line), data, conflicts, taken)
    return Merge(
        data=data,
        conflicts=tuple(conflicts),
        taken=tuple(dict.fromkeys(taken)),
        lost_lines=tuple(_lost(editor, entries, {line.pk for line in lines})),
        who=tuple(dict.fromkeys(entry.actor.get_username() for entry in entries if entry.actor)),
        when=entries[-1].created_at if entries else None,
    )


def with_choices(data: QueryDict, revision: QuoteRevision, lines: list[QuoteLine]) -> QueryDict:
    """The posted editor with the stored value wherever “take theirs” is ticked."""
    keys = data.getlist("theirs")
    if not keys:
        return data
    chosen = data.copy()
    stored = Editor(revision, lines)
    for key in keys:
        if key in _BLOCKS:
            _put_block(chosen, key, stored)
            continue
        form, name = _place(stored, key)
        if form is not None:
            _put(chosen, key, form[name].value())
    return chosen


def plain(value: Any) -> Any:
    """As the log writes it, without the digits that a column adds."""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, dict | list):
        # PostgreSQL gives a JSON object back with its keys in another order than they went in
        return json.dumps(value, sort_keys=True)
    text = str(value)
    try:
        return f"{Decimal(text).normalize():f}"
    except ArithmeticError:
        return text


def _merge_block(
    name: str,
    old: Any,
    editor: Editor,
    stored: Editor,
    data: QueryDict,
    conflicts: list[Conflict],
    taken: list[str],
) -> None:
    """Clauses and payments are joined as wholes: their parts make sense together only."""
    typed, saved = editor.fields()[name], getattr(stored.revision, name)
    if typed == saved:
        return
    label = _BLOCKS[name][1]
    if plain(typed) == old:
        taken.append(str(label))
        _put_block(data, name, stored)
    else:
        conflicts.append(Conflict(key=name, label=label, line="", typed=_("as below"), saved=_("as saved")))


def _put_block(data: QueryDict, name: str, stored: Editor) -> None:
    prefix = _BLOCKS[name][0]
    for key in [key for key in data if key.startswith(prefix)]:
        data.pop(key)
    for bound in stored.clauses if name == "clauses" else stored.payments:
        _put(data, bound.html_name, bound.value())


def _merge_line(
    row: Any, other: Any, bases: Mapping[str, Any], data: QueryDict, conflicts: list[Conflict], taken: list[str]
) -> None:
    for column, old in bases.items():
        name = "tax" if column in {"tax_rate", "tax_category"} else column
        if name not in row.form.cleaned_data:
            continue
        key = f"{row.form.prefix}-{name}"
        typed, saved = _typed(row, column), getattr(other.line, column)
        if plain(typed) == plain(saved) or any(conflict.key == key for conflict in conflicts):
            continue
        bound = other.form[name]
        if plain(typed) == old:
            taken.append(f"{other.sku or other.name_en}: {bound.label}")
            _put(data, key, bound.value())
        else:
            conflicts.append(
                Conflict(
                    key=key,
                    label=bound.label,
                    line=other.sku or other.name_en,
                    typed=_shown(row.form[name].value()),
                    saved=_shown(bound.value()),
                )
            )


def _typed(row: Any, column: str) -> Any:
    category, rate = row.form.cleaned_data["tax"]
    return {"tax_rate": rate, "tax_category": category}.get(column, row.form.cleaned_data.get(column))


def _saved_since(revision: QuoteRevision, version: int) -> list[AuditEntry]:
    """The saves after `version`: each raised it by one."""
    count = max(revision.content_version - version, 0)
    entries = AuditEntry.objects.filter(revision=revision, action__in=_RAISES_VERSION).select_related("actor")
    entries = entries.order_by("-pk")
    return list(reversed(entries[:count]))


def _field_bases(entries: Iterable[AuditEntry]) -> dict[str, Any]:
    """What each changed field was when the editor was opened."""
    bases: dict[str, Any] = {}
    for entry in entries:
        for name, old in entry.before.items():
            bases.setdefault(name, plain(old))
    return bases


def _line_bases(entries: Iterable[AuditEntry], line: QuoteLine) -> dict[str, Any]:
    """What each changed column of a line was; repriced lines are named by their position alone."""
    bases: dict[str, Any] = {}
    for entry in entries:
        repriced = entry.after.get("prices", ()) if entry.action == "reprice" else ()
        for change in (*entry.after.get("lines", ()), *repriced):
            if change.get("line", line.pk if change.get("position") == line.position else None) == line.pk:
                for name, pair in change.items():
                    if isinstance(pair, list) and len(pair) == 2:
                        bases.setdefault(name, plain(pair[0]))
    return bases


def _lost(editor: Editor, entries: Iterable[AuditEntry], kept: set[int]) -> Iterable[str]:
    """Lines that the other took out, with what was typed for them."""
    data = editor.data or QueryDict()
    for entry in entries:
        for change in entry.after.get("lines", ()):
            if "removed" in change and change.get("line") not in kept:
                prefix = f"line-{change['line']}"
                amounts = [data.get(f"{prefix}-quantity", ""), data.get(f"{prefix}-unit_price", "")]
                yield f"{change['removed']} ({' × '.join(text for text in amounts if text)})"


def _place(editor: Editor, key: str) -> tuple[Any, str]:
    prefix, _dash, name = key.rpartition("-")
    if not prefix:
        return (editor.form, key) if key in editor.form.fields else (None, key)
    row = next((row for row in editor.lines if row.form.prefix == prefix), None)
    return (row.form, name) if row is not None and name in row.form.fields else (None, name)


def _copied(editor: Editor) -> QueryDict:
    return (editor.data or QueryDict()).copy()


def _put(data: QueryDict, key: str, value: Any) -> None:
    if value in (None, "", False):
        data.pop(key, None)
    else:
        data[key] = "on" if value is True else str(value)


def _shown(value: Any) -> str:
    return "—" if value in (None, "", False) else "✓" if value is True else str(value)

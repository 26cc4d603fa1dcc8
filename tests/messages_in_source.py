"""The message ids that code and templates use, and the entries of a .po file; no gettext tools needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.translation.template import templatize

CONTEXT_SEPARATOR = "\x04"  # as in .mo files
# how many leading string arguments each function takes, and whether the first is a context
FUNCTIONS = {
    "gettext": (1, False),
    "gettext_lazy": (1, False),
    "gettext_noop": (1, False),
    "ngettext": (2, False),
    "ngettext_lazy": (2, False),
    "pgettext": (2, True),
    "pgettext_lazy": (2, True),
    "npgettext": (3, True),
    "npgettext_lazy": (3, True),
}
STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
TEMPLATE_CALL = re.compile(rf"\b(_|n?p?gettext)\(({STRING}(?:\s*,\s*{STRING})*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Use:
    """One message as it stands in the source; `key` is what a catalogue is asked for."""

    key: str
    plural: str
    where: str


def use_of(function: str, texts: list[str], where: str) -> Use:
    count, has_context = FUNCTIONS[function]
    context = texts[0] + CONTEXT_SEPARATOR if has_context else ""
    messages = texts[1:count] if has_context else texts[:count]
    return Use(context + messages[0], messages[1] if len(messages) > 1 else "", where)


def uses_in_python(path: Path, source: str) -> Iterator[Use | str]:
    """Uses, and for a message that is put together at run time the place as a plain string."""
    tree = ast.parse(source, filename=str(path))
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
            names |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in FUNCTIONS}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name):
            function = names.get(called.id, "")
        elif isinstance(called, ast.Attribute) and ast.unparse(called.value).split(".")[-1] == "translation":
            function = called.attr if called.attr in FUNCTIONS else ""
        else:
            continue
        if not function:
            continue
        where = f"{path.name}:{node.lineno}"
        constants = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        texts = [value for value in constants if isinstance(value, str)]
        if any(isinstance(argument, (ast.JoinedStr, ast.BinOp)) for argument in node.args[: FUNCTIONS[function][0]]):
            yield where
        elif len(texts) >= FUNCTIONS[function][0]:
            yield use_of(function, texts, where)
        # a variable: its text is marked where it is written, by gettext_lazy or gettext_noop


def uses_in_template(path: Path, source: str) -> Iterator[Use]:
    for found in TEMPLATE_CALL.finditer(templatize(source)):
        texts = [ast.literal_eval(text.removeprefix("u")) for text in re.findall(STRING, found[2])]
        function = "gettext" if found[1] == "_" else found[1]
        # the template engine doubles a percent sign before it looks a block up, and so does the extraction
        yield use_of(function, texts, str(path.name))


@dataclass(slots=True)
class Entry:
    msgid: str = ""
    plural: str = ""
    translations: dict[int, str] = field(default_factory=dict)
    context: str = ""
    is_fuzzy: bool = False

    @property
    def key(self) -> str:
        return (self.context + CONTEXT_SEPARATOR if self.context else "") + self.msgid


def po_entries(text: str) -> list[Entry]:
    """Entries of a .po file without its header; obsolete ones (#~) are left out."""
    entries: list[Entry] = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        entry, part = Entry(), ""
        values: dict[str, str] = {}
        for line in block.splitlines():
            if line.startswith("#,"):
                entry.is_fuzzy = "fuzzy" in line
            elif line.startswith('"'):
                values[part] += ast.literal_eval(line)
            elif found := re.match(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s+(".*")\s*$', line):
                part = found[1]
                values[part] = ast.literal_eval(found[2])
        if values.get("msgid"):
            entry.msgid, entry.plural = values["msgid"], values.get("msgid_plural", "")
            entry.context = values.get("msgctxt", "")
            entry.translations = {
                int(re.sub(r"\D", "", name) or 0): text for name, text in values.items() if name.startswith("msgstr")
            }
            entries.append(entry)
    return entries

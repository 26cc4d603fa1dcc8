"""Every visible message has a Chinese translation, and what is compiled is what is written."""

from __future__ import annotations

import gettext
import re
from pathlib import Path

import pytest
from django.conf import settings

from tests.messages_in_source import Entry, Use, po_entries, uses_in_python, uses_in_template

ROOT = Path(__file__).resolve().parent.parent
PO_FILES = [Path(folder) / "zh_Hans" / "LC_MESSAGES" / "django.po" for folder in settings.LOCALE_PATHS]
PLACEHOLDER = re.compile(r"%\((\w+)\)[a-z]|\{(\w+)\}")
# a hanzi followed by ASCII punctuation; a colon or full stop between digits is a figure
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;:!?](?![\d/])|[\u4e00-\u9fff]\.(?:\s|$)|[\u4e00-\u9fff]\(")


def entries_of(path: Path) -> list[Entry]:
    return po_entries(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def translated() -> dict[str, Entry]:
    return {entry.key: entry for path in PO_FILES for entry in entries_of(path)}


@pytest.fixture(scope="module")
def uses() -> list[Use | str]:
    found: list[Use | str] = []
    for app in ("advisor", "catalog", "quotes", "config"):
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" not in path.parts:
                found += uses_in_python(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "templates").rglob("*.html")) + sorted((ROOT / "templates").rglob("*.txt")):
        found += uses_in_template(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    return found


def test_every_message_in_use_is_translated(uses: list[Use | str], translated: dict[str, Entry]) -> None:
    missing = {use.key: use.where for use in uses if isinstance(use, Use) and use.key not in translated}
    assert not missing, "without Chinese:\n" + "\n".join(f"{where}: {key!r}" for key, where in missing.items())


def test_plural_messages_are_translated_as_plurals(uses: list[Use | str], translated: dict[str, Entry]) -> None:
    wrong = [
        use.where
        for use in uses
        if isinstance(use, Use) and use.plural and use.key in translated and translated[use.key].plural != use.plural
    ]
    assert not wrong, wrong


def test_no_message_is_put_together_at_run_time(uses: list[Use | str]) -> None:
    places = [use for use in uses if isinstance(use, str)]
    assert not places, f"use named placeholders instead of an f-string or a sum: {places}"


@pytest.mark.parametrize("path", PO_FILES, ids=lambda path: path.parts[-4])
def test_no_translation_is_empty_or_fuzzy(path: Path) -> None:
    wrong = [entry.key for entry in entries_of(path) if entry.is_fuzzy or not all(entry.translations.values())]
    assert not wrong, wrong


@pytest.mark.parametrize("path", PO_FILES, ids=lambda path: path.parts[-4])
def test_translations_keep_the_placeholders(path: Path) -> None:
    def names(text: str) -> set[str]:
        return {first or second for first, second in PLACEHOLDER.findall(text)}

    wrong = [
        entry.key
        for entry in entries_of(path)
        for text in entry.translations.values()
        # Chinese has one form for every number: it carries what the plural has
        if names(text) != names(entry.plural or entry.msgid)
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("path", PO_FILES, ids=lambda path: path.parts[-4])
def test_chinese_prose_has_full_width_punctuation(path: Path) -> None:
    wrong = [text for entry in entries_of(path) for text in entry.translations.values() if HALF_WIDTH.search(text)]
    assert not wrong, wrong


@pytest.mark.parametrize("path", PO_FILES, ids=lambda path: path.parts[-4])
def test_the_compiled_file_is_up_to_date(path: Path) -> None:
    entries = entries_of(path)
    compiled_path = path.with_suffix(".mo")
    if not entries and not compiled_path.exists():
        return  # an area without words yet
    with compiled_path.open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # no public way to list it
    written: dict[object, str] = {}
    for entry in entries:
        if entry.plural:
            written |= {(entry.key, index): text for index, text in entry.translations.items()}
        else:
            written[entry.key] = entry.translations[0]
    compiled.pop("", None)
    assert compiled == written, f"compile again: msgfmt -o {compiled_path.name} {path.name}"


def test_no_message_has_two_translations() -> None:
    seen: dict[str, tuple[dict[int, str], str]] = {}
    wrong = []
    for path in PO_FILES:
        for entry in entries_of(path):
            known = seen.setdefault(entry.key, (entry.translations, path.parts[-4]))
            if known[0] != entry.translations:
                wrong.append(f"{entry.key!r} differs between {known[1]} and {path.parts[-4]}")
    assert not wrong, "\n".join(wrong)


def test_extraction_finds_what_the_functions_and_tags_hold() -> None:
    python = (
        "from django.utils.translation import gettext as _, ngettext, pgettext_lazy\n"
        "_('Plain ' 'text'); ngettext('%(n)s day', '%(n)s days', n); pgettext_lazy('verb', 'Order'); _(variable)\n"
        "_(f'no {way}'); print('not a message')\n"
    )
    assert list(uses_in_python(Path("x.py"), python)) == [
        Use("Plain text", "", "x.py:2"),
        Use("%(n)s day", "%(n)s days", "x.py:2"),
        Use("verb\x04Order", "", "x.py:2"),
        "x.py:3",
    ]
    template = (
        '{% translate "Hello" %}{% blocktranslate count n=n trimmed %}\n {{ n }} GPU\n{% plural %}\n {{ n }} GPUs\n'
        '{% endblocktranslate %}{{ _("Inline") }}{% translate "Order" context "verb" %}'
    )
    assert list(uses_in_template(Path("x.html"), template)) == [
        Use("Hello", "", "x.html"),
        Use("%(n)s GPU", "%(n)s GPUs", "x.html"),
        Use("Inline", "", "x.html"),
        Use("verb\x04Order", "", "x.html"),
    ]


def test_po_files_are_read_with_continuation_plural_and_fuzzy_marks() -> None:
    text = (
        'msgid ""\nmsgstr "header"\n\n#, fuzzy\nmsgid "a"\nmsgstr ""\n"x"\n\n'
        'msgid "one"\nmsgid_plural "many"\nmsgstr[0] "y"\n\n#~ msgid "old"\n#~ msgstr "z"\n'
    )
    first, second = po_entries(text)
    assert (first.msgid, first.translations, first.is_fuzzy) == ("a", {0: "x"}, True)
    assert (second.key, second.plural, second.translations) == ("one", "many", {0: "y"})


def test_chinese_stands_apart_from_letters_and_digits(translated: dict[str, Entry]) -> None:
    """One way everywhere: a space between hanzi and Latin letters or digits; placeholders are judged by their users."""
    joined = re.compile(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]")
    texts = [text for entry in translated.values() for text in entry.translations.values()]
    tight = [text for text in texts if joined.search(re.sub(r"%\(\w+\)[sd]|%[sd]", "·", text))]
    assert not tight, "without a space:\n" + "\n".join(tight)

"""A config.json on the sizing page: pasted or chosen as a file, read into the link, and shown as it was understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from advisor import figures
from advisor.engine.model_config import model_from_config
from advisor.engine.parameters import active_parameter_count, parameter_count
from advisor.forms import CONFIG_FIELD
from advisor.input_config import config_of_text, config_text
from advisor.input_types import InputError

CONFIG_TEXT = "config_text"
CONFIG_FILE = "config_file"
TOKEN = "csrfmiddlewaretoken"  # noqa: S105  (the name of Django's field, no secret)
EMPTY_FILE = "-"  # stands for a file without content, which is no JSON either
MAX_QUERY_LENGTH = 3600  # of a request line of 4,094 that also holds `GET`, the version and at times `/api/v1/...`
OTHER_FORMS = ("parameters", "active_parameters", "preset")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    """The config in force: as the link carries it, and its sizes in words."""

    text: str
    model_type: str
    layer_count: int
    hidden_size: int
    parameters: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigPart:
    """What the form shows: the config that was read, or the text that could not be."""

    read: ReadConfig | None
    typed: str = ""


def config_part(submitted: QueryDict | None, typed: str | None = None) -> ConfigPart:
    """Of a form's entries; `typed` stands in the box instead of a text that could not be read."""
    text = "" if submitted is None else submitted.get(CONFIG_FIELD, "").strip()
    if not text:
        return ConfigPart(read=None, typed=typed or "")
    try:
        return ConfigPart(read=read_config(text), typed=typed or "")
    except InputError:
        return ConfigPart(read=None, typed=text if typed is None else typed)


def read_config(text: str) -> ReadConfig:
    """Raises InputError."""
    config = config_of_text(text)
    model = model_from_config(config)
    total, active = parameter_count(model), active_parameter_count(model)
    words = figures.format_si_count(total)
    if model.is_moe:
        words = _("%(total)s, %(active)s active") % {"total": words, "active": figures.format_si_count(active)}
    return ReadConfig(
        text=config_text(config),
        model_type=str(config["model_type"]),
        layer_count=model.layer_count,
        hidden_size=model.hidden_size,
        parameters=words,
    )


def config_words(text: str) -> str:
    """A link's config where other pages name the inputs: `llama, 6.74B`; text that cannot be read as it is."""
    try:
        read = read_config(text)
    except InputError:
        return text
    return pgettext("between items", ", ").join((read.model_type, read.parameters))


def entries_with_config(fields: QueryDict, file: UploadedFile[Any] | None) -> tuple[QueryDict, str | None]:
    """The form's entries with what was chosen as a file, or else pasted, as their model.

    Beside them None, or for a text that cannot be read what the box shows: the text then stands among the entries as it
    came, so that the form says what is wrong with it.
    """
    entries = fields.copy()
    pasted = entries.get(CONFIG_TEXT, "")
    for name in (TOKEN, CONFIG_TEXT, CONFIG_FILE):
        entries.pop(name, None)
    limit = settings.API_REQUEST_LIMIT_BYTES
    raw = pasted.encode("utf-8", "replace") if file is None else file.read(limit + 1)
    if file is None and not raw.strip():
        return entries, None
    text = raw.decode("utf-8", "replace")
    try:
        entries[CONFIG_FIELD] = config_text(config_of_text(raw))
    except InputError:
        entries[CONFIG_FIELD] = text if text.strip() else EMPTY_FILE
        return entries, text if len(raw) <= limit or file is None else pasted
    for name in OTHER_FORMS:
        entries.pop(name, None)
    return entries, None


def query_as_typed(entries: QueryDict) -> str:
    """Every entry that is filled in, for the address of a form that still needs a change."""
    return urlencode([(name, text) for name, texts in entries.lists() for text in texts if text.strip()])


def query_without_config(submitted: QueryDict | None) -> str:
    if submitted is None:
        return ""
    rest = submitted.copy()
    for name in (CONFIG_FIELD, TOKEN):
        rest.pop(name, None)
    return query_as_typed(rest)

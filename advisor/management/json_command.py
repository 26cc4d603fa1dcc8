"""What the commands that answer JSON share: read a request, write an answer or a problem, set the exit code."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import translation
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException

from advisor.inputs import InputError
from config.api_errors import Unprocessable, problem_body
from config.api_parsers import read_json


class JsonCommand(BaseCommand):
    """One request in, one JSON out: exit 0 with the answer, or 1 with a problem, both on standard output."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", help="request JSON; - or nothing reads standard input")
        languages = [code for code, _name in settings.LANGUAGES]
        parser.add_argument("--language", default=settings.LANGUAGE_CODE, choices=languages, help="of the messages")

    @abstractmethod
    def answer(self, body: Any) -> Any:
        """The answer to a request. May raise InputError."""

    def handle(self, *args: Any, **options: Any) -> None:
        with translation.override(options["language"]):
            try:
                result = self.answer(read_json(_read(options["file"])))
            except InputError as error:
                self._fail(Unprocessable(error.as_dicts()))
            except APIException as error:
                self._fail(error)
            except OSError as error:
                detail = _("The file cannot be read: %(reason)s.") % {"reason": error.strerror or type(error).__name__}
                self._write(problem_body(None, 404, "file_not_readable", detail))
                sys.exit(1)
            else:
                self._write(result)

    def _fail(self, error: APIException) -> None:
        errors = getattr(error, "errors", None)
        self._write(problem_body(None, error.status_code, str(error.get_codes()), str(error.detail), errors))
        sys.exit(1)

    def _write(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))


def _read(name: str) -> bytes:
    """At most one byte over the limit, so that a huge file is refused without being held."""
    limit = settings.API_REQUEST_LIMIT_BYTES + 1
    if name == "-":
        return sys.stdin.buffer.read(limit)
    with Path(name).open("rb") as file:
        return file.read(limit)

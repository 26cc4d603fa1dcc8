"""`manage.py estimate` and `recommend`: the API's answers on the command line, with exit codes."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.api.examples import ESTIMATE_EXAMPLE, RECOMMENDATION_EXAMPLE

pytestmark = pytest.mark.django_db


def run(monkeypatch, name, content: bytes, *arguments) -> tuple[int, dict]:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    out, code = io.StringIO(), 0
    try:
        call_command(name, *arguments, "--language", "en", stdout=out)
    except SystemExit as exit_:
        code = exit_.code
    return code, json.loads(out.getvalue())


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("estimate", "/api/v1/estimates", ESTIMATE_EXAMPLE),
        ("recommend", "/api/v1/recommendations", RECOMMENDATION_EXAMPLE),
    ],
)
def test_the_same_answer_as_the_api_from_file_and_standard_input(monkeypatch, tmp_path, name, path, body):
    content = json.dumps(body).encode()
    file = tmp_path / "request.json"
    file.write_bytes(content)
    response = Client().post(path, content, content_type="application/json", headers={"accept-language": "en"})
    assert run(monkeypatch, name, content) == (0, response.json())
    assert run(monkeypatch, name, content, "-") == (0, response.json())
    assert run(monkeypatch, name, b"", str(file)) == (0, response.json())


@pytest.mark.parametrize("name", ["estimate", "recommend"])
@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b'{"model": {"parameters": "8x7B"}}', 422, "invalid_request"),
        (b"{}", 422, "invalid_request"),
        (b"{", 400, "parse_error"),
        (b'"' + b"x" * 70_000 + b'"', 413, "too_large"),
    ],
)
def test_a_refused_request_is_a_problem_and_exit_code_1(monkeypatch, name, content, status, code):
    exit_code, body = run(monkeypatch, name, content)
    assert (exit_code, body["status"], body["code"]) == (1, status, code)


def test_a_file_that_is_not_there(monkeypatch, tmp_path):
    exit_code, body = run(monkeypatch, "estimate", b"", str(tmp_path / "none.json"))
    assert (exit_code, body["code"]) == (1, "file_not_readable")
